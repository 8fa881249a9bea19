import { beginOpeningEmbedded } from './open.ts'
import type { EmbeddedDriver, EmbeddedOptions } from './options.ts'
import { unpackSeed } from './seed.ts'

export type { EmbeddedDriver, EmbeddedOptions } from './options.ts'

/** Opens the embedded database in `dir`, creating it at the first start. Only one process can have it open. */
export const openEmbedded = async (options: EmbeddedOptions): Promise<EmbeddedDriver> => beginEmbedded(options).ready

export const beginEmbedded = (options: EmbeddedOptions) => beginOpeningEmbedded(options, unpackSeed)
