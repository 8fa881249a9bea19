import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { dump } from '../../src/backup/dump.ts'
import { type Header, isRow, readBackup, writeBackup } from '../../src/backup/file.ts'
import { type Loaded, load, wipe } from '../../src/backup/load.ts'
import type { Config } from '../../src/config.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openDatabase } from '../../src/db/index.ts'
import { isRestoring } from '../../src/db/restoring.ts'
import type { Saved } from '../../src/features/backups/service.ts'
import { createLog } from '../../src/log.ts'
import { isServing } from '../../src/machine.ts'
import { machine } from '../machine.ts'
import { print } from '../output.ts'
import { Refusal } from '../report.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

const size = (bytes: number): string => (bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`)

export async function backup(file: string, { json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const saved = (await machine(settingsOf(common), 'backups.make', { path: resolve(file) })) as Saved
  print(json, saved, `Saved ${saved.rows} rows of ${saved.tables} tables to ${saved.path} (${size(saved.bytes)}).`)
}

export async function restore(file: string, { replace, ...common }: CommonOptions & { replace?: boolean }): Promise<void> {
  const config = settingsOf(common)
  await refuseServing(config)
  // Read to the end before anything is touched.
  let header: Header | undefined
  let rows = 0
  for await (const line of readBackup(file)) {
    if (isRow(line)) rows++
    else if ('format' in line) header = line
  }
  const { at, database, secret } = header as Header
  console.log(`${file}: ${rows} rows, made ${at} on ${database}.`)
  const driver = await openDatabase(config, createLog('warn'))
  try {
    if (replace) await makeRoom(config, driver)
    const loaded = await load(driver, readBackup(file), progress())
    keepSecret(config, secret)
    told(loaded, config)
  } finally {
    await driver.close()
  }
}

export async function move({ to, ...common }: CommonOptions & { to: string }): Promise<void> {
  const config = settingsOf(common)
  const target: Config =
    to === 'embedded'
      ? { ...config, DB_CONNECTION: 'pglite', DATABASE_URL: undefined }
      : { ...config, DB_CONNECTION: 'pgsql', DATABASE_URL: postgresUrl(to) }
  if (target.DB_CONNECTION === config.DB_CONNECTION && target.DATABASE_URL === config.DATABASE_URL)
    throw new Refusal(`The data is there already. Name the other place: ${to === 'embedded' ? 'postgres://…' : 'embedded'}`)
  await refuseServing(config)
  const log = createLog('warn')
  const from = await openDatabase(config, log)
  try {
    const into = await openDatabase(target, log)
    try {
      // The same as long as nothing has changed at the source, so that a move that was interrupted goes on.
      const { rows } = await from.query('select coalesce(max(seq), 0) from events')
      told(await load(into, dump(from, `move at event ${rows[0]?.[0]}`, undefined), progress()), target)
    } finally {
      await into.close()
    }
  } finally {
    await from.close()
  }
  console.log(
    to === 'embedded'
      ? 'From now on start without DATABASE_URL.'
      : `From now on start with DATABASE_URL set to that address, and the same data folder: its secret is still needed.`,
  )
}

function postgresUrl(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text))
    throw new Refusal('--to takes postgres://user:password@host:5432/database, or embedded')
  return text
}

async function refuseServing(config: Config): Promise<void> {
  if (await isServing(config)) throw new Refusal('A server is running on this data folder. Stop it first.', 5)
}

/** Whatever is there is saved beside, in a file that can be restored in turn. */
async function makeRoom(config: Config, driver: Driver): Promise<void> {
  if (!(await isRestoring(driver)) && (await hasData(driver))) {
    const path = join(config.DATA_DIR, `replaced-${new Date().toISOString().replaceAll(':', '-')}.backup`)
    const secretFile = join(config.DATA_DIR, 'secret')
    const secret = config.TUTTI_SECRET || !existsSync(secretFile) ? undefined : readFileSync(secretFile, 'utf8').trim()
    await writeBackup(path, dump(driver, new Date().toISOString(), secret))
    console.log(`What was there is saved in ${path}`)
  }
  await wipe(driver)
}

async function hasData(driver: Driver): Promise<boolean> {
  const { rows } = await driver.query("select to_regclass('users')::text")
  return rows[0]?.[0] != null && (await driver.query('select 1 from users limit 1')).rows.length > 0
}

function keepSecret(config: Config, secret: string | undefined): void {
  if (!secret || config.TUTTI_SECRET) return
  const path = join(config.DATA_DIR, 'secret')
  const here = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
  if (here === secret) return
  if (here) renameSync(path, `${path}.replaced-${Date.now()}`)
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flush: true })
}

const progress = () => (process.stderr.isTTY ? showProgress : undefined)
function showProgress({ table, rows, done }: { table: string; rows: number; done: boolean }): void {
  process.stderr.write(`\r\x1b[K${table} ${rows}${done ? '\n' : ''}`)
}

function told({ rows, tables }: Loaded, config: Config): void {
  const where = config.DB_CONNECTION === 'pgsql' ? new URL(config.DATABASE_URL as string).host : config.DATA_DIR
  console.log(`${rows} rows of ${tables} tables are in ${where}, counted and compared.`)
}
