import { hook } from '../../hooks.ts'

/** An account returned to the owner of its mailbox: open invites to its personal organization must be closed. */
export const personalReclaimed = hook<{ organizationId: string }>('organizations.personalReclaimed')
