import { pgliteModule } from './assets.ts'
import { EmbeddedDatabase } from './database.ts'
import { claimDirectory, ensureDatabase, type Populate } from './directory.ts'
import type { EmbeddedDriver, EmbeddedOptions } from './options.ts'

/** Apart from index.ts because making the seed needs a database that does not come from the seed. */
export async function openDatabase(options: EmbeddedOptions, populate: Populate): Promise<EmbeddedDriver> {
  const lock = claimDirectory(options.dir)
  try {
    // Both take a while and neither needs the other.
    const [database] = await Promise.all([new EmbeddedDatabase(options, lock), pgliteModule(), ensureDatabase(options.dir, populate)])
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
