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

const DELETED_DAYS = 30
const EVENT_DAYS = 365
const NOTIFICATION_DAYS = 180
/** Rows in one transaction: on the embedded database everybody else waits meanwhile. */
const BATCH = 2000

/** Every table with `deleted_at`, so that a new resource is covered without being named here. */
const softTables = read('upkeep.softTables', machine, async (ctx, _: Record<string, never>): Promise<string[]> => {
  const { rows } = await ctx.db.execute<{ table_name: string }>(
    sql`select table_name from information_schema.columns where table_schema = current_schema() and column_name = 'deleted_at' order by table_name`,
  )
  return rows.map((r) => r.table_name)
})

interface Old {
  table: string | PgTable
  column: string
  before: string
}

const isThereAny = read('upkeep.isThereAny', machine, async (ctx, { table, column, before }: Old): Promise<boolean> => {
  const name = typeof table === 'string' ? sql.identifier(table) : sql`${table}`
  return (await ctx.db.execute(sql`select 1 from ${name} where ${sql.identifier(column)} < ${before} limit 1`)).count > 0
})

const purgeSome = write('upkeep.purgeSome', machine, async (ctx, { table, column, before }: Old): Promise<number> => {
  const name = typeof table === 'string' ? sql.identifier(table) : sql`${table}`
  const { count } = await ctx.db.execute(
    sql`delete from ${name} where ctid = any(array(select ctid from ${name} where ${sql.identifier(column)} < ${before} limit ${BATCH}))`,
  )
  return count
})

/** Removes for good what has outlived its time, a little at a time. */
export const purge = flow('upkeep.purge', machine, async (ctx, _: Record<string, never>): Promise<Record<string, number>> => {
  const ago = (days: number) => new Date(Date.parse(ctx.now) - days * 86_400_000).toISOString()
  const removed: Record<string, number> = {}
  for (const table of await softTables(ctx, {}))
    removed[table] = await purgeAll(ctx, { table, column: 'deleted_at', before: ago(DELETED_DAYS) })
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
