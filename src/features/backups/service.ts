import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { flow } from '../../action.ts'
import type { App } from '../../app.ts'
import { machine } from '../../auth/policy.ts'
import { dump } from '../../backup/dump.ts'
import { isRow, type Line, writeBackup } from '../../backup/file.ts'
import type { Driver } from '../../db/driver.ts'
import { AppError } from '../../errors.ts'

export interface Saved {
  path: string
  tables: number
  rows: number
  bytes: number
}

/** All of it in one file, as it was at one moment, while the server goes on. */
export const make = flow('backups.make', machine, async (ctx, { path }: { path: string }): Promise<Saved> => {
  if (existsSync(path)) throw new AppError('conflict', `${path} is there already. Choose another name.`)
  const { secret, config } = ctx.app
  const counted = { tables: 0, rows: 0 }
  async function* lines(driver: Driver) {
    // A secret that the operator keeps elsewhere stays there.
    for await (const line of dump(driver, ctx.now, config.TUTTI_SECRET ? undefined : secret)) {
      count(counted, line)
      yield line
    }
  }
  await withStill(ctx.app, (driver) => writeBackup(path, lines(driver)))
  return { path, ...counted, bytes: statSync(path).size }
})

function count(counted: { tables: number; rows: number }, line: Line): void {
  if (isRow(line)) counted.rows++
  else if ('end' in line) counted.tables++
}

/**
 * Postgres reads from a snapshot beside the writers. The embedded database has one connection, so a copy of its files is opened
 * instead: it stands still only while those are copied.
 */
async function withStill(app: App, work: (driver: Driver) => Promise<void>): Promise<void> {
  if (!app.driver.snapshot) return work(app.driver)
  const folder = mkdtempSync(join(app.config.DATA_DIR, 'backup-'))
  try {
    await app.driver.snapshot(join(folder, 'db'))
    const { openEmbedded } = await import('../../db/embedded/index.ts')
    const copy = await openEmbedded({
      dir: folder,
      durability: 'relaxed',
      statementTimeout: 60_000,
      sharedBuffers: '16MB',
      minFreeBytes: 0,
    })
    try {
      await work(copy)
    } finally {
      await copy.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const named = /^tutti-\d{4}-\d\d-\d\dT[\d-]+Z\.backup$/

/** The scheduled one: when the last is old enough, and no more than are to be kept. */
export const keepUp = flow('backups.keepUp', machine, async (ctx, _: Record<string, never>): Promise<Saved | undefined> => {
  const { BACKUP_DIR: folder, BACKUP_EVERY_HOURS: hours, BACKUP_KEEP: most } = ctx.app.config
  if (!folder) return undefined
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const there = () =>
    readdirSync(folder)
      .filter((name) => named.test(name))
      .sort()
  const name = (at: Date) => `tutti-${at.toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}.backup`
  // A minute's grace, for the job does not start at the very second.
  const due = name(new Date(Date.parse(ctx.now) - hours * 3_600_000 + 60_000))
  if ((there().at(-1) ?? '') > due) return undefined
  const saved = await make(ctx, { path: join(folder, name(new Date(ctx.now))) })
  for (const old of there().slice(0, -most)) await rm(join(folder, old), { force: true })
  return saved
})
