import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { type ComputedOrder, isValidTime, keyset, type Page } from '../../../records/page.ts'
import { projects as projectTable } from '../../projects/table.ts'
import { pickGroups, readyOfOthers, readyParts, urgency } from '../leases/pick-order.ts'
import { callingWorker } from '../leases/workers.ts'
import { selectItemsAnd } from '../rows.ts'
import type { TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'
import type { Extras } from './extras.ts'

/** Lists tasks that can be started in the order in which `next_task` takes them; the tasks of others come last. */

/** The position of a task: the number of its group, and its sort values within the group. */
type ListPosition = [group: number, urgency: number, dueAt: string | null, waiters: number, position: number]
interface PositionedTask {
  id: string
  place: ListPosition
}

const isPosition = (value: unknown): value is ListPosition =>
  Array.isArray(value) &&
  value.length === 5 &&
  value.every((part, n) => (n === 2 ? part === null || isValidTime(String(part)) : Number.isFinite(part))) &&
  [0, 1, 3].every((n) => Number.isInteger(value[n]) && Math.abs(value[n]) < 2 ** 31)

function parsePosition(text: unknown): ListPosition | undefined {
  try {
    const value: unknown = JSON.parse(String(text))
    return isPosition(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Only for the cursor: the groups have their own orders and conditions. */
const byPosition: ComputedOrder = {
  sql: urgency,
  of: (row) => JSON.stringify(row.place),
  fits: (value) => parsePosition(value) !== undefined,
  value: (value) => sql`${value}::text`,
}

/** SQL condition: the task comes after this position in its group. */
function isAfter([, rank, dueAt, waiters, position]: ListPosition, id: string): SQL {
  const [due, now] = [sql`coalesce(${tasks.dueAt}, 'infinity')`, sql`coalesce(${dueAt}::timestamptz, 'infinity')`]
  return sql`(${urgency}, ${due}, -${tasks.openWaiters}, ${tasks.position}, ${tasks.id})
    > (${rank}::integer, ${now}, -${waiters}::integer, ${position}::float8, ${id}::uuid)`
}

interface ReadyQuery {
  filters: readonly (SQL | undefined)[]
  extras: Extras
  cursor?: string
  limit?: number
}

export async function listReady(ctx: Ctx, { filters, extras, ...query }: ReadyQuery): Promise<Page<TaskItem>> {
  const page = keyset({ pick: byPosition }, tasks.id, query, { sort: 'pick', order: 'asc' })
  const { afterValue, afterId = '' } = page.values
  const after = parsePosition(afterValue)
  const groups = [...pickGroups(ctx, callingWorker(ctx)), readyOfOthers(ctx)]
  const placed: PositionedTask[] = []
  for (const [group, { which, order }] of groups.entries()) {
    const left = page.limit - placed.length
    if (left === 0) break
    if (after && group < after[0]) continue
    const before = groups.slice(0, group).map((earlier) => sql`(${earlier.which}) is not true`)
    const beyond = after?.[0] === group ? isAfter(after, afterId) : undefined
    const rows = await selectPositions(ctx)
      .where(and(...filters, which, ...before, beyond))
      .orderBy(...order)
      .limit(left)
    for (const { id, rank, dueAt, waiters, position } of rows)
      placed.push({ id, place: [group, rank, dueAt, waiters, position] })
  }
  const { items, nextCursor } = page.page(placed)
  return { items: await itemsOf(ctx, items, extras), nextCursor }
}

const selectPositions = (ctx: Ctx) =>
  ctx.db
    .select({
      id: tasks.id,
      rank: sql<number>`${urgency}`.mapWith(Number),
      dueAt: tasks.dueAt,
      waiters: tasks.openWaiters,
      position: tasks.position,
    })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .$dynamic()

async function itemsOf(ctx: Ctx, placed: readonly PositionedTask[], extras: Extras): Promise<TaskItem[]> {
  if (placed.length === 0) return []
  const rows = await selectItemsAnd(ctx, extras.columns).where(anyOf(tasks.id, idList(placed.map(({ id }) => id))))
  const byId = new Map(rows.map((row) => [row.id, extras.read(row)]))
  return placed.flatMap(({ id }) => byId.get(id) ?? [])
}

/** The exact number of ready tasks of a project does not matter above this. */
export const MOST_COUNTED = 100

/** Counts the ready tasks of each project, whoever they are assigned to, up to `MOST_COUNTED`. */
export async function countReady(ctx: Ctx, projects: readonly { id: string }[]): Promise<Map<string, number>> {
  if (projects.length === 0) return new Map()
  const counts = readyParts(ctx.now).map((isReady) => {
    const which = and(sql`${tasks.projectId} = wanted.id`, isNull(tasks.deletedAt), isReady)
    return sql`(select count(*) from (select 1 from ${tasks} where ${which} limit ${MOST_COUNTED}) counted)`
  })
  const { rows } = await ctx.db.execute<{ id: string; n: number }>(sql`
    select wanted.id, least(${sql.join(counts, sql` + `)}, ${MOST_COUNTED})::int as n
    from unnest(${idList(projects.map(({ id }) => id))}::uuid[]) wanted(id)`)
  return new Map(rows.map(({ id, n }) => [id, n]))
}
