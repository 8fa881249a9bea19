import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Driver } from '../db/driver.ts'
import { dumpDatabase } from './dump.ts'
import { type BackupLine, isRow, writeBackup } from './file.ts'

export interface SavedBackup {
  file: string
  /** The moment whose data the backup holds. */
  at: string
  tables: number
  rows: number
  bytes: number
  /** Whether the backup includes the master secret. */
  secret: boolean
}

/** Saves a database to one file. A secret that the operator keeps elsewhere is not included. */
export async function saveBackup(
  driver: Driver,
  config: Config,
  file: string,
  at: string,
  signal?: AbortSignal,
): Promise<SavedBackup> {
  const saved: SavedBackup = { file, at, tables: 0, rows: 0, bytes: 0, secret: false }
  async function* lines(): AsyncGenerator<BackupLine> {
    for await (const line of dumpDatabase(driver, {
      at,
      secret: config.TUTTI_SECRET ? undefined : storedSecret(config),
    })) {
      if (isRow(line)) saved.rows++
      else if ('end' in line) saved.tables++
      else if ('format' in line) saved.secret = line.secret !== undefined
      yield line
    }
  }
  saved.bytes = await writeBackup(file, lines(), signal)
  return saved
}

export const secretPath = (config: Config): string => join(config.DATA_DIR, 'secret')

export const storedSecret = (config: Config): string | undefined =>
  existsSync(secretPath(config)) ? readFileSync(secretPath(config), 'utf8').trim() : undefined
