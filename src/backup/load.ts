import { migrations } from '../../migrations/index.ts'
import type { Driver, Transaction } from '../db/driver.ts'
import { migrate } from '../db/migrate.ts'
import { isRestoring, PROGRESS } from '../db/restoring.ts'
import { AppError } from '../errors.ts'
import { quoted, rowsOf, tablesOf } from './dump.ts'
import { type Header, isRow, type Line, type Row, Sum, type TableStart } from './file.ts'

export interface Loaded {
  header: Header
  tables: number
  rows: number
}

/** After every table, and after every few thousand rows of a large one. */
export type Told = (progress: { table: string; rows: number; done: boolean }) => void

/**
 * Fills an empty database from the lines of a backup. Each table is written and read back in one transaction; a restore that was
 * interrupted goes on with the first table that is missing. Nothing is served from the database until all is there.
 */
export async function load(driver: Driver, lines: AsyncIterable<Line>, told: Told = () => undefined): Promise<Loaded> {
  let header: Header | undefined
  let table: { start: TableStart; sum: Sum; batch: Row[]; bytes: number; to: Transaction; skip: boolean } | undefined
  let loaded = new Set<string>()
  let known = new Map<string, TableStart>()
  let rows = 0
  try {
    for await (const line of lines) {
      if (isRow(line)) {
        if (!table) throw misplaced()
        table.sum.add(line)
        rows++
        if (table.skip) continue
        table.batch.push(line)
        table.bytes += line.reduce((n, value) => n + (value?.length ?? 0), 0)
        if (table.bytes > BATCH_BYTES || table.batch.length >= 2000) {
          await insert(table.to, table.start, table.batch)
          told({ table: table.start.table, rows: table.sum.rows, done: false })
          table.batch = []
          table.bytes = 0
        }
      } else if ('format' in line) {
        header = line
        loaded = await prepare(driver, header)
        const on = await driver.begin()
        known = new Map((await tablesOf(on)).map((t) => [t.table, t]))
        await on.rollback()
      } else if ('table' in line) {
        if (!known.has(line.table)) throw new AppError('invalid', `The backup has a table ${line.table}, which this version does not know.`)
        table = { start: line, sum: new Sum(), batch: [], bytes: 0, to: await driver.begin(), skip: loaded.has(line.table) }
      } else if ('end' in line) {
        if (!table || table.start.table !== line.end) throw misplaced()
        const { start, sum, batch, to, skip } = table
        if (sum.rows !== line.rows || sum.toString() !== line.sum)
          throw new AppError('invalid', `The rows of ${line.end} are not those that were saved.`)
        if (!skip) {
          await insert(to, start, batch)
          await verify(to, start, sum)
          await to.commit([{ text: `insert into ${PROGRESS} values ('table', $1)`, params: [line.end] }])
        } else await to.rollback()
        loaded.add(line.end)
        table = undefined
        told({ table: line.end, rows: line.rows, done: true })
      }
    }
  } catch (error) {
    await table?.to.rollback()
    throw error
  }
  if (!header || table) throw misplaced()
  await finish(driver)
  await migrate(driver, migrations)
  return { header, tables: loaded.size, rows }
}

const BATCH_BYTES = 2 << 20
const misplaced = () => new AppError('invalid', 'The lines of this backup do not follow each other as they should.')

/** The tables as they were when the backup was made, without foreign keys: those come back at the end, and check everything. */
async function prepare(driver: Driver, header: Header): Promise<Set<string>> {
  const unknown = header.migrations.filter((id) => !migrations.some((m) => m.id === id))
  if (unknown.length > 0)
    throw new AppError(
      'conflict',
      `Tutti ${header.tutti}, which made this backup, is newer (it has ${unknown.join(', ')}). Use that version.`,
    )
  const identity = `${header.at} ${header.database} ${header.migrations.at(-1)}`
  if (await isRestoring(driver)) {
    const { rows } = await driver.query(`select kind, name from ${PROGRESS} where kind in ('backup', 'table')`)
    if (!rows.some(([kind, name]) => kind === 'backup' && name === identity))
      throw new AppError('conflict', 'Another backup was being restored here. Go on with that one, or say --replace.')
    return new Set(rows.flatMap(([kind, name]) => (kind === 'table' ? [String(name)] : [])))
  }
  await migrate(
    driver,
    migrations.filter((m) => header.migrations.includes(m.id)),
  )
  const { rows: users } = await driver.query('select 1 from users limit 1')
  if (users.length > 0) throw notEmpty()
  const { rows: keys } = await driver.query(`
    select conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) from pg_constraint
    where contype = 'f' and connamespace = current_schema()::regnamespace order by 1, 2`)
  const tables = await inTransaction(driver, tablesOf)
  const drops = keys.map(([table, name, definition]) => {
    const add = `alter table ${table} add constraint ${name} ${definition}`
    return `insert into ${PROGRESS} values ('key', ${literal(`${table}.${name}`)}, ${literal(add)}); alter table ${table} drop constraint ${name};`
  })
  await driver.exec(`begin;
    create table ${PROGRESS} (kind text not null, name text not null, definition text);
    insert into ${PROGRESS} values ('backup', ${literal(identity)});
    ${drops.join('\n')}
    ${tables.map(({ table }) => `delete from ${quoted(table)};`).join('\n')}
    commit;`)
  return new Set()
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

async function inTransaction<T>(driver: Driver, work: (on: Transaction) => Promise<T>): Promise<T> {
  const on = await driver.begin()
  try {
    return await work(on)
  } finally {
    await on.rollback()
  }
}

const notEmpty = () =>
  new AppError('conflict', 'There is data here already. Restore into an empty place, or say --replace to put this backup in its place.')

async function insert(to: Transaction, { table, columns }: TableStart, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const names = columns.map(([name]) => quoted(name)).join(', ')
  const values = columns.map(([, type], i) => `(r->>${i})::${type}`).join(', ')
  await to.query(
    `insert into ${quoted(table)} (${names}) overriding system value select ${values} from json_array_elements($1::text::json) r`,
    [JSON.stringify(rows)],
  )
}

/** What the database now holds, read back. */
async function verify(on: Transaction, start: TableStart, expected: Sum): Promise<void> {
  const found = new Sum()
  for await (const row of rowsOf(on, start)) found.add(row)
  if (found.rows !== expected.rows || found.toString() !== expected.toString())
    throw new AppError('internal', `${start.table} does not hold what was written to it (${found.rows} of ${expected.rows} rows).`)
}

async function finish(driver: Driver): Promise<void> {
  const { rows: keys } = await driver.query(`select definition from ${PROGRESS} where kind = 'key' order by name`)
  const { rows: sequences } = await driver.query(`
    select quote_ident(c.relname), quote_ident(a.attname), pg_get_serial_sequence(quote_ident(c.relname), a.attname)
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      and pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null`)
  await driver.exec(`begin;
    ${sequences.map(([table, column, name]) => `select setval(${literal(String(name))}, coalesce(max(${column}), 1), max(${column}) is not null) from ${table};`).join('\n')}
    ${keys.map(([definition]) => `${definition};`).join('\n')}
    drop table ${PROGRESS};
    commit;
    analyze;`)
}

/** Everything that migrations made, for a restore that replaces it. */
export async function wipe(driver: Driver): Promise<void> {
  const { rows } = await driver.query(
    "select quote_ident(relname) from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' order by 1",
  )
  if (rows.length > 0) await driver.exec(`drop table ${rows.map(([name]) => name).join(', ')} cascade`)
}
