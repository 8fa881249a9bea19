import { eq, type SQL, sql } from 'drizzle-orm'
import { contextOf, flow, read, write } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { meta } from '../../db/table.ts'
import { currentPosition } from '../../events/reader.ts'
import { events } from '../../events/table.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { eventDays } from './table.ts'

/** Key in `meta`: the sums contain all events up to this number, whatever their time, and no others. */
const SUMMED = 'event_days'
/** Events per transaction: on the embedded database all others wait for it. */
const MOST = 5000
/** Fewer events are counted directly: summing them would hardly save rows. */
const LEAST = 1000
/** The pause after each transaction, as a multiple of its duration: requests come first. */
const PACE = 9
const LONGEST_PAUSE_MS = 2000
const HOURS = 6 * 3600

/** Returns the highest number up to which no running transaction can still add an event. */
const lastSettledSeq = read('teams.settledEvents', machine, async (ctx, _: Record<string, never>): Promise<number> => {
  const { high, holes } = await currentPosition(ctx.db)
  return Math.min(high, ...holes.flatMap(({ from, writers }) => (writers?.length === 0 ? [] : from - 1)))
})

interface Range {
  /** The sums contain all events up to this number. */
  after: number
  to: number
}
interface Wanted {
  upTo: number
  least: number
  most: number
}

/** Returns the next events to sum; undefined if there are too few. */
const nextRange = read(
  'teams.nextRange',
  machine,
  async (ctx, { upTo, least, most }: Wanted): Promise<Range | undefined> => {
    const [kept] = await ctx.db.select().from(meta).where(eq(meta.key, SUMMED))
    const after = Number(kept?.value ?? 0)
    const { rows } = await ctx.db.execute<{ n: number; last: string }>(sql`
      select count(*)::int as n, max(seq)::text as last
      from (select seq from ${events} where seq > ${after} and seq <= ${upTo} order by seq limit ${most}) e`)
    return rows[0] && rows[0].n >= least ? { after, to: Number(rows[0].last) } : undefined
  },
)

const sumRange = write(
  'teams.sumRange',
  machine,
  async (ctx, { after, to }: Range): Promise<void> => {
    await ctx.db.execute(sql`select event_days_add(${after}::bigint, ${to}::bigint)`)
  },
  { bookkeeping: true },
)

interface SumOptions {
  signal?: AbortSignal
  /** Default: no pauses. */
  pace?: number
  /** Default: 1,000. */
  least?: number
  /** Default: 5,000. */
  most?: number
}

/** Sums the events that are not summed yet, in the order of their numbers, a few at a time. */
export const sumDays = flow(
  'teams.sumDays',
  machine,
  async (ctx, { signal, pace = 0, least = LEAST, most = MOST }: SumOptions): Promise<void> => {
    const upTo = await lastSettledSeq(ctx, {})
    while (!signal?.aborted) {
      const started = performance.now()
      const range = await nextRange(ctx, { upTo, least, most })
      if (!range) return
      await sumRange(ctx, range)
      await Bun.sleep(Math.min(LONGEST_PAUSE_MS, pace * (performance.now() - started)))
    }
  },
)

/**
 * SQL for the events of a team since a midnight, as a table named like `events` whose column `n` says how many events a
 * row stands for: the sums, and the events that are not summed yet.
 */
export const countedEvents = (organizationId: string, from: string): SQL => {
  const summed = sql`(select ${meta.value}::bigint from ${meta} where ${meta.key} = ${SUMMED})`
  const columns = sql`organization_id, project_id, user_id, type, action, actor_kind, actor_id, credential_id, data`
  return sql`(
    select ${columns}, (at at time zone 'UTC')::date as day, 1 as n from ${events}
      where organization_id = ${organizationId} and at >= ${from} and seq > coalesce(${summed}, 0)
    union all select ${columns}, day, n from ${eventDays}
      where organization_id = ${organizationId} and day >= ${from.slice(0, 10)}::date) ${events}`
}

export const dayJobs: JobDefinition<App>[] = [
  {
    name: 'teams.sumDays',
    every: '7 * * * *',
    timeoutSeconds: HOURS,
    resumable: true,
    run: (app, _data, signal) => sumDays(contextOf(app, system), { signal, pace: PACE }),
  },
]
