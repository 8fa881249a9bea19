import { hook } from '../../hooks.ts'

/**
 * Returns further lines for the export of everything that a person has. They are the person's own: imports skip them,
 * and the export of one project has none.
 */
export const exportedToo = hook<Record<never, never>, AsyncIterable<object>>('transfer.exportedToo')
