import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import type { SyncEntity } from '../../records/sync.ts'

/** Returns the key or slug of a new record, if its kind has one. */
export async function keyOf(ctx: Ctx, { entity, table }: SyncEntity, id: string): Promise<string | undefined> {
  const key: PgColumn | SQL | undefined = ctx.app.records.find(entity)?.key
  if (!key) return undefined
  const { rows } = await ctx.db.execute<{ key: string | null }>(
    sql`select ${key} as key from ${table} where ${table.id} = ${id}::uuid`,
  )
  return rows[0]?.key ?? undefined
}
