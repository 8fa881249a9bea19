import { and, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, write } from '../../action.ts'
import { isInPerson } from '../../auth/actor.ts'
import { member, throwIfRefused } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { AppError } from '../../errors.ts'
import { requireRestorer } from '../../records/restore-rights.ts'
import { isRestorable } from '../../records/rows.ts'
import { emitChanged, emitChangedRows } from '../../records/synced-changes.ts'
import { quoteText } from '../../text/quoting.ts'
import { lockProject } from '../projects/lock.ts'
import { lockTeam } from '../projects/names.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import { stories } from '../stories/table.ts'
import { requireNoCircle, unblockTasks } from './dependencies/dependencies.ts'
import { lockNeighbours } from './dependencies/neighbours.ts'
import { taskDeleted, taskRestored } from './events.ts'
import { abandonedColumns } from './leases/departures.ts'
import { findPermitted, heldRefusal, taskWriteRule } from './refusals.ts'
import { findAnyWithProject, findTask, findWithProject, taskEvent } from './rows.ts'
import type { Task } from './schema.ts'
import { taskComments, tasks } from './table.ts'

/** Deletes tasks with their parts. Rows deleted together get the same `deletedAt`, so that restore can find them. */

/** SQL for the tasks that meet a condition, and their parts at any depth. */
const withParts = (roots: SQL, state: SQL): SQL =>
  sql`(with recursive below (id) as (
    select ${tasks.id} from ${tasks} where ${roots} and ${state}
    union select ${tasks.id} from ${tasks} join below on ${tasks.parentId} = below.id where ${state}
  ) select id from below)`

const raisedVersion = (ctx: Ctx) => ({ updatedAt: ctx.now, version: sql`${tasks.version} + 1` })

interface DeletedTask {
  id: string
  version: number
  organizationId: string
  projectId: string
}
const deletedColumns = {
  id: tasks.id,
  version: tasks.version,
  organizationId: tasks.organizationId,
  projectId: tasks.projectId,
}

/** Soft-deletes tasks and unblocks those that waited for them. An agent cannot delete a task that another one holds. */
export async function deleteTasks(ctx: Ctx, roots: SQL, what: string): Promise<DeletedTask[]> {
  const these = sql`${tasks.id} in ${withParts(roots, isNull(tasks.deletedAt))}`
  if (!isInPerson(ctx.actor)) {
    const held = await ctx.db
      .select({ id: tasks.id })
      .from(tasks)
      .where(and(these, sql`${tasks.leaseExpiresAt} > ${ctx.now}`))
    for (const { id } of held) throwIfRefused(heldRefusal(ctx, await findWithProject(ctx, id)))
  }
  await lockNeighbours(ctx, these)
  const deleted = await ctx.db
    .update(tasks)
    .set({ deletedAt: ctx.now, ...abandonedColumns(ctx.now), ...raisedVersion(ctx) })
    .where(these)
    .returning(deletedColumns)
  if (deleted.length > 0)
    await unblockTasks(
      ctx,
      deleted.map(({ id }) => id),
      what,
    )
  return deleted
}

/** Restores the tasks that were deleted together at `deletedAt`. */
export async function restoreTasks(ctx: Ctx, organizationId: string, roots: SQL, deletedAt: string): Promise<number> {
  await lockTeam(ctx, organizationId)
  const these = sql`${tasks.id} in ${withParts(roots, eq(tasks.deletedAt, deletedAt))}`
  await lockNeighbours(ctx, these)
  const back = await ctx.db
    .update(tasks)
    .set({ deletedAt: null, ...raisedVersion(ctx) })
    .where(these)
    .returning(deletedColumns)
  emitChangedRows(ctx, 'task', back)
  if (back[0]) emitChanged(ctx, 'comment', back[0], await commentsOf(ctx, back))
  if (back.length > 0)
    await requireNoCircle(
      ctx,
      back.map(({ id }) => id),
    )
  return back.length
}

/** Restores the comments together with their task. */
async function commentsOf(ctx: Ctx, back: readonly DeletedTask[]): Promise<string[]> {
  const rows = await ctx.db
    .select({ id: taskComments.id })
    .from(taskComments)
    .where(anyOf(taskComments.taskId, idList(back.map(({ id }) => id))))
  return rows.map(({ id }) => id)
}

export const remove = write(
  'tasks.remove',
  taskWriteRule,
  async (ctx, { ref, reason }: { ref: string; reason?: string }): Promise<{ id: string; deleted: true }> => {
    const { projectId } = (await findPermitted(ctx, ref, 'remove')).task
    await lockProject(ctx, projectId)
    const task = await findTask(ctx, ref)
    checkVersion(ctx, task)
    const gone = await deleteTasks(ctx, eq(tasks.id, task.id), task.key)
    const { version = task.version } = gone.find(({ id }) => id === task.id) ?? {}
    const parts = gone.length - 1
    emitChangedRows(
      ctx,
      'task',
      gone.filter(({ id }) => id !== task.id),
    )
    ctx.emit(taskDeleted, taskEvent({ ...task, version }, { ...(reason && { reason }), ...(parts > 0 && { parts }) }))
    return { id: task.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/** Restores a task that was deleted in the last 30 days. It keeps its number. */
export const restore = write(
  'tasks.restore',
  member('tasks:write'),
  async (ctx, { ref }: { ref: string }): Promise<Task> => {
    const { task, project, deletedAt } = await findAnyWithProject(ctx, ref, isRestorable(tasks.deletedAt, ctx.now))
    await requireRestorer(ctx, { ...task, deletedAt }, taskDeleted, 'Restoring a task')
    requireOpenProject(ctx, project, 'Restoring a task')
    checkVersion(ctx, task)
    if (deletedAt === null) return task
    await lockProject(ctx, task.projectId)
    await requireLiveParents(ctx, task)
    const many = await restoreTasks(ctx, task.organizationId, eq(tasks.id, task.id), deletedAt)
    const back = await findTask(ctx, task.id)
    ctx.emit(taskRestored, taskEvent(back, many > 1 ? { parts: many - 1 } : {}))
    return back
  },
  { idempotent: true, versioned: true },
)

/** Requires that the task's story and parent are not deleted. */
async function requireLiveParents(ctx: Ctx, { storyId, parentId }: Task): Promise<void> {
  const [story] = storyId
    ? await ctx.db
        .select({ title: stories.title })
        .from(stories)
        .where(and(eq(stories.id, storyId), isNotNull(stories.deletedAt)))
    : []
  if (story)
    throw new AppError(
      'conflict',
      `The story of this task, ${quoteText(story.title)}, is deleted. Restore the story first.`,
    )
  const [parent] = parentId
    ? await ctx.db
        .select({ title: tasks.title })
        .from(tasks)
        .where(and(eq(tasks.id, parentId), isNotNull(tasks.deletedAt)))
    : []
  if (parent)
    throw new AppError(
      'conflict',
      `The parent of this task, ${quoteText(parent.title)}, is deleted. Restore the parent first.`,
    )
}
