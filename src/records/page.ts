import { type AnyColumn, and, asc, desc, getTableName, type Param, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { AppError } from '../errors.ts'
import { decodeShortCursor, encodeShortCursor, isValidTime, type ListOrder, type ListPosition } from './cursor.ts'

export { isValidTime }

export interface Page<T> {
  items: T[]
  nextCursor: string | null
  total?: number
}

/**
 * Keyset pages: the cursor contains the position where a page ended, so concurrent writes never shift a page, and the
 * last row may be deleted. `sort` maps the allowed keys to columns. A cursor of another order is refused.
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
 * An order by a computed value: `sql` computes it, `of` returns it for a row, and `fits` checks a value of a cursor.
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
  const list = { name: `${getTableName(id.table)}.${key}.${order}`, descending: order === 'desc' }
  const after = query.cursor === undefined ? undefined : decode(query.cursor, list, `${key}.${order}`, by, id)
  const place = (value: string | number) => (computed ? computed.value(value) : sql.param(value, by as AnyColumn))
  return {
    ...sqlOf(column, id, order, after && [place(after[0]), after[1]]),
    limit: limit + 1,
    form: { sort: key, order, after: after !== undefined },
    values: { limit: limit + 1, afterValue: after?.[0], afterId: after?.[1] },
    page: (rows, total) => {
      const placeOf = (row: Record<string, unknown>): ListPosition => ({
        value: (computed ? computed.of(row) : row[key]) as string | number,
        id: row.id as string,
      })
      const fits = fitting(rows.slice(0, limit)).length
      const places = rows.length > fits ? rows.slice(0, fits + 1).map(placeOf) : []
      const { count, cursor } = endOf(places, (last, next) => encodeShortCursor(list, last, next))
      const last = places[fits - 1]
      const nextCursor = cursor ?? (last ? encode([`${key}.${order}`, last.value, last.id]) : null)
      const page = { items: rows.slice(0, count ?? fits), nextCursor }
      return total === undefined ? page : { ...page, total }
    },
  }
}

/** Characters of a short cursor. Tools add two of their own and promise at most 24. */
const MOST_CURSOR = 22
/** How many rows a page may be shorter than asked for, so that its cursor is not longer. */
const MOST_LEFT_OUT = 10

/**
 * Returns where a page ends: before the last place if possible, else a little earlier. Ids that were made within a
 * millisecond differ late, which makes a cursor between them longer. Returns nothing where the order allows no short
 * cursor.
 */
function endOf(
  places: readonly ListPosition[],
  between: (last: ListPosition, next: ListPosition) => string | undefined,
) {
  const ends = Array.from({ length: Math.min(MOST_LEFT_OUT, places.length - 1) }, (_, i) => places.length - 1 - i)
  let longer: { count?: number; cursor?: string } = {}
  for (const count of ends) {
    const cursor = between(places[count - 1] as ListPosition, places[count] as ListPosition)
    if (cursor === undefined) return {}
    if (cursor.length <= MOST_CURSOR) return { count, cursor }
    longer = longer.cursor ? longer : { count, cursor }
  }
  return longer
}

/**
 * Characters of a page. A page of very long records ends before its limit: writing tens of megabytes of JSON would
 * delay other requests.
 */
const MOST_CHARACTERS = 3_000_000

function fitting<T>(rows: T[]): T[] {
  let left = MOST_CHARACTERS
  const end = rows.findIndex((row) => {
    left -= charactersOf(row)
    return left < 0
  })
  // A page always contains its first record, however long.
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

/** Returns true for a number that fits its column type, so that a forged cursor cannot make the query fail. */
function isNumber(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31
  if (type.startsWith('big')) return Number.isSafeInteger(value)
  return typeof value === 'number' && Number.isFinite(type === 'real' ? Math.fround(value) : value)
}

const fitsColumn = (column: AnyColumn, value: unknown): boolean =>
  column.dataType === 'number'
    ? isNumber(value, column.getSQLType())
    : typeof value === 'string' && (!column.getSQLType().startsWith('timestamp') || isValidTime(value))

function decode(
  cursor: string,
  list: ListOrder,
  expected: string,
  by: AnyColumn | ComputedOrder,
  idColumn: AnyColumn,
): [string | number, string] {
  const fits = (value: unknown) => (isComputed(by) ? by.fits(value) : fitsColumn(by, value))
  try {
    const short = decodeShortCursor(list, cursor)
    if (short) {
      const value = fits(short.number) ? short.number : new Date(short.number).toISOString()
      if (fits(value)) return [value, short.id]
    } else {
      const [kind, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
      const isId = typeof id === 'string' && (idColumn.getSQLType() !== 'uuid' || uuid.test(id))
      if (kind === expected && fits(value) && isId) return [value as string | number, id]
    }
  } catch {}
  throw new AppError(
    'invalid.cursor',
    'The cursor does not belong to this list, or the sort order has changed. Start again without a cursor.',
  )
}
