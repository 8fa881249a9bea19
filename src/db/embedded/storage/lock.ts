import { Database } from 'bun:sqlite'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseInUse } from '../../driver.ts'

export interface Lock {
  readonly held: boolean
  release(): void
}

// Keeps references: a garbage-collected Database closes its file, which releases the lock.
const held = new Set<Database>()

/**
 * Makes this process the only one on the directory. The kernel drops the lock when the process ends, however it ends.
 * PGlite itself has no lock: two processes silently overwrite each other.
 */
export function lockDirectory(dir: string): Lock {
  const path = join(dir, 'lock')
  // Separate, because closing any descriptor of the locked file (even after a read) would drop a POSIX lock.
  const pidPath = join(dir, 'lock.pid')
  let db: Database | undefined
  try {
    db = new Database(path, { create: true, readwrite: true })
    db.run('PRAGMA busy_timeout = 0')
    db.run('BEGIN EXCLUSIVE')
  } catch (error) {
    db?.close()
    if ((error as { code?: string }).code !== 'SQLITE_BUSY')
      throw new Error(`cannot lock ${path}: ${(error as Error).message}`, { cause: error })
    throw new DatabaseInUse(dir, readPid(pidPath))
  }
  const lock = db
  held.add(lock)
  writeFileSync(pidPath, `${process.pid}\n`, { mode: 0o600 })
  return {
    get held() {
      return held.has(lock) && lock.inTransaction
    },
    release() {
      if (held.delete(lock)) lock.close()
    },
  }
}

function readPid(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim() || 'unknown'
  } catch {
    return 'unknown'
  }
}
