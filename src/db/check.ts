import type { Driver } from './driver.ts'

interface Finding {
  what: string
  ok: boolean
  warning?: boolean
  said: string
  advice?: string
}

/** Every index against its table, and every row read once: what a failing disk breaks first. */
export async function checkDatabase(driver: Driver): Promise<Finding[]> {
  const { rows } = await driver.query(`select pg_size_pretty(pg_database_size(current_database()))`)
  const version: Finding = { what: 'database', ok: true, said: `${driver.status().version}, ${rows[0]?.[0]}` }
  const hasAmcheck = await driver
    .exec('create extension if not exists amcheck')
    .then(() => true)
    .catch(() => false)
  if (!hasAmcheck)
    return [
      version,
      { what: 'integrity', ok: true, warning: true, said: 'not checked', advice: 'The database user may not use the extension amcheck.' },
    ]
  const { rows: indexes } = await driver.query(`
    select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
    where a.amname = 'btree' and i.indisvalid and c.relpersistence = 'p' and c.relnamespace = current_schema()::regnamespace order by 1`)
  for (const [name] of indexes) {
    try {
      await driver.query('select bt_index_check($1::regclass, true)', [name], { timeout: 0 })
    } catch (error) {
      const advice = `Back up what can be read, then restore a good backup. An index alone is mended by: reindex index ${name}`
      return [version, { what: 'integrity', ok: false, said: `${name}: ${(error as Error).message}`, advice }]
    }
  }
  return [version, { what: 'integrity', ok: true, said: `${indexes.length} indexes agree with their tables` }]
}
