import { type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { type Container, isPlaced, type PlacedEntity, type Stored, type SyncEntity } from '../../records/sync.ts'

/** A link belongs to the containers of its two ends, and is there for those who see both. */

type Ends = NonNullable<SyncEntity['ends']>
export type LinkEntity = SyncEntity & { readonly ends: Ends }
export const isLink = (entity: SyncEntity): entity is LinkEntity => entity.ends !== undefined

export interface LinkCopy {
  readonly id: string
  readonly record: Stored
  /** The containers of its ends, each once. */
  readonly containers: readonly Container[]
}

/** SQL for the container of the record at an end; null if the caller does not see the record. */
function containerAt(ctx: Ctx, { kind, id }: Ends[number]): SQL<Container | null> {
  const rights = rightsOf(ctx.actor)
  const cases = ctx.app.records.synced.filter(isPlaced).map(
    ({ entity, table, place }) =>
      sql`when ${entity} then (select ${place.container} from ${table}
        where ${table.id} = ${id} and ${place.visible(rights)})`,
  )
  return sql`case ${kind} ${sql.join(cases, sql` `)} end`
}

interface Row extends Stored {
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
export const touching = ({ ends: [from, to] }: LinkEntity, ids: readonly string[]): SQL =>
  or(sql`${from.id} = any(${idList(ids)}::uuid[])`, sql`${to.id} = any(${idList(ids)}::uuid[])`)

/** SQL for the ids of all records that meet a condition of their entity. */
const idsWhere = ({ app }: Ctx, condition: (place: PlacedEntity['place']) => SQL): SQL =>
  sql.join(
    app.records.synced
      .filter(isPlaced)
      .map(({ table, place }) => sql`select ${table.id} from ${table} where ${condition(place)}`),
    sql` union all `,
  )

/** SQL condition: links with an end in this container. */
export function linksIn(ctx: Ctx, { ends: [from, to] }: LinkEntity, container: Container): SQL {
  const inside = idsWhere(ctx, (place) => place.inContainer(container))
  return or(sql`${from.id} in (${inside})`, sql`${to.id} in (${inside})`)
}

/** SQL condition: links from a record that the caller sees. */
export const linksSeen = (ctx: Ctx, { ends: [from] }: LinkEntity): SQL =>
  sql`${from.id} in (${idsWhere(ctx, (place) => place.visible(rightsOf(ctx.actor)))})`
