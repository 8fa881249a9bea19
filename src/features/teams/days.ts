import { eq, type SQL, sql } from 'drizzle-orm'
import { contextOf, flow, write } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { meta } from '../../db/table.ts'
import { events } from '../../events/table.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import { eventDays } from './table.ts'

/**
 * Key in `meta`: the first day that is not summed, a number below those of all events since then, and the highest
 * number when that was found: an event with a higher one is in no sum, whatever its time.
 */
const SUMMED = 'event_days'
const DAY = 86_400_000
/** A day is summed when it has been over for this long, so that every transaction of it has ended. */
const SETTLED_MS = 3_600_000

const startOf = (day: string): string => `${day}T00:00:00.000Z`
const dayAfter = (day: string): string => new Date(Date.parse(startOf(day)) + DAY).toISOString().slice(0, 10)

/** Sums the events of the first day that is not summed. Returns false if that day is not over yet. */
const sumNext = write('teams.sumNext', machine, async (ctx, _: Record<string, never>): Promise<boolean> => {
  const kept = () => ctx.db.select().from(meta).where(eq(meta.key, SUMMED)).for('update')
  const isOver = (day: string) => Date.parse(startOf(dayAfter(day))) + SETTLED_MS <= Date.parse(ctx.now)
  if (!(await kept())[0]) {
    const [first] = await ctx.db.select({ at: events.at }).from(events).orderBy(events.at).limit(1)
    if (!first || !isOver(first.at.slice(0, 10))) return false
    const value = `${first.at.slice(0, 10)} 0 0`
    await ctx.db.insert(meta).values({ key: SUMMED, value }).onConflictDoNothing()
  }
  // Whoever comes second has waited until here.
  const [day = '', , seen = '0'] = ((await kept())[0]?.value ?? '').split(' ')
  if (!day) return false
  const late = sql`${events.seq} > ${seen}::bigint and ${events.at} < ${startOf(day)}`
  if (seen !== '0' && (await ctx.db.$count(events, late)) > 0) {
    // A demo plays its events at past moments. The next call begins with the first day.
    await ctx.db.delete(eventDays)
    await ctx.db.delete(meta).where(eq(meta.key, SUMMED))
    return true
  }
  if (!isOver(day)) return false
  const next = dayAfter(day)
  const known = sql`${events.organizationId}, ${events.projectId}, ${events.userId}, ${events.type}, ${events.action},
    ${events.actorKind}, ${events.actorId}, case when ${events.actorKind} = 'agent' then ${events.credentialId} end,
    case when ${events.data} ? 'noun' then jsonb_build_object('noun', ${events.data}->'noun') else '{}'::jsonb end`
  await ctx.db.execute(sql`
    insert into ${eventDays} (day, n, organization_id, project_id, user_id, type, action, actor_kind, actor_id,
      credential_id, data)
    select ${day}::date, count(*)::int, ${known} from ${events}
    where ${events.at} >= ${startOf(day)} and ${events.at} < ${startOf(next)} and ${events.organizationId} is not null
      and ${events.type} <> ${events.action}
    group by 3, 4, 5, 6, 7, 8, 9, 10, 11`)
  const [after] = await ctx.db
    .select({
      below: sql<string>`coalesce(min(${events.seq}) filter (where ${events.at} >= ${startOf(next)}) - 1,
        max(${events.seq}), 0)::text`,
      last: sql<string>`coalesce(max(${events.seq}), 0)::text`,
    })
    .from(events)
  const value = `${next} ${after?.below ?? 0} ${after?.last ?? 0}`
  await ctx.db.update(meta).set({ value }).where(eq(meta.key, SUMMED))
  return true
})

/** Sums the events of all past days that are not summed yet. */
export const sumDays = flow('teams.sumDays', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  while (await sumNext(ctx, {}));
})

/**
 * SQL for the events of a team since a midnight, as a table that is named like `events` and says how many each row
 * stands for (`n`): the sums of past days, and the events since the last summed one.
 */
export const countedEvents = (organizationId: string, from: string): SQL => {
  const summed = (part: number) =>
    sql`(select split_part(${meta.value}, ' ', ${part}) from ${meta} where ${meta.key} = ${SUMMED})`
  const columns = sql`organization_id, project_id, user_id, type, action, actor_kind, actor_id, credential_id, data`
  return sql`(
    select ${columns}, (at at time zone 'UTC')::date as day, 1 as n from ${events}
      where organization_id = ${organizationId} and at >= ${from} and seq > coalesce(${summed(2)}::bigint, 0)
        and (at >= coalesce((${summed(1)} || 'T00:00:00Z')::timestamptz, '-infinity'::timestamptz)
          or seq > nullif(${summed(3)}, '')::bigint)
    union all select ${columns}, day, n from ${eventDays}
      where organization_id = ${organizationId} and day >= ${from.slice(0, 10)}::date) ${events}`
}

export const dayJobs: JobDefinition[] = [
  { name: 'teams.sumDays', every: '7 * * * *', run: (app) => sumDays(contextOf(app, system), {}) },
]
