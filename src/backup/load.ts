import { migrations } from '../../migrations/index.ts'
import type { Driver, Transaction } from '../db/driver.ts'
import { applyMigrations } from '../db/migrate.ts'
import { PROGRESS } from '../db/restore-progress.ts'
import { AppError } from '../errors.ts'
import { fixTextOutput, quoteIdentifier, readRows } from './dump.ts'
import {
  type BackupHeader,
  type BackupLine,
  type BackupRow,
  isRow,
  RowChecksum,
  type TableEnd,
  type TableStart,
} from './file.ts'
import { columnTypes, finishTarget, prepareTarget, quoteLiteral } from './restore-target.ts'

export interface LoadResult {
  header: BackupHeader
  tables: number
  rows: number
}

export interface LoadProgress {
  table: string
  /** Rows of this table so far. */
  rows: number
  /** The table is complete; it is the `nth` of all. */
  done: boolean
  nth: number
  of: number
}

export interface LoadOptions {
  /** Identifies the source, so that an interrupted load is continued only from the same one. */
  identity: string
  /** Delete what the database holds. */
  replace?: boolean
  onProgress?: (progress: LoadProgress) => void
  /** Called when all data is loaded and compared, before the database may be served. */
  beforeEnd?: () => void | Promise<void>
}

/**
 * Fills an empty database from lines. Each table is written and read back in one transaction. An interrupted load
 * continues: a table already loaded is only compared, and loaded again if its source has changed. No server starts on
 * the database until everything is loaded.
 */
export async function loadBackup(
  driver: Driver,
  lines: () => AsyncIterable<BackupLine>,
  options: LoadOptions,
): Promise<LoadResult> {
  for (;;) {
    const loaded = await new Pass(driver, options).run(lines())
    if (!loaded) continue
    await options.beforeEnd?.()
    await finishTarget(driver)
    await applyMigrations(driver, migrations)
    return loaded
  }
}

const BATCH_BYTES = 2 << 20
const BATCH_ROWS = 2000
const misplacedLineError = () => new AppError('invalid', 'The lines of this backup are not in the expected order.')

/** One pass through all lines. */
class Pass {
  #header: BackupHeader | undefined
  /** Tables loaded by an earlier run, with their checksums. */
  #before = new Map<string, string>()
  #types = new Map<string, Map<string, string>>()
  #table: TableStart | undefined
  #sum = new RowChecksum()
  /** The transaction that writes the table; undefined if the table is already loaded. */
  #to: Transaction | undefined
  #batch: BackupRow[] = []
  #bytes = 0
  #tables = 0
  #rows = 0
  #stale = false

  constructor(
    private readonly driver: Driver,
    private readonly options: LoadOptions,
  ) {}

  /** Returns undefined if a table must be loaded again. */
  async run(lines: AsyncIterable<BackupLine>): Promise<LoadResult | undefined> {
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
    if (!this.#header || this.#table || this.#tables !== this.#header.tables) throw misplacedLineError()
    return this.#stale ? undefined : { header: this.#header, tables: this.#tables, rows: this.#rows }
  }

  async #begin(header: BackupHeader): Promise<void> {
    if (this.#header) throw misplacedLineError()
    this.#header = header
    this.#before = await prepareTarget(this.driver, header, this.options)
    this.#types = await columnTypes(this.driver)
  }

  async #open(start: TableStart): Promise<void> {
    const types = this.#types.get(start.table)
    const unknown = types ? start.columns.find((name) => !types.has(name)) : ''
    if (this.#table || unknown !== undefined)
      throw unknown === undefined
        ? misplacedLineError()
        : new AppError('invalid', `The backup has ${start.table} ${unknown}, which its version of Tutti does not have.`)
    this.#table = start
    this.#sum = new RowChecksum()
    if (this.#before.has(start.table)) return
    this.#to = await this.driver.begin()
    await fixTextOutput(this.#to)
  }

  async #row(row: BackupRow): Promise<void> {
    if (!this.#table) throw misplacedLineError()
    this.#sum.add(row)
    if (!this.#to) return
    this.#batch.push(row)
    for (const value of row) this.#bytes += value?.length ?? 0
    if (this.#bytes > BATCH_BYTES || this.#batch.length >= BATCH_ROWS) await this.#write(this.#table, this.#to)
  }

  async #write(table: TableStart, to: Transaction): Promise<void> {
    await insertRows(to, table, this.#types.get(table.table) as Map<string, string>, this.#batch)
    this.#batch = []
    this.#bytes = 0
    this.#report(table.table, false)
  }

  async #close({ end, sum }: TableEnd): Promise<void> {
    const table = this.#table
    if (table?.table !== end) throw misplacedLineError()
    const found = this.#sum.toString()
    if (found !== sum) throw new AppError('invalid', `The rows of ${end} differ from those that were saved.`)
    if (this.#to) {
      await this.#write(table, this.#to)
      await verify(this.#to, table, found)
      await this.#to.commit([{ text: `insert into ${PROGRESS} values ('table', $1, $2)`, params: [end, found] }])
      this.#to = undefined
    } else if (this.#before.get(end) !== found) {
      await this.driver.exec(
        `begin; delete from ${quoteIdentifier(end)}; delete from ${PROGRESS} where kind = 'table' and name = ${quoteLiteral(end)}; commit;`,
      )
      this.#stale = true
    }
    this.#table = undefined
    this.#tables++
    this.#rows += this.#sum.rows
    this.#report(end, true)
  }

  #report(table: string, done: boolean): void {
    const nth = this.#tables + (done ? 0 : 1)
    this.options.onProgress?.({ table, rows: this.#sum.rows, done, nth, of: this.#header?.tables ?? 0 })
  }
}

async function insertRows(
  to: Transaction,
  { table, columns }: TableStart,
  types: Map<string, string>,
  rows: readonly BackupRow[],
): Promise<void> {
  if (rows.length === 0) return
  const names = columns.map(quoteIdentifier).join(', ')
  const values = columns.map((name, i) => `(r->>${i})::${types.get(name)}`).join(', ')
  await to.query(
    `insert into ${quoteIdentifier(table)} (${names}) overriding system value select ${values} from json_array_elements($1::text::json) r`,
    [JSON.stringify(rows)],
  )
}

/** Reads back what the database now holds and compares it. */
async function verify(on: Transaction, start: TableStart, expected: string): Promise<void> {
  const found = new RowChecksum()
  for await (const row of readRows(on, start)) found.add(row)
  if (found.toString() !== expected)
    throw new AppError(
      'internal',
      `${start.table} does not hold what was written to it (found ${found}, not ${expected}).`,
    )
}
