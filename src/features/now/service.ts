import { desc, eq, gt, gte, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, not, or } from '../../db/conditions.ts'
import { actorColumns } from '../../events/actor.ts'
import { events } from '../../events/table.ts'
import { seenBy } from '../activity/service.ts'
import { projects } from '../projects/table.ts'
import { scopeOf } from '../tasks/leases/continuing.ts'
import { progressOf } from '../tasks/leases/stalled.ts'
import { parentIsBlocked, selectFound, selectItems, toFound, toItem, visibleTo } from '../tasks/rows.ts'
import { callMinutes, pickOrder, startable, taskDependencies, tasks } from '../tasks/table.ts'
import { type Held, lanesOf, type Mark } from './lanes.ts'
import type { Lane, Now, NowQuery } from './schema.ts'

const MOST_HELD = 60
const MOST_MARKS = 2000
const MOST_CALLS = 10_000
const READY = 5
const HOUR = 3_600_000

/** Who holds what, why, since when, their last call and their last change. Every query is bounded. */
export const now = read(
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
      progressOf(
        ctx,
        held.map(({ task }) => task),
      ),
    ])
    const credentials = [...held.map((one) => one.leaseCredentialId), ...marks.map((mark) => mark.credentialId)]
    const calls = await callsOf(ctx, from, hours, [...new Set(credentials.filter((id) => id !== null))])
    return { at: ctx.now, hours, lanes: lanesOf(ctx, { held, marks, waiting, calls, progress }), ready }
  },
)

async function heldTasks(ctx: Ctx): Promise<Held[]> {
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
 * Returns what was changed since then, newest first. A query of its own looks up the first number by time, and reads
 * only that time: the index of the team alone would lead through its whole history.
 */
async function marksSince(ctx: Ctx, from: string): Promise<Mark[]> {
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
    .where(and(eq(events.organizationId, currentOrganization(ctx.actor)), gte(events.seq, Number(first)), seenBy(ctx)))
    .orderBy(desc(events.seq))
    .limit(MOST_MARKS)
  return found.flatMap((event) => {
    const line = ctx.app.events.lineOf(event.type)
    return line && event.actorKind !== 'system' ? [{ ...event, line }] : []
  })
}

/** Returns the open tasks that wait for those held, by the id of the held one. */
async function waitingFor(ctx: Ctx, held: readonly Held[]): Promise<Map<string, Lane['waiting']>> {
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

/** Returns the tasks that the next worker who asks would get, in that order. */
async function readyTasks(ctx: Ctx): Promise<Now['ready']> {
  const rows = await selectItems(ctx)
    .where(
      and(
        scopeOf(ctx, undefined),
        startable(tasks),
        isNull(tasks.assigneeId),
        or(isNull(tasks.leaseExpiresAt), lte(tasks.leaseExpiresAt, ctx.now)),
        not(parentIsBlocked),
      ),
    )
    .orderBy(...pickOrder(tasks))
    .limit(READY)
  return rows.map((row) => {
    const { id, key, title, status, version } = toItem(row, ctx.now)
    return { id, key, title, status, version }
  })
}

/** Returns how many minutes are counted together, so that a day does not have more numbers than a picture can show. */
const bucket = (hours: number): number => (hours > 8 ? 5 : hours > 2 ? 2 : 1)

export type CallsOf = Map<string, Lane['calls']>

async function callsOf(ctx: Ctx, from: string, hours: number, credentials: readonly string[]): Promise<CallsOf> {
  if (credentials.length === 0) return new Map()
  const width = bucket(hours) * 60
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
