import type { Role } from '../../auth/policy.ts'
import { hook } from '../../hooks.ts'
import type { Member, Organization, PlanLimit } from './schema.ts'

/** The owner of the mailbox recovered the account: open invites to its personal organization must be closed. */
export const onPersonalReclaimed = hook<{ organizationId: string }>('organizations.personalReclaimed')

/** Counts how much of the limit a team uses; 0 if the limit does not concern the handler. The results are added. */
export const planUsage = hook<{ organizationId: string; limit: PlanLimit }, number>('organizations.planUsage')

/** A member left a team or was removed from it. Not called if their account is deleted. */
export const onMemberLeft = hook<{ organizationId: string; userId: string }>('organizations.memberLeft')

/** A member's role was raised to admin or owner, by another member. `member` is as before the change. */
export const onManagerMade = hook<{
  organization: Pick<Organization, 'id' | 'name'>
  member: Member
  role: Role
}>('organizations.managerMade')
