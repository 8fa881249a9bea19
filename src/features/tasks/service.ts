import { eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member, throwIfRefused } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { invalid } from '../../errors.ts'
import { lastPosition } from '../../records/positions.ts'
import { changeLabels, isClosed, type LabelChange, type Status } from '../../records/task-states.ts'
import { findUserOrAgent, isSameUserOrAgent } from '../agents/users-and-agents.ts'
import { lockProject } from '../projects/lock.ts'
import { clearTicks, tickAccepted, toCriteria } from './acceptance/acceptance.ts'
import { addEvidence } from './acceptance/evidence.ts'
import {
  assigneeColumns,
  type FormerColumns,
  findConsequences,
  lockForChange,
  notifyAssignee,
  statusColumns,
  stillOpen,
  storeTask,
} from './change-task.ts'
import { addComment } from './comments.ts'
import { findBlockers, relateTasks, setBlockers, visibleBlockers } from './dependencies/dependencies.ts'
import { lockNeighbours } from './dependencies/neighbours.ts'
import { taskCompleted, taskCreated, taskUpdated } from './events.ts'
import { filesNamed } from './hooks.ts'
import { replacedValues } from './lists/replaced-values.ts'
import type { BatchNotices } from './many/notices.ts'
import { checkPlace, findPlanningProject, positionAfter, takeNumbers } from './places.ts'
import { blockedRefusal, findPermitted, requirePermitted, taskWriteRule } from './refusals.ts'
import { type FoundTask, findTask, HIDDEN, taskEvent } from './rows.ts'
import type { Task, TaskChanged, TaskCreate, TaskPatch } from './schema.ts'
import { tasks } from './table.ts'

export { complete, completeMany } from './acceptance/completion.ts'
export { getDetail } from './detail.ts'
export { listGroups } from './lists/groups.ts'
export { countTasks, list } from './lists/lists.ts'

export const get = read(
  'tasks.get',
  member('tasks:read'),
  (ctx, { ref }: { ref: string }): Promise<Task> => findTask(ctx, ref),
)

