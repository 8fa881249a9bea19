import { eq, inArray, type SQL, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../../action.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and, or } from '../../../db/conditions.ts'
import { AppError, invalid } from '../../../errors.ts'
import { nameChanged } from '../../../records/changed.ts'
import { circleIn, wayTo } from '../../../records/cycles.ts'
import { notify } from '../../notifications/service.ts'
import { organizations } from '../../organizations/table.ts'
import { readersOf } from '../../projects/readers.ts'
import { visibleTo as projectVisibleTo } from '../../projects/rows.ts'
import { projects } from '../../projects/table.ts'
import { taskFreed, taskRelated, taskUnrelated } from '../events.ts'
import { changing, permitted } from '../refusals.ts'
import { about, find, findWithProject, HIDDEN, live, selectItems, toItem, visibleTo, withProject } from '../rows.ts'
import type { Relate, Task, TaskItem } from '../schema.ts'
import { taskDependencies as dependencies, tasks } from '../table.ts'

const MOST_SHOWN = 100

/** Locks the team, because two concurrent changes of dependencies could together create a cycle. */
export const takeTurns = (ctx: Ctx, organizationId: string): Promise<unknown> =>
  ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for('no key update')

/** Finds blockers for a task of the team, and locks the team. `hidden` stands for those that the caller cannot see. */
export async function findBlockers(ctx: Ctx, organizationId: string, refs: readonly string[]): Promise<string[]> {
  await takeTurns(ctx, organizationId)
  const blockers = new Set<string>()
  for (const ref of refs) {
    if (ref === HIDDEN) continue
    const blocker = await find(ctx, ref)
    if (blocker.organizationId !== organizationId)
      throw invalid('/blockedBy', `${blocker.key} belongs to another team. Blockers must belong to the task's team.`)
    blockers.add(blocker.id)
  }
  return [...blockers]
}

type Waiting = Pick<Task, 'id' | 'organizationId' | 'projectId'>
interface HowToBlock {
  /** Keeps the blockers that the caller does not see. */
  keepHidden?: boolean
  /** The id of a dependency that is new. Default: any. */
  dependencyId?: string
}

/** Replaces the blockers of a task. Lock its neighbours before. */
export async function setBlockers(
  ctx: Ctx,
  task: Waiting,
  blockers: readonly string[],
  { keepHidden = false, dependencyId }: HowToBlock = {},
): Promise<void> {
  const seen = sql`${dependencies.blockedById} in (select ${tasks.id} from ${withProject}
    where ${visibleTo(rightsOf(ctx.actor))})`
  const removed = await ctx.db
    .delete(dependencies)
    .where(
      and(
        eq(dependencies.taskId, task.id),
        eq(dependencies.kind, 'blocks'),
        sql`not ${anyOf(dependencies.blockedById, idList(blockers))}`,
        keepHidden ? seen : undefined,
      ),
    )
    .returning({ id: dependencies.id })
  const added = await addDependencies(
    ctx,
    blockers.map((blockedById) => ({ id: dependencyId, taskId: task.id, blockedById, kind: 'blocks' })),
  )
  nameDependencies(ctx, task, [...removed, ...added])
  if (added.length > 0) await requireNoCircle(ctx, [task.id])
}

