import { existsSync, mkdirSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DbError } from '../../driver.ts'
import { type Lock, lockDirectory } from './lock.ts'
import { copyTree, syncAncestors, syncDirectory, syncTree } from './tree.ts'

/** Fills an empty directory with an initialised database. */
export type Populate = (target: string) => Promise<void>

export function databasePath(dir: string): string {
  return join(dir, 'db')
}

/** Locks the directory before anything else, so that a second process fails at once instead of after seconds. */
export function claimDirectory(dir: string): Lock {
  // For the whole process: SQLite, Postgres and the copies below create files with various modes.
  process.umask(0o077)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return lockDirectory(dir)
}

/**
 * Creates the database if it is missing. It appears complete and synced, or not at all: a first start can be killed at
 * any moment.
 */
export async function ensureDatabase(dir: string, populate: Populate): Promise<void> {
  const target = databasePath(dir)
  const draft = `${target}.tmp`
  await rm(draft, { recursive: true, force: true })
  if (!existsSync(target)) {
    mkdirSync(draft, { mode: 0o700 })
    await populate(draft)
    await publish(draft, target)
    await syncAncestors(dir)
  }
  if (!existsSync(join(target, 'PG_VERSION'))) {
    throw new DbError(
      'unavailable',
      `${target} is not a database (PG_VERSION is missing); restore it from a backup or move it away`,
    )
  }
}

/**
 * Copies the files; consistent only while nothing writes to `from`. Returns a function that syncs the copy and gives it
 * its final name, which may run after writes resume.
 */
export async function copyDatabase(from: string, to: string): Promise<() => Promise<void>> {
  const draft = `${to}.tmp`
  await rm(draft, { recursive: true, force: true })
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  await copyTree(from, draft, (path) => path === 'postmaster.pid')
  return () => publish(draft, to)
}

async function publish(draft: string, target: string): Promise<void> {
  await syncTree(draft)
  await rename(draft, target)
  await syncDirectory(dirname(target))
}
