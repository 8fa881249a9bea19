import { and, eq, inArray, isNull, notInArray, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import { notify } from '../notifications/service.ts'
import { organizations } from '../organizations/table.ts'
import { requireWriter } from '../projects/service.ts'
import { projects } from '../projects/table.ts'
import { find } from './rows.ts'
import { closed, gated, type Relate, type Related, type Status, type Task, type TaskItem } from './schema.ts'
import { taskDependencies, tasks } from './table.ts'

const related = {
  id: tasks.id,
  projectKey: projects.key,
  number: tasks.number,
  title: tasks.title,
  status: tasks.status,
  kind: taskDependencies.kind,
}
type Row = { id: string; projectKey: string; number: number; title: string; status: Status; kind: Related['kind'] }
const toRelated = ({ projectKey, number, ...rest }: Row): Related => ({ ...rest, key: `${projectKey}-${number}` })

/** What it waits for, or what waits for it. */
export async function relatives(ctx: Ctx, taskId: string, direction: 'waitsFor' | 'frees'): Promise<Related[]> {
  const [own, other] =
    direction === 'waitsFor'
      ? [taskDependencies.taskId, taskDependencies.blockedById]
      : [taskDependencies.blockedById, taskDependencies.taskId]
  const rows = await ctx.db
    .select(related)
    .from(taskDependencies)
    .innerJoin(tasks, and(eq(tasks.id, other), isNull(tasks.deletedAt)))
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(eq(own, taskId))
    .orderBy(tasks.number)
    .limit(100)
  return rows.map(toRelated)
}

/** Replaces what a task waits for. Those who do so at the same moment take turns, or together they could make a cycle. */
export async function setBlockers(ctx: Ctx, task: Pick<TaskItem, 'id' | 'key' | 'organizationId'>, refs: readonly string[]): Promise<void> {
  await ctx.db.select({ id: organizations.id }).from(organizations).where(eq(organizations.id, task.organizationId)).for('no key update')
  const blockers: Task[] = []
  for (const ref of refs) {
    const blocker = await find(ctx, ref)
    if (blocker.organizationId !== task.organizationId)
      throw invalid('/blockedBy', `${blocker.key} belongs to another team; a task can only wait for tasks of its own.`)
    if (blocker.id === task.id) throw invalid('/blockedBy', `${task.key} cannot wait for itself.`, 'cycle')
    blockers.push(blocker)
  }
  await ctx.db.delete(taskDependencies).where(and(eq(taskDependencies.taskId, task.id), eq(taskDependencies.kind, 'blocks')))
  if (blockers.length > 0)
    await ctx.db
      .insert(taskDependencies)
      .values(blockers.map((b) => ({ taskId: task.id, blockedById: b.id, kind: 'blocks' as const, createdAt: ctx.now })))
      .onConflictDoNothing()
  const path = await cycleThrough(ctx, task.id)
  if (path)
    throw new AppError('conflict.cycle', `These tasks would wait for each other: ${path.join(' → ')}. Leave one of the dependencies out.`)
}

/** `TUT-1 → TUT-2 → TUT-1`, if the task waits for itself through others. */
async function cycleThrough(ctx: Ctx, taskId: string): Promise<string[] | undefined> {
  const { rows } = await ctx.db.execute<{ path: string }>(sql`
    with recursive walk as (
      select d.blocked_by_id as at, array[d.task_id, d.blocked_by_id] as path from ${taskDependencies} d
        where d.task_id = ${taskId} and d.kind = 'blocks'
      union all
      select d.blocked_by_id, walk.path || d.blocked_by_id from walk join ${taskDependencies} d on d.task_id = walk.at and d.kind = 'blocks'
        join ${tasks} t on t.id = walk.at and t.deleted_at is null
        where walk.at <> ${taskId} and not d.blocked_by_id = any(walk.path[2:])
    )
    select (select string_agg(p.key || '-' || t.number, ',' order by n.ord) from unnest(walk.path) with ordinality n(id, ord)
      join ${tasks} t on t.id = n.id join ${projects} p on p.id = t.project_id) as path
    from walk where walk.at = ${taskId} order by array_length(walk.path, 1) limit 1`)
  return rows[0]?.path.split(',')
}

/** Refuses a move that open blockers forbid. */
export function requireFree({ key, blockedBy }: Pick<TaskItem, 'key' | 'blockedBy'>, to: Status): void {
  if (!gated.has(to) || blockedBy.length === 0) return
  const [first] = blockedBy
  throw new AppError(
    'conflict.blocked',
    `${key} cannot become ${to}: it waits for ${blockedBy.join(', ')}. Finish ${blockedBy.length > 1 ? 'those' : first} first, or take them out of blockedBy.`,
  )
}

interface Waiting {
  id: string
  key: string
  title: string
}

/**
 * What a closed (or reopened) task means for those that wait for it. A freed one that somebody had marked as blocked goes back to `todo`,
 * and its assignee is told.
 */
export async function ripple(
  ctx: Ctx,
  task: Pick<TaskItem, 'id' | 'key'>,
  isClosed: boolean,
): Promise<{ freed: Waiting[]; blocked: Waiting[] }> {
  const waiting = (await relatives(ctx, task.id, 'frees')).filter((r) => r.kind === 'blocks' && !closed.includes(r.status as never))
  const list = waiting.map(({ id, key, title }) => ({ id, key, title }))
  if (!isClosed) return { freed: [], blocked: list }
  if (list.length === 0) return { freed: [], blocked: [] }
  const still = await ctx.db
    .selectDistinct({ id: taskDependencies.taskId })
    .from(taskDependencies)
    .innerJoin(tasks, and(eq(tasks.id, taskDependencies.blockedById), isNull(tasks.deletedAt), notInArray(tasks.status, [...closed])))
    .where(
      and(
        inArray(
          taskDependencies.taskId,
          list.map((t) => t.id),
        ),
        eq(taskDependencies.kind, 'blocks'),
      ),
    )
  const held = new Set(still.map((s) => s.id))
  const freed = list.filter((t) => !held.has(t.id))
  if (freed.length > 0) await release(ctx, task.key, freed)
  return { freed, blocked: [] }
}

async function release(ctx: Ctx, by: string, freed: Waiting[]): Promise<void> {
  const ids = freed.map((t) => t.id)
  const rows = await ctx.db
    .update(tasks)
    .set({ status: 'todo', updatedAt: ctx.now, version: sql`${tasks.version} + 1` })
    .where(and(inArray(tasks.id, ids), eq(tasks.status, 'blocked')))
    .returning({ id: tasks.id, organizationId: tasks.organizationId, projectId: tasks.projectId })
  for (const { id, ...place } of rows)
    ctx.emit('task.updated', { subjectId: id, ...place, data: { fields: ['status'], status: 'todo', freedBy: by } })
  const assigned = await ctx.db
    .select({ id: tasks.id, userId: tasks.assigneeId })
    .from(tasks)
    .where(and(inArray(tasks.id, ids), eq(tasks.assigneeType, 'user')))
  for (const { id, userId } of assigned) {
    const task = freed.find((t) => t.id === id) as Waiting
    if (userId && userId !== ctx.actor.userId)
      await notify(ctx, {
        userId,
        reason: 'freed',
        title: `${task.key} can be started`,
        message: `${by} is closed: ${task.title}`,
        link: `/tasks/${task.key}`,
      })
  }
}

/** Ties that are no order of work: relates, discovered_from, duplicates. */
export const relate = write(
  'tasks.relate',
  member('tasks:write'),
  async (ctx, { ref, task: other, kind }: Relate & { ref: string }): Promise<Task> => {
    const [task, to] = [await find(ctx, ref), await find(ctx, other)]
    await requireWriter(ctx, task, 'Changing this task')
    if (task.organizationId !== to.organizationId || task.id === to.id) throw invalid('/task', 'Name another task of the same team.')
    await ctx.db.insert(taskDependencies).values({ taskId: task.id, blockedById: to.id, kind, createdAt: ctx.now }).onConflictDoNothing()
    ctx.emit('task.related', {
      subjectId: task.id,
      organizationId: task.organizationId,
      projectId: task.projectId,
      data: { key: task.key, title: task.title, to: to.key, kind },
    })
    return task
  },
  { idempotent: true },
)