/** Returns the blockers of a task that the caller sees. */
export async function visibleBlockers(ctx: Ctx, taskId: string): Promise<string[]> {
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    select ${tasks.id} as id from ${withProject} where ${visibleTo(rightsOf(ctx.actor))} and ${tasks.id} in (
      select d.blocked_by_id from ${dependencies} d where d.task_id = ${taskId}::uuid and d.kind = 'blocks')`)
  return rows.map(({ id }) => id)
}

type Dependency = Pick<typeof dependencies.$inferInsert, 'id' | 'taskId' | 'blockedById' | 'kind'>

/** Adds those of these dependencies that are not there. Returns their ids. */
export async function addDependencies(ctx: Ctx, wanted: readonly Dependency[]): Promise<{ id: string }[]> {
  if (wanted.length === 0) return []
  return ctx.db
    .insert(dependencies)
    .values(wanted.map((one) => ({ ...one, createdAt: ctx.now })))
    .onConflictDoNothing({ target: [dependencies.taskId, dependencies.blockedById, dependencies.kind] })
    .returning({ id: dependencies.id })
}

/** Names dependencies that came or went, for devices that hold the project of their task. */
export const nameDependencies = (ctx: Ctx, of: Omit<Waiting, 'id'>, list: readonly { id: string }[]): void =>
  nameChanged(
    ctx,
    'dependency',
    { organizationId: of.organizationId, projectId: of.projectId },
    list.map(({ id }) => id),
  )

/** Requires that none of these tasks, which have new dependencies or were restored, blocks itself through others. */
export async function requireNoCircle(ctx: Ctx, ids: readonly string[]): Promise<void> {
  // `union` visits every task once; a plan has far more paths than tasks.
  const { rows: edges } = await ctx.db.execute<{ from: string; to: string }>(sql`
    with recursive blockers (id) as (
      select unnest(${idList(ids)}::uuid[])
      union select d.blocked_by_id from blockers join ${dependencies} d on d.task_id = blockers.id and d.kind = 'blocks'
        join ${tasks} t on t.id = d.blocked_by_id and t.deleted_at is null
    )
    select d.task_id as from, d.blocked_by_id as to from blockers
    join ${dependencies} d on d.task_id = blockers.id and d.kind = 'blocks'
      join ${tasks} t on t.id = d.blocked_by_id and t.deleted_at is null`)
  const circle = circleIn(edges)
  if (!circle) return
  const waitsFor = Map.groupBy(edges, ({ from }) => from)
  const suspects = ids.filter((id) => circle.has(id))
  for (const id of suspects.length > 0 ? suspects : ids) {
    const starts = waitsFor.get(id)?.map(({ to }) => to)
    const way = starts && wayTo(id, starts, edges)
    if (way)
      throw new AppError(
        'conflict.cycle',
        `These tasks would wait for each other: ${await inWords(ctx, [id, ...way])}. Remove one of the dependencies.`,
      )
  }
}

const MOST_NAMED = 20

async function inWords(ctx: Ctx, way: readonly string[]): Promise<string> {
  const named = way.length > MOST_NAMED ? [...way.slice(0, MOST_NAMED - 1), ...way.slice(-1)] : way
  const rows = await ctx.db
    .select({ id: tasks.id, key: projects.key, number: tasks.number })
    .from(tasks)
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(and(anyOf(tasks.id, idList(named)), projectVisibleTo(rightsOf(ctx.actor))))
  const keys = new Map(rows.map(({ id, key, number }) => [id, `${key}-${number}`]))
  const texts = named.map((id) => keys.get(id) ?? HIDDEN)
  return (
    named === way ? texts : [...texts.slice(0, -1), `… (${way.length - MOST_NAMED} more)`, ...texts.slice(-1)]
  ).join(' → ')
}

type Named = Pick<TaskItem, 'id' | 'key' | 'title' | 'createdById'>
const waitingFor = (ids: readonly string[]): SQL =>
  and(
    live,
    sql`${tasks.status} not in ('done', 'cancelled')`,
    sql`${tasks.id} in (select d.task_id from ${dependencies} d
      where d.kind = 'blocks' and d.blocked_by_id = any(${idList(ids)}::uuid[]))`,
  )
const named = ({ id, key, title, createdById }: Named): Named => ({ id, key, title, createdById })

/** Returns the tasks that are blocked again, as far as the caller sees them. */
export async function blockedAgain(ctx: Ctx, id: string): Promise<Named[]> {
  const rows = await selectItems(ctx)
    .where(and(waitingFor([id]), visibleTo(rightsOf(ctx.actor))))
    .orderBy(tasks.number)
    .limit(MOST_SHOWN)
  return rows.map((row) => named(toItem(row, ctx.now)))
}

/**
 * Call after these tasks were closed or deleted. Tasks that waited for nothing else can be started now: those marked as
 * blocked go back to `todo`, and their assignees are notified. Returns the tasks that the caller sees.
 */
export async function setFree(ctx: Ctx, ids: readonly string[], by: string): Promise<Named[]> {
  // Two callers may close the last two blockers at once: the lock makes the second one wait and see the first change.
  const waiting = await ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .where(waitingFor(ids))
    .orderBy(tasks.id)
    .for('no key update')
  if (waiting.length === 0) return []
  const rows = await selectItems(ctx).where(and(waitingFor(ids), eq(tasks.hasOpenBlockers, false)))
  if (rows.length === 0) return []
  const from = await projectOf(ctx, ids)
  const freed = rows.map((row) => toItem(row, ctx.now))
  await ctx.db
    .update(tasks)
    .set({ status: 'todo', updatedAt: ctx.now, version: sql`${tasks.version} + 1` })
    .where(and(anyOf(tasks.id, idList(freed.map(({ id }) => id))), eq(tasks.status, 'blocked')))
  for (const task of freed) {
    const stopped = task.status === 'blocked'
    const freer = from?.id === task.projectId ? { by } : {}
    ctx.emit(taskFreed, about(stopped ? { ...task, status: 'todo', version: task.version + 1 } : task, freer))
  }
  await notifyAssignees(ctx, freed, (task) => (isShownIn(task, from) ? by : 'The last task before it'))
  const shown = await selectItems(ctx)
    .where(and(anyOf(tasks.id, idList(freed.map(({ id }) => id))), visibleTo(rightsOf(ctx.actor))))
    .orderBy(tasks.number)
    .limit(MOST_SHOWN)
  return shown.map((row) => named(toItem(row, ctx.now)))
}

type Place = { id: string; visibility: string }

/** Returns the project of tasks that all belong to one. */
async function projectOf(ctx: Ctx, ids: readonly string[]): Promise<Place | undefined> {
  const [found] = await ctx.db
    .select({ id: projects.id, visibility: projects.visibility })
    .from(tasks)
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(anyOf(tasks.id, idList(ids)))
    .limit(1)
  return found
}

/**
 * Returns whether people who see the task's project may be told of the other one. Events do not use this rule, because
 * credentials that are limited to the task's project read them too.
 */
const isShownIn = ({ projectId }: Pick<TaskItem, 'projectId'>, other: Place | undefined): boolean =>
  other !== undefined && (other.id === projectId || other.visibility !== 'private')

/** Notifies the assignees who can still see the project. */
async function notifyAssignees(ctx: Ctx, freed: readonly TaskItem[], by: (task: TaskItem) => string): Promise<void> {
  const theirs = freed.filter(({ assignee }) => assignee?.type === 'user' && assignee.id !== ctx.actor.userId)
  for (const [projectId, list] of Map.groupBy(theirs, (task) => task.projectId)) {
    const people = [...new Set(list.map(({ assignee }) => assignee?.id as string))]
    const readers = new Set(await readersOf(ctx, projectId, people))
    const notices = list
      .filter(({ assignee }) => readers.has(assignee?.id as string))
      .map((task) => ({
        userId: task.assignee?.id as string,
        reason: 'freed',
        title: `${task.key} can be started`,
        message: `${by(task)} no longer blocks it: ${task.title}`,
        about: { kind: 'task' as const, id: task.id },
      }))
    await notify(ctx, ...notices)
  }
}

/** Sets a relation that is not a dependency: relates, discovered_from, duplicates. A device chooses its id. */
export const relate = write(
  'tasks.relate',
  changing,
  async (ctx, { ref, task: other, kind, id }: Relate & { ref: string; id?: string }): Promise<Task> => {
    const { task } = await permitted(ctx, ref, 'relate')
    const { task: to, project } = await findWithProject(ctx, other)
    if (task.organizationId !== to.organizationId || task.id === to.id)
      throw invalid('/task', 'A task can only be related to another task of the same team.')
    if (kind)
      nameDependencies(ctx, task, await addDependencies(ctx, [{ id, taskId: task.id, blockedById: to.id, kind }]))
    else {
      const pair = (a: string, b: string) => and(eq(dependencies.taskId, a), eq(dependencies.blockedById, b))
      const ties = inArray(dependencies.kind, ['relates', 'discovered_from', 'duplicates'])
      const removed = await ctx.db
        .delete(dependencies)
        .where(and(or(pair(task.id, to.id), pair(to.id, task.id)), ties, id ? eq(dependencies.id, id) : undefined))
        .returning({ id: dependencies.id, taskId: dependencies.taskId })
      for (const end of [task, to])
        nameDependencies(
          ctx,
          end,
          removed.filter(({ taskId }) => taskId === end.id),
        )
    }
    ctx.emit(
      kind ? taskRelated : taskUnrelated,
      about(task, { to: project.id === task.projectId ? to.key : HIDDEN, kind }),
    )
    return task
  },
  { idempotent: true },
)
