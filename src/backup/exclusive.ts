import type { Driver } from '../db/driver.ts'
import { AppError } from '../errors.ts'

/** How a command calls itself on Postgres; everything else of ours there is called `tutti`. */
export const newName = (): string => `tutti alone ${Math.random().toString(36).slice(2, 10)}`

/**
 * Nobody else of ours is connected to this database, from whatever machine. One that has just been killed may still be there for a moment.
 * The embedded database has its own lock.
 */
export async function requireAlone(driver: Driver, name: string): Promise<void> {
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
        `Another Tutti uses this database (from ${rows.flat().join(', ')}). Stop every server on it first.`,
      )
    await Bun.sleep(100)
  }
}
