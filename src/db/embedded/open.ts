import { resolve } from 'node:path'
import { pgliteModule } from './assets.ts'
import { EmbeddedDatabase } from './database.ts'
import { claimDirectory, ensureDatabase, type Populate } from './directory.ts'
import type { EmbeddedDriver, EmbeddedOptions } from './options.ts'

/** Apart from index.ts because making the seed needs a database that does not come from the seed. */
export async function openDatabase(options: EmbeddedOptions, populate: Populate): Promise<EmbeddedDriver> {
  // A restart must find it again wherever the process has moved to.
  const dir = resolve(options.dir)
  const lock = claimDirectory(dir)
  try {
    // Both take a while and neither needs the other.
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
