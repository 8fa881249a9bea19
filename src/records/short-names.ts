import { and, inArray, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { rightsOf } from '../auth/rights.ts'
import { idList } from '../db/columns.ts'
import { events } from '../events/table.ts'
import type { QueryingReader } from './readable.ts'

/** Names of records by their ids: the key or slug, else the shortest beginning of the id that is unique. */
export type RecordNames = ReadonlyMap<string, string>

/** Returns the names of records of one kind. Ids of an unknown kind are not shortened. */
export async function shortNames(ctx: QueryingReader, kind: string, ids: string[]): Promise<RecordNames> {
  if (ids.length === 0) return new Map()
  const record = ctx.app.records.find(kind)
  if (!record) return kind === 'activity' ? beginnings(ctx, events, ids) : new Map()
  const { key, table, visible } = record
  if (!key) return beginnings(ctx, table, ids)
  const rows: { id: string; name: string }[] = await ctx.db
    .select({ id: sql<string>`${table.id}`, name: sql<string>`${key}` })
    .from(table as PgTable)
    .where(and(inArray(table.id, ids), visible(rightsOf(ctx.actor))))
  const named = new Map(rows.map(({ id, name }) => [id, name]))
  const unseen = ids.filter((id) => !named.has(id))
  return unseen.length > 0 ? new Map([...named, ...(await beginnings(ctx, table, unseen))]) : named
}

/** Possible lengths: after the groups of an id. The first two groups contain the time in milliseconds. */
const lengths = [13, 18, 23]

/**
 * Returns beginnings that no other id of the table shares, also no hidden one: so a reference finds the same record for
 * every caller.
 */
async function beginnings(
  ctx: QueryingReader,
  table: PgTable & { id: PgColumn },
  ids: readonly string[],
): Promise<RecordNames> {
  const first = ids.map((id) => `${id.slice(0, 13)}-0000-0000-000000000000`)
  const last = ids.map((id) => `${id.slice(0, 13)}-ffff-ffff-ffffffffffff`)
  const { rows } = await ctx.db.execute<{ id: string }>(sql`select ${table.id} as id
    from unnest(${idList(first)}::uuid[], ${idList(last)}::uuid[]) r(first, last)
      join ${table} on ${table.id} between r.first and r.last`)
  const shortest = (id: string): string => {
    const length = lengths.find((n) => !rows.some((row) => row.id !== id && row.id.startsWith(id.slice(0, n))))
    return length === undefined ? id : id.slice(0, length)
  }
  return new Map(ids.map((id) => [id, shortest(id)]))
}
