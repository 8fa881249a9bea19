import { resolve } from 'node:path'
import { pgliteModule } from './assets.ts'
import { EmbeddedDatabase } from './database.ts'
import { claimDirectory, ensureDatabase, type Populate } from './directory.ts'
import type { EmbeddedDriver, EmbeddedOptions } from './options.ts'

/** Not in index.ts, because building the seed needs a database that does not come from the seed. */
export async function openDatabase(options: EmbeddedOptions, populate: Populate): Promise<EmbeddedDriver> {
  // A restart must find the directory even if the working directory has changed.
  const dir = resolve(options.dir)
  const lock = claimDirectory(dir)
  try {
    // Independent of each other, and both take a while.
    await Promise.all([pgliteModule(), ensureDatabase(dir, populate)])
    const database = new EmbeddedDatabase({ ...options, dir }, lock)
    await database.start().catch(async (error) => {
      await database.close()
      throw error
    })
    return database
  } catch (error) {
    lock.release()
    throw error
  }
}
