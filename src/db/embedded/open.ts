import { resolve } from 'node:path'
import { pgliteModule } from './assets.ts'
import { EmbeddedDatabase } from './database.ts'
import type { EmbeddedDriver, EmbeddedOptions } from './options.ts'
import { claimDirectory, ensureDatabase, type Populate } from './storage/directory.ts'

/**
 * Begins to open the database, and throws if another process has it open. Not in index.ts, because building the seed
 * needs a database that does not come from the seed.
 */
export function beginOpeningEmbedded(
  options: EmbeddedOptions,
  populate: Populate,
): { driver: EmbeddedDriver; ready: Promise<EmbeddedDriver> } {
  // A restart must find the directory even if the working directory has changed.
  const dir = resolve(options.dir)
  const driver = new EmbeddedDatabase({ ...options, dir }, claimDirectory(dir))
  const open = async () => {
    try {
      // Independent of each other, and both take a while.
      await Promise.all([pgliteModule(), ensureDatabase(dir, populate)])
      await driver.start()
      return driver
    } catch (error) {
      await driver.close()
      throw error
    }
  }
  return { driver, ready: open() }
}
