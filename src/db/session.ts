import { Column } from 'drizzle-orm/column'
import { entityKind, is } from 'drizzle-orm/entity'
import {
  PgDatabase,
  PgDialect,
  type PgQueryResultHKT,
  type PgTable,
  PgTransaction,
  type SelectedFieldsOrdered,
} from 'drizzle-orm/pg-core'
import { PgPreparedQuery, PgSession, type PreparedQueryConfig } from 'drizzle-orm/pg-core/session'
import { fillPlaceholders, noopDecoder, type Placeholder, type Query, SQL, sql } from 'drizzle-orm/sql'
import { Subquery } from 'drizzle-orm/subquery'
import { getTableName } from 'drizzle-orm/table'
import * as drizzleUtils from 'drizzle-orm/utils'
import type { Queryable, Transaction } from './driver.ts'

/**
 * Drizzle over our Driver. One session for both databases, because drizzle's own sessions differ in ways that break us:
 * bun-sql stores jsonb as strings, pglite ignores prepared statements, and neither sends BEGIN and COMMIT along with
 * other statements.
 */
interface Raw<T> {
  rows: T[]
  count: number
}
interface RawResult extends PgQueryResultHKT {
  type: Raw<this['row']>
}
export type Db = PgDatabase<RawResult>

type Fields = SelectedFieldsOrdered
/** Drizzle exports it for its drivers, but leaves it out of its types. */
const { mapResultRow } = drizzleUtils as unknown as {
  mapResultRow(fields: Fields, row: unknown[], joins: Record<string, boolean> | undefined): Record<string, unknown>
}

type RowMapper = (row: unknown[]) => Record<string, unknown>

/**
 * Returns a function that maps a row like `mapResultRow`. It looks up the decoders, and the tables that a join may
 * leave empty, once and not for every value.
 */
function mapperOf(fields: Fields, joins: Record<string, boolean> | undefined): RowMapper {
  if (fields.some(({ path }) => path.length > 2)) return (row) => mapResultRow(fields, row, joins)
  const columns = fields.map(({ path, field }) => ({
    object: path.length === 2 ? path[0] : undefined,
    name: path.at(-1) as string,
    decoder: decoderOf(field),
  }))
  const optional = joins ? optionalObjects(fields, joins) : []
  return (row) => {
    const result: Record<string, unknown> = {}
    for (let i = 0; i < columns.length; i++) {
      const { object, name, decoder } = columns[i] as (typeof columns)[number]
      let into = result
      if (object !== undefined) {
        result[object] ??= {}
        into = result[object] as Record<string, unknown>
      }
      const value = row[i]
      into[name] = value === null || decoder === undefined ? value : decoder.mapFromDriverValue(value)
    }
    for (const { object, first } of optional) if (row[first] === null) result[object] = null
    return result
  }
}

/**
 * The objects that are null if a join found no row: those of a single optional table. The first column of each decides.
 */
function optionalObjects(fields: Fields, joins: Record<string, boolean>): { object: string; first: number }[] {
  const tables = new Map<string, { first: number; tables: Set<string> }>()
  fields.forEach(({ path, field }, i) => {
    if (path.length !== 2 || !is(field, Column)) return
    const known = tables.get(path[0] as string) ?? { first: i, tables: new Set() }
    tables.set(path[0] as string, { ...known, tables: known.tables.add(getTableName(field.table)) })
  })
  return [...tables]
    .filter(([, found]) => found.tables.size === 1 && !joins[[...found.tables][0] as string])
    .map(([object, { first }]) => ({ object, first }))
}

interface Decoder {
  mapFromDriverValue(value: unknown): unknown
}

/** Returns the decoder of a column; undefined if values stay as they are. */
function decoderOf(field: Fields[number]['field']): Decoder | undefined {
  if (is(field, Column)) return field.mapFromDriverValue === Column.prototype.mapFromDriverValue ? undefined : field
  const expression = is(field, Subquery) ? field._.sql : is(field, SQL) ? field : field.sql
  // Drizzle marks it as internal.
  const { decoder } = expression as SQL & { decoder: Decoder }
  return decoder === noopDecoder ? undefined : decoder
}

class Prepared<T extends PreparedQueryConfig> extends PgPreparedQuery<T> {
  static override readonly [entityKind]: string = 'TuttiPreparedQuery'
  declare joinsNotNullableMap?: Record<string, boolean>
  #mapper: RowMapper | undefined

  constructor(
    private readonly on: Queryable,
    query: Query,
    private readonly fields: Fields | undefined,
    private readonly map: ((rows: unknown[][]) => T['execute']) | undefined,
  ) {
    super(query, undefined, undefined)
  }

  override execute(values: Record<string, unknown> = {}): Promise<T['execute']> {
    return this.executeOn(this.on, values)
  }

  deferOn(on: Transaction, values: Record<string, unknown>): void {
    on.defer({ text: this.query.sql, params: fillPlaceholders(this.query.params, values) })
  }

  async executeOn(on: Queryable, values: Record<string, unknown>): Promise<T['execute']> {
    const result = await on.query(this.query.sql, fillPlaceholders(this.query.params, values))
    const { rows } = result
    if (this.map) return this.map(rows)
    if (this.fields) {
      this.#mapper ??= mapperOf(this.fields, this.joinsNotNullableMap)
      return rows.map(this.#mapper)
    }
    // Read only here, because a driver may have to make the list of columns.
    const { columns, count } = result
    return { rows: rows.map((row) => named(columns, row)), count }
  }
}

function named(columns: readonly string[], row: readonly unknown[]): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (let i = 0; i < columns.length; i++) found[columns[i] as string] = row[i]
  return found
}

