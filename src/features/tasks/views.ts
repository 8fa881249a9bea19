import type { Ctx } from '../../action.ts'
import { waitCommand } from '../../command-line.ts'
import { isClosed } from '../../records/task-states.ts'
import { quoteName, quoteText } from '../../text/quoting.ts'
import { currentUserOrAgent, isSameUserOrAgent } from '../agents/users-and-agents.ts'
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
function leaseView({ key, lease }: TaskItem, ctx: Ctx) {
  if (!lease) return {}
  if (isSameUserOrAgent(lease.holder, currentUserOrAgent(ctx))) return { yoursUntil: toMinute(lease.expiresAt) }
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
export async function claimedTaskView(task: TaskClaimed, ctx: Ctx) {
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
    comments: comments.slice(-LAST_COMMENTS).map(commentView),
    lastCheckpoint: checkpointFor(ctx, found),
    ...leaseView(task, ctx),
    takenOver: task.takenOver,
    createdById,
  }
}

/** The next task to work on; otherwise why each open task has to wait. */
export const nextOrWhyNone = async ({ task, why, waiting }: NextTask, _: unknown, ctx: Ctx) => ({
  task: task && (await claimedTaskView(task, ctx)),
  why,
  waiting: waiting.map(({ key, title, reason }) => `${key} ${quoteText(title)} ${reason}`),
})

const commentView = ({ author, createdAt: at, body, asks }: Comment) => ({ author, at, body, ...(asks && { asks }) })

/** A task after a change: its key and state, and the other tasks that the change affected. */
export const changedTaskView = ({ key, status, version, blockedBy, ...task }: Task & Partial<TaskChanged>) => ({
  key,
  status,
  version,
  blockedBy,
  openCriteria: task.openCriteria,
  freed: task.freed?.map(keyAndTitle),
  blocked: task.blocked?.map(keyAndTitle),
})

const keyAndTitle = ({ key, title }: { key: string; title: string }): string => `${key} ${quoteText(title)}`

/** New tasks: the full first one, or keys and titles if there are several. */
export const createdTasksView = ({ items: [first, ...others] }: CreatedMany) =>
  first && others.length === 0
    ? changedTaskView(first)
    : { created: [first, ...others].flatMap((task) => task ?? []).map(keyAndTitle) }

/** The results of a completion, and the next task, in full if it was claimed. */
export async function completedTasksView({ items, next, claimed, noNext }: CompletedMany, _: unknown, ctx: Ctx) {
  const onward = { next: claimed ? { why: next?.why, ...(await claimedTaskView(claimed, ctx)) } : next, noNext }
  const [first, ...others] = items
  if (first && others.length === 0) {
    const { version: _, blockedBy: __, ...state } = changedTaskView(first)
    return { ...state, already: first.already, takenOver: first.takenOver, ...onward }
  }
  const freed = items.flatMap((item) => item.freed).filter(({ key }) => !items.some((item) => item.key === key))
  return {
    done: items.map(({ key, openCriteria, already, takenOver }) =>
      openCriteria || already || takenOver ? { key, openCriteria, already, takenOver } : key,
    ),
    freed: freed.map(keyAndTitle),
    ...onward,
  }
}

/** Fields that tools leave out, or show in another form. */
const hiddenFields = new Set([
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
export const fullTaskView = (task: TaskDetail, _: unknown, ctx: Ctx) => {
  const { key, title, waitsFor, comments, frees, subtasks, evidence } = task
  return {
    key,
    title,
    ...fieldsOf(task),
    acceptance: criteria(task),
    ...leaseView(task, ctx),
    waitsFor: waitsFor.map(({ kind: _, ...blocker }) => blocker),
    frees: frees.map(relatedLine),
    subtasks: subtasks.map(relatedLine),
    comments: comments.map(commentView),
    // The completion notes of a done task contain the evidence.
    ...(!isClosed(task.status) && evidence.length > 0 && { evidence: evidence.map(evidenceLine) }),
  }
}

/** Does not read the fields that are left out: permissions are expensive to compute. */
function fieldsOf(task: TaskDetail): Partial<TaskDetail> {
  const fields: Record<string, unknown> = {}
  for (const name in task) if (!hiddenFields.has(name)) fields[name] = task[name as keyof TaskDetail]
  return fields
}

const relatedLine = ({ key, title, status }: { key: string; title: string; status: string }): string =>
  `${key} ${status} ${quoteText(title)}`

/** A list of tasks, one line each, with what a worker needs to choose one. */
export const taskLines = ({ items, ...page }: TaskPage, _: unknown, ctx: Ctx) => ({
  items: items.map((task) => taskLine(task, ctx)),
  ...page,
})

function taskLine({ key, status, priority, title, assignee, dueAt, blockedBy, lease }: TaskItem, ctx: Ctx): string {
  const isMine = lease !== null && isSameUserOrAgent(lease.holder, currentUserOrAgent(ctx))
  const nameOf = (party: NonNullable<TaskItem['assignee']>) =>
    isSameUserOrAgent(party, currentUserOrAgent(ctx)) ? 'me' : quoteName(party.name)
  return [
    [key, status, priority !== 'medium' && priority, quoteText(title)].filter(Boolean).join(' '),
    assignee && !(isMine && isSameUserOrAgent(assignee, currentUserOrAgent(ctx))) && `for ${nameOf(assignee)}`,
    lease && `${isMine ? 'yours' : `held by ${quoteName(lease.holder.name)}`} until ${toMinute(lease.expiresAt)}`,
    blockedBy.length > 0 && `waits for ${blockedBy.join(', ')}`,
    dueAt && `due ${dueAt.slice(0, 10)}`,
  ]
    .filter(Boolean)
    .join('; ')
}
