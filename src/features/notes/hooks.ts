import { hook } from '../../hooks.ts'

/** A note moved to another team, or became or ceased to be personal (null), in the running transaction. */
export const noteMoved = hook<{ noteId: string; organizationId: string | null }>('notes.moved')
