import { migrations } from '../../migrations/index.ts'
import type { Driver, Transaction } from '../db/driver.ts'
import { planMigrations } from '../db/migrate.ts'
import { PROGRESS } from '../db/restoring.ts'
import { AppError } from '../errors.ts'
import { version } from '../version.ts'
import { type Header, type Row, Sum, type TableEnd, type TableStart } from './file.ts'

/** About so much is in memory at a time, whatever the rows hold. */
const BATCH_BYTES = 2 << 20
const MOST_ROWS = 2000

/** All of a database as it is at one moment. */
export async function* dump(driver: Driver, at: string, secret: string | undefined): AsyncGenerator<Header | TableStart | Row | TableEnd> {
  const { applied, pending } = await planMigrations(driver, migrations)
  if (pending.length > 0) throw new AppError('conflict', 'This database is of an older version. Run `tutti migrate` first.')
  const snapshot = await driver.begin()
  try {
    await snapshot.query('set transaction isolation level repeatable read, read only')
    yield { tutti: version, format: 1, at, database: driver.status().version, migrations: applied, ...(secret && { secret }) }
    for (const table of await tablesOf(snapshot)) {
      yield table
      const sum = new Sum()
      for await (const row of rowsOf(snapshot, table)) {
        sum.add(row)
        yield row
      }
      yield { end: table.table, rows: sum.rows, sum: sum.toString() }
    }
  } finally {
    await snapshot.rollback()
  }
}

/** What migrations made; how far a restore has come is not part of it. */
export async function tablesOf(on: Pick<Transaction, 'query'>): Promise<TableStart[]> {
  const { rows } = await on.query(`
    select c.relname, json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) order by a.attnum)::text
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname not in ('migrations', '${PROGRESS}')
    group by c.relname order by c.relname`)
  return rows.map(([table, columns]) => ({ table: String(table), columns: JSON.parse(String(columns)) as [string, string][] }))
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export async function* rowsOf(on: Pick<Transaction, 'query'>, { table, columns }: TableStart): AsyncGenerator<Row> {
  const values = columns.map(([name]) => `${quoted(name)}::text`).join(', ')
  await on.query(`declare backup no scroll cursor for select json_build_array(${values})::text from ${quoted(table)}`)
  let fetch = 50
  for (;;) {
    const { rows } = await on.query(`fetch ${fetch} from backup`)
    if (rows.length === 0) break
    let bytes = 0
    for (const [text] of rows) {
      bytes += String(text).length
      yield JSON.parse(String(text)) as Row
    }
    fetch = Math.min(MOST_ROWS, Math.max(1, Math.floor((rows.length * BATCH_BYTES) / bytes)))
  }
  await on.query('close backup')
}
