import { sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { oneTimeSecrets } from '../../auth/table.ts'
import { counters } from '../../db/table.ts'
import { events, idempotencyKeys } from '../../events/table.ts'
import { loginSessions, refreshTokens } from '../accounts/table.ts'
import { deviceCodes } from '../devices/table.ts'
import { invites } from '../invites/table.ts'
import { mails } from '../mail/table.ts'
import { notifications } from '../notifications/table.ts'
import { organizations } from '../organizations/table.ts'

const DELETED_DAYS = 30
const EVENT_DAYS = 365
const NOTIFICATION_DAYS = 180
/** Rows in one transaction: on the embedded database everybody else waits meanwhile. */
const BATCH = 500

/**
 * Every table with `deleted_at`, so that a new resource is covered without being named here. What hangs on another comes before it: the
 * database would take it along in one statement, however much it is, and run out of time.
 */
const softTables = read('upkeep.softTables', machine, async (ctx, _: Record<string, never>): Promise<Pick<Old, 'table' | 'ofTeam'>[]> => {
  const has = (column: string) =>
    sql`exists (select 1 from pg_attribute where attrelid = c.oid and attname = ${column} and not attisdropped)`
  const { rows } = await ctx.db.execute<{ table: string; ofTeam: boolean }>(sql`
    with recursive soft as (
      select c.oid as id, c.relname::text as name, ${has('organization_id')} as of_team from pg_class c
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and ${has('deleted_at')}
    ), depth (id, n) as (
      select id, 0 from soft
      union select f.conrelid, n + 1 from depth join pg_constraint f on f.confrelid = depth.id
        where f.contype = 'f' and f.confdeltype = 'c' and f.conrelid <> f.confrelid
    )
    select name as table, of_team as "ofTeam" from soft join depth using (id) group by name, of_team order by max(n) desc, name`)
  return rows
})

interface Old {
  table: string | PgTable
  column: string
  before: string
  /** Also what belongs to a team that was deleted so long ago. */
  ofTeam?: boolean
}

const nameOf = ({ table }: Old) => (typeof table === 'string' ? sql.identifier(table) : sql`${table}`)
const isOld = ({ column, before, ofTeam }: Old) =>
  ofTeam
    ? sql`(${sql.identifier(column)} < ${before} or organization_id in (select o.id from ${organizations} o where o.deleted_at < ${before}))`
    : sql`${sql.identifier(column)} < ${before}`

const isThereAny = read(
  'upkeep.isThereAny',
  machine,
  async (ctx, old: Old): Promise<boolean> =>
    (await ctx.db.execute(sql`select 1 from ${nameOf(old)} where ${isOld(old)} limit 1`)).count > 0,
)

const purgeSome = write('upkeep.purgeSome', machine, async (ctx, old: Old): Promise<number> => {
  const some = sql`select ctid from ${nameOf(old)} where ${isOld(old)} limit ${BATCH}`
  return (await ctx.db.execute(sql`delete from ${nameOf(old)} where ctid = any(array(${some}))`)).count
})

/** Removes for good what has outlived its time, a little at a time. */
export const purge = flow('upkeep.purge', machine, async (ctx, _: Record<string, never>): Promise<Record<string, number>> => {
  const ago = (days: number) => new Date(Date.parse(ctx.now) - days * 86_400_000).toISOString()
  const removed: Record<string, number> = {}
  for (const soft of await softTables(ctx, {}))
    removed[soft.table as string] = await purgeAll(ctx, { ...soft, column: 'deleted_at', before: ago(DELETED_DAYS) })
  removed.events = await purgeAll(ctx, { table: events, column: 'at', before: ago(EVENT_DAYS) })
  removed.idempotencyKeys = await purgeAll(ctx, { table: idempotencyKeys, column: 'expires_at', before: ctx.now })
  removed.counters = await purgeAll(ctx, { table: counters, column: 'expires_at', before: ctx.now })
  removed.refreshTokens = await purgeAll(ctx, { table: refreshTokens, column: 'expires_at', before: ctx.now })
  removed.loginSessions = await purgeAll(ctx, { table: loginSessions, column: 'expires_at', before: ago(DELETED_DAYS) })
  removed.oneTimeSecrets = await purgeAll(ctx, { table: oneTimeSecrets, column: 'expires_at', before: ctx.now })
  removed.deviceCodes = await purgeAll(ctx, { table: deviceCodes, column: 'expires_at', before: ctx.now })
  removed.mails = await purgeAll(ctx, { table: mails, column: 'created_at', before: ago(DELETED_DAYS) })
  removed.notifications = await purgeAll(ctx, { table: notifications, column: 'created_at', before: ago(NOTIFICATION_DAYS) })
  removed.invites = await purgeAll(ctx, { table: invites, column: 'expires_at', before: ago(DELETED_DAYS) })
  return removed
})

async function purgeAll(ctx: Ctx, old: Old): Promise<number> {
  let total = 0
  while (await isThereAny(ctx, old)) total += await purgeSome(ctx, old)
  return total
}
