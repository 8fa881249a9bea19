import { lt, sql } from 'drizzle-orm'
import { read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { counters } from '../../db/table.ts'
import { events, idempotencyKeys } from '../../events/table.ts'
import { loginSessions, refreshTokens } from '../accounts/table.ts'

const DELETED_DAYS = 30
const EVENT_DAYS = 365

/** Every table with `deleted_at`, so that a new resource is covered without being named here. */
const softTables = read('upkeep.softTables', machine, async (ctx, _: Record<string, never>): Promise<string[]> => {
  const { rows } = await ctx.db.execute<{ table_name: string }>(
    sql`select table_name from information_schema.columns where table_schema = current_schema() and column_name = 'deleted_at' order by table_name`,
  )
  return rows.map((r) => r.table_name)
})

/** Removes for good what has outlived its time. */
export const purge = write('upkeep.purge', machine, async (ctx, _: Record<string, never>): Promise<Record<string, number>> => {
  const ago = (days: number) => new Date(Date.parse(ctx.now) - days * 86_400_000).toISOString()
  const removed: Record<string, number> = {}
  for (const table of await softTables(ctx, {})) {
    const { count } = await ctx.db.execute(sql`delete from ${sql.identifier(table)} where deleted_at < ${ago(DELETED_DAYS)}`)
    removed[table] = count
  }
  removed.events = (
    await ctx.db
      .delete(events)
      .where(lt(events.at, ago(EVENT_DAYS)))
      .returning({ seq: events.seq })
  ).length
  removed.idempotencyKeys = (
    await ctx.db.delete(idempotencyKeys).where(lt(idempotencyKeys.expiresAt, ctx.now)).returning({ key: idempotencyKeys.key })
  ).length
  removed.counters = (await ctx.db.delete(counters).where(lt(counters.expiresAt, ctx.now)).returning({ key: counters.key })).length
  removed.refreshTokens = (
    await ctx.db.delete(refreshTokens).where(lt(refreshTokens.expiresAt, ctx.now)).returning({ hash: refreshTokens.hash })
  ).length
  removed.loginSessions = (
    await ctx.db
      .delete(loginSessions)
      .where(lt(loginSessions.expiresAt, ago(DELETED_DAYS)))
      .returning({ id: loginSessions.id })
  ).length
  return removed
})
