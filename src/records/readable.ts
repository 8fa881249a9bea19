import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Actor } from '../auth/actor.ts'
import { scopeHolds } from '../auth/policy.ts'
import { rightsOf } from '../auth/rights.ts'
import { anyOf, idList } from '../db/columns.ts'
import { or } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import type { EventType } from '../events/catalogue.ts'
import type { RecordKind, Records } from './kind.ts'
import type { RecordName } from './names.ts'

/** Who reads, and the registry of kinds: a `Ctx` is one. */
export interface RecordReader {
  readonly actor: Actor
  readonly app: { readonly records: Records }
}

/** A reader with the connection that it reads by. */
export interface QueryingReader extends RecordReader {
  readonly db: Db
}

const holdsScope = ({ actor }: RecordReader, scope: string | undefined): boolean =>
  actor.kind === 'system' || scope === undefined || scopeHolds(actor.scopes, scope)

/**
 * THE RULE about which kinds a credential may read, on every surface: a tree, a feed, a brief, a link, a search result,
 * a status message or the detail of another record shows only kinds whose scope the credential has. `visible` of the
 * kind decides which rows. The people and agents of a record (author, assignee, holder) are always named.
 */
export const mayRead = (reader: RecordReader, kind: RecordName): boolean =>
  holdsScope(reader, reader.app.records.get(kind).scope)

/** `mayRead` for an event. Events about other things than records name their scope themselves. */
export const mayReadEvent = (reader: RecordReader, { scope, kind }: EventType): boolean =>
  holdsScope(reader, scope ?? reader.app.records.find(kind)?.scope)

/** SQL condition for rows that name a record by its kind and id: the caller sees the record now. */
export const isVisibleRecord = (reader: RecordReader, kind: Column, id: Column): SQL =>
  or(
    sql`false`,
    ...reader.app.records.all
      .filter((record) => mayRead(reader, record.kind))
      .map(
        ({ kind: name, table, visible }) =>
          sql`(${kind} = ${name} and exists (select 1 from ${table}
            where ${table.id} = ${id} and ${visible(rightsOf(reader.actor))}))`,
      ),
  )

/** Returns columns of the records that the caller sees. */
export async function readVisible<R extends Record<string, unknown>>(
  ctx: QueryingReader,
  kind: RecordName,
  ids: readonly string[],
  columns: (record: RecordKind) => Record<keyof R & string, Column | SQL>,
): Promise<R[]> {
  if (!mayRead(ctx, kind)) return []
  const record = ctx.app.records.get(kind)
  const { table, visible } = record
  const named = Object.entries<Column | SQL>(columns(record)).map(
    ([name, column]) => sql`${column} as ${sql.identifier(name)}`,
  )
  const { rows } = await ctx.db.execute<R>(sql`select ${sql.join(named, sql`, `)} from ${table}
    where ${anyOf(table.id, idList(ids))} and ${visible(rightsOf(ctx.actor))}`)
  return rows
}
