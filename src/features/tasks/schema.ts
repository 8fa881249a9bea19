import { Type } from '@sinclair/typebox'
import { priorities, statuses } from '../../records/task-states.ts'
import { UserOrAgent } from '../../records/user-or-agent.ts'
import {
  array,
  bool,
  id,
  instant,
  int,
  noExample,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  permissions,
  recordFields,
  type Static,
  text,
  time,
  title,
} from '../../schema.ts'
import { LinkedRecord } from '../links/schema.ts'
import { Evidence } from '../projects/workflow/workflow-schema.ts'
import { itemTitle } from '../stories/schema.ts'
import { withBlockers } from './dependencies/blocker-schema.ts'
import { TaskCheckpoint } from './leases/checkpoint-schema.ts'
import { taskExtras } from './lists/extras-schema.ts'

export const kinds = ['blocks', 'relates', 'discovered_from', 'duplicates'] as const
export const Acceptance = object({ text: title(500, { example: 'A second process is refused' }), done: bool() })
export type Acceptance = Static<typeof Acceptance>

/** Criteria that a call ticks. Clients that only support strings send numbers as strings. */
export const Accepted = Type.Union(
  [
    Type.Literal('all'),
    array(Type.Union([int({ min: 1, max: 50 }), title(500, { example: 'A second process is refused' })]), 50),
  ],
  { description: 'Criteria that are met: "all", or their numbers or texts' },
)
export type Accepted = Static<typeof Accepted>

export const Lease = object({
  holder: UserOrAgent,
  sessionId: nullable(id()),
  why: nullable(
    text(2000, { description: 'What `next` said, or who assigned it', example: 'high priority, the only ready task' }),
  ),
  since: instant(),
  lastSeenAt: instant(),
  expiresAt: instant(),
  stalled: optional(
    bool({
      description: 'In lists with leased=true: the agent still makes calls, but has changed nothing for 30 minutes',
    }),
  ),
  lastChangeAt: optional(
    instant({ description: 'In lists with leased=true: when the agent that holds it last changed anything' }),
  ),
})
export type Lease = Static<typeof Lease>

const key = text(20, { example: 'TUT-42' })
const labels = array(title(50, { example: 'backend' }), 50, { uniqueItems: true })
const description = text(50_000)
/** A reference to a task: id, key (`TUT-42`) or id prefix. */
export const ref = (what: string) =>
  text(100, { minLength: 1, description: `${what}: id, key or id prefix`, example: 'TUT-41' })

export const TaskItem = object({
  ...recordFields,
  organizationId: id(),
  createdById: nullable(id()),
  projectId: id(),
  storyId: nullable(id()),
  parentId: nullable(id()),
  number: int({ example: 42 }),
  key,
  title: itemTitle,
  status: oneOf(statuses),
  priority: oneOf(priorities),
  assignee: nullable(UserOrAgent),
  labels,
  dueAt: nullable(instant()),
  estimate: nullable(int()),
  position: Type.Number({ examples: [1] }),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
  blockedBy: Type.Array(key, {
    description: 'Open tasks that block it; `hidden` for those of projects that you cannot see',
  }),
  lease: nullable(Lease),
  ...taskExtras,
})
export type TaskItem = Static<typeof TaskItem>
export const Task = object({
  ...TaskItem.properties,
  description: nullable(description),
  acceptance: array(Acceptance, 50),
  completionNotes: nullable(text(32_000)),
})
export type Task = Static<typeof Task>
const Related = object({ id: id(), key, title: itemTitle, status: oneOf(statuses), kind: oneOf(kinds) })
export type Related = Static<typeof Related>
const WaitsFor = object({
  ...Related.properties,
  completionNotes: nullable(text(2001, { description: 'Notes from when it was completed; long ones are cut' })),
})
export type WaitsFor = Static<typeof WaitsFor>
export const commentActions = ['updateComment', 'removeComment'] as const
export const Comment = object({
  id: id(),
  taskId: id(),
  author: UserOrAgent,
  body: text(20_000, { example: 'Works on my machine' }),
  asks: bool({ description: 'It is a question' }),
  createdAt: instant(),
  editedAt: nullable(instant()),
  version: int({ min: 1, example: 1 }),
  can: optional(permissions(commentActions)),
})
export type Comment = Static<typeof Comment>
const said = title(20_000, { example: 'The lock file is stale after a crash' })
const asks = optional(
  bool({ description: 'The comment is a question: the people concerned are asked to answer with a comment' }),
)
export const CommentCreate = object({ body: said, asks })
export const CommentPatch = partial(object({ body: said, asks: bool() }))
export type CommentPatch = Static<typeof CommentPatch>
export const CommentPage = pageOf(Comment)
export type CommentPage = Static<typeof CommentPage>
export const CommentQuery = object(paging('createdAt'))
export type CommentQuery = Static<typeof CommentQuery>

