import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Rights } from '../auth/rights.ts'
import { check, decodeInput } from '../check.ts'
import { anyOf, idList } from '../db/columns.ts'
import { and } from '../db/conditions.ts'
import { type Db, rowsAs } from '../db/session.ts'
import { AppError } from '../errors.ts'
import type { Static, TSchema } from '../schema.ts'

/**
 * What devices keep a copy of, and how they change it (`features/sync`).
 *
 * `C` is the type of the context that the functions of a kind get: `Ctx`. It is a parameter because a `Ctx` knows all
 * kinds. Code that calls none of these functions leaves it out.
 */

/**
 * How a field is merged that was changed on both sides. `value`: a conflict. `set`: additions and removals of both
 * sides apply. `text`: merged by lines; a conflict where both changed the same lines.
 */
export type FieldKind = 'value' | 'set' | 'text'

/** Values of fields by name, as pull sends them. */
export type Fields = Readonly<Record<string, unknown>>

/** A stored record: its fields, with its id and version. */
export interface StoredRecord extends Fields {
  readonly id: string
  readonly version: number
}

/** The `sync` member of a kind of record. Its functions call the actions of the web API, so their rules hold. */
export interface SyncRules<C = never> {
  /**
   * The record's own columns by the name of the field: no lease, no counts, no keys and names that are computed.
   * Devices get them in this order.
   */
  readonly columns: Readonly<Record<string, PgColumn>>
  /** The fields that a device may change. */
  readonly fields: Readonly<Record<string, FieldKind>>
  /** Fields that only a new record takes, besides `organizationId`. */
  readonly onCreate?: readonly string[]
  /** Creates a record with the id that the device chose. Absent fields get their defaults; none is null. */
  create(ctx: C, id: string, fields: Fields): Promise<unknown>
  /** Changes these fields. `ctx.expectedVersion` is the version of `before`. Missing: records never change. */
  update?(ctx: C, before: StoredRecord, fields: Fields): Promise<unknown>
  /** Missing: devices cannot delete. */
  remove?(ctx: C, before: StoredRecord): Promise<unknown>
  /** Restores a deleted record. Missing: the web API cannot either. */
  restore?(ctx: C, before: StoredRecord): Promise<unknown>
}

/** Where a record belongs: its project, else its organization, else its owner. The unit of rights and partial sync. */
export type Container = `${'project' | 'organization' | 'user'}:${string}`

/** A synced entity: a kind of record, or something that belongs to records, such as comments. */
export interface SyncEntity<C = never> extends SyncRules<C> {
  /** Its name in pull, push and `data.changed` of events: `task`, `comment`. */
  readonly entity: string
  readonly table: PgTable & { id: PgColumn }
  /** The scope that a credential needs to read it. */
  readonly scope: `${string}:read`
  /** 1 where rows never change. */
  readonly version: PgColumn | SQL
  /** When the row was deleted, if rows are hidden instead of removed. */
  readonly deletedAt?: PgColumn
  /** Where a row belongs, and who sees it. Missing where rows connect records: those at both ends decide. */
  readonly place?: SyncPlace
  /** The two ends of a link or of a dependency. */
  readonly ends?: readonly [SyncEnd, SyncEnd]
}

interface SyncPlace {
  /** The condition for the rows that a caller sees. */
  readonly visible: (rights: Rights) => SQL
  /** The container of a row. */
  readonly container: SQL<Container>
  /** The condition for the rows of a container, in a form that can use the table's indexes. */
  readonly inContainer: (container: Container) => SQL
}

interface SyncEnd {
  /** The kind of record at this end: a name if it is always the same. */
  readonly kind: PgColumn | string
  readonly id: PgColumn
}

/** An entity whose rows belong to one container. */
export type PlacedEntity<C = never> = SyncEntity<C> & { readonly place: SyncPlace }
export const isPlaced = <C>(entity: SyncEntity<C>): entity is PlacedEntity<C> => entity.place !== undefined

/** Returns the container as SQL: the project, else the organization, else the owner. */
const containerSql = (project: PgColumn | undefined, organization: PgColumn, owner: PgColumn | undefined) =>
  sql<Container>`coalesce('project:' || ${project ?? null}::uuid, 'organization:' || ${organization},
    'user:' || ${owner ?? null}::uuid)`

export function splitContainer(container: Container): { type: string; id: string } {
  const [type = '', id = ''] = container.split(':')
  return { type, id }
}

interface SyncedKind<C> {
  readonly kind: string
  readonly table: PgTable & Record<'id' | 'version' | 'organizationId', PgColumn> & { deletedAt?: PgColumn }
  readonly scope: `${string}:read`
  readonly visible: (rights: Rights) => SQL
  readonly ownerId?: PgColumn
  readonly sync?: SyncRules<C>
}

