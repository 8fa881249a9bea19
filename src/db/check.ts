import { DbError, type Driver, type Queryable } from './driver.ts'

interface IntegrityDamage {
  where: string
  said: string
  /** Only an index is damaged; it can be rebuilt from its table. */
  index: boolean
}

export interface IntegrityReport {
  tables: number
  indexes: number
  damage: IntegrityDamage[]
}

/**
 * Reads every row once and compares every index with its table: a failing disk damages these first. Works on one table
 * at a time, so other queries run in between. Returns undefined if the database user lacks the rights.
 */
export async function checkIntegrity(driver: Driver): Promise<IntegrityReport | undefined> {
  const { rows: found } = await driver.query(`select 1 from pg_extension where extname = 'amcheck'`)
  const inspect = found.length > 0 ? (work: (on: Queryable) => Promise<void>) => work(driver) : withExtension(driver)
  const { rows } = await driver.query(`
    select t.oid::regclass::text, coalesce(array_to_json(array_agg(i.indexrelid::regclass::text order by i.indexrelid)
      filter (where a.amname = 'btree' and i.indisvalid)), '[]')::text
    from pg_class t left join pg_index i on i.indrelid = t.oid left join pg_class c on c.oid = i.indexrelid
    left join pg_am a on a.oid = c.relam
    where t.relkind = 'r' and t.relpersistence = 'p' and t.relnamespace = current_schema()::regnamespace group by t.oid
    order by 1`)
  const checked: IntegrityReport = { tables: 0, indexes: 0, damage: [] }
  for (const [table, list] of rows as [string, string][]) {
    const indexes = JSON.parse(list) as string[]
    let where = table
    try {
      await inspect(async (on) => {
        const heap = await on.query('select blkno, msg from verify_heapam($1::regclass)', [table], { timeout: 0 })
        if (heap.rows[0]) throw new Error(`block ${heap.rows[0][0]}: ${heap.rows[0][1]}`)
        for (const index of indexes) {
          where = index
          await on.query('select bt_index_check($1::regclass, true)', [index], { timeout: 0 })
        }
      })
    } catch (error) {
      if (error instanceof NotAllowed || (error instanceof DbError && error.code === '42501')) return undefined
      checked.damage.push({ where, said: (error as Error).message, index: where !== table })
    }
    checked.tables++
    checked.indexes += indexes.length
  }
  return checked
}

/** Thrown when the check may not run. Any other error during a check, such as a missing file, is damage found. */
class NotAllowed extends Error {}

/** Creates the amcheck extension in a transaction that is rolled back, so nothing of it remains. */
function withExtension(driver: Driver) {
  return async (work: (on: Queryable) => Promise<void>): Promise<void> => {
    const tx = await driver.begin()
    try {
      await tx.query('create extension amcheck').catch((error: unknown) => {
        throw error instanceof DbError && ['42501', '0A000', '58P01', 'disk_full'].includes(error.code)
          ? new NotAllowed()
          : error
      })
      await work(tx)
    } finally {
      await tx.rollback()
    }
  }
}
