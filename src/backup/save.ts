import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Driver } from '../db/driver.ts'
import { dump } from './dump.ts'
import { isRow, type Line, writeBackup } from './file.ts'

export interface Saved {
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
export async function save(
  driver: Driver,
  config: Config,
  file: string,
  at: string,
  signal?: AbortSignal,
): Promise<Saved> {
  const saved: Saved = { file, at, tables: 0, rows: 0, bytes: 0, secret: false }
  async function* lines(): AsyncGenerator<Line> {
    for await (const line of dump(driver, { at, secret: config.TUTTI_SECRET ? undefined : keptSecret(config) })) {
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

export const keptSecret = (config: Config): string | undefined =>
  existsSync(secretPath(config)) ? readFileSync(secretPath(config), 'utf8').trim() : undefined