/** Returns a kind of record as an entity of sync; undefined for kinds that devices keep no copy of. */
export function syncEntity<C>(record: SyncedKind<C>, project: PgColumn | undefined): SyncEntity<C> | undefined {
  const { kind, table, scope, sync } = record
  if (!sync) return undefined
  const { version, deletedAt } = table
  return { ...sync, entity: kind, table, scope, version, deletedAt, place: syncPlace(record, project) }
}

/** Returns where records of a kind belong, and who sees them. */
export function syncPlace(
  { table: { organizationId }, visible, ownerId }: Pick<SyncedKind<never>, 'table' | 'visible' | 'ownerId'>,
  project: PgColumn | undefined,
): SyncPlace {
  const nothing = sql`false`
  return {
    visible,
    container: containerSql(project, organizationId, ownerId),
    inContainer: (container) => {
      const { type, id } = splitContainer(container)
      if (type === 'project') return project ? sql`${project} = ${id}::uuid` : nothing
      const noProject = project ? sql`${project} is null` : sql`true`
      if (type === 'organization') return and(noProject, sql`${organizationId} = ${id}::uuid`)
      return ownerId ? and(noProject, sql`${organizationId} is null`, sql`${ownerId} = ${id}::uuid`) : nothing
    },
  }
}

/** A record as pull sends it. */
export interface RecordCopy {
  readonly id: string
  readonly version: number
  readonly container: Container
  readonly record: StoredRecord
}

/** A record as it is read, with its container. */
interface Row extends StoredRecord {
  readonly $container: Container
}

type Readable = Pick<PlacedEntity, 'table' | 'columns' | 'version' | 'place'>

const selectFrom = (db: Db, { table, columns, version, place }: Readable, where: SQL | undefined) =>
  db
    .select({ ...columns, version: sql`${version}`.mapWith(Number), $container: place.container })
    .from(table as PgTable)
    .where(where)
    .orderBy(table.id)
    .$dynamic()

const copyOf = ({ $container, id, version, ...rest }: Row): RecordCopy => ({
  id,
  version,
  container: $container,
  record: { id, version, ...rest },
})

interface Selection {
  readonly where: SQL | undefined
  /** Rows with a higher id, by id. */
  readonly after?: string
  readonly limit?: number
}

/** Reads records of an entity, by id. The condition has to hold the reader's rights. */
export async function readCopies(db: Db, entity: Readable, { where, after, limit }: Selection): Promise<RecordCopy[]> {
  const from = after === undefined ? undefined : sql`${entity.table.id} > ${after}::uuid`
  const query = selectFrom(db, entity, and(where, from))
  const rows = await rowsAs<Row>(limit === undefined ? query : query.limit(limit))
  return rows.map(copyOf)
}

/** An id below all others. */
export const LOWEST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Returns a function that reads the next records after an id, each with its container as `$container`. The
 * statement is built once: for small pages that costs more than everything else.
 */
export function preparePages(
  db: Db,
  entity: Readable,
  where: SQL | undefined,
  limit: number,
): (after: string) => Promise<Row[]> {
  const from = sql`${entity.table.id} > ${sql.placeholder('after')}::uuid`
  const query = selectFrom(db, entity, and(where, from)).limit(limit).prepare('')
  return (after) => rowsAs<Row>(query.execute({ after }))
}

/** Reads those of these records that the caller sees, in any container. */
export const readCopiesByIds = (
  db: Db,
  entity: PlacedEntity,
  ids: readonly string[],
  rights: Rights,
): Promise<RecordCopy[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : readCopies(db, entity, { where: and(anyOf(entity.table.id, idList(ids)), entity.place.visible(rights)) })

/** Validates fields against the schema of an action, and converts dates to instants. Throws `invalid`. */
export function validateFields<T extends TSchema>(schema: T, fields: Fields): Static<T> {
  const errors = check(schema, fields)
  if (errors.length > 0) throw new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors })
  return decodeInput(schema, fields as Static<T>)
}

/** Renames a field to the name that the actions use. */
export function renameField({ ...fields }: Fields, from: string, to: string): Fields {
  if (!(from in fields)) return fields
  const { [from]: value, ...rest } = fields
  return { ...rest, [to]: value }
}

/** Separates the fields that a new record cannot have yet from the rest. */
export function splitFields(
  { ...fields }: Fields,
  isLater: (name: string, value: unknown) => boolean,
): { now: Fields; later: Fields } {
  const entries = Object.entries(fields)
  return {
    now: Object.fromEntries(entries.filter(([name, value]) => !isLater(name, value))),
    later: Object.fromEntries(entries.filter(([name, value]) => isLater(name, value))),
  }
}

/** Returns about how many bytes a record takes on the wire. */
export function recordBytes(record: Fields): number {
  let size = 0
  for (const value of Object.values(record)) {
    if (typeof value === 'string') size += value.length
    else if (typeof value === 'object' && value !== null) size += JSON.stringify(value).length
    size += 20
  }
  return size
}
