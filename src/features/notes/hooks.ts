import { hook } from '../../hooks.ts'

/** A note moved to another team, or became personal (null) or a team's, in the running transaction. */
export const noteMoved = hook<{ noteId: string; organizationId: string | null }>('notes.moved')
