import { type AnyColumn, and, asc, desc, type Param, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { AppError } from '../errors.ts'

export interface Page<T> {
  items: T[]
  nextCursor: string | null
  total?: number
}

/**
 * Keyset pages: the cursor holds the sort value and the id of the last row, so concurrent writes never shift a page.
 * `sort` maps the allowed keys to columns. The key is part of the cursor, so a cursor is refused with another order.
 */
export interface Keyset {
  where(...filters: (SQL | undefined)[]): SQL | undefined
  orderBy: SQL[]
  /** One more than the page size, to find out whether there is a next page. */
  limit: number
  /** What decides the SQL of the page, for `keysetOf` in a prepared query. */
  form: KeysetForm
  /** The values that such a query needs. */
  values: { limit: number; afterValue?: string | number; afterId?: string }
  page<T extends { id: string }>(rows: T[], total?: number): Page<T>
}

/**
 * An order by something that is not a column: `sql` computes it, `of` tells it of a row of the page as the cursor keeps
 * it, and `fits` tells whether a value of a cursor can be such.
 */
export interface ComputedOrder {
  sql: SQL
  of(row: Record<string, unknown>): string | number
  fits(value: unknown): boolean
  /** SQL for a value of a cursor, as the type that it is compared as. */
  value(value: string | number): SQL
}

const isComputed = (by: AnyColumn | ComputedOrder): by is ComputedOrder => 'of' in by

export interface KeysetForm {
  sort: string
  order: 'asc' | 'desc'
  /** True if there is a cursor. */
  after: boolean
}

/** The parts of a page's SQL with placeholders, which take `Keyset.values`. */
export function keysetOf(sort: Record<string, AnyColumn>, id: AnyColumn, { sort: key, order, after }: KeysetForm) {
  const column = sort[key] as AnyColumn
  const value = sql.param(sql.placeholder('afterValue'), column)
  return {
    ...sqlOf(column, id, order, after ? [value, sql.placeholder('afterId')] : undefined),
    limit: sql.placeholder('limit'),
  }
}

type Position = [value: Param | Placeholder | SQL, id: string | Placeholder]

function sqlOf(column: AnyColumn | SQL, id: AnyColumn, order: 'asc' | 'desc', after: Position | undefined) {
  const [by, beyond] = order === 'asc' ? [asc, sql`>`] : [desc, sql`<`]
  const type = id.getSQLType() === 'uuid' ? sql`uuid` : sql`text`
  return {
    where: (...filters: (SQL | undefined)[]) =>
      and(...filters, after && sql`(${column}, ${id}) ${beyond} (${after[0]}, ${after[1]}::${type})`),
    orderBy: [by(column), by(id)],
  }
}

export function keyset<K extends string>(
  sort: Record<K, AnyColumn | ComputedOrder>,
  id: AnyColumn,
  query: { sort?: K; order?: 'asc' | 'desc'; cursor?: string; limit?: number },
  defaults: { sort: K; order?: 'asc' | 'desc'; limit?: number },
): Keyset {
  const key = query.sort ?? defaults.sort
  const order = query.order ?? defaults.order ?? 'desc'
  const limit = query.limit ?? defaults.limit ?? 50
  const by = sort[key]
  const computed = isComputed(by) ? by : undefined
  const column = computed ? computed.sql : (by as AnyColumn)
  const after = query.cursor === undefined ? undefined : decode(query.cursor, `${key}.${order}`, by, id)
  const place = (value: string | number) => (computed ? computed.value(value) : sql.param(value, by as AnyColumn))
  return {
    ...sqlOf(column, id, order, after && [place(after[0]), after[1]]),
    limit: limit + 1,
    form: { sort: key, order, after: after !== undefined },
    values: { limit: limit + 1, afterValue: after?.[0], afterId: after?.[1] },
    page: (rows, total) => {
      const items = fitting(rows.slice(0, limit))
      const last = items.at(-1) as Record<string, unknown> | undefined
      const value = last && (computed ? computed.of(last) : last[key])
      const nextCursor = last && rows.length > items.length ? encode([`${key}.${order}`, value, last.id]) : null
      return total === undefined ? { items, nextCursor } : { items, nextCursor, total }
    },
  }
}

/**
 * Characters of a page. A page of very long records ends earlier than at its limit, and its cursor leads on: to write
 * tens of megabytes of JSON takes so long that other requests would notice.
 */
const MOST_CHARACTERS = 3_000_000

function fitting<T>(rows: T[]): T[] {
  let left = MOST_CHARACTERS
  const end = rows.findIndex((row) => {
    left -= charactersOf(row)
    return left < 0
  })
  // The first record is always there, however long.
  return end < 0 ? rows : rows.slice(0, Math.max(1, end))
}

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let sum = 0
  for (const name in value) sum += charactersOf((value as Record<string, unknown>)[name])
  return sum
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Returns true for a time that Postgres accepts: no 30th of February, no year 0. */
export const isTime = (text: string): boolean => /^(?!0000)\d{4}-/.test(text) && new Date(text).toISOString() === text

/** Returns true for a number that fits its column type, so that a forged cursor cannot make the query fail. */
function isNumber(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31
  if (type.startsWith('big')) return Number.isSafeInteger(value)
  return typeof value === 'number' && Number.isFinite(type === 'real' ? Math.fround(value) : value)
}

const fitsColumn = (column: AnyColumn, value: unknown): boolean =>
  column.dataType === 'number'
    ? isNumber(value, column.getSQLType())
    : typeof value === 'string' && (!column.getSQLType().startsWith('timestamp') || isTime(value))

function decode(
  cursor: string,
  expected: string,
  by: AnyColumn | ComputedOrder,
  idColumn: AnyColumn,
): [string | number, string] {
  try {
    const [kind, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const fits = isComputed(by) ? by.fits(value) : fitsColumn(by, value)
    const isId = typeof id === 'string' && (idColumn.getSQLType() !== 'uuid' || uuid.test(id))
    if (kind === expected && fits && isId) return [value as string | number, id]
  } catch {}
  throw new AppError(
    'invalid.cursor',
    'The cursor does not belong to this list, or the sort order has changed. Start again without a cursor.',
  )
}
