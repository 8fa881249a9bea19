import { type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { type Container, isPlaced, type PlacedEntity, type StoredRecord, type SyncEntity } from '../../records/sync.ts'

/** A link or dependency belongs to the containers of its two ends. People who see both ends see it. */

type Ends = NonNullable<SyncEntity['ends']>
export type LinkEntity = SyncEntity & { readonly ends: Ends }
export const isLink = (entity: SyncEntity): entity is LinkEntity => entity.ends !== undefined

export interface LinkCopy {
  readonly id: string
  readonly record: StoredRecord
  /** The containers of its ends, each once. */
  readonly containers: readonly Container[]
}

const entitiesAt = ({ app }: Ctx, { kind }: Ends[number]): PlacedEntity[] =>
  app.records.synced.filter(isPlaced).filter(({ entity }) => typeof kind !== 'string' || entity === kind)

/** SQL for the container of the record at an end; null if the caller does not see the record. */
function containerAt(ctx: Ctx, end: Ends[number]): SQL<Container | null> {
  const { kind, id } = end
  const rights = rightsOf(ctx.actor)
  const cases = entitiesAt(ctx, end).map(
    ({ entity, table, place }) =>
      sql`when ${entity} then (select ${place.container} from ${table}
        where ${table.id} = ${id} and ${place.visible(rights)})`,
  )
  return sql`case ${kind} ${sql.join(cases, sql` `)} end`
}

interface Row extends StoredRecord {
  readonly $from: Container | null
  readonly $to: Container | null
}

interface Selection {
  where: SQL
  after?: string
  limit?: number
}

/** Reads links between records that the caller sees, by id. */
export async function readLinks(
  ctx: Ctx,
  { table, columns, ends: [from, to] }: LinkEntity,
  { where, after, limit }: Selection,
): Promise<{ links: LinkCopy[]; rows: number; last: string | undefined }> {
  const query = ctx.db
    .select({ ...columns, $from: containerAt(ctx, from), $to: containerAt(ctx, to) })
    .from(table as PgTable)
    .where(and(where, after === undefined ? undefined : sql`${table.id} > ${after}::uuid`))
    .orderBy(table.id)
    .$dynamic()
  const rows = await rowsAs<Row>(limit === undefined ? query : query.limit(limit))
  const links = rows.flatMap(({ $from, $to, id, ...rest }) =>
    $from && $to ? [{ id, record: { ...rest, id, version: 1 }, containers: [...new Set([$from, $to])] }] : [],
  )
  return { links, rows: rows.length, last: rows.at(-1)?.id }
}

/** SQL condition: links of these records, at either end. */
export const isLinkOf = ({ ends: [from, to] }: LinkEntity, ids: readonly string[]): SQL =>
  or(sql`${from.id} = any(${idList(ids)}::uuid[])`, sql`${to.id} = any(${idList(ids)}::uuid[])`)

/** SQL condition: the record at an end meets a condition of its entity. */
function endIs(ctx: Ctx, end: Ends[number], condition: (place: PlacedEntity['place']) => SQL): SQL {
  const ids = entitiesAt(ctx, end).map(
    ({ table, place }) => sql`select ${table.id} from ${table} where ${condition(place)}`,
  )
  return sql`${end.id} in (${sql.join(ids, sql` union all `)})`
}

/** SQL condition: links with an end in this container. */
export function isLinkIn(ctx: Ctx, { ends: [from, to] }: LinkEntity, container: Container): SQL {
  const isInside = (end: Ends[number]) => endIs(ctx, end, (place) => place.inContainer(container))
  return or(isInside(from), isInside(to))
}

/** SQL condition: links from a record that the caller sees. */
export const isVisibleLink = (ctx: Ctx, { ends: [from] }: LinkEntity): SQL =>
  endIs(ctx, from, (place) => place.visible(rightsOf(ctx.actor)))
