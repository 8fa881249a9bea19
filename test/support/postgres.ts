import { SQL } from 'bun'
import { migrations } from '../../migrations/index.ts'
import { applyMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { until } from './until.ts'

/**
 * A new, empty database on the native Postgres that `test/run` starts, or on the one at `base`. With a template, a copy
 * of that database, which nobody may be connected to. TEST_TEMPLATE names one for all tests, by which a version is
 * tested on the schema of the next one (`test/db/next-version.test.ts`).
 */
export async function freshDatabase(
  base = process.env.TEST_DATABASE_URL,
  template = process.env.TEST_TEMPLATE,
): Promise<{ url: string; drop(): Promise<void> }> {
  if (!base)
    throw new Error(
      'TEST_DB=postgres needs TEST_DATABASE_URL. Run the tests with ./test/run, which starts a Postgres and sets it.',
    )
  const name = `tutti_test_${process.pid}_${Math.random().toString(36).slice(2, 8)}`
  const admin = new SQL(base, { max: 1 })
  await until(() => created(admin, `create database ${name}${template ? ` template ${template}` : ''}`))
  const url = new URL(base)
  url.pathname = `/${name}`
  return {
    url: url.href,
    async drop() {
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.close()
    },
  }
}

/** Returns false if somebody, such as an autovacuum, has the template open for longer than Postgres waits for them. */
async function created(admin: SQL, statement: string): Promise<boolean> {
  try {
    await admin.unsafe(statement)
    return true
  } catch (error) {
    if (String(error).includes('is being accessed by other users')) return false
    throw error
  }
}

/** Like `freshDatabase`, with the tables: migrating takes half a second, copying what is migrated a tenth of that. */
export const migratedDatabase = async (): ReturnType<typeof freshDatabase> =>
  freshDatabase(undefined, process.env.TEST_TEMPLATE ?? (await template()))

let made: Promise<string> | undefined
const template = (): Promise<string> => (made ??= makeTemplate())

/** Makes the migrated database that all processes copy, unless one of them did. */
async function makeTemplate(): Promise<string> {
  const name = `tutti_template_${Bun.hash(JSON.stringify(migrations)).toString(36)}`
  const admin = new SQL(process.env.TEST_DATABASE_URL as string, { max: 1 })
  await admin.unsafe('select pg_advisory_lock(hashtext($1))', [name])
  const known = await admin.unsafe('select 1 from pg_database where datname = $1', [name])
  if (known.length === 0) {
    const { url } = await freshDatabase()
    const driver = await openPostgres({ url, statementTimeout: 60_000 })
    await applyMigrations(driver, migrations)
    await driver.close()
    await admin.unsafe(`alter database ${new URL(url).pathname.slice(1)} rename to ${name}`)
  }
  await admin.close()
  return name
}
