import { AppError } from '../errors.ts'
import { DbError, type Driver } from './driver.ts'
import { refuseRestoring } from './restoring.ts'

export interface Migration {
  id: string
  sql: string
}

export interface MigrationPlan {
  applied: string[]
  pending: Migration[]
}

/** An arbitrary number, equal in every instance, so that only one migrates at a time. */
const LOCK = 7_866_914

export async function planMigrations(driver: Driver, migrations: readonly Migration[]): Promise<MigrationPlan> {
  await refuseRestoring(driver)
  return planFrom(await appliedIds(driver), migrations)
}

/** Also called with the applied ids that a running server reports. */
export function planFrom(applied: string[], migrations: readonly Migration[]): MigrationPlan {
  const known = new Set(migrations.map((m) => m.id))
  const newer = applied.filter((id) => !known.has(id))
  if (newer.length > 0)
    throw new AppError(
      'conflict',
      `This database was written by a newer Tutti (it has ${newer.join(', ')}). Start that version, or restore a backup made before it.`,
    )
  return { applied, pending: migrations.filter((m) => !applied.includes(m.id)) }
}

/**
 * Runs pending migrations in one transaction. `beforeChange` runs only before a database with data changes (the
 * snapshot). An advisory lock makes several instances on one Postgres take turns; the second finds nothing pending.
 */
export async function migrate(
  driver: Driver,
  migrations: readonly Migration[],
  beforeChange?: () => Promise<void>,
): Promise<string[]> {
  const { applied, pending } = await planMigrations(driver, migrations)
  if (pending.length === 0) return []
  if (applied.length > 0) await beforeChange?.()
  try {
    await driver.exec(`begin; ${takeTurns} ${scriptOf(pending)}\ncommit;`)
  } catch (error) {
    await driver.exec('rollback').catch(() => undefined)
    const plan = await planMigrations(driver, migrations)
    if (plan.pending.length === 0) return []
    throw new Error(`Migration failed, nothing was changed: ${error instanceof DbError ? error.message : error}`, {
      cause: error,
    })
  }
  return pending.map((m) => m.id)
}

/** Start of a script that changes tables: holds the migration lock until the transaction ends. */
export const takeTurns = `select pg_advisory_xact_lock(${LOCK});`

/** The SQL that applies these migrations, to be run inside a transaction. */
export const scriptOf = (pending: readonly Migration[]): string =>
  [
    'create table if not exists migrations (id text primary key, applied_at timestamptz not null default now());',
    ...pending.map((m) => `${guard(m.id)}\n${m.sql}\n${record(m.id)}`),
  ].join('\n')

/** Fails the whole script if another instance applied this migration while we waited for the lock. */
const guard = (id: string) =>
  `do $$ begin if exists (select from migrations where id = '${id}') then raise exception 'already applied'; end if; end $$;`
const record = (id: string) => `insert into migrations (id) values ('${id}');`

export async function appliedIds(driver: Driver): Promise<string[]> {
  try {
    const { rows } = await driver.query('select id from migrations order by id')
    return rows.map((row) => String(row[0]))
  } catch (error) {
    if (error instanceof DbError && error.code === '42P01') return []
    throw error
  }
}
