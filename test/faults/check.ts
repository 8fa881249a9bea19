import { openEmbedded } from '../../src/db/embedded/index.ts'

/** Every index and table of a stopped embedded database, by amcheck. Throws at the first damage. */
export async function amcheck(dir: string): Promise<number> {
  const driver = await openEmbedded({ dir, minFreeBytes: 0 })
  try {
    const { rows } = await driver.query(
      `select c.relname, bt_index_check(c.oid, true) from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
       where a.amname = 'btree' and c.relpersistence = 'p' and i.indisready and i.indisvalid`,
      [],
      { timeout: 0 },
    )
    await driver
      .query(
        `select (verify_heapam(c.oid)).* from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname = 'public'`,
        [],
        { timeout: 0 },
      )
      .then((damage) => {
        if (damage.count > 0) throw new Error(`damaged: ${JSON.stringify(damage.rows.slice(0, 3))}`)
      })
    return rows.length
  } finally {
    await driver.close()
  }
}
