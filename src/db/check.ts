import { DbError, type Driver, type Queryable } from './driver.ts'

export interface Damage {
  where: string
  said: string
  /** Of an index alone, which can be made anew from its table. */
  index: boolean
}

export interface Checked {
  tables: number
  indexes: number
  damage: Damage[]
}

/**
 * Every row read once, and every index compared with its table: what a failing disk breaks first. One table at a time, so that others get
 * their turn in between. Undefined where the database's user may not look that deep.
 */
export async function checkIntegrity(driver: Driver): Promise<Checked | undefined> {
  const { rows: found } = await driver.query(`select 1 from pg_extension where extname = 'amcheck'`)
  const inspect = found.length > 0 ? (work: (on: Queryable) => Promise<void>) => work(driver) : borrowing(driver)
  const { rows } = await driver.query(`
    select t.oid::regclass::text, coalesce(array_to_json(array_agg(i.indexrelid::regclass::text order by i.indexrelid) filter (where a.amname = 'btree' and i.indisvalid)), '[]')::text
    from pg_class t left join pg_index i on i.indrelid = t.oid left join pg_class c on c.oid = i.indexrelid left join pg_am a on a.oid = c.relam
    where t.relkind = 'r' and t.relpersistence = 'p' and t.relnamespace = current_schema()::regnamespace group by t.oid order by 1`)
  const checked: Checked = { tables: 0, indexes: 0, damage: [] }
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

/** To look: what is said while looking, such as that a file is missing, is what was looked for. */
class NotAllowed extends Error {}

/** The extension is there for as long as one look takes, and nothing is left of it. */
function borrowing(driver: Driver) {
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