export const create = write(
  'tasks.create',
  member('tasks:write'),
  async (
    ctx,
    {
      projectRef,
      discoveredFrom,
      ...input
    }: TaskCreate & { id?: string; projectRef?: string; discoveredFrom?: string },
  ): Promise<Task> => {
    const origin = discoveredFrom === undefined ? undefined : await findTask(ctx, discoveredFrom)
    const project = await findPlanningProject(ctx, projectRef ?? origin?.projectId)
    const assignee = input.assignee ? await findUserOrAgent(ctx, project, input.assignee) : undefined
    const id = input.id ?? newId()
    const number = await takeNumbers(ctx, project.id, 1)
    const storyId = await checkPlace(ctx, project.id, input)
    const blockers = input.blockedBy?.length ? await findBlockers(ctx, project.organizationId, input.blockedBy) : []
    const near = [...blockers, ...(input.parentId ? [input.parentId] : [])]
    if (near.length > 0) await lockNeighbours(ctx, sql`false`, near)
    await ctx.db.insert(tasks).values({
      id,
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      number,
      title: input.title.trim(),
      description: input.description,
      status: input.status ?? 'todo',
      priority: input.priority ?? 'medium',
      storyId,
      parentId: input.parentId,
      assigneeType: assignee?.type,
      assigneeId: assignee?.id,
      labels: input.labels ?? [],
      dueAt: input.dueAt,
      estimate: input.estimate,
      acceptance: toCriteria(input.acceptance ?? []),
      position: (await lastPosition(ctx, tasks, eq(tasks.projectId, project.id))) + 1,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    if (blockers.length > 0)
      await setBlockers(ctx, { id, organizationId: project.organizationId, projectId: project.id }, blockers)
    const task = await findTask(ctx, id)
    ctx.emit(taskCreated, taskEvent(task))
    if (input.files?.length) await filesNamed.call(ctx, { task, files: input.files })
    if (origin) await relateTasks(ctx, { ref: id, task: origin.id, kind: 'discovered_from' })
    await notifyAssignee(ctx, task, assignee)
    return task
  },
)

/**
 * Changes the given fields, and adds the evidence and the comment. A comment alone can be added to a task that someone
 * else holds.
 */
export const update = write(
  'tasks.update',
  taskWriteRule,
  async (
    ctx,
    { ref, comment: said, asks, evidence, ...given }: TaskPatch & { ref: string } & Internal,
  ): Promise<TaskChanged> => {
    const { dependencyId, former, known, notices, ...patch } = given
    const isChange = (said ?? evidence) === undefined || Object.keys(patch).length > 0
    const action = isChange || evidence ? 'update' : 'comment'
    const found: KnownTask = known ? requirePermitted(ctx, known, action) : await findPermitted(ctx, ref, action)
    checkVersion(ctx, found.task)
    const changed = isChange
      ? await applyPatch(ctx, found, patch, { dependencyId, former, notices })
      : { ...found.task, ...stillOpen(found.task), freed: [], blocked: [] }
    if (evidence) await addEvidence(ctx, changed, evidence)
    if (said !== undefined) await addComment(ctx, { ref: found.task.id, body: said, asks })
    return changed
  },
  { versioned: true, undoable: true },
)

/** A task, as the same transaction has just read it. */
export interface KnownTask extends FoundTask {
  /** Set if the task and those next to it are locked: how many open tasks wait for it. */
  locked?: { openWaiters: number }
}

/** What only other features of the server can set. */
interface Internal {
  /** The id of a new dependency. */
  dependencyId?: string
  /** With an undo. */
  former?: FormerColumns
  known?: KnownTask
  /** Collects the notifications of a batch. */
  notices?: BatchNotices
}

async function applyPatch(
  ctx: Ctx,
  found: KnownTask,
  { keepTicks, ...patch }: Omit<TaskPatch, 'comment' | 'asks' | 'evidence'>,
  { dependencyId, former, notices }: Internal,
): Promise<TaskChanged> {
  const { task: before, project } = found
  if (patch.storyId || patch.parentId) await lockProject(ctx, before.projectId)
  await checkPlace(ctx, before.projectId, patch, before.id)
  const {
    blockedBy,
    addBlockedBy,
    removeBlockedBy,
    assignee: named,
    after,
    acceptance: given,
    accepted,
    status,
    title,
    ...rest
  } = patch
  const { labels, addLabels, removeLabels, ...plain } = rest
  const cleared = status && !keepTicks ? ticksClearedBy(before, status) : []
  const known = cleared.length > 0 ? clearTicks(before.acceptance) : before.acceptance
  const acceptance =
    given || accepted || cleared.length > 0
      ? tickAccepted(given ? toCriteria(given, known) : known, accepted)
      : undefined
  const blockers = await blockersAfter(ctx, before, patch)
  if (!found.locked || blockers) await lockForChange(ctx, before, patch, blockers)
  const tied = blockers && { before: await visibleBlockers(ctx, before.id), after: blockers }
  // A caller who sends back the list that they read keeps the blockers that they cannot see.
  const keepHidden = blockedBy?.includes(HIDDEN) ?? true
  if (blockers) await setBlockers(ctx, before, blockers, { keepHidden, dependencyId })
  const assignee = named ? await findUserOrAgent(ctx, project, named) : undefined
  // An undo may reopen a task that was completed despite its blockers.
  if (status && status !== before.status && !(former && isClosed(before.status)))
    throwIfRefused(blockedRefusal(blockers ? await findTask(ctx, before.id) : before, status))
  const changed = await storeTask(ctx, before, {
    ...plain,
    ...(title !== undefined && { title: title.trim() }),
    ...((labels || addLabels || removeLabels) && { labels: labelsAfter(before, rest) }),
    ...(acceptance && { acceptance }),
    ...(after !== undefined && { position: await positionAfter(ctx, before, after) }),
    ...(named !== undefined && assigneeColumns(ctx, before, assignee)),
    ...(status && statusColumns(ctx, found, status, acceptance)),
    ...former,
  })
  emitChange(ctx, before, changed, { fields: Object.keys({ ...patch, ...former }), status, cleared })
  if (assignee && !(before.assignee && isSameUserOrAgent(before.assignee, assignee)))
    await notifyAssignee(ctx, changed, assignee, notices)
  return {
    ...changed,
    ...stillOpen(changed),
    ...(await findConsequences(ctx, found, changed, { blockers: tied, notices, locked: found.locked })),
  }
}

const MOST_BLOCKERS = 50

function emitChange(
  ctx: Ctx,
  before: Task,
  changed: Task,
  { fields, status, cleared }: { fields: string[]; status: Task['status'] | undefined; cleared: string[] },
): void {
  const history = { fields, ...(status && { from: before.status }), ...replacedValues(before, changed) }
  if (changed.status === 'done' && before.status !== 'done')
    ctx.emit(taskCompleted, taskEvent(changed, history, before))
  else ctx.emit(taskUpdated, taskEvent(changed, { ...history, ...(cleared.length > 0 && { cleared }) }, before))
}

/** Returns the blockers of a task after a change that replaces, adds or removes some; undefined if it does none. */
async function blockersAfter(
  ctx: Ctx,
  { id, key, organizationId }: Task,
  { blockedBy, addBlockedBy = [], removeBlockedBy = [] }: TaskPatch,
): Promise<string[] | undefined> {
  if (!blockedBy && addBlockedBy.length + removeBlockedBy.length === 0) return undefined
  const added = await findBlockers(ctx, organizationId, [...(blockedBy ?? []), ...addBlockedBy])
  const removed = await findBlockers(ctx, organizationId, removeBlockedBy)
  const kept = blockedBy ? [] : await visibleBlockers(ctx, id)
  const after = [...new Set([...kept, ...added]).difference(new Set(removed))]
  if (after.length > MOST_BLOCKERS && after.length > kept.length)
    throw invalid(
      '/addBlockedBy',
      `A task can wait for at most ${MOST_BLOCKERS} tasks; ${key} would wait for ${after.length}.`,
    )
  return after
}

/** Returns the criteria that a change of status unticks: reopening a task unticks all. */
const ticksClearedBy = ({ status: before, acceptance }: Task, status: Status): string[] =>
  isClosed(before) && !isClosed(status) ? acceptance.filter(({ done }) => done).map(({ text }) => text) : []

const MOST_LABELS = 50

function labelsAfter(before: Task, change: LabelChange): string[] {
  const after = changeLabels(before.labels, change)
  if (after.length > MOST_LABELS)
    throw invalid(
      '/addLabels',
      `A task can have at most ${MOST_LABELS} labels; ${before.key} would have ${after.length}.`,
    )
  return after
}
