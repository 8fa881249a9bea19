import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { createApp } from '../../../src/app.ts'
import type { Config } from '../../../src/config.ts'
import { findRunningServer } from '../../../src/control/client.ts'
import { runInProcess } from '../../../src/control/server.ts'
import { DbError } from '../../../src/db/driver.ts'
import { lockDirectory } from '../../../src/db/embedded/storage/lock.ts'
import { hasDatabase } from '../../../src/db/index.ts'
import { backupCommand } from '../../../src/features/backups/control.ts'
import { createLog } from '../../../src/log.ts'
import { version } from '../../../src/version.ts'
import { copyVerified, runForVersion, syncFile, writeError } from '../../operating/new-binary.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { tryServer } from '../../operating/trial.ts'
import { printNote, printResult } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { findService, waitForServer } from './service.ts'

interface Options extends CommonOptions {
  file: string
  sha256?: string
  wait?: string
  json?: boolean
}

interface Plan extends Pick<Options, 'file' | 'sha256'> {
  config: Config
  /** How long the new version may take to start. */
  seconds: number
  service: Awaited<ReturnType<typeof findService>>
  /** The binary in use. */
  here: string
  /** Verified copy of the new binary. */
  next: string
  /** Where the old binary stays after the upgrade, and its copy until then. */
  old: string
  oldCopy: string
  /** Working folder: a copy of an embedded database for the trial, and the errors of the trial. */
  workFolder: string
  /** Options that lead other commands to the same data. */
  options: string[]
}

interface Done {
  to: string
  sha256: string
  backup: string | undefined
}

/**
 * Replaces this binary with another version, after that version has started with this data. The binary in place works
 * at every moment: it is replaced by a single rename. The trial uses a copy of an embedded database, so that nothing
 * has to be undone; a Postgres database is used itself, and restored from the backup if the trial fails.
 */
export async function upgradeBinary({ file, sha256, wait = '120', json, ...common }: Options): Promise<void> {
  const config = loadSettings(common)
  const seconds = Number(wait)
  if (!(seconds > 0)) throw new Refusal('--wait must be a number of seconds.')
  const here = process.execPath
  if (basename(here).startsWith('bun'))
    throw new Refusal('This command runs from source. Pull the source and build it instead.')
  const server = await findRunningServer(config)
  const service = await findService(server?.pid)
  if (server && !service)
    throw new Refusal(
      `A server is running on this data folder${server.pid ? ` (pid ${server.pid})` : ''}, ` +
        `but not as a service of Tutti. Stop it, then run this again.`,
      5,
    )
  const old = `${here}.before-upgrade`
  const plan: Plan = {
    file,
    sha256,
    config,
    seconds,
    service,
    here,
    old,
    next: `${here}.new`,
    oldCopy: `${old}.new`,
    workFolder: join(config.DATA_DIR, 'upgrade'),
    options: ['--data-dir', config.DATA_DIR, ...(config.file ? ['--config', config.file] : [])],
  }
  const release = lockUpgrade(here)
  try {
    const done = await replaceBinary(plan)
    reportUpgrade(plan, done, json)
  } catch (error) {
    // The binary in place is now the one that ran before.
    if (service && !(await findRunningServer(config))) service.start()
    throw error
  } finally {
    rmSync(plan.next, { force: true })
    rmSync(plan.oldCopy, { force: true })
    rmSync(plan.workFolder, { recursive: true, force: true })
    release()
  }
}

async function replaceBinary(plan: Plan): Promise<Done> {
  const { config, here, next, old, oldCopy, service, workFolder } = plan
  const embedded = config.DB_CONNECTION === 'pglite'
  const stopped = deferSignals()
  const sha256 = copyVerified(resolve(plan.file), next, plan.sha256)
  const to = runForVersion(next, plan.file)
  // All the disk space that is needed is taken before anything is changed.
  copyFileSync(here, oldCopy)
  for (const path of [next, oldCopy]) syncFile(path)
  service?.stop()
  noteProgress('Saving all data …')
  const backup = await saveData(config, to, workFolder)
  // Signals do not interrupt a step; they are checked after it.
  stopped.check()
  noteProgress(`Trying ${to} with this data …`)
  const failure = await tryServer({
    binary: next,
    version: to,
    configFile: config.file,
    seconds: plan.seconds,
    dataDir: embedded ? workFolder : config.DATA_DIR,
    errors: join(workFolder, 'errors'),
  })
  if (failure) {
    const restored = embedded || !backup ? '' : restoreData(plan, backup)
    throw new Refusal(`${to} did not start: ${failure}\n${version} stays in place, with its data.${restored}`, 6)
  }
  // By now the new version has changed a Postgres database, so there is no way back.
  if (embedded) stopped.check()
  renameSync(oldCopy, old)
  renameSync(next, here)
  if (service) await restartService(plan, service, to, backup)
  return { to, sha256, backup }
}

