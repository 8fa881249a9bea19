import { AppError } from '../errors.ts'
import { version as ourVersion } from '../version.ts'
import { buildIndexes } from './concurrent.ts'
import { DbError, type Driver } from './driver.ts'
import { isConcurrent, LOCK, type Migration, migrationKind } from './migration.ts'
import { requireNotRestoring } from './restore-progress.ts'

export type { Migration } from './migration.ts'

interface MigrationPlan {
  applied: string[]
  pending: Migration[]
  /** Migrations of the next version, with which this version can run. */
  newer?: string[]
}

/** A migration as the database remembers it. Rows of earlier versions have neither kind nor version. */
export interface AppliedMigration {
  id: string
  kind?: string
  /** The version that applied it. */
  version?: string
}

interface MigrateOptions {
  /** Runs before a database with data changes: the snapshot. */
  beforeChange?: () => Promise<void>
  /** Called when another transaction holds a table that has to change, and before the next try. */
  onBlocked?: (attempt: number) => void | Promise<void>
  /** Milliseconds to wait for a table lock. Other users of the table wait behind it. Default: 2000. */
  lockTimeoutMs?: number
  version?: string
}

const LOCK_TIMEOUT_MS = 2000
const TRIES = 5
/** Milliseconds between two tries, in which other transactions can continue. */
const PAUSE_MS = 1000
/** SQLSTATEs of a lock timeout and of a deadlock. */
const BLOCKED = new Set(['55P03', '40P01'])
export const isLockBlocked = (error: unknown): boolean => error instanceof DbError && BLOCKED.has(error.code)

export async function planMigrations(
  driver: Driver,
  migrations: readonly Migration[],
  version = ourVersion,
): Promise<MigrationPlan> {
  await requireNotRestoring(driver)
  return planFromApplied(await appliedRows(driver), migrations, version)
}

/** Also called with the applied ids that a running server reports. */
export function planFromApplied(
  rows: readonly AppliedMigration[],
  migrations: readonly Migration[],
  version = ourVersion,
): MigrationPlan {
  const known = new Set(migrations.map((m) => m.id))
  const newer = rows.filter(({ id }) => !known.has(id))
  const refused = newer.filter((row) => row.kind !== 'expand' || !isNext(row.version, version))
  if (refused.length > 0) {
    const ids = refused.map(({ id }) => id).join(', ')
    throw new AppError(
      'conflict',
      `This database was written by a newer Tutti (it has ${ids}). Start that version, or restore a backup made before it.`,
    )
  }
  const applied = rows.map(({ id }) => id)
  const pending = migrations.filter((m) => !applied.includes(m.id))
  return { applied, pending, ...(newer.length > 0 && { newer: newer.map(({ id }) => id) }) }
}

/** Whether a version is at most the next minor one after ours. */
function isNext(version: string | undefined, ours: string): boolean {
  const [major, minor = 0] = ours.split('.').map(Number)
  const [otherMajor, otherMinor = 0] = (version ?? '').split('.').map(Number)
  return otherMajor === major && otherMinor <= minor + 1
}

/**
 * Runs pending migrations: those that need a transaction in one, then the indexes that are built beside running writes.
 * An advisory lock makes several instances on one Postgres take turns; the second finds nothing pending. A table that
 * someone else holds is waited for only briefly, several times: whoever needs the table waits behind us.
 */
export async function applyMigrations(
  driver: Driver,
  migrations: readonly Migration[],
  options: MigrateOptions = {},
): Promise<string[]> {
  const { version = ourVersion } = options
  const { applied, pending } = await planMigrations(driver, migrations, version)
  if (pending.length === 0) return []
  if (applied.length > 0) await options.beforeChange?.()
  // An empty table is indexed at once, and the embedded database has no other writers.
  const isApart = (m: Migration) => applied.length > 0 && driver.kind === 'postgres' && isConcurrent(m)
  const together = pending.filter((m) => !isApart(m))
  if (together.length > 0 && !(await runTogether(driver, together, options))) return []
  for (const migration of pending.filter(isApart)) {
    const isDone = async () => (await appliedIds(driver)).includes(migration.id)
    await buildIndexes(driver, migration, { isDone, record: `${withMarks}\n${record(migration, version)}` })
  }
  return pending.map((m) => m.id)
}

/** Runs migrations in one transaction. Returns false if another instance has done so meanwhile. */
async function runTogether(driver: Driver, pending: readonly Migration[], options: MigrateOptions): Promise<boolean> {
  const { version = ourVersion, lockTimeoutMs = LOCK_TIMEOUT_MS, onBlocked } = options
  const script = `begin; ${TAKE_MIGRATION_LOCK} set local lock_timeout = ${lockTimeoutMs}; ${migrationScript(pending, version)}\ncommit;`
  for (let attempt = 1; ; attempt++)
    try {
      await driver.exec(script)
      return true
    } catch (error) {
      await driver.exec('rollback').catch(() => undefined)
      const applied = new Set(await appliedIds(driver))
      if (pending.every(({ id }) => applied.has(id))) return false
      if (!isLockBlocked(error) || attempt === TRIES) throw migrationError(error)
      await onBlocked?.(attempt)
      await Bun.sleep(Math.min(PAUSE_MS, lockTimeoutMs))
    }
}

function migrationError(error: unknown): Error {
  const reason = error instanceof DbError ? error.message : String(error)
  const advice = isLockBlocked(error)
    ? ` (${TRIES} tries). Another transaction uses a table that has to change, such as a long report or a backup. Start again when it has ended.`
    : ''
  return new Error(`Migration failed, nothing was changed: ${reason}${advice}`, { cause: error })
}

/** Start of a script that changes tables: holds the migration lock until the transaction ends. */
export const TAKE_MIGRATION_LOCK = `select pg_advisory_xact_lock(${LOCK});`

/** The SQL that applies these migrations, to be run inside a transaction. */
export const migrationScript = (pending: readonly Migration[], version = ourVersion): string =>
  [
    'create table if not exists migrations (id text primary key, applied_at timestamptz not null default now());',
    withMarks,
    ...pending.map((m) => {
      const sql = isConcurrent(m)
        ? m.sql.replaceAll(/^create (unique )?index concurrently/gim, 'create $1index')
        : m.sql
      return `${guard(m.id)}\n${sql}\n${record(m, version)}`
    }),
  ].join('\n')

/** The version before decides by these whether it may run. */
const withMarks = 'alter table migrations add column if not exists kind text, add column if not exists version text;'
/** Fails the whole script if another instance applied this migration while we waited for the lock. */
const guard = (id: string) =>
  `do $$ begin if exists (select from migrations where id = '${id}') then raise exception 'already applied'; end if; end $$;`
const record = (m: Migration, version: string) =>
  `insert into migrations (id, kind, version) values ('${m.id}', '${migrationKind(m)}', '${version}');`

export const appliedIds = async (driver: Driver): Promise<string[]> => (await appliedRows(driver)).map(({ id }) => id)

async function appliedRows(driver: Driver): Promise<AppliedMigration[]> {
  try {
    // As JSON, because tables of earlier versions lack the columns.
    const { rows } = await driver.query(
      "select id, to_jsonb(m)->>'kind', to_jsonb(m)->>'version' from migrations m order by id",
    )
    return rows.map(([id, kind, version]) => ({
      id: String(id),
      ...(kind !== null && { kind: String(kind) }),
      ...(version !== null && { version: String(version) }),
    }))
  } catch (error) {
    if (error instanceof DbError && error.code === '42P01') return []
    throw error
  }
}
