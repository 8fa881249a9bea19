import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../log.ts'
import type { Driver } from './driver.ts'

const KEEP = 3

/**
 * Copies the embedded database before a new version changes it. Deletes old copies first, to make room for the new one.
 */
export async function snapshotDatabase(driver: Driver, folder: string, now: Date, log: Log): Promise<void> {
  if (!driver.snapshot) return
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const old of readdirSync(folder)
    .sort()
    .slice(0, -(KEEP - 1)))
    rmSync(join(folder, old), { recursive: true, force: true })
  const path = join(folder, now.toISOString().replaceAll(':', '-'))
  await driver.snapshot(path)
  log.info('database copied before it is changed', { path })
}
