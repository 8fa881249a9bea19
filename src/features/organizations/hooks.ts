import { hook } from '../../hooks.ts'

/** The owner of an account took it over from somebody else: whoever was invited to the personal organization is not any more. */
export const personalReclaimed = hook<{ organizationId: string }>('organizations.personalReclaimed')
