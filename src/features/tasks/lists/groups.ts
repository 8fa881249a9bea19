import { count, desc, eq, gte, type SQL, sql } from 'drizzle-orm'
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
import { selectItems, toItem, withProject } from '../rows.ts'
import { tasks } from '../table.ts'
import { withExtras } from './extras.ts'
import { filtersOf, hasAnyStatus, isLeased, type ListQuery, splitFilter } from './filters.ts'
import type { GroupedTasks, Grouping, TaskGroup } from './list-schema.ts'
import { countByQuery, countedValues, MOST_VALUES, orders, selectCounts, titlesOf, totals } from './lists.ts'

type GroupBy = Exclude<Grouping, 'none'>
type GroupQuery = ListQuery & { group: GroupBy }
interface GroupCount {
  value: string | null
  n: number
}

/** Only so many groups are returned with their first tasks: each costs a query. */
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
    const counted = (await countGroups(ctx, query, filters)).filter((row) => isWanted(query, row))
    const folded = new Set<string | null>(splitList(query.folded))
    const ready = query.countReady ? await countReadyIn(ctx, by, filters) : undefined
    const names = await groupNames(ctx, by, counted)
    const total = query.total ? await ctx.db.$count(withProject, and(...filters)) : undefined
    const groups = counted.map(async (counted, place): Promise<TaskGroup> => {
      const isFilled = counted.n > 0 && place < MOST_FILLED && !folded.has(counted.value)
      const found = isFilled
        ? await loadGroup(ctx, query, counted, filters)
        : { total: counted.n, items: [], nextCursor: null }
      const { value } = counted
      const name = value === null ? undefined : (names?.get(value) ?? partyName(by, found.items[0]))
      return { value, ...(name && { name }), ...(ready && { ready: ready.get(value) ?? 0 }), ...found }
    })
    const loaded = await Promise.all(groups)
    return { groups: await withExtrasInGroups(ctx, loaded, query.with), ...(total !== undefined && { total }) }
  },
)

/** Adds the extras of all groups together, because each group would need the same queries. */
async function withExtrasInGroups(ctx: Ctx, groups: readonly TaskGroup[], list: string | undefined) {
  const all = groups.flatMap((group) => group.items)
  const rest = await withExtras(ctx, all, list)
  return groups.map((group) => ({ ...group, items: rest.splice(0, group.items.length) }))
}

const isWanted = ({ in: wanted }: GroupQuery, { value }: GroupCount): boolean =>
  wanted === undefined || (value ?? '') === wanted

/** Returns the first tasks of a group. Of the done ones, only those since `doneAfter`. */
async function loadGroup(ctx: Ctx, query: GroupQuery, { value, n }: GroupCount, filters: readonly (SQL | undefined)[]) {
  const isDone = query.group === 'status' && value === 'done'
  const page = pageOf(query, isDone)
  const isRecent = isDone && query.doneAfter ? gte(tasks.completedAt, query.doneAfter) : undefined
  const inGroup = [...filters, isInGroup(query.group, value, ctx.now), isRecent]
  const rows = await selectItems(ctx)
    .where(page.where(...inGroup))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const found = page.page(rows.map((row) => toItem(row, ctx.now)))
  const total = isRecent ? await ctx.db.$count(withProject, and(...inGroup)) : n
  return { ...found, total, ...(isRecent && { older: n - total }) }
}

/** What was done last comes first. */
const pageOf = (query: GroupQuery, isDone: boolean): Keyset =>
  isDone && query.sort === undefined
    ? keyset(orders, tasks.id, { ...query, sort: 'completedAt' }, { sort: 'completedAt', order: 'desc' })
    : keyset(orders, tasks.id, query, { sort: 'position', order: newestFirst.has(query.sort) ? 'desc' : 'asc' })

/** Counts the tasks of each group, in the order in which the groups are shown. */
async function countGroups(ctx: Ctx, query: GroupQuery, filters: readonly (SQL | undefined)[]): Promise<GroupCount[]> {
  const { group: by } = query
  if (by === 'status') return countColumns(ctx, query, filters)
  const rows = await selectCounts(ctx, filters, groupValue(by, ctx.now))
    .groupBy(sql`1`)
    .orderBy(desc(count()), sql`1`)
    .limit(MOST_VALUES)
  if (by !== 'priority') return rows.toSorted((a, b) => Number(a.value === null) - Number(b.value === null))
  return priorities.flatMap((level) => rows.find(({ value }) => value === level) ?? [])
}

/** A state has its column even if it is empty. Blocked tasks in other states are in the columns of these. */
async function countColumns(ctx: Ctx, query: GroupQuery, filters: readonly (SQL | undefined)[]): Promise<GroupCount[]> {
  const columns = columnsIn(query)
  const asksForBlocked = query.status?.includes('blocked') === true
  const totalOf = asksForBlocked ? await countByQuery(ctx, filters) : await totals(ctx, query, filters)
  return statuses
    .filter((value) => columns.has(value) || (asksForBlocked && totalOf.has(value)))
    .map((value) => ({ value, n: totalOf.get(value) ?? 0 }))
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

async function countReadyIn(ctx: Ctx, by: GroupBy, filters: readonly (SQL | undefined)[]) {
  const rows = await selectCounts(ctx, [...filters, isReadyTask(ctx.now)], groupValue(by, ctx.now)).groupBy(sql`1`)
  return new Map(rows.map(({ value, n }) => [value, n]))
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
