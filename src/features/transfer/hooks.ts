import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'

export interface Exporting {
  /** Returns the context with the current rights, for reading a page. Throws if the export must end. */
  renewed(): Promise<Ctx>
}

/**
 * Returns additional lines for the export of everything that a person has. They are personal: imports skip them, and
 * the export of one project does not contain them.
 */
export const exportedToo = hook<Exporting, AsyncIterable<object>>('transfer.exportedToo')
