import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { desc } from 'drizzle-orm'
import { auditRead, contextOf, flow, read } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { admin, recentAdmin } from '../../auth/policy.ts'
import { secretFingerprint } from '../../auth/secrets.ts'
import { settings } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { jobs } from '../../jobs/table.ts'
import { hideCredentials } from '../../text/setting-values.ts'
import * as backups from '../backups/service.ts'
import { checkInstallation } from '../upkeep/doctor.ts'
import type { BackupList, Checks, ConfigList, JobList } from './operations-schema.ts'
import { RECENT_MINUTES } from './refusals.ts'

type Nothing = Record<string, never>
const MOST_JOBS = 100

/** Runs the quick checks of `tutti doctor`. */
export const doctor = read(
  'admin.doctor',
  admin,
  async ({ app }, _: Nothing): Promise<Checks> => ({
    items: await checkInstallation(app.config, app.driver, false, true),
  }),
)

/** Lists waiting, running and failed jobs, newest first, without their data. */
export const listJobs = read('admin.listJobs', admin, async (ctx, _: Nothing): Promise<JobList> => {
  const { id, name, state, attempt, runAt, error, createdAt } = jobs
  const items = await ctx.db
    .select({ id, name, state, attempts: attempt, runAt, error, createdAt })
    .from(jobs)
    .orderBy(desc(jobs.createdAt), desc(jobs.id))
    .limit(MOST_JOBS)
  return { items }
})

export const listBackups = read('admin.listBackups', admin, async ({ app }, _: Nothing): Promise<BackupList> => {
  const { BACKUP_DIR: folder, BACKUP_EVERY_HOURS: everyHours, BACKUP_KEEP: keep } = app.config
  if (!folder) return { folder: null, everyHours, keep, items: [] }
  const mark = backups.serverMark(secretFingerprint(app.secret))
  const times = existsSync(folder) ? backups.listBackupTimes(folder, mark) : []
  const items = times.map((ms) => {
    const name = backups.backupName(ms, mark)
    const bytes = statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0
    return { name, at: new Date(ms).toISOString(), bytes }
  })
  return { folder, everyHours, keep, items }
})

/** Makes a backup now, into the folder of the scheduled ones. */
export const makeBackup = flow(
  'admin.makeBackup',
  recentAdmin(RECENT_MINUTES),
  async (ctx, _: Nothing): Promise<{ name: string }> => {
    const { BACKUP_DIR: folder } = ctx.app.config
    if (!folder) throw new AppError('conflict', 'No backup folder is set. Set BACKUP_DIR and restart the server.')
    const name = backups.backupName(Date.parse(ctx.now), backups.serverMark(secretFingerprint(ctx.app.secret)))
    // A backup contains everyone's data, so the audit log names the administrator. The server itself runs it.
    await auditRead(ctx, 'admin.makeBackup')
    await backups.createBackup({ ...contextOf(ctx.app, system), signal: ctx.signal }, { path: join(folder, name) })
    return { name }
  },
)

/** Lists the settings in force, without secrets. */
export const listConfig = read(
  'admin.listConfig',
  admin,
  async ({ app: { config } }, _: Nothing): Promise<ConfigList> => {
    const names = Object.keys(settings) as (keyof typeof settings)[]
    return {
      items: names.map((name) => {
        const value = config[name]
        const isUnset = value === undefined || (Array.isArray(value) && value.length === 0)
        const isHidden = 'secret' in settings[name] && settings[name].secret && !name.endsWith('_URL')
        const shown = isUnset ? null : isHidden ? '(hidden)' : hideCredentials(String(value))
        return { name, value: shown, from: config.sources[name], about: settings[name].about }
      }),
    }
  },
)
