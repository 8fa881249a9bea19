import { migrations } from '../../migrations/index.ts'
import { secretFingerprint } from '../auth/secrets.ts'
import type { Driver, Queryable } from '../db/driver.ts'
import { appliedIds } from '../db/migrate.ts'
import { PROGRESS, requireNotRestoring } from '../db/restore-progress.ts'
import { AppError } from '../errors.ts'
import { version } from '../version.ts'
import { type BackupLine, type BackupRow, RowChecksum, type TableStart } from './file.ts'

/** About how much is held in memory at a time, whatever the size of rows. */
const BATCH_BYTES = 2 << 20
const MOST_ROWS = 2000

/** Every table that any version of ours created. The database may also hold tables of others. */
export const ourTables = [
  ...new Set(migrations.flatMap(({ sql }) => [...sql.matchAll(/^create table "(\w+)"/gim)].map((m) => m[1] as string))),
]

/**
 * Rows that are valid only in this database and are left out: how far search has read its events, their epoch, which
 * indexes of vectors there are, and which browsers receive notifications: a restored copy must not send them any.
 */
const excludedRows: Record<string, string> = {
  meta: `key not in ('search.position', 'epoch')`,
  vector_indexes: 'false',
  push_subscriptions: 'false',
}

/**
 * Dumps a database of any version as of one moment. Includes the secret if it is the one this database was set up with.
 */
export async function* dumpDatabase(
  driver: Driver,
  { at, secret }: { at: string; secret?: string },
): AsyncGenerator<BackupLine> {
  await requireNotRestoring(driver)
  if ((await appliedIds(driver)).length === 0)
    throw new AppError('not_found', 'This database is empty: there is nothing to back up yet.')
  const snapshot = await driver.begin({ readOnly: true })
  try {
    await snapshot.query('set transaction isolation level repeatable read, read only')
    await fixTextOutput(snapshot)
    const applied = (await snapshot.query('select id from migrations order by id')).rows.map(([id]) => String(id))
    const tables = await listTables(snapshot, applied)
    yield {
      tutti: version,
      format: 1,
      at,
      database: driver.status().version,
      migrations: applied,
      tables: tables.length,
      ...(secret && (await isMasterSecretOf(snapshot, secret)) && { secret }),
    }
    for (const table of tables) {
      yield table
      const sum = new RowChecksum()
      for await (const row of readRows(snapshot, table)) {
        sum.add(row)
        yield row
      }
      yield { end: table.table, rows: sum.rows, sum: sum.toString() }
    }
  } finally {
    await snapshot.rollback()
  }
}

export async function isMasterSecretOf(on: Queryable, secret: string): Promise<boolean> {
  const { rows } = await on.query("select value from meta where key = 'secret'")
  return rows[0]?.[0] === secretFingerprint(secret)
}

/**
 * Makes text output independent of the settings of the database and its user, and removes the time limit for a slow
 * reader.
 */
export async function fixTextOutput(on: Queryable): Promise<void> {
  const settings = {
    datestyle: 'ISO, YMD',
    intervalstyle: 'postgres',
    timezone: 'UTC',
    extra_float_digits: '1',
    bytea_output: 'hex',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  }
  const each = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', true)`)
  await on.query(`select ${each.join(', ')}`)
}

/**
 * Returns our tables; in a database that a newer version has changed, all that belong to no extension. Leaves out
 * generated columns, and the transaction numbers that older versions kept, which could lie in the future elsewhere.
 */
export async function listTables(on: Queryable, applied: readonly string[]): Promise<TableStart[]> {
  const isNewer = applied.some((id) => !migrations.some((m) => m.id === id))
  const { rows } = await on.query(
    `select c.relname::text, json_agg(a.attname order by a.attnum)::text
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      and a.attgenerated = ''
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition and c.relname not in ('migrations', '${PROGRESS}')
      and ($1::text[] is null or c.relname = any($1::text[]))
      and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
      and coalesce(pg_get_expr(d.adbin, d.adrelid), '') not like '%pg_current_xact_id%'
    group by c.relname order by c.relname`,
    [isNewer ? null : `{${ourTables.join(',')}}`],
  )
  return rows.map(([table, columns]) => ({ table: String(table), columns: JSON.parse(String(columns)) as string[] }))
}

export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

export async function* readRows(on: Queryable, { table, columns }: TableStart): AsyncGenerator<BackupRow> {
  const values = columns.map((name) => `${quoteIdentifier(name)}::text`).join(', ')
  const where = excludedRows[table] ? ` where ${excludedRows[table]}` : ''
  await on.query(
    `declare backup no scroll cursor for select json_build_array(${values})::text from ${quoteIdentifier(table)}${where}`,
  )
  let fetch = 50
  for (;;) {
    const { rows } = await on.query(`fetch ${fetch} from backup`)
    if (rows.length === 0) break
    let bytes = 0
    for (const [text] of rows) {
      bytes += String(text).length
      yield JSON.parse(String(text)) as BackupRow
    }
    fetch = Math.min(MOST_ROWS, Math.max(1, Math.floor((rows.length * BATCH_BYTES) / bytes)))
  }
  await on.query('close backup')
}
