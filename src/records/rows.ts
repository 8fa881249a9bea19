import { eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { and, or } from '../db/conditions.ts'
import { type Db, rowsAs } from '../db/session.ts'
import { AppError } from '../errors.ts'
import { ambiguousPrefix, type Candidate, isId, isIdPrefix } from './reference.ts'

type Versioned = PgTable & { id: PgColumn; version: PgColumn; updatedAt: PgColumn }

/**
 * Changes a row that was read before, and increases its version. The WHERE clause checks the version, so the second of
 * two writers gets an error instead of overwriting the first. `again` reads the current row for that error.
 */
export async function updateVersioned<T extends Versioned, R extends { id: string; version: number }>(
  { db, now }: { db: Db; now: string },
  table: T,
  { columns, before, set, what, again }: Change<T, R>,
): Promise<R> {
  const [after] = await rowsAs<R>(
    db
      .update(table)
      .set({ ...set, updatedAt: now, version: sql`${table.version} + 1` } as never)
      .where(and(eq(table.id, before.id), eq(table.version, before.version)))
      .returning(columns as never),
  )
  if (after) return after
  throw overtaken(what, await again())
}

/** The error of the second of two writers; `current` is the record as the first one left it. */
export const overtaken = (what: string, current: object): AppError =>
  new AppError(
    'version_mismatch',
    `Someone else changed ${what} at the same time. Read it again and repeat your change.`,
    { current },
  )

/** A deleted record can be restored for this long; then it is purged. */
export const RESTORE_DAYS = 30
export const isRecentlyDeleted = (deletedAt: PgColumn, now: string): SQL =>
  gt(deletedAt, new Date(Date.parse(now) - RESTORE_DAYS * 86_400_000).toISOString())
/** The condition for a restore: not deleted (restoring it changes nothing and is no error), or deleted recently. */
export const isRestorable = (deletedAt: PgColumn, now: string): SQL =>
  or(isNull(deletedAt), isRecentlyDeleted(deletedAt, now))

interface Change<T extends PgTable, R> {
  columns: Record<string, PgColumn | SQL>
  before: R
  set: Partial<T['$inferInsert']>
  /** `this note`, for the error. */
  what: string
  again: () => Promise<object>
}

interface Lookups<R> {
  id(id: string): Promise<R[]>
  /** Finds rows by slug, key or number. */
  name(text: string): Promise<R[]>
  /** Finds rows whose id begins with this; two are enough to show that it is ambiguous. */
  prefix(prefix: string): Promise<R[]>
  /** Returns the record of a row that holds more than the record. */
  record?(row: R): Candidate
}

/** Resolves a reference: an id, a name, or the unique beginning of an id. */
export async function findByReference<R>(ref: string, lookups: Lookups<R>): Promise<R | undefined> {
  const given = ref.trim()
  const wanted = given.toLowerCase()
  if (isId(wanted)) return (await lookups.id(wanted))[0]
  const [named] = await lookups.name(given)
  if (named || !isIdPrefix(wanted)) return named
  const [found, other] = await lookups.prefix(wanted)
  if (!found || !other) return found
  const [one, two] = [found, other].map((row) => lookups.record?.(row) ?? (row as R & Candidate))
  throw ambiguousPrefix(wanted, one as Candidate, two as Candidate)
}

/** Returns the timestamp part of an id, for texts that a model reads: a whole id costs 32 tokens. */
export const shortId = (id: string): string => id.slice(0, 13)

/** The id begins with the prefix: as a range of ids, because the index cannot compare their texts. */
export function idStartsWith(id: PgColumn, prefix: string): SQL {
  const filled = (digit: string) =>
    prefix +
    [8, 4, 4, 4, 12]
      .map((n) => digit.repeat(n))
      .join('-')
      .slice(prefix.length)
  const [first, last] = [filled('0'), filled('f')]
  return isId(first) ? sql`${id} between ${first}::uuid and ${last}::uuid` : sql`false`
}
