import { migrations } from '../../migrations/index.ts'
import type { Driver, Queryable, Transaction } from '../db/driver.ts'
import { appliedIds, migrate, scriptOf, takeTurns } from '../db/migrate.ts'
import { isRestoring, PROGRESS } from '../db/restoring.ts'
import { AppError } from '../errors.ts'
import { ourTables, quoted, rowsOf, settle, tablesOf } from './dump.ts'
import { type Header, isRow, type Line, type Row, Sum, type TableEnd, type TableStart } from './file.ts'

export interface Loaded {
  header: Header
  tables: number
  rows: number
}

export interface Progress {
  table: string
  /** Of this table, up to now. */
  rows: number
  /** The table is complete, and the so-many-th of all. */
  done: boolean
  nth: number
  of: number
}

export interface Loading {
  /** Names what is loaded, so that only the same goes on after an interruption. */
  identity: string
  /** What is there goes. */
  replace?: boolean
  told?: (progress: Progress) => void
  /** All data is there and compared; what must be true before anything is served from it. */
  beforeEnd?: () => void | Promise<void>
}

/**
 * Fills an empty database from lines. Each table is written and read back in one transaction. What was interrupted goes on: a table that
 * is there already is only compared, and taken again where its source has changed. Nothing is served from the database until all is there.
 */
export async function load(driver: Driver, lines: () => AsyncIterable<Line>, options: Loading): Promise<Loaded> {
  for (;;) {
    const loaded = await new Pass(driver, options).run(lines())
    if (!loaded) continue
    await options.beforeEnd?.()
    await finish(driver)
    await migrate(driver, migrations)
    return loaded
  }
}

const BATCH_BYTES = 2 << 20
const BATCH_ROWS = 2000
const misplaced = () => new AppError('invalid', 'The lines of this backup do not follow each other as they should.')

/** Once through all lines. */
class Pass {
  #header: Header | undefined
  /** Tables that were there before, with what they held. */
  #before = new Map<string, string>()
  #types = new Map<string, Map<string, string>>()
  #table: TableStart | undefined
  #sum = new Sum()
  /** Where the table is written; none when it is there already. */
  #to: Transaction | undefined
  #batch: Row[] = []
  #bytes = 0
  #tables = 0
  #rows = 0
  #stale = false

  constructor(
    private readonly driver: Driver,
    private readonly options: Loading,
  ) {}

