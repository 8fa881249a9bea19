import type { Driver, Queryable } from './driver.ts'
import { LOCK, type Migration } from './migration.ts'
import { listPartitions, type TablePartition } from './table-partitions.ts'

const INDEX = /^(create (?:unique )?index) concurrently "(\w+)" on "?(\w+)"?(.*)$/i
/** Milliseconds between two looks at whether another instance is done. */
const LOOK_MS = 200

interface Index {
  create: string
  name: string
  table: string
  /** What comes after the name of the table. */
  rest: string
}

/** Returns the statements of a concurrent migration: one index per line. */
function statementsOf({ id, sql }: Migration): Index[] {
  const lines = sql.split('\n').filter((line) => line !== '' && !line.startsWith('--'))
  return lines.map((statement) => {
    const [, create, name, table, rest] = INDEX.exec(statement) ?? []
    if (!create || !name || !table || !rest)
      throw new Error(`${id}: a concurrent migration holds only lines of: create index concurrently "name" on "table"`)
    return { create, name, table, rest }
  })
}

/**
 * Builds the indexes of a concurrent migration one by one, then runs `record`. It can be repeated: complete indexes
 * stay, and incomplete ones are built again. The lock belongs to a transaction that does nothing else, so that it works
 * through a pooler and does not block the build.
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
    for (const index of statementsOf(migration)) {
      const parts = await listPartitions(driver, index.table)
      await (parts ? buildOnParts(driver, index, parts) : build(driver, index))
    }
    await driver.exec(record)
  } finally {
    await turn.rollback()
  }
}

async function build(driver: Driver, { create, name, table, rest }: Index): Promise<void> {
  const state = await stateOf(driver, name)
  if (state === 'broken') await driver.exec(`drop index concurrently "${name}"`)
  if (state !== 'complete') await driver.exec(`${create} concurrently "${name}" on "${table}"${rest}`)
}

/**
 * Builds an index of a partitioned table, which Postgres cannot do concurrently: creates an empty index on the table,
 * then builds one on each partition and attaches it.
 */
async function buildOnParts(driver: Driver, index: Index, parts: readonly TablePartition[]): Promise<void> {
  const { create, name, table, rest } = index
  if (!(await stateOf(driver, name))) await driver.exec(`${create} "${name}" on only "${table}"${rest}`)
  for (const { name: part } of parts) {
    const own = `${part}_${name.replace(`${table}_`, '')}`
    await build(driver, { ...index, name: own, table: part })
    await driver.exec(`alter index "${name}" attach partition "${own}"`)
  }
}

async function stateOf(on: Queryable, name: string): Promise<'complete' | 'broken' | undefined> {
  const { rows } = await on.query('select indisvalid from pg_index where indexrelid = to_regclass(quote_ident($1))', [
    name,
  ])
  if (rows.length === 0) return undefined
  return rows[0]?.[0] === true ? 'complete' : 'broken'
}
