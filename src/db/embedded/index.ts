import { openDatabase } from './open.ts'
import type { EmbeddedDriver, EmbeddedOptions } from './options.ts'
import { unpackSeed } from './seed.ts'

export type { EmbeddedDriver, EmbeddedOptions } from './options.ts'

/** Opens the embedded database in `dir`, creating it at the first start. Only one process can have it open. */
export function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDriver> {
  return openDatabase(options, unpackSeed)
}
