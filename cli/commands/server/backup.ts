import { createReadStream, createWriteStream, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { dumpDatabase, isMasterSecretOf } from '../../../src/backup/dump.ts'
import { exclusiveName, requireExclusive } from '../../../src/backup/exclusive.ts'
import { type BackupHeader, checkBackup, readBackup } from '../../../src/backup/file.ts'
import { type LoadProgress, type LoadResult, loadBackup } from '../../../src/backup/load.ts'
import { hasData } from '../../../src/backup/restore-target.ts'
import { type SavedBackup, saveBackup, secretPath, storedSecret } from '../../../src/backup/save.ts'
import type { Config } from '../../../src/config.ts'
import { askServer, isServerRunning } from '../../../src/control/client.ts'
import { DatabaseInUse, DbError, type Driver } from '../../../src/db/driver.ts'
import { ensurePrivateFolder, openDatabase } from '../../../src/db/index.ts'
import { isRestoring, requireNotRestoring } from '../../../src/db/restore-progress.ts'
import { AppError } from '../../../src/errors.ts'
import { backupCommand } from '../../../src/features/backups/control.ts'
import { createLog } from '../../../src/log.ts'
import { displayAddress, splitServers } from '../../../src/text/database-address.ts'
import { type CommonOptions, loadSettings, requireDatabase } from '../../operating/settings.ts'
import { printNote, printResult } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

interface Options extends CommonOptions {
  json?: boolean
  replace?: boolean
  verbose?: boolean
}

const formatSize = (bytes: number): string =>
  bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`
const rowsOf = ({ rows, tables }: { rows: number; tables: number }): string => `${rows} rows in ${tables} tables`
const timestamp = (): string => new Date().toISOString().replaceAll(':', '-')

// ---- backup

export async function backup(file: string, { json, ...common }: Options): Promise<void> {
  const config = loadSettings(common)
  if (file === '-') return toStdout(config)
  const saved = await saveAll(config, resolve(file))
  printResult(json, saved, `Saved ${rowsOf(saved)} to ${saved.file} (${formatSize(saved.bytes)}).`)
  printNote(
    saved.secret
      ? 'Keep this file safe: it contains the master secret, so whoever has it can read all data and sign in as anyone.'
      : 'This file does not contain the master secret. Back up the secret too: without it, encrypted data cannot be read.',
  )
}

/** Asks the running server, or else reads the database without migrating it. */
async function saveAll(config: Config, path: string): Promise<SavedBackup> {
  const asked = await askServer(config, backupCommand, { path })
  if (asked) return asked.answer
  const { driver } = await openSource(config)
  try {
    return await saveBackup(driver, config, path, new Date().toISOString())
  } finally {
    await driver.close()
  }
}

async function toStdout(config: Config): Promise<void> {
  if (process.stdout.isTTY) throw new Refusal('A backup cannot be printed on a terminal. Pipe it, or name a file.')
  const path = join(config.DATA_DIR, `piped-${timestamp()}.backup`)
  const saved = await saveAll(config, path)
  const fd = openSync(path, 'r')
  // Removed at once, so that an interrupted command leaves no copy behind.
  rmSync(path)
  await pipeline(createReadStream('', { fd }), process.stdout)
  printNote(`Saved ${rowsOf(saved)} (${formatSize(saved.bytes)}).`)
}

async function openSource(config: Config): Promise<{ driver: Driver; name: string }> {
  requireDatabase(config)
  const name = exclusiveName()
  return { name, driver: await openDatabase(config, createLog('warn'), { name }) }
}

// ---- restore

export async function restore(file: string, { replace, json, verbose, ...common }: Options): Promise<void> {
  const config = loadSettings(common)
  await refuseServing(config)
  const path = file === '-' ? await fromStdin(config) : resolve(file)
  try {
    const { sha256, header } = await checkBackup(path).catch((error: unknown) => {
      throw error instanceof AppError ? new AppError(error.code, `${error.message} Nothing was changed.`) : error
    })
    const { tutti, at, database, secret } = header
    if (secret && config.TUTTI_SECRET && secret !== config.TUTTI_SECRET)
      throw new Refusal('TUTTI_SECRET differs from the secret in this backup. Unset it, then restore again.', 5)
    if (verbose) printNote(`${path} is complete: created ${at} by Tutti ${tutti} on ${database}.`)
    const done = await loadInto(config, replace, (driver, checkExclusive) =>
      loadBackup(driver, () => readBackup(path, sha256), {
        identity: sha256,
        replace,
        onProgress: progress(verbose),
        beforeEnd: async () => {
          await checkExclusive()
          storeSecret(config, header)
        },
      }),
    )
    printResult(
      json,
      { file: path, madeAt: at, ...done },
      `Restored ${rowsOf(done)} to ${done.into}; every row was read back and compared.${replacedNote(done)}`,
    )
    if (!done.secret) printNote('Set TUTTI_SECRET to the master secret of this backup, then start the server.')
  } finally {
    if (file === '-') rmSync(path, { force: true })
  }
}

/** Stores standard input in a file, because a backup is read twice: to verify it, and to load it. */
async function fromStdin(config: Config): Promise<string> {
  if (process.stdin.isTTY) throw new Refusal('Pipe a backup into this command, or name a file.')
  ensurePrivateFolder(config.DATA_DIR)
  const path = join(config.DATA_DIR, `piped-${timestamp()}.backup`)
  try {
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600, flags: 'wx' }))
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
  return path
}

interface Restored {
  into: string
  tables: number
  rows: number
  /** The file that existing data was saved to. */
  replaced: string | null
  /** Whether the master secret that the data needs is available to the server. */
  secret: boolean
}

const replacedNote = ({ replaced }: Restored): string => (replaced ? ` The earlier data is kept in ${replaced}` : '')

type Work = (driver: Driver, checkExclusive: () => Promise<void>) => Promise<LoadResult>

async function loadInto(config: Config, replace: boolean | undefined, work: Work): Promise<Restored> {
  const name = exclusiveName()
  const { driver, replaced } = await openTarget(config, name, replace)
  try {
    const { tables, rows } = await work(driver, () => requireExclusive(driver, name))
    const secret = config.TUTTI_SECRET ?? storedSecret(config)
    return {
      into: sourceOf(config),
      tables,
      rows,
      replaced,
      secret: secret !== undefined && (await isMasterSecretOf(driver, secret)),
    }
  } finally {
    await driver.close()
  }
}

/** Opens the target. With --replace, saves existing data first; a damaged database is kept as files. */
async function openTarget(
  config: Config,
  name: string,
  replace = false,
): Promise<{ driver: Driver; replaced: string | null }> {
  const open = () => openDatabase(config, createLog('warn'), { name })
  let driver: Driver | undefined
  try {
    driver = await open()
    await requireExclusive(driver, name)
    const replaced = replace ? await saveExisting(config, driver) : null
    // Data that a server wrote meanwhile would not be in the saved file.
    if (replaced) await requireExclusive(driver, name)
    return { driver, replaced }
  } catch (error) {
    await driver?.close()
    if (!replace || !isDamage(error)) throw error
    if (config.DB_CONNECTION !== 'pglite')
      throw new AppError(
        'conflict',
        `The existing data cannot be saved (${error.message}), so it was not replaced. Use another, empty database.`,
      )
    const kept = join(config.DATA_DIR, `db.damaged-${timestamp()}`)
    renameSync(join(config.DATA_DIR, 'db'), kept)
    printNote(`The existing data is damaged: ${error.message}`)
    return { driver: await open(), replaced: kept }
  }
}

const isDamage = (error: unknown): error is DbError =>
  error instanceof DbError && !(error instanceof DatabaseInUse) && !['disk_full', 'timeout'].includes(error.code)

/** Saves existing data to a backup in the data folder. */
async function saveExisting(config: Config, driver: Driver): Promise<string | null> {
  if ((await isRestoring(driver)) || !(await hasData(driver))) return null
  const { file } = await saveBackup(
    driver,
    config,
    join(config.DATA_DIR, `replaced-${timestamp()}.backup`),
    new Date().toISOString(),
  )
  return file
}

/** Stores the secret of a backup. An existing secret is renamed and kept, because other data may need it. */
function storeSecret(config: Config, { secret }: BackupHeader): void {
  if (!secret || config.TUTTI_SECRET) return
  const path = secretPath(config)
  const here = storedSecret(config)
  if (here === secret) return
  writeFileSync(`${path}.new`, `${secret}\n`, { mode: 0o600, flush: true })
  if (here) renameSync(path, `${path}.replaced-${timestamp()}`)
  renameSync(`${path}.new`, path)
}

// ---- move

export async function move({ to: place, replace, json, verbose, ...common }: Options & { to: string }): Promise<void> {
  const config = loadSettings(common)
  // Other users of the computer can see a command's arguments, and a password in them.
  const to = place === '-' ? (await Bun.stdin.text()).trim() : place
  const elsewhere = { ...config, LISTEN_URL: undefined, DATABASE_READ_URL: undefined }
  const target: Config =
    to === 'embedded'
      ? { ...elsewhere, DB_CONNECTION: 'pglite', DATABASE_URL: undefined }
      : { ...elsewhere, DB_CONNECTION: 'pgsql', DATABASE_URL: postgresUrl(to) }
  if (target.DB_CONNECTION === config.DB_CONNECTION && target.DATABASE_URL === config.DATABASE_URL)
    throw new Refusal(`The data is already there. Use --to ${to === 'embedded' ? 'postgres://…' : 'embedded'}`)
  await refuseServing(config)
  const { driver: from, name } = await openSource(config)
  try {
    await requireNotRestoring(from)
    await requireExclusive(from, name)
    if (!(await hasData(from))) throw new Refusal(`There is no data to move in ${sourceOf(config)}.`, 4)
    const { rows } = await from.query("select value from meta where key = 'secret'")
    const done = await loadInto(target, replace, (driver, checkExclusive) =>
      loadBackup(driver, () => dumpDatabase(from, { at: new Date().toISOString() }), {
        identity: `move ${rows[0]?.[0]}`,
        replace,
        onProgress: progress(verbose),
        // A server that was started meanwhile may have changed data that was already read.
        beforeEnd: async () => {
          await requireExclusive(from, name)
          await checkExclusive()
        },
      }),
    )
    printResult(
      json,
      { from: sourceOf(config), ...done },
      `Moved ${rowsOf(done)} from ${sourceOf(config)} to ${done.into}; every row was read back and compared.` +
        replacedNote(done),
    )
  } finally {
    await from.close()
  }
  printNote(
    to === 'embedded'
      ? 'Remove DATABASE_URL from your settings and start the server with the same data folder.'
      : 'Set DATABASE_URL to that address and start the server with the same data folder, which contains the secret.',
  )
  // The rest of the data folder is still needed.
  const old = config.DB_CONNECTION === 'pglite' ? join(config.DATA_DIR, 'db') : sourceOf(config)
  printNote(`The data in ${old} was not changed. Delete it when you no longer need it.`)
}

function postgresUrl(text: string): string {
  if (splitServers(text).length === 0)
    throw new Refusal(
      '--to must be postgres://user:password@host:5432/database, - to read that from standard input, or embedded',
    )
  return text
}

async function refuseServing(config: Config): Promise<void> {
  if (await isServerRunning(config)) throw new Refusal('A server is running on this data folder. Stop it first.', 5)
}

/** Describes a database without its password. */
function sourceOf({ DB_CONNECTION, DATABASE_URL, DATA_DIR }: Config): string {
  if (DB_CONNECTION !== 'pgsql') return DATA_DIR
  return displayAddress(DATABASE_URL as string)
}

/** Shows progress: a line for each table with rows if `verbose`, else one line that changes, on a terminal only. */
function progress(verbose = false): (progress: LoadProgress) => void {
  const { stderr } = process
  return ({ table, rows, done, nth, of }) => {
    if (verbose && done && rows > 0) printNote(`${table}: ${rows} rows`)
    else if (!verbose && stderr.isTTY)
      stderr.write(`\r\x1b[K${done && nth === of ? '' : `table ${nth} of ${of}: ${table}, ${rows} rows`}`)
  }
}