class DriverSession extends PgSession<RawResult> {
  static override readonly [entityKind]: string = 'TuttiSession'

  constructor(
    dialect: PgDialect,
    private readonly on: Queryable,
  ) {
    super(dialect)
  }

  override prepareQuery<T extends PreparedQueryConfig>(
    query: Query,
    fields: Fields | undefined,
    _name: string | undefined,
    _arrays: boolean,
    map?: (rows: unknown[][]) => T['execute'],
  ): PgPreparedQuery<T> {
    return new Prepared<T>(this.on, query, fields, map)
  }

  /** `$count` expects a result of another shape. */
  override async count(query: SQL): Promise<number> {
    const { rows } = await this.execute<Raw<{ count: unknown }>>(query)
    return Number(rows[0]?.count)
  }

  /** Transactions belong to actions (`write` in action.ts), which own audit, events and idempotency. */
  override transaction<T>(): Promise<T> {
    throw new Error('Use a write action: db.transaction() would skip audit and events')
  }
}

class Tx extends PgTransaction<RawResult> {
  static override readonly [entityKind]: string = 'TuttiTransaction'
  override transaction<T>(): Promise<T> {
    throw new Error('Nested writes join the running transaction')
  }
}

const dialect = new PgDialect({ casing: 'snake_case' })
const connections = new WeakMap<Db, Queryable>()

function connect(db: Db, on: Queryable): Db {
  connections.set(db, on)
  return db
}

export const drizzleOver = (on: Queryable): Db =>
  connect(new PgDatabase(dialect, new DriverSession(dialect, on), undefined) as Db, on)

export const drizzleTx = (on: Queryable): Db =>
  connect(new Tx(dialect, new DriverSession(dialect, on), undefined) as Db, on)

/** Returns the connection behind `db`, for raw SQL. Inside a transaction, that is the transaction's connection. */
export const connectionOf = (db: Db): Queryable => connections.get(db) as Queryable

/**
 * A query whose SQL is built once and run on any connection, inside a transaction or not. Building costs more than
 * running a simple statement, so the hottest paths use this. Values come through `sql.placeholder(name)`.
 */
export function prepare<R>(
  build: (db: Db) => { prepare(name: string): PgPreparedQuery<PreparedQueryConfig & { execute: R }> },
): (db: Db, values: Record<string, unknown>) => Promise<R> {
  let prepared: Prepared<PreparedQueryConfig & { execute: R }> | undefined
  return (db, values) => {
    prepared ??= build(db).prepare('') as Prepared<PreparedQueryConfig & { execute: R }>
    return prepared.executeOn(connectionOf(db), values) as Promise<R>
  }
}

/**
 * Like `prepare`, for a query that has several forms, such as a list with optional filters. `form` holds everything
 * that decides the SQL, never values of a caller: each form is built once and kept.
 */
export function prepareForms<F extends object, R>(
  build: (db: Db, form: F) => { prepare(name: string): PgPreparedQuery<PreparedQueryConfig & { execute: R }> },
): (db: Db, form: F, values: Record<string, unknown>) => Promise<R> {
  const forms = new Map<string, ReturnType<typeof prepare<R>>>()
  return (db, form, values) => {
    const key = JSON.stringify(form)
    let query = forms.get(key)
    if (!query) {
      query = prepare((on) => build(on, form))
      forms.set(key, query)
    }
    return query(db, values)
  }
}

/**
 * Like `prepare`, for a write that needs no result of the statement: it is sent together with the write's next
 * statement or with its event and COMMIT, which saves a round trip. If it fails, those reject.
 */
export function prepareDeferred(
  build: (db: Db) => { prepare(name: string): PgPreparedQuery<PreparedQueryConfig> },
): (db: Db, values: Record<string, unknown>) => void {
  let prepared: Prepared<PreparedQueryConfig> | undefined
  return (db, values) => {
    prepared ??= build(db).prepare('') as Prepared<PreparedQueryConfig>
    const on = connectionOf(db)
    if (!isTransaction(on)) throw new Error('a deferred statement outside a write')
    prepared.deferOn(on, values)
  }
}

/** Runs a statement without parameters inside a transaction, such as a savepoint, together with the next one. */
export function deferStatement(db: Db, text: string): void {
  const on = connectionOf(db)
  if (!isTransaction(on)) throw new Error('a deferred statement outside a write')
  on.defer({ text, params: [] })
}

const isTransaction = (on: Queryable): on is Transaction => 'defer' in on

/** A query of whole rows in place of its table. Drizzle has no type for that. */
export const rowsOfTable = <T extends PgTable>(table: T, query: SQL): T =>
  new Subquery(query, {}, getTableName(table)) as unknown as T

/** The rows of a query over columns that a generic function is given: drizzle cannot derive their types. */
export const rowsAs = <R>(query: PromiseLike<unknown>): Promise<R[]> => query as Promise<R[]>

/** `{ title: placeholder('title'), … }`, for an insert that is built once. */
export function placeholders<const K extends string>(...names: K[]): Record<K, Placeholder> {
  const found = {} as Record<K, Placeholder>
  for (const name of names) found[name] = sql.placeholder(name)
  return found
}
