import { SQL } from 'bun'
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
