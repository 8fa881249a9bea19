import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'

export interface Exporting {
  /** Returns the context with the rights of this moment, to read a page with. Throws if the export must end. */
  renewed(): Promise<Ctx>
}

/**
 * Returns further lines for the export of everything that a person has. They are the person's own: imports skip them,
 * and the export of one project has none.
 */
export const exportedToo = hook<Exporting, AsyncIterable<object>>('transfer.exportedToo')
