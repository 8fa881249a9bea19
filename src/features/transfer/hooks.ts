import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'

export interface ExportContext {
  /** Returns the context with the current rights, for reading a page. Throws if the export must end. */
  renewedContext(): Promise<Ctx>
}

/**
 * Returns additional lines for the export of everything that a person has. They are personal: imports skip them, and
 * the export of one project does not contain them.
 */
export const extraExportLines = hook<ExportContext, AsyncIterable<object>>('transfer.exportedToo')
