import type { Ctx } from '../../action.ts'
import { waitCommand } from '../../command-line.ts'
import { isClosed } from '../../records/work.ts'
import { named, quoted } from '../../text/quoted.ts'
import { sameParty, speaker } from '../agents/parties.ts'
import { evidenceLine } from './acceptance/evidence-line.ts'
import type { TaskPage } from './lists/list-schema.ts'
import type { CompletedMany, CreatedMany } from './many/many-schema.ts'
import { checkpointFor } from './refusals.ts'
import type { Comment, NextTask, Task, TaskChanged, TaskClaimed, TaskDetail, TaskItem } from './schema.ts'
import { findInFull } from './task-context.ts'

/** The views of tasks that tools return. REST returns every field. */

/**
 * Shows until when the caller holds a task. For someone else's lease it shows the holder, the end and how to wait; the
 * other fields only help people who look for stuck agents.
 */
function heldBy({ key, lease }: TaskItem, ctx: Ctx) {
  if (!lease) return {}
  if (sameParty(lease.holder, speaker(ctx))) return { yoursUntil: toMinute(lease.expiresAt) }
  return { lease: { holder: lease.holder, expiresAt: lease.expiresAt, wait: waitCommand(ctx, key, 'done') } }
}

const toMinute = (at: string): string => `${at.slice(0, 16)}Z`

/** Open criteria are plain texts, in the form that tools accept. */
const criteria = ({ acceptance }: Task) => acceptance.map(({ text, done }) => (done ? { text, done } : text))

/** How many comments a task to work on shows. get_task shows more. */
const LAST_COMMENTS = 3

/**
 * A task to work on: its description and criteria, the last comments, and the notes of its blockers. `createdById`
 * names the author of the text.
 */
export async function begun(task: TaskClaimed, ctx: Ctx) {
  const { key, title, status, version, priority, labels, dueAt, description, blockedBy, createdById } = task
  const { found, near } = await findInFull(ctx, task.id)
  const { comments, waitsFor } = near
  return {
    key,
    title,
    status,
    version,
    priority,
    labels,
    dueAt,
    description,
    acceptance: criteria(task),
    blockedBy,
    notesBefore: waitsFor
      .filter((blocker) => blocker.completionNotes)
      .map(({ key, completionNotes: notes }) => ({ key, notes })),
    comments: comments.slice(-LAST_COMMENTS).map(said),
    lastCheckpoint: checkpointFor(ctx, found),
    ...heldBy(task, ctx),
    takenOver: task.takenOver,
    createdById,
  }
}

/** The next task to work on; otherwise why each open task has to wait. */
export const nextOrWhyNone = async ({ task, why, waiting }: NextTask, _: unknown, ctx: Ctx) => ({
  task: task && (await begun(task, ctx)),
  why,
  waiting: waiting.map(({ key, title, reason }) => `${key} ${quoted(title)} ${reason}`),
})

const said = ({ author, createdAt: at, body, asks }: Comment) => ({ author, at, body, ...(asks && { asks }) })

/** A task after a change: its key and state, and the other tasks that the change affected. */
export const changed = ({ key, status, version, blockedBy, ...task }: Task & Partial<TaskChanged>) => ({
  key,
  status,
  version,
  blockedBy,
  openCriteria: task.openCriteria,
  freed: task.freed?.map(titled),
  blocked: task.blocked?.map(titled),
})

const titled = ({ key, title }: { key: string; title: string }): string => `${key} ${quoted(title)}`

/** New tasks: the full first one, or keys and titles if there are several. */
export const created = ({ items: [first, ...others] }: CreatedMany) =>
  first && others.length === 0
    ? changed(first)
    : { created: [first, ...others].flatMap((task) => task ?? []).map(titled) }

/** The results of a completion, and the next task, in full if it was claimed. */
export async function completed({ items, next, claimed, noNext }: CompletedMany, _: unknown, ctx: Ctx) {
  const onward = { next: claimed ? { why: next?.why, ...(await begun(claimed, ctx)) } : next, noNext }
  const [first, ...others] = items
  if (first && others.length === 0) {
    const { version: _, blockedBy: __, ...state } = changed(first)
    return { ...state, already: first.already, takenOver: first.takenOver, ...onward }
  }
  const freed = items.flatMap((item) => item.freed).filter(({ key }) => !items.some((item) => item.key === key))
  return {
    done: items.map(({ key, openCriteria, already, takenOver }) =>
      openCriteria || already || takenOver ? { key, openCriteria, already, takenOver } : key,
    ),
    freed: freed.map(titled),
    ...onward,
  }
}

/** Fields that tools leave out, or show in another form. */
const others = new Set([
  'project',
  'can',
  'startedAt',
  'story',
  'epic',
  'parent',
  'features',
  'key',
  'title',
  'evidence',
  'lease',
])

/** Everything about a task that a worker may need. */
export const full = (task: TaskDetail, _: unknown, ctx: Ctx) => {
  const { key, title, waitsFor, comments, frees, subtasks, evidence } = task
  return {
    key,
    title,
    ...fieldsOf(task),
    acceptance: criteria(task),
    ...heldBy(task, ctx),
    waitsFor: waitsFor.map(({ kind: _, ...blocker }) => blocker),
    frees: frees.map(related),
    subtasks: subtasks.map(related),
    comments: comments.map(said),
    // The completion notes of a done task contain the evidence.
    ...(!isClosed(task.status) && evidence.length > 0 && { evidence: evidence.map(evidenceLine) }),
  }
}

/** Does not read the fields that are left out: permissions are expensive to compute. */
function fieldsOf(task: TaskDetail): Partial<TaskDetail> {
  const fields: Record<string, unknown> = {}
  for (const name in task) if (!others.has(name)) fields[name] = task[name as keyof TaskDetail]
  return fields
}

const related = ({ key, title, status }: { key: string; title: string; status: string }): string =>
  `${key} ${status} ${quoted(title)}`

/** A list of tasks, one line each, with what a worker needs to choose one. */
export const asLines = ({ items, ...page }: TaskPage, _: unknown, ctx: Ctx) => ({
  items: items.map((task) => lineOf(task, ctx)),
  ...page,
})

function lineOf({ key, status, priority, title, assignee, dueAt, blockedBy, lease }: TaskItem, ctx: Ctx): string {
  const isMine = lease !== null && sameParty(lease.holder, speaker(ctx))
  const nameOf = (party: NonNullable<TaskItem['assignee']>) =>
    sameParty(party, speaker(ctx)) ? 'me' : named(party.name)
  return [
    [key, status, priority !== 'medium' && priority, quoted(title)].filter(Boolean).join(' '),
    assignee && !(isMine && sameParty(assignee, speaker(ctx))) && `for ${nameOf(assignee)}`,
    lease && `${isMine ? 'yours' : `held by ${named(lease.holder.name)}`} until ${toMinute(lease.expiresAt)}`,
    blockedBy.length > 0 && `waits for ${blockedBy.join(', ')}`,
    dueAt && `due ${dueAt.slice(0, 10)}`,
  ]
    .filter(Boolean)
    .join('; ')
}