/** Starts the service with the new binary. If it does not start, puts the old binary and the data back. */
async function restartService(
  plan: Plan,
  service: NonNullable<Plan['service']>,
  to: string,
  backup: string | undefined,
): Promise<void> {
  service.start()
  if (await waitForServer(plan.config, to, plan.seconds)) return
  service.stop()
  renameSync(plan.old, plan.here)
  const restored = backup ? restoreData(plan, backup) : ''
  throw new Refusal(
    `${to} did not start as a service. Check its log: ${service.log}\n${version} is back in place.${restored}`,
    6,
  )
}

function reportUpgrade(
  { here, old, options, service }: Plan,
  { to, sha256, backup }: Done,
  json: boolean | undefined,
): void {
  const restore = backup && `'${here}' restore '${backup}' --replace ${options.map((o) => `'${o}'`).join(' ')}`
  printResult(
    json,
    {
      from: version,
      to,
      sha256,
      binary: here,
      before: old,
      backup: backup ?? null,
      restarted: service !== undefined,
    },
    `${version} → ${to} in ${here}`,
    ...(backup ? [`All data from before the upgrade is in ${backup}.`] : []),
    service ? 'The service is running again.' : 'The new version started with this data. Start the server again.',
    `To go back, stop the server and run: mv '${old}' '${here}'${restore ? ` && ${restore}` : ''}`,
  )
}

/** Steps may take minutes, so a terminal shows the current one. */
function noteProgress(text: string): void {
  if (process.stderr.isTTY) printNote(text)
}

/** Allows one upgrade at a time: another would change files that this one has verified. */
function lockUpgrade(here: string): () => void {
  const folder = `${here}.upgrading`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lock = lockDirectory(folder)
    return () => {
      rmSync(folder, { recursive: true, force: true })
      lock.release()
    }
  } catch (error) {
    if (error instanceof DbError)
      throw new Refusal('Another upgrade of this binary is running. Wait until it has finished.', 5)
    throw writeError(here, error)
  }
}

/** Makes a backup and, of an embedded database, a copy for the trial. Returns undefined if there is no data yet. */
async function saveData(config: Config, to: string, workFolder: string): Promise<string | undefined> {
  rmSync(workFolder, { recursive: true, force: true })
  if (!hasDatabase(config)) {
    mkdirSync(workFolder, { recursive: true, mode: 0o700 })
    return undefined
  }
  const app = await createApp(config, { background: false, log: createLog('warn') })
  try {
    mkdirSync(workFolder, { mode: 0o700 })
    const path = join(config.DATA_DIR, `before-${to}-${new Date().toISOString().replaceAll(':', '-')}.backup`)
    await runInProcess(app, backupCommand, { path })
    await app.driver.snapshot?.(join(workFolder, 'db'))
    const secret = join(config.DATA_DIR, 'secret')
    if (existsSync(secret)) copyFileSync(secret, join(workFolder, 'secret'))
    return path
  } finally {
    await app.close()
  }
}

/** Restores the backup if the new version has migrated the database; otherwise the data is unchanged. */
function restoreData({ here, options }: Plan, backup: string): string {
  if (Bun.spawnSync([here, 'migrate', 'status', ...options]).exitCode === 0) return ''
  const { exitCode, stderr } = Bun.spawnSync([here, 'restore', backup, '--replace', ...options])
  return exitCode === 0
    ? `\nThe data was restored from ${backup}.`
    : `\nThe data could not be restored (${stderr.toString().trim()}). Run: tutti restore '${backup}' --replace`
}

/** Collects signals instead of ending at once: Ctrl-C in the middle must not leave a service stopped. */
function deferSignals(): { check(): void } {
  let received = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      received = true
    })
  return {
    check() {
      if (received) throw new Refusal('Stopped. Nothing was changed.', 1)
    },
  }
}
