import { mkdtempSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { flow } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { secretFingerprint } from '../../auth/secrets.ts'
import { checkTargetPath, sweepDrafts, toFileError } from '../../backup/file.ts'
import { type SavedBackup, saveBackup } from '../../backup/save.ts'
import type { Driver } from '../../db/driver.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'

/** Writes all data, as of one moment, to a file while the server keeps running. */
export const createBackup = flow(
  'backups.make',
  machine,
  async (ctx, { path }: { path: string }): Promise<SavedBackup> => {
    await checkTargetPath(path)
    return withSnapshot(ctx.app, (driver) => saveBackup(driver, ctx.app.config, path, ctx.now, ctx.signal))
  },
)

const COPY = /^backup-\w{6}$/
/** Copies in use by this process. */
const copies = new Set<string>()

/**
 * Calls `work` with a driver whose data does not change. Postgres reads from a snapshot, on a standby if there is one.
 * The embedded database has one connection, so a copy of its files is opened instead: writes wait only while the files
 * are copied.
 */
async function withSnapshot(app: App, work: (driver: Driver) => Promise<SavedBackup>): Promise<SavedBackup> {
  if (!app.driver.snapshot)
    return app.reads.whole(work, ({ message: reason }) =>
      app.log.warn('the backup failed on the standby; starting again on the primary', { reason }),
    )
  const { DATA_DIR: dir, DB_MIN_FREE_MB: leave } = app.config
  const needed = sizeOf(join(dir, 'db'))
  const { bavail, bsize } = statfsSync(dir)
  const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20)
  if (bavail * bsize < needed + leave * 2 ** 20)
    throw new AppError(
      'disk_full',
      `A backup temporarily needs ${mib(needed)} MiB in ${dir}, but only ${mib(bavail * bsize)} MiB are free.`,
    )
  const folder = mkdtempSync(join(dir, 'backup-'))
  copies.add(folder)
  try {
    await app.driver.snapshot(join(folder, 'db')).catch((error: unknown) => {
      throw toFileError(join(folder, 'db'), error)
    })
    const { openEmbedded } = await import('../../db/embedded/index.ts')
    const limits = { statementTimeout: DAY_MS, transactionTimeout: DAY_MS, minFreeBytes: 0 }
    const copy = await openEmbedded({ dir: folder, durability: 'relaxed', ...limits })
    try {
      return await work(copy)
    } finally {
      await copy.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
    copies.delete(folder)
  }
}

function sizeOf(folder: string): number {
  let bytes = 0
  for (const name of readdirSync(folder, { recursive: true }) as string[])
    bytes += statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0
  return bytes
}

/** Files of piped backups. A command that was killed may leave one; no command takes a day. */
const PIPED = /^piped-.*\.backup$/
const DAY_MS = 86_400_000

/** Removes files that a killed server or command left behind. Only this server writes to the data folder. */
export async function removeLeftovers({ config: { DATA_DIR: folder }, driver }: App): Promise<void> {
  await sweepDrafts(folder, (name) => /\.backup\.\w{6}\.part$/.test(name))
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const isCopy = COPY.test(name) && driver.snapshot && !copies.has(path)
    const isPiped =
      PIPED.test(name) && (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) < Date.now() - DAY_MS
    if (isCopy || isPiped) await rm(path, { recursive: true, force: true })
  }
}

/** The name contains a mark of the server, because two servers may share a backup folder. */
export const backupName = (ms: number, mark: string): string =>
  `tutti-${new Date(ms).toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}-${mark}.backup`
const nameOf = (mark: string): RegExp =>
  new RegExp(`^tutti-(\\d{4}-\\d\\d-\\d\\d)T(\\d\\d)-(\\d\\d)-(\\d\\d)Z-${mark}\\.backup$`)
export const serverMark = (fingerprint: string): string => fingerprint.slice(0, 8)

/** Returns the times of the scheduled backups in a folder, newest first. */
export const listBackupTimes = (folder: string, mark: string): number[] =>
  readdirSync(folder)
    .map((name) => nameOf(mark).exec(name))
    .flatMap((found) => (found ? Date.parse(`${found[1]}T${found[2]}:${found[3]}:${found[4]}Z`) : []))
    .sort((a, b) => b - a)

/** Makes a scheduled backup if the last one is old enough, then deletes those beyond BACKUP_KEEP. */
export const makeScheduledBackup = flow(
  'backups.keepUp',
  machine,
  async (ctx, _: Record<string, never>): Promise<SavedBackup | undefined> => {
    const { BACKUP_DIR: folder, BACKUP_EVERY_HOURS: hours, BACKUP_KEEP: most } = ctx.app.config
    if (!folder) return undefined
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw toFileError(folder, error)
    })
    const mark = serverMark(secretFingerprint(ctx.app.secret))
    await sweepDrafts(folder, (name) => nameOf(mark).test(name.replace(/\.\w+\.part$/, '')))
    const now = Date.parse(ctx.now)
    // Ignores backups from the future: they were made while the clock was wrong.
    const made = () => listBackupTimes(folder, mark).filter((at) => at <= now)
    // One minute of tolerance, because the job does not start at the exact second.
    if ((made()[0] ?? 0) > now - hours * 3_600_000 + 60_000) return undefined
    const saved = await createBackup(ctx, { path: join(folder, backupName(now, mark)) })
    for (const old of made().slice(most)) await rm(join(folder, backupName(old, mark)), { force: true })
    return saved
  },
)
