import { count, desc, eq, gte, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../../action.ts'
import { member } from '../../../auth/policy.ts'
import { anyOf, idList, listText } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { type Keyset, keyset } from '../../../records/page.ts'
import { type Priority, priorities, type Status, statuses } from '../../../records/task-states.ts'
import { splitList } from '../../../schema.ts'
import { projectNamesFor } from '../../projects/rows.ts'
import { projects } from '../../projects/table.ts'
import { epics, stories } from '../../stories/table.ts'
import { isReadyTask, isUnheld } from '../leases/pick-order.ts'
import { selectItemsAnd, withProject } from '../rows.ts'
import type { TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'
import { extrasOf } from './extras.ts'
import { filtersOf, hasAnyStatus, isLeased, type ListQuery, splitFilter } from './filters.ts'
import type { GroupedTasks, Grouping, TaskGroup } from './list-schema.ts'
import { countedValues, MOST_VALUES, orders, selectByStatus, selectCounts, selectTotals, titlesOf } from './lists.ts'

type GroupBy = Exclude<Grouping, 'none'>
type GroupQuery = ListQuery & { group: GroupBy }
interface GroupCount {
  value: string | null
  n: number
  ready: number
}

/** Only so many groups are returned with their first tasks. */
const MOST_FILLED = 20
/** Orders in which the greatest value comes first. */
const newestFirst = new Set<ListQuery['sort']>(['priority', 'updatedAt', 'createdAt', 'completedAt'])

/** Returns the first tasks of each group, and the total of each. A board is such a list by state. */
export const listGroups = read(
  'tasks.board',
  member('tasks:read'),
  async (ctx, query: GroupQuery): Promise<GroupedTasks> => {
    const { group: by } = query
    const filters = [...(await filtersOf(ctx, query)), hasAnyStatus(query.status)]
    const { groups: all, total } = await countGroups(ctx, query, filters)
    const counted = all.filter((row) => isWanted(query, row))
    const names = await groupNames(ctx, by, counted)
    const loaded = await loadGroups(ctx, query, counted, filters)
    const groups = counted.map(({ value, n, ready }): TaskGroup => {
      const found = loaded.get(value) ?? { total: n, items: [], nextCursor: null }
      const name = value === null ? undefined : (names?.get(value) ?? partyName(by, found.items[0]))
      return { value, ...(name && { name }), ...(query.countReady && { ready }), ...found }
    })
    return { groups, ...(query.total && { total: total ?? (await ctx.db.$count(withProject, and(...filters))) }) }
  },
)

const isWanted = ({ in: wanted }: GroupQuery, { value }: GroupCount): boolean =>
  wanted === undefined || (value ?? '') === wanted

type LoadedGroup = Pick<TaskGroup, 'items' | 'nextCursor' | 'total' | 'older'>

/** Returns the first tasks of each group that shows some. Of the done ones, only those since `doneAfter`. */
async function loadGroups(
  ctx: Ctx,
  query: GroupQuery,
  counted: readonly GroupCount[],
  filters: readonly (SQL | undefined)[],
): Promise<Map<string | null, LoadedGroup>> {
  const folded = new Set<string | null>(splitList(query.folded))
  const filled = counted.slice(0, MOST_FILLED).filter(({ value, n }) => n > 0 && !folded.has(value))
  const groups = filled.map(({ value, n }) => {
    const isDone = query.group === 'status' && value === 'done'
    const isRecent = isDone && query.doneAfter ? gte(tasks.completedAt, query.doneAfter) : undefined
    const which = [...filters, isInGroup(query.group, value, ctx.now), isRecent]
    return { value, n, isRecent, which, page: pageOf(query, isDone) }
  })
  const rows = await loadFirst(ctx, query.with, groups)
  const loaded = new Map<string | null, LoadedGroup>()
  for (const [place, { value, n, isRecent, which, page }] of groups.entries()) {
    const total = isRecent ? await ctx.db.$count(withProject, and(...which)) : n
    const found = page.page(rows.filter((row) => row.place === place).map(({ item }) => item))
    loaded.set(value, { ...found, total, ...(isRecent && { older: n - total }) })
  }
  return loaded
}

interface FirstTasks {
  which: readonly (SQL | undefined)[]
  page: Keyset
}

/** Loads the first tasks of all groups, each in its order, by one statement: an item has many columns to plan. */
async function loadFirst(ctx: Ctx, added: string | undefined, groups: readonly FirstTasks[]) {
  if (groups.length === 0) return []
  const first = groups.map(({ which, page }, place) => {
    const order = sql.join(page.orderBy, sql`, `)
    // For a limit in a parameter, Postgres plans the whole statement anew each time.
    return sql`(select ${tasks}.*, ${place}::int as place, row_number() over (order by ${order}) as nth
      from ${withProject} where ${page.where(...which)} order by ${order} limit ${sql`${page.limit}`.inlineParams()})`
  })
  const extras = extrasOf(ctx, added)
  const columns = { ...extras.columns, place: sql<number>`${tasks}.place` }
  const rows = await selectItemsAnd(ctx, columns, sql.join(first, sql` union all `)).orderBy(
    sql`${tasks}.place`,
    sql`${tasks}.nth`,
  )
  const items = await extras.complete(rows.map(extras.read))
  return rows.map(({ place }, i) => ({ place, item: items[i] as TaskItem }))
}

/** What was done last comes first. */
const pageOf = (query: GroupQuery, isDone: boolean): Keyset =>
  isDone && query.sort === undefined
    ? keyset(orders, tasks.id, { ...query, sort: 'completedAt' }, { sort: 'completedAt', order: 'desc' })
    : keyset(orders, tasks.id, query, { sort: 'position', order: newestFirst.has(query.sort) ? 'desc' : 'asc' })

interface CountedGroups {
  groups: GroupCount[]
  /** The number of all tasks that match, if the counts tell it. */
  total?: number
}

/** Counts the tasks of each group, in the order in which the groups are shown. */
async function countGroups(ctx: Ctx, query: GroupQuery, filters: readonly (SQL | undefined)[]): Promise<CountedGroups> {
  const { group: by } = query
  if (by === 'status') return countColumns(ctx, query, filters)
  const value = groupValue(by, ctx.now)
  const mostFirst = selectCounts(ctx, filters, value).groupBy(sql`1`).orderBy(desc(count()), sql`1`).limit(MOST_VALUES)
  const rows = await countWithReady(ctx, query, mostFirst, filters)
  // A task is in the group of each of its labels, and further groups are not counted.
  const isComplete = by !== 'label' && rows.length < MOST_VALUES
  const groups =
    by === 'priority'
      ? priorities.flatMap((level) => rows.find((row) => row.value === level) ?? [])
      : rows.toSorted((a, b) => Number(a.value === null) - Number(b.value === null))
  return { groups, ...(isComplete && { total: sumOf(rows) }) }
}

/** A state has its column even if it is empty. Blocked tasks in other states are in the columns of these. */
async function countColumns(
  ctx: Ctx,
  query: GroupQuery,
  filters: readonly (SQL | undefined)[],
): Promise<CountedGroups> {
  const columns = columnsIn(query)
  const asksForBlocked = query.status?.includes('blocked') === true
  const counts = asksForBlocked ? selectByStatus(ctx, filters) : selectTotals(ctx, query, filters)
  const rows = await countWithReady(ctx, query, counts, filters)
  const of = new Map(rows.map((row) => [row.value, row]))
  const groups = statuses
    .filter((value) => columns.has(value) || (asksForBlocked && of.has(value)))
    .map((value) => of.get(value) ?? { value, n: 0, ready: 0 })
  return { groups, total: sumOf(query.status ? groups : rows) }
}

const sumOf = (rows: readonly GroupCount[]): number => rows.reduce((sum, { n }) => sum + n, 0)

/** Runs a query that counts the tasks of groups; if they are asked for, the same statement counts the ready ones. */
async function countWithReady(
  ctx: Ctx,
  { group: by, countReady }: GroupQuery,
  counts: SQLWrapper,
  filters: readonly (SQL | undefined)[],
): Promise<GroupCount[]> {
  const ready = selectCounts(ctx, [...filters, isReadyTask(ctx.now)], groupValue(by, ctx.now)).groupBy(sql`1`)
  const all = sql`select c.value, c.n::int as n, false as ready from (${counts}) c(value, n)`
  const both = countReady ? sql`${all} union all select r.value, r.n::int, true from (${ready}) r(value, n)` : all
  const { rows } = await ctx.db.execute<{ value: string | null; n: number; ready: boolean }>(
    sql`${both} order by ready, n desc, value`,
  )
  const readyOf = new Map(rows.filter(({ ready }) => ready).map(({ value, n }) => [value, n]))
  return rows.filter(({ ready }) => !ready).map(({ value, n }) => ({ value, n, ready: readyOf.get(value) ?? 0 }))
}

/** Returns the states that the list names. Without one, cancelled tasks are left out, unless they are asked for. */
function columnsIn({ status, folded, in: wanted }: GroupQuery): ReadonlySet<Status> {
  if (!status) {
    const asked = [...splitList(folded), wanted]
    return new Set(statuses.filter((value) => value !== 'cancelled' || asked.includes(value)))
  }
  const { values, isNot } = splitFilter('status', status)
  return new Set(statuses.filter((value) => values.includes(value) !== isNot))
}

/** SQL for the value by which a task is grouped; a task with several labels has several. */
function groupValue(by: GroupBy, now: string): SQL {
  if (by === 'project') return sql`${tasks.projectId}::text`
  if (by === 'holder') return sql`case when ${isLeased(now)} then ${tasks.leaseHolderId}::text end`
  if (by === 'label')
    return sql`unnest(case when cardinality(${tasks.labels}) = 0 then array[null]::text[] else ${tasks.labels} end)`
  return countedValues[by]
}

/** SQL condition: the task is in the group with this value. */
function isInGroup(by: GroupBy, value: string | null, now: string): SQL {
  if (by === 'status') return eq(tasks.status, value as Status)
  if (by === 'priority') return eq(tasks.priority, value as Priority)
  if (by === 'label')
    return value === null ? sql`cardinality(${tasks.labels}) = 0` : sql`${tasks.labels} && ${listText([value])}::text[]`
  if (by === 'holder') {
    return value === null ? isUnheld(now) : and(isLeased(now), eq(tasks.leaseHolderId, value))
  }
  if (by === 'epic') {
    const ofEpics = sql`select ${stories.id} from ${stories} where ${stories.epicId}`
    return value === null
      ? sql`(${tasks.storyId} in (${ofEpics} is not null)) is not true`
      : sql`${tasks.storyId} in (${ofEpics} = ${value})`
  }
  const column = by === 'assignee' ? tasks.assigneeId : tasks.projectId
  return value === null ? sql`${column} is null` : eq(column, value)
}

async function groupNames(
  ctx: Ctx,
  by: GroupBy,
  rows: readonly GroupCount[],
): Promise<Map<string, string> | undefined> {
  if (by === 'epic') return titlesOf(ctx, epics, rows)
  if (by !== 'project') return undefined
  const ids = rows.flatMap(({ value }) => value ?? [])
  const found = await ctx.db
    .select({ id: projects.id, key: projects.key, name: projects.name, slug: projects.slug })
    .from(projects)
    .where(anyOf(projects.id, idList(ids)))
  return new Map(found.map((project) => [project.id, projectNamesFor(ctx, project).name]))
}

/** The name of the person or agent that a group belongs to, as its first task has it. */
function partyName(by: GroupBy, first: TaskGroup['items'][number] | undefined): string | undefined {
  if (by === 'assignee') return first?.assignee?.name
  return by === 'holder' ? first?.lease?.holder.name : undefined
}
