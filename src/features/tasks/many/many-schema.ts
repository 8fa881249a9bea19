import { Type } from '@sinclair/typebox'
import { codes, type ErrorCode } from '../../../errors.ts'
import { int, noExample, object, oneOf, optional, type Static, text } from '../../../schema.ts'
import { taskFilters } from '../lists/list-schema.ts'
import { ref, Task, TaskChanged, TaskComplete, TaskCompleted, TaskCreate, TaskPatch } from '../schema.ts'

/** Several tasks in one call. */

const MOST = 50

export const CreateMany = object({
  parent: optional(ref('The task that they are parts of')),
  tasks: Type.Array(TaskCreate, {
    minItems: 1,
    maxItems: MOST,
    description: '`blockedBy` may also name titles of this list',
  }),
})
export type CreateMany = Static<typeof CreateMany>
export const CreatedMany = object({ items: Type.Array(Task) })
export type CreatedMany = Static<typeof CreatedMany>

const { notes, evidence, accepted, claimNext } = TaskComplete.properties
export const CompleteMany = object({
  tasks: Type.Array(Type.Union([ref('A task'), object({ task: ref('A task'), notes, evidence, accepted })]), {
    minItems: 1,
    maxItems: MOST,
    description: 'In this order; each with notes of its own or without',
  }),
  notes,
  evidence,
  accepted,
  claimNext,
})
export type CompleteMany = Static<typeof CompleteMany>
const { already, takenOver, next, claimed, noNext } = TaskCompleted.properties
export const CompletedMany = object({
  items: Type.Array(object({ ...TaskChanged.properties, already, takenOver })),
  next,
  claimed,
  noNext,
})
export type CompletedMany = Static<typeof CompletedMany>

const {
  status,
  priority,
  assignee,
  labels,
  addLabels,
  removeLabels,
  addBlockedBy,
  removeBlockedBy,
  dueAt,
  estimate,
  storyId,
  parentId,
  comment,
  keepTicks,
} = TaskPatch.properties
const change = {
  status,
  priority,
  assignee,
  labels,
  addLabels,
  removeLabels,
  addBlockedBy,
  removeBlockedBy,
  dueAt,
  estimate,
  storyId,
  parentId,
  keepTicks,
}
const listed = Type.Array(
  object({ id: ref('A task'), ifMatch: optional(int({ min: 1, description: 'Only if it is at this version' })) }),
  { minItems: 1, maxItems: 200, description: 'Up to 200 tasks, changed before the response' },
)
/** One change of the listed tasks. */
export interface ChangeMany {
  tasks: Static<typeof listed>
  change: Static<typeof ChangeRequest>['change']
}

/** The most tasks that one change covers. */
export const MOST_MATCHING = 5000
/** One change of all tasks that match. */
export interface ChangeMatching {
  where: Static<typeof where>
  expect: number
  change: Omit<Static<typeof ChangeRequest>['change'], 'comment'>
}
const where = object(taskFilters, {
  description: `All tasks that match, at most ${MOST_MATCHING}, as in GET /api/tasks; a job changes them. With \`expect\``,
})

/** The body of `POST /api/tasks/batch`: either tasks, or a filter. */
export const ChangeRequest = object({
  tasks: optional(listed),
  where: optional({ ...where, [noExample]: true }),
  expect: optional({
    ...int({
      min: 1,
      max: MOST_MATCHING,
      description: 'How many tasks match `where`. If another number does, nothing is changed',
    }),
    [noExample]: true,
  }),
  change: object({ ...change, comment }),
})
export type ChangeRequest = Static<typeof ChangeRequest>

export const ChangedMany = object({
  items: Type.Array(
    object({
      id: text(100, { description: 'As it was sent', example: 'TUT-41' }),
      task: optional(Task),
      problem: optional(
        object({
          code: oneOf(Object.keys(codes) as ErrorCode[], { example: 'conflict.blocked' }),
          status: int({ example: 409 }),
          detail: text(5000, { example: 'TUT-42 cannot become done: it waits for TUT-41.' }),
        }),
      ),
    }),
    { description: 'In the order of the request: each the changed task, or why it was not changed' },
  ),
})
export type ChangedMany = Static<typeof ChangedMany>
