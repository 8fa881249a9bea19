import { count, desc, eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../../action.ts'
import { member } from '../../../auth/policy.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { notFound } from '../../../errors.ts'
import { type ComputedOrder, isValidTime, keyset } from '../../../records/page.ts'
import { priorities } from '../../../records/task-states.ts'
import { visibleTo as projectVisibleTo } from '../../projects/rows.ts'
import { projects as projectTable } from '../../projects/table.ts'
import { liveOfTeamOrProject } from '../../projects/visible.ts'
import { epics, stories } from '../../stories/table.ts'
import { readLeaseProgress } from '../leases/stalled.ts'
import { findTask, selectItemsAnd, withProject } from '../rows.ts'
import type { TaskItem } from '../schema.ts'
import { dueOrNever, priorityRank, taskCounts, tasks } from '../table.ts'
import { selectCountsByStatus } from './counts.ts'
import { type Extras, extrasOf } from './extras.ts'
import { epicIdsIn, filtersOf, hasAnyStatus, isLeased, type ListQuery, onlyProject } from './filters.ts'
import type { TaskCounts, TaskCountsQuery, TaskPage } from './list-schema.ts'
import { listReady } from './ready-list.ts'

const byPriority: ComputedOrder = {
  sql: priorityRank(tasks),
  of: (row) => priorities.length - 1 - priorities.indexOf((row as TaskItem).priority),
  fits: (value) => Number.isInteger(value) && Math.abs(value as number) < 10,
  value: (value) => sql`${value}::integer`,
}
const byDue: ComputedOrder = {
  sql: dueOrNever(tasks),
  of: (row) => (row as TaskItem).dueAt ?? 'infinity',
  fits: (value) => value === 'infinity' || (typeof value === 'string' && isValidTime(value)),
  value: (value) => sql`${value}::timestamptz`,
}
const byCompletion: ComputedOrder = {
  sql: sql`coalesce(${tasks.completedAt}, '-infinity'::timestamptz)`,
  of: (row) => (row as TaskItem).completedAt ?? '-infinity',
  fits: (value) => value === '-infinity' || (typeof value === 'string' && isValidTime(value)),
  value: (value) => sql`${value}::timestamptz`,
}
export const orders = {
  updatedAt: tasks.updatedAt,
  createdAt: tasks.createdAt,
  position: tasks.position,
  number: tasks.number,
  priority: byPriority,
  dueAt: byDue,
  completedAt: byCompletion,
}
/** Due dates are sorted earliest first. */
const orderOf = ({ sort }: ListQuery) => (sort === 'dueAt' ? 'asc' : undefined)

/**
 * Lists a project's tasks; without a project, those of the current team. Ready tasks are listed in the order in which
 * next_task picks them, unless the caller asks for another order.
 */
export const list = read('tasks.list', member('tasks:read'), async (ctx, query: ListQuery): Promise<TaskPage> => {
  const filters = [...(await filtersOf(ctx, query)), hasAnyStatus(query.status)]
  const isInPickOrder = query.ready && query.sort === undefined && query.order === undefined
  const extras = extrasOf(ctx, query.with)
  const wanted = { ...query, filters, extras }
  const found = await (isInPickOrder ? listReady(ctx, wanted) : listSorted(ctx, wanted))
  const items = query.leased ? await withProgress(ctx, found.items) : found.items
  const total = query.total ? await ctx.db.$count(withProject, and(...filters)) : undefined
  return { ...found, items: await extras.complete(items), ...(total !== undefined && { total }) }
})

type SortedQuery = ListQuery & { filters: readonly (SQL | undefined)[]; extras: Extras }

async function listSorted(ctx: Ctx, { filters, extras, ...query }: SortedQuery): Promise<TaskPage> {
  const page = keyset(orders, tasks.id, query, { sort: 'updatedAt', order: orderOf(query) })
  const rows = await selectItemsAnd(ctx, extras.columns)
    .where(page.where(...filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows.map(extras.read))
}

/** Adds to the leases of agents the time of their last change, and whether they are stalled. */
async function withProgress(ctx: Ctx, items: readonly TaskItem[]): Promise<TaskItem[]> {
  const progress = await readLeaseProgress(ctx, items)
  return items.map((item) => ({
    ...item,
    lease: item.lease && { ...item.lease, stalled: false, ...progress.get(item.id) },
  }))
}

/** Counts the tasks of each state. Without filters it costs the same for a project of any size. */
export function selectTotals(ctx: Ctx, query: ListQuery, filters: readonly (SQL | undefined)[]) {
  const projectId = onlyProject(query)
  if (!projectId) return selectByStatus(ctx, filters)
  const isVisible = sql`exists (select from ${projectTable} where ${projectTable.id} = ${projectId}
    and ${projectVisibleTo(rightsOf(ctx.actor))})`
  return selectCountsByStatus(ctx, and(eq(taskCounts.projectId, projectId), isVisible))
}

export const selectByStatus = (ctx: Ctx, filters: readonly (SQL | undefined)[]) =>
  selectCounts(ctx, filters).groupBy(tasks.status)

export const selectCounts = ({ db }: Ctx, filters: readonly (SQL | undefined)[], value: SQL = sql`${tasks.status}`) =>
  db
    .select({ value: sql<string | null>`${value}`, n: count() })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(...filters))
    .$dynamic()

/** Maximum of values in the response. */
export const MOST_VALUES = 200

/** Counts the tasks that match the filters by one of their properties. */
export const countTasks = read(
  'tasks.counts',
  member('tasks:read'),
  async (ctx, { by, ...query }: TaskCountsQuery): Promise<TaskCounts> => {
    await requireVisible(ctx, query)
    const filters = [...(await filtersOf(ctx, { ...query, mustExist: true })), hasAnyStatus(query.status)]
    const held = by === 'holder' ? isLeased(ctx.now) : undefined
    const rows =
      by === 'status' && query.status === undefined
        ? await selectTotals(ctx, query, filters)
        : await selectCounts(ctx, [...filters, held], countedValues[by])
            .groupBy(sql`1`)
            .orderBy(desc(count()), sql`1`)
            .limit(MOST_VALUES)
    const total =
      by === 'label' || held || rows.length === MOST_VALUES
        ? await ctx.db.$count(withProject, and(...filters))
        : rows.reduce((sum, { n }) => sum + n, 0)
    const names = await namesOf(ctx, by, rows)
    return {
      total,
      counts: rows.map(({ value, n }) => ({ value, ...(names && value && { name: names.get(value) ?? '' }), n })),
    }
  },
)

/** Throws `not_found` for a task, story or epic that the caller cannot see: a count of zero would mislead. */
export async function requireVisible(
  ctx: Ctx,
  { parentId, storyId, epicId }: Pick<TaskCountsQuery, 'parentId' | 'storyId' | 'epicId'>,
): Promise<void> {
  if (parentId) await findTask(ctx, parentId)
  const rights = rightsOf(ctx.actor)
  const seen = async (table: typeof stories | typeof epics, id: string) =>
    (await ctx.db.$count(table, and(eq(table.id, id), liveOfTeamOrProject(table)(rights)))) > 0
  if (storyId && !(await seen(stories, storyId))) throw notFound('story', storyId)
  for (const id of epicId ? epicIdsIn(epicId) : []) if (!(await seen(epics, id))) throw notFound('epic', id)
}

export const countedValues: Record<TaskCountsQuery['by'], SQL> = {
  status: sql`${tasks.status}`,
  priority: sql`${tasks.priority}`,
  assignee: sql`${tasks.assigneeId}::text`,
  holder: sql`${tasks.leaseHolderId}::text`,
  label: sql`unnest(${tasks.labels})`,
  story: sql`${tasks.storyId}::text`,
  epic: sql`(select s.epic_id from ${stories} s where s.id = ${tasks.storyId})::text`,
}

/** Looks up the titles of stories or epics. Clients know people and agents by their ids. */
async function namesOf(
  ctx: Ctx,
  by: TaskCountsQuery['by'],
  rows: readonly { value: string | null }[],
): Promise<Map<string, string> | undefined> {
  return by === 'story' || by === 'epic' ? titlesOf(ctx, by === 'story' ? stories : epics, rows) : undefined
}

export async function titlesOf(
  ctx: Ctx,
  table: typeof stories | typeof epics,
  rows: readonly { value: string | null }[],
): Promise<Map<string, string>> {
  const ids = rows.map(({ value }) => value).filter((value) => value !== null)
  const found = await ctx.db
    .select({ id: table.id, title: table.title })
    .from(table)
    .where(anyOf(table.id, idList(ids)))
  return new Map(found.map(({ id, title }) => [id, title]))
}
