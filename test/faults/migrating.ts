/** A long migration: as a program, it is run by boot.test.ts and killed somewhere in it. */
import { migrations } from '../../migrations/index.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { applyMigrations, type Migration } from '../../src/db/migrate.ts'

const first: Migration = { id: '9001_first', sql: 'create table first_table (id int primary key);' }
const second: Migration = {
  id: '9002_second',
  sql: Array.from(
    { length: 20 },
    (_, i) =>
      `create table part_${i} as select g as id, repeat('x', 200) as filler from generate_series(1, 4000) g; create index on part_${i} (id);`,
  ).join('\n'),
}

async function within<T>(dir: string, work: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await openEmbedded({ dir, minFreeBytes: 0 })
  try {
    return await work(driver)
  } finally {
    await driver.close()
  }
}

/** Makes a database that has the first migration. */
export const prepare = (dir: string): Promise<unknown> =>
  within(dir, (driver) => applyMigrations(driver, [...migrations, first]))

/** Returns how much of the second migration a database has. */
export const outcomeOf = (dir: string): Promise<string> =>
  within(dir, async (driver) => {
    const { rows } = await driver.query(
      `select (select count(*)::int from pg_tables where tablename like 'part\\_%'), (select count(*)::int from migrations where id = '${second.id}')`,
    )
    const [tables, recorded] = rows[0] as [number, number]
    if (tables === 20 && recorded === 1) return 'all'
    return tables === 0 && recorded === 0 ? 'none' : `torn: ${tables} tables, recorded ${recorded}`
  })

if (import.meta.main)
  await within(process.argv[2] ?? '', async (driver) => {
    console.log('migrating')
    await applyMigrations(driver, [...migrations, first, second])
  })