export const TaskEvidence = object({
  id: id(),
  level: oneOf(['reported', 'observed', 'verified']),
  evidence: Evidence,
  actor: UserOrAgent,
  createdAt: instant(),
})
export type TaskEvidence = Static<typeof TaskEvidence>

export const taskActions = ['update', 'complete', 'claim', 'release', 'comment', 'relate', 'remove', 'verify'] as const
export type TaskAction = (typeof taskActions)[number]

const Neighbour = object({ id: id(), key, title: itemTitle, status: oneOf(statuses) })
const Named = object({ id: id(), title: itemTitle })
export const TaskDetail = object({
  ...Task.properties,
  project: object({ id: id(), name: text(100, { example: 'Tutti' }), slug: text(63, { example: 'tutti' }) }),
  waitsFor: Type.Array(WaitsFor),
  frees: Type.Array(Related, { description: 'Tasks that this one blocks' }),
  related: Type.Array(Related),
  subtasks: Type.Array(Neighbour),
  parent: nullable(Neighbour),
  story: nullable(Named),
  epic: nullable(Named),
  features: Type.Array(object({ ...Named.properties, status: text(50, { example: 'implementing' }) }), {
    description: 'Features that name it',
  }),
  links: Type.Array(LinkedRecord, { description: 'Records that are linked with it or mention it' }),
  /** Null for callers who may not change the task, and in examples, so that these stay short. */
  lastCheckpoint: Type.Union([Type.Null(), TaskCheckpoint]),
  comments: Type.Array(Comment, { description: 'The last 20, oldest first' }),
  evidence: Type.Array(TaskEvidence, { description: 'Evidence that it is done: the last 20, oldest first' }),
  can: withBlockers(permissions(taskActions)),
})
export type TaskDetail = Static<typeof TaskDetail>

const assignee = text(254, {
  minLength: 1,
  description: 'me, a user (id or e-mail) or an agent (id or slug)',
  example: 'me',
})
const changeable = {
  title: itemTitle,
  description: nullable(description),
  priority: oneOf(priorities),
  assignee: nullable(assignee),
  labels,
  dueAt: nullable(time()),
  estimate: nullable(int({ max: 10_000 })),
  acceptance: array(Type.Union([title(500, { example: 'A second process is refused' }), Acceptance]), 50),
  blockedBy: array(ref('A task that must be closed first'), 50, { uniqueItems: true }),
  storyId: nullable(id()),
  parentId: nullable(id()),
}

export const TaskCreate = object({
  ...partial(object(changeable)).properties,
  title: itemTitle,
  status: optional(oneOf(['backlog', 'todo'], { description: 'Default: todo' })),
  files: optional({ ...array(id(), 50, { uniqueItems: true, description: 'Pending uploads' }), [noExample]: true }),
})
export type TaskCreate = Static<typeof TaskCreate>

