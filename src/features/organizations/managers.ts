import { atBrowser, atLeast, type Role, type Rule } from '../../auth/policy.ts'

/** Minutes since the identity of whoever makes somebody an admin or owner was last confirmed. */
const FRESH = 5

/** Whether the role lets its holder manage the team. */
export const manages = (role: Role): boolean => atLeast(role, 'admin')

/** The page of a team, with its members and invites. */
export const teamPage = (organizationId: string): string => `/teams/${organizationId}`

/**
 * Making somebody an admin or owner, by their role or by an invite, needs a person at a browser: a key or a device that
 * an agent may also use could otherwise hand over the team.
 */
export const makingManagers = (organizationId: string): Rule => ({
  ...atBrowser(teamPage(organizationId)),
  recent: FRESH,
})
