import type { Result } from '../driver.ts'
import { extensionNames } from './assets.ts'

export interface VerifiableDatabase {
  readonly lockHeld: boolean
  readonly relaxed: boolean
  /** How many fsyncs there were so far. */
  fsyncs(): number
  query(text: string): Promise<Result>
}

/**
 * Checks at the start that data is safe, which depends on internals of PGlite; throws if it is not. Returns the
 * Postgres version.
 */
export async function verifyDatabase(db: VerifiableDatabase): Promise<string> {
  if (!db.lockHeld) throw new Error('self-test: the lock on the data directory is not held')
  const { rows } = await db.query(
    `select current_setting('fsync'), current_setting('server_version'), coalesce(string_agg(name, ','), '')
    from pg_available_extensions where name in (${extensionNames.map((name) => `'${name}'`).join(', ')})`,
  )
  const [fsync, version, available] = rows[0] as [string, string, string]
  if (fsync !== 'on') throw new Error('self-test: Postgres runs without fsync')
  const missing = extensionNames.filter((name) => !available.split(',').includes(name))
  if (missing.length > 0) throw new Error(`self-test: the extensions ${missing.join(', ')} could not be loaded`)
  const before = db.fsyncs()
  // Writes to the WAL and nowhere else: as part of a commit, or followed by a flush.
  await db.query(db.relaxed ? FLUSH : `select pg_logical_emit_message(true, 'tutti', 'self-test')`)
  if (db.fsyncs() === before) throw new Error('self-test: a commit did not reach the disk (no fsync)')
  return version
}

/** Forces all WAL written so far to disk. No statement does it at less cost. */
export const FLUSH = `select pg_logical_emit_message(false, 'tutti', '', true)`