export const TaskPatch = partial(
  object({
    ...changeable,
    status: oneOf(statuses),
    addLabels: labels,
    removeLabels: labels,
    addBlockedBy: changeable.blockedBy,
    removeBlockedBy: changeable.blockedBy,
    after: nullable(ref('Place it after this one; null: first')),
    accepted: Accepted,
    keepTicks: bool({ description: 'Reopening keeps the acceptance criteria ticked, for an undo' }),
    comment: title(20_000, { description: 'A comment to add, besides or instead of a change' }),
    asks,
    evidence: array(title(500, { example: 'bun test: 214 pass' }), 20, {
      description: 'Evidence to add: files, commits, test runs, links',
    }),
  }),
)
export type TaskPatch = Static<typeof TaskPatch>

const createdById = nullable(id())
const Freed = Type.Array(object({ id: id(), key, title: itemTitle, createdById }))
/** Tells a caller that it took a task over from another connection of the same token. */
const takenOver = optional(text(500, { example: 'You held it on another connection.' }))
export const TaskClaimed = object({ ...Task.properties, takenOver })
export type TaskClaimed = Static<typeof TaskClaimed>

export const TaskChanged = object({
  ...Task.properties,
  freed: Type.Array(Freed.items, { description: 'Tasks that can be started now' }),
  blocked: Type.Array(Freed.items, { description: 'Tasks that are blocked again' }),
  openCriteria: optional(
    Type.Array(text(500), { description: 'Acceptance criteria that are still open although the task is done' }),
  ),
})
export type TaskChanged = Static<typeof TaskChanged>

export const TaskComplete = object({
  notes: optional(text(20_000, { description: 'What was done' })),
  evidence: optional(
    array(text(500, { example: 'bun test: 214 pass' }), 20, { description: 'Files, commits, test runs, links' }),
  ),
  accepted: optional(Accepted),
  claimNext: optional(bool({ description: 'Also claim the next task and return it in full' })),
  force: optional(bool({ description: 'Complete it despite open blockers; for people only' })),
})
export type TaskComplete = Static<typeof TaskComplete>
export const TaskCompleted = object({
  ...TaskChanged.properties,
  already: optional(
    oneOf(['added', 'unchanged'], {
      description:
        'The task was already done. added: its notes, evidence or ticks were extended; unchanged: nothing was new',
    }),
  ),
  takenOver,
  next: nullable(object({ key, title: itemTitle, createdById, why: text(2000, { example: 'high priority' }) })),
  claimed: optional({ ...TaskDetail, [noExample]: true }),
  noNext: optional(text(2000, { description: 'With claimNext: why there is no next task' })),
})
export type TaskCompleted = Static<typeof TaskCompleted>

const minutes = int({
  min: 1,
  max: 480,
  description: 'Lease length: minutes without a call until it expires',
  example: 15,
})
const note = optional(title(20_000, { description: 'What the next worker should know; becomes a comment' }))
export const TaskRelease = object({ note })
export type TaskRelease = Static<typeof TaskRelease>
export const TaskClaim = object({
  action: optional(oneOf(['claim', 'renew', 'release'], { description: 'Default: claim' })),
  minutes: optional(minutes),
  agent: optional(text(100, { minLength: 1, description: 'Agent that works on it: id or slug' })),
  sessionId: optional(id()),
  note,
})
export type TaskClaim = Static<typeof TaskClaim>

export const TaskNext = object({
  projectId: optional(id()),
  claim: optional(bool({ description: 'Also claim it. Default: true' })),
  minutes: optional(minutes),
  agent: optional(text(100, { minLength: 1, description: 'Agent that will work on it: id or slug' })),
  sessionId: optional(id()),
})
export type TaskNext = Static<typeof TaskNext>
export const NextTask = object({
  task: nullable(Task),
  why: text(2000, { example: 'Highest priority of 5 ready tasks; TUT-43 waits for it' }),
  waiting: Type.Array(object({ key, title: itemTitle, reason: text(500, { example: 'waits for TUT-41' }) })),
})
export type NextTask = Static<typeof NextTask>

export const Relate = object({
  task: ref('The other task'),
  kind: nullable(oneOf(['relates', 'discovered_from', 'duplicates'], { description: 'null: remove the relation' })),
})
export type Relate = Static<typeof Relate>
