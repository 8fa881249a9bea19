import type { Driver, Queryable } from './driver.ts'
import { LOCK, type Migration } from './migration.ts'

const INDEX = /^create (?:unique )?index concurrently "(\w+)"/i
/** Milliseconds between two looks at whether another instance is done. */
const LOOK_MS = 200

/** Returns the statements of a concurrent migration: one index per line. */
function statementsOf({ id, sql }: Migration): { name: string; statement: string }[] {
  const lines = sql.split('\n').filter((line) => line !== '' && !line.startsWith('--'))
  return lines.map((statement) => {
    const name = INDEX.exec(statement)?.[1]
    if (!name) throw new Error(`${id}: a concurrent migration holds only lines of: create index concurrently "name"`)
    return { name, statement }
  })
}

/**
 * Builds the indexes of a concurrent migration one by one, then runs `record`. It can be repeated: an index that is
 * complete stays, and what a start that was interrupted has left is built anew. The lock is that of a transaction that
 * does nothing else, so that it also holds through a pooler, and neither waits for the build nor holds it up.
 */
export async function buildIndexes(
  driver: Driver,
  migration: Migration,
  { isDone, record }: { isDone: () => Promise<boolean>; record: string },
): Promise<void> {
  const turn = await driver.begin()
  try {
    await turn.query("select set_config('idle_in_transaction_session_timeout', '0', true)")
    while ((await turn.query(`select pg_try_advisory_xact_lock(${LOCK})`)).rows[0]?.[0] !== true)
      await Bun.sleep(LOOK_MS)
    if (await isDone()) return
    for (const { name, statement } of statementsOf(migration)) {
      const state = await stateOf(driver, name)
      if (state === 'broken') await driver.exec(`drop index concurrently "${name}"`)
      if (state !== 'complete') await driver.exec(statement)
    }
    await driver.exec(record)
  } finally {
    await turn.rollback()
  }
}

async function stateOf(on: Queryable, name: string): Promise<'complete' | 'broken' | undefined> {
  const { rows } = await on.query('select indisvalid from pg_index where indexrelid = to_regclass(quote_ident($1))', [
    name,
  ])
  if (rows.length === 0) return undefined
  return rows[0]?.[0] === true ? 'complete' : 'broken'
}