  /** Nothing when a table has to be taken again. */
  async run(lines: AsyncIterable<Line>): Promise<Loaded | undefined> {
    try {
      for await (const line of lines) {
        if (isRow(line)) await this.#row(line)
        else if ('format' in line) await this.#begin(line)
        else if ('table' in line) await this.#open(line)
        else await this.#close(line)
      }
    } catch (error) {
      await this.#to?.rollback()
      throw error
    }
    if (!this.#header || this.#table || this.#tables !== this.#header.tables) throw misplaced()
    return this.#stale ? undefined : { header: this.#header, tables: this.#tables, rows: this.#rows }
  }

  async #begin(header: Header): Promise<void> {
    if (this.#header) throw misplaced()
    this.#header = header
    this.#before = await prepare(this.driver, header, this.options)
    this.#types = await typesOf(this.driver)
  }

  async #open(start: TableStart): Promise<void> {
    const types = this.#types.get(start.table)
    const unknown = types ? start.columns.find((name) => !types.has(name)) : ''
    if (this.#table || unknown !== undefined)
      throw unknown === undefined
        ? misplaced()
        : new AppError('invalid', `The backup has ${start.table} ${unknown}, which its version of Tutti does not have.`)
    this.#table = start
    this.#sum = new Sum()
    if (this.#before.has(start.table)) return
    this.#to = await this.driver.begin()
    await settle(this.#to)
  }

  async #row(row: Row): Promise<void> {
    if (!this.#table) throw misplaced()
    this.#sum.add(row)
    if (!this.#to) return
    this.#batch.push(row)
    for (const value of row) this.#bytes += value?.length ?? 0
    if (this.#bytes > BATCH_BYTES || this.#batch.length >= BATCH_ROWS) await this.#write(this.#table, this.#to)
  }

  async #write(table: TableStart, to: Transaction): Promise<void> {
    await insert(to, table, this.#types.get(table.table) as Map<string, string>, this.#batch)
    this.#batch = []
    this.#bytes = 0
    this.#tell(table.table, false)
  }

  async #close({ end, sum }: TableEnd): Promise<void> {
    const table = this.#table
    if (table?.table !== end) throw misplaced()
    const found = this.#sum.toString()
    if (found !== sum) throw new AppError('invalid', `The rows of ${end} are not those that were saved.`)
    if (this.#to) {
      await this.#write(table, this.#to)
      await verify(this.#to, table, found)
      await this.#to.commit([{ text: `insert into ${PROGRESS} values ('table', $1, $2)`, params: [end, found] }])
      this.#to = undefined
    } else if (this.#before.get(end) !== found) {
      await this.driver.exec(
        `begin; delete from ${quoted(end)}; delete from ${PROGRESS} where kind = 'table' and name = ${literal(end)}; commit;`,
      )
      this.#stale = true
    }
    this.#table = undefined
    this.#tables++
    this.#rows += this.#sum.rows
    this.#tell(end, true)
  }

  #tell(table: string, done: boolean): void {
    const nth = this.#tables + (done ? 0 : 1)
    this.options.told?.({ table, rows: this.#sum.rows, done, nth, of: this.#header?.tables ?? 0 })
  }
}

// ---- before

/** Where nothing was begun, the tables are made as they were at the source. Says which are there already. */
async function prepare(driver: Driver, header: Header, { identity, replace }: Loading): Promise<Map<string, string>> {
  const unknown = header.migrations.filter((id) => !migrations.some((m) => m.id === id))
  if (unknown.length > 0)
    throw new AppError(
      'conflict',
      `This was made by a newer Tutti, ${header.tutti} (it has ${unknown.join(', ')}). Use that version.`,
    )
  if (await isRestoring(driver)) {
    const { rows } = await driver.query(`select kind, name, definition from ${PROGRESS} where kind <> 'key'`)
    const isSame = rows.some(([kind, name]) => kind === 'source' && name === identity)
    if (isSame && (await appliedIds(driver)).join() === header.migrations.join())
      return new Map(rows.flatMap(([kind, name, sum]) => (kind === 'table' ? [[String(name), String(sum)]] : [])))
    if (!replace)
      throw new AppError(
        'conflict',
        'Something else was being loaded here and is not complete. Go on with that, or say --replace to start over.',
      )
  } else if ((await hasData(driver)) && !replace)
    throw new AppError(
      'conflict',
      'There is data here already. Choose an empty place, or say --replace: what is here is then saved to a file first.',
    )
  await makeTables(driver, header, identity)
  return new Map()
}

/** Refuses a database that is another program's. */
export async function hasData(driver: Driver): Promise<boolean> {
  const { rows } = await driver.query(
    `select relname::text from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm')
      and relname = any($1::text[]) order by 1`,
    [`{${[...ourTables, 'migrations'].join(',')}}`],
  )
  if (rows.length === 0) return false
  const applied = await appliedIds(driver).catch((): string[] => [])
  if (!applied.includes(migrations[0]?.id as string))
    throw new AppError(
      'conflict',
      `This database belongs to another program (it has ${rows.flat().join(', ')}). Use one for Tutti alone.`,
    )
  return (await driver.query('select 1 from users limit 1')).rows.length > 0
}

/**
 * In one transaction from what was there to empty tables without foreign keys, which come back at the end and check everything. From here
 * on no server starts on it until all data is there.
 */
async function makeTables(driver: Driver, header: Header, identity: string): Promise<void> {
  const applied = (await hasTable(driver, 'migrations')) ? await appliedIds(driver) : []
  const old = (await tablesOf(driver, applied)).map(({ table }) => quoted(table))
  const names = `array[${ourTables.map(literal).join(', ')}]`
  try {
    await driver.exec(`begin; ${takeTurns}
      drop table if exists ${[...old, 'migrations', PROGRESS].join(', ')} cascade;
      ${scriptOf(migrations.filter((m) => header.migrations.includes(m.id)))}
      create table ${PROGRESS} (kind text not null, name text not null, definition text);
      insert into ${PROGRESS} values ('source', ${literal(identity)});
      do $$ declare item record; begin
        for item in select conrelid::regclass as here, conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
          where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid::regclass::text = any(${names})
        loop
          insert into ${PROGRESS} values ('key', item.name, format('alter table %s add constraint %I %s', item.here, item.name, item.definition));
          execute format('alter table %s drop constraint %I', item.here, item.name);
        end loop;
        for item in select unnest(${names}) as name loop
          if to_regclass(quote_ident(item.name)) is not null then execute format('delete from %I', item.name); end if;
        end loop;
      end $$;
      commit;`)
  } catch (error) {
    await driver.exec('rollback').catch(() => undefined)
    throw new AppError(
      'conflict',
      `The tables cannot be made here, so nothing was changed: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

async function hasTable(on: Queryable, name: string): Promise<boolean> {
  return (await on.query('select to_regclass($1)::text', [name])).rows[0]?.[0] != null
}

/**
 * As they are called here: an extension may live in another schema than at the source. Of our tables alone: what a file names goes neither
 * into another program's nor into the one that keeps the progress, of which statements are run.
 */
async function typesOf(on: Queryable): Promise<Map<string, Map<string, string>>> {
  const { rows } = await on.query(
    `select c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod) from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and c.relname = any($1::text[])`,
    [`{${ourTables.join(',')}}`],
  )
  const found = new Map<string, Map<string, string>>()
  for (const [table, column, type] of rows as [string, string, string][])
    found.set(table, (found.get(table) ?? new Map<string, string>()).set(column, type))
  return found
}

// ---- rows

async function insert(
  to: Transaction,
  { table, columns }: TableStart,
  types: Map<string, string>,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return
  const names = columns.map(quoted).join(', ')
  const values = columns.map((name, i) => `(r->>${i})::${types.get(name)}`).join(', ')
  await to.query(
    `insert into ${quoted(table)} (${names}) overriding system value select ${values} from json_array_elements($1::text::json) r`,
    [JSON.stringify(rows)],
  )
}

/** What the database now holds, read back. */
async function verify(on: Transaction, start: TableStart, expected: string): Promise<void> {
  const found = new Sum()
  for await (const row of rowsOf(on, start)) found.add(row)
  if (found.toString() !== expected)
    throw new AppError(
      'internal',
      `${start.table} does not hold what was written to it (found ${found}, not ${expected}).`,
    )
}

// ---- after

async function finish(driver: Driver): Promise<void> {
  const { rows: keys } = await driver.query(`select definition from ${PROGRESS} where kind = 'key' order by name`)
  const { rows: sequences } = await driver.query(
    `select quote_ident(c.relname), quote_ident(a.attname), pg_get_serial_sequence(quote_ident(c.relname), a.attname)
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname = any($1::text[])
      and pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null`,
    [`{${ourTables.join(',')}}`],
  )
  await driver.exec(`begin;
    ${sequences.map(([table, column, name]) => `select setval(${literal(String(name))}, coalesce(max(${column}), 1), max(${column}) is not null) from ${table};`).join('\n')}
    ${keys.map(([definition]) => `${definition};`).join('\n')}
    drop table ${PROGRESS};
    commit;
    analyze;`)
}
