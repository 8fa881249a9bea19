import { type AnyColumn, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { customType, integer, uuid } from 'drizzle-orm/pg-core'
import { punctuation, queryWords } from '../text/search-query.ts'
import { JsonParam } from './driver.ts'

export { queryWords }

/**
 * Times are read as RFC 3339 strings with milliseconds, so rows are wire-shaped. Drivers give text (embedded) or Date
 * (Postgres).
 */
export const instant = customType<{ data: string; driverData: string | Date }>({
  dataType: () => 'timestamp(3) with time zone',
  fromDriver: toIso,
})

export function toIso(value: string | Date): string {
  if (value instanceof Date) return value.toISOString()
  // "2026-11-15 02:09:00.12+00": Postgres trims trailing zeros; the session's time zone is UTC.
  const dot = value.indexOf('.', 19)
  const millis = dot < 0 ? '000' : value.slice(dot + 1, value.indexOf('+', dot)).padEnd(3, '0')
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${millis}Z`
}

/**
 * A value sent to jsonb. Bun's driver needs the object itself (it would store a text as a JSON string), the embedded
 * one its text. Only scalars need a cast, because drivers would infer another type for them.
 */
export const json = <T>() =>
  customType<{ data: T; driverData: unknown }>({
    dataType: () => 'jsonb',
    toDriver: (value) =>
      typeof value === 'object' && value !== null ? new JsonParam(value) : sql`${JSON.stringify(value)}::text::jsonb`,
    fromDriver: (value) => (typeof value === 'string' ? JSON.parse(value) : value) as T,
  })()

/**
 * A list of texts. Drizzle's own arrays lose backslashes when a driver returns them as text, as the embedded one does.
 */
export const textList = customType<{ data: string[]; driverData: string | string[] }>({
  dataType: () => 'text[]',
  // Drizzle also encodes null where a prepared statement gets it by its placeholder.
  toDriver: (values: string[] | null) => (values === null ? null : listText(values)) as string,
  fromDriver: (value) => (typeof value === 'string' ? parseList(value) : value),
})

/** A literal of a list of texts. */
export function listText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** `{plain,"quoted, with \"escapes\"",""}` */
function parseList(literal: string): string[] {
  const elements = literal.slice(1, -1).matchAll(/"([^"\\]*(?:\\.[^"\\]*)*)"|([^,]+)/gs)
  return Array.from(elements, ([, quoted, plain]) =>
    quoted === undefined ? (plain as string) : quoted.replace(/\\(.)/gs, '$1'),
  )
}

const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' })

/**
 * Punctuation becomes spaces before Postgres parses a text: its parser takes quadratic time on made-up "paths",
 * "addresses" and "tags" (12 KB of `/~/~` costs seconds), and on the embedded database all other queries would wait.
 */
const words = (column: string, language: SQL): SQL =>
  sql`to_tsvector(${language}, translate(left(coalesce(${sql.identifier(column)}, ''), 200000), ${marksToSpaces}))`
const marksToSpaces = sql`'!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~', '                                '`
const weights = [sql`'A'`, sql`'B'`, sql`'C'`, sql`'D'`] as const

/** A generated column over other columns of its table, the first ones weighing most. Put a GIN index on it. */
export const searchOver = (...columns: string[]) => searchIn(sql`'simple'`, columns)
/** Like `searchOver`, with English word stems: `locking` finds `locked`. */
export const stemsOver = (...columns: string[]) => searchIn(sql`'english'`, columns)

/** Like `searchOver`, over a column of JSON. `apart`: a pattern of what is left out, such as names of fields. */
export const searchOverJson = (column: string, apart: SQL) =>
  tsvector().generatedAlwaysAs(
    sql`to_tsvector('simple', translate(left(regexp_replace(${sql.identifier(column)}::text,
      ${apart}, ' ', 'g'), 200000), ${marksToSpaces}))`,
  )

const searchIn = (language: SQL, columns: string[]) =>
  tsvector().generatedAlwaysAs(
    sql.join(
      columns.map((column, i) => sql`setweight(${words(column, language)}, ${weights[i]})`),
      sql` || `,
    ),
  )

/** Cleans a query's text like the columns' texts. */
export const plainWords = (text: string): string => text.replace(punctuation, ' ').replace(/["-]/g, ' ')

/** pgvector's type, without a length: only vectors of one model, and so of one length, are compared. */
export const vector = customType<{ data: Float32Array; driverData: string }>({
  dataType: () => 'vector',
  toDriver: vectorText,
})

/** Bits of any number, which pgvector can compare. */
export const bits = customType<{ data: string }>({ dataType: () => 'bit varying' })

export function vectorText(values: Float32Array): string {
  return `[${Array.from(values, (value) => Number(value.toFixed(6))).join(',')}]`
}

/** True if all words occur. `"a phrase"`, `-without` and `or` work as in a search engine. */
export const matches = (column: AnyColumn, text: string): SQL => matchesWords(column, queryWords(text))

/** Like `matches`, for the result of `queryWords` or a placeholder for it. */
export const matchesWords = (column: AnyColumn, words: string | Placeholder): SQL =>
  sql`${column} @@ websearch_to_tsquery('simple', ${words})`

/** For short texts, such as names. `%` and `_` are literal. */
export const contains = (column: AnyColumn, part: string): SQL =>
  sql`${column} ilike ${`%${part.replace(/[\\%_]/g, '\\$&')}%`}`

/** SQL condition: the list of texts contains all of these. Returns undefined without any. */
export const hasAll = (column: AnyColumn, texts: string | readonly string[] | undefined): SQL | undefined => {
  const wanted = typeof texts === 'string' ? [texts] : (texts ?? [])
  if (wanted.length === 0) return undefined
  return sql`${column} @> array[${sql.join(
    wanted.map((text) => sql`${text}`),
    sql`, `,
  )}]::text[]`
}

export const newId = (): string => Bun.randomUUIDv7()

/** Columns of every record. `version` starts at 1 and rises by one with every change. */
export const record = () => ({
  id: uuid().primaryKey().$defaultFn(newId),
  createdAt: instant().notNull(),
  updatedAt: instant().notNull(),
  version: integer().notNull().default(1),
})

/** A record that is hidden, not removed, when deleted. */
export const softRecord = () => ({ ...record(), deletedAt: instant() })

/**
 * `= any($n)` keeps the statement's text constant for any number of values, so it stays prepared. Takes the result of
 * `idList`.
 */
export const anyOf = (column: AnyColumn, ids: IdList): SQL => sql`${column} = any(${ids}::uuid[])`

/** An array literal of ids, or a placeholder or expression for one. */
export type IdList = string | Placeholder | SQL
export const idList = (ids: readonly string[]): string => `{${ids.join(',')}}`
