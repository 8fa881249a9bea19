import { desc, eq, gt, gte, inArray, isNotNull, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and } from '../../db/conditions.ts'
import { actorColumns } from '../../events/actor.ts'
import { events } from '../../events/table.ts'
import { visibleEvents } from '../activity/service.ts'
import { projects } from '../projects/table.ts'
import { isInScope } from '../tasks/leases/continue-task.ts'
import { unassignedGroup } from '../tasks/leases/pick-order.ts'
import { readLeaseProgress } from '../tasks/leases/stalled.ts'
import { selectFound, selectItems, toFound, toItem, visibleTo } from '../tasks/rows.ts'
import { callMinutes, taskDependencies, tasks } from '../tasks/table.ts'
import { buildLanes, type ChangeMark, type LeasedTask } from './lanes.ts'
import type { Lane, Now, NowQuery } from './schema.ts'

const MOST_HELD = 60
const MOST_MARKS = 2000
const MOST_CALLS = 10_000
const READY = 5
const HOUR = 3_600_000

/** Returns the held tasks with their holders, and the changes and calls of the last hours. Every query has a limit. */
export const getNow = read(
  'now.get',
  member('tasks:read'),
  async (ctx, { hours: given = '2' }: NowQuery): Promise<Now> => {
    const hours = Number(given)
    const from = new Date(Date.parse(ctx.now) - hours * HOUR).toISOString()
    const held = await heldTasks(ctx)
    const [marks, waiting, ready, progress] = await Promise.all([
      marksSince(ctx, from),
      waitingFor(ctx, held),
      readyTasks(ctx),
      readLeaseProgress(
        ctx,
        held.map(({ task }) => task),
      ),
    ])
    const credentials = [...held.map((one) => one.leaseCredentialId), ...marks.map((mark) => mark.credentialId)]
    const calls = await callsOf(ctx, from, hours, [...new Set(credentials.filter((id) => id !== null))])
    return { at: ctx.now, hours, lanes: buildLanes(ctx, { held, marks, waiting, calls, progress }), ready }
  },
)

async function heldTasks(ctx: Ctx): Promise<LeasedTask[]> {
  const rows = await selectFound(ctx)
    .where(
      and(
        visibleTo(rightsOf(ctx.actor)),
        eq(tasks.organizationId, currentOrganization(ctx.actor)),
        isNotNull(tasks.leaseHolderId),
        gt(tasks.leaseExpiresAt, ctx.now),
      ),
    )
    .orderBy(tasks.leaseSince, tasks.id)
    .limit(MOST_HELD)
  return rows.flatMap((row) => {
    const found = toFound(row, ctx.now)
    return found.task.lease ? [{ ...found, lease: found.task.lease }] : []
  })
}

/**
 * Returns the changes since then, newest first. A separate query finds the first event number by time: the index by
 * team alone would read the whole history of the team.
 */
async function marksSince(ctx: Ctx, from: string): Promise<ChangeMark[]> {
  const { rows } = await ctx.db.execute<{ seq: string | number | null }>(
    sql`select min(seq) as seq from (select seq from ${events} where ${gte(events.at, from)} offset 0) recent`,
  )
  const first = rows[0]?.seq
  if (first === null || first === undefined) return []
  const found = await ctx.db
    .select({
      id: events.id,
      at: events.at,
      type: events.type,
      subjectId: events.subjectId,
      credentialId: events.credentialId,
      ...actorColumns,
    })
    .from(events)
    .where(
      and(
        eq(events.organizationId, currentOrganization(ctx.actor)),
        gte(events.seq, Number(first)),
        visibleEvents(ctx),
      ),
    )
    .orderBy(desc(events.seq))
    .limit(MOST_MARKS)
  return found.flatMap((event) => {
    const line = ctx.app.events.staffLineOf(event.type)
    return line && event.actorKind !== 'system' ? [{ ...event, line }] : []
  })
}

/** Returns the open tasks that wait for held tasks, by the id of the held task. */
async function waitingFor(ctx: Ctx, held: readonly LeasedTask[]): Promise<Map<string, Lane['waiting']>> {
  if (held.length === 0) return new Map()
  const rows = await ctx.db
    .select({
      blocker: taskDependencies.blockedById,
      id: tasks.id,
      key: sql<string>`${projects.key} || '-' || ${tasks.number}`,
      title: tasks.title,
    })
    .from(taskDependencies)
    .innerJoin(tasks, eq(tasks.id, taskDependencies.taskId))
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(
      and(
        inArray(
          taskDependencies.blockedById,
          held.map(({ task }) => task.id),
        ),
        eq(taskDependencies.kind, 'blocks'),
        sql`${tasks.status} not in ('done', 'cancelled')`,
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .orderBy(projects.key, tasks.number)
    .limit(300)
  return Map.groupBy(rows, ({ blocker }) => blocker) as Map<string, (Lane['waiting'][number] & { blocker: string })[]>
}

/** Returns the unassigned tasks that can be started, in the order in which workers pick them. */
async function readyTasks(ctx: Ctx): Promise<Now['ready']> {
  const { which, order } = unassignedGroup(ctx)
  const rows = await selectItems(ctx)
    .where(and(isInScope(ctx, undefined), which))
    .orderBy(...order)
    .limit(READY)
  return rows.map((row) => {
    const { id, key, title, status, version } = toItem(row, ctx.now)
    return { id, key, title, status, version }
  })
}

/** Minutes that are added up, so that the chart of a day does not have too many bars. */
const minutesPerBucket = (hours: number): number => (hours > 8 ? 5 : hours > 2 ? 2 : 1)

type CallsOf = Map<string, Lane['calls']>

async function callsOf(ctx: Ctx, from: string, hours: number, credentials: readonly string[]): Promise<CallsOf> {
  if (credentials.length === 0) return new Map()
  const width = minutesPerBucket(hours) * 60
  const at = sql`floor(extract(epoch from ${callMinutes.minute}) / ${width}::int) * ${width}::int`
  const rows = await ctx.db
    .select({
      credentialId: callMinutes.credentialId,
      second: sql<number>`(${at})::bigint`.mapWith(Number),
      n: sql<number>`sum(${callMinutes.calls})::int`,
    })
    .from(callMinutes)
    .where(and(inArray(callMinutes.credentialId, [...credentials]), gte(callMinutes.minute, from)))
    .groupBy(callMinutes.credentialId, sql`2`)
    .orderBy(sql`2`)
    .limit(MOST_CALLS)
  const grouped = Map.groupBy(rows, ({ credentialId }) => credentialId)
  return new Map(
    [...grouped].map(([id, list]) => [
      id,
      list.map(({ second, n }) => ({ minute: new Date(second * 1000).toISOString(), n })),
    ]),
  )
}
