/** Child of boot.test.ts: a long migration that is killed somewhere in it. */
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { type Migration, migrate } from '../../src/db/migrate.ts'

const [dir = '', mode] = process.argv.slice(2)
const first: Migration = { id: '0001_first', sql: 'create table first_table (id int primary key);' }
const second: Migration = {
  id: '0002_second',
  sql: Array.from(
    { length: 20 },
    (_, i) =>
      `create table part_${i} as select g as id, repeat('x', 200) as filler from generate_series(1, 4000) g; create index on part_${i} (id);`,
  ).join('\n'),
}

const driver = await openEmbedded({ dir, minFreeBytes: 0 })
await driver.query('select 1 from migrations').catch(() => undefined)
if (mode === 'prepare') await migrate(driver, await base([first]))
if (mode === 'migrate') {
  console.log('migrating')
  await migrate(driver, await base([first, second]))
}
if (mode === 'check') {
  const { rows } = await driver.query(
    `select (select count(*)::int from pg_tables where tablename like 'part\\_%'), (select count(*)::int from migrations where id = '9002_second')`,
  )
  const [tables, recorded] = rows[0] as [number, number]
  console.log(
    tables === 20 && recorded === 1
      ? 'all'
      : tables === 0 && recorded === 0
        ? 'none'
        : `torn: ${tables} tables, recorded ${recorded}`,
  )
}
await driver.close()

/** The seed holds our own migrations already; they are known here too. */
async function base(more: Migration[]): Promise<Migration[]> {
  const { migrations } = await import('../../migrations/index.ts')
  return [...migrations, ...more.map((m) => ({ ...m, id: `9${m.id.slice(1)}` }))].map((m) => m)
}
