import type { Driver } from '../db/driver.ts'
import { AppError } from '../errors.ts'

/**
 * A connection name for a command that needs the database to itself; all other connections of ours are named `tutti`.
 */
export const exclusiveName = (): string => `tutti exclusive ${Math.random().toString(36).slice(2, 10)}`

/**
 * Throws if another of our processes is connected to this database, from any machine. Retries for two seconds, as the
 * connection of a killed process may linger. The embedded database has its own lock.
 */
export async function requireExclusive(driver: Driver, name: string): Promise<void> {
  if (driver.kind !== 'postgres') return
  for (let left = 20; ; left--) {
    const { rows } = await driver.query(
      `select distinct coalesce(host(client_addr), 'this machine') from pg_stat_activity
      where datname = current_database() and application_name like 'tutti%' and application_name <> $1`,
      [name],
    )
    if (rows.length === 0) return
    if (left === 0)
      throw new AppError(
        'conflict',
        `Another Tutti process uses this database (from ${rows.flat().join(', ')}). Stop every server on it first.`,
      )
    await Bun.sleep(100)
  }
}
