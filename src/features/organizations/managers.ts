import { atBrowser, isAtLeast, type Role, type Rule } from '../../auth/policy.ts'

/** Minutes since the caller last confirmed their identity. */
const FRESH = 5

export const isManager = (role: Role): boolean => isAtLeast(role, 'admin')

/** The page of a team, with its members and invites. */
export const teamPage = (organizationId: string): string => `/teams/${organizationId}`

/**
 * Making someone an admin or owner, by role or by invite, requires a browser session: otherwise an agent with a key or
 * a device session could give the team away.
 */
export const makeManagerRule = (organizationId: string): Rule => ({
  ...atBrowser(teamPage(organizationId)),
  recent: FRESH,
})
