/** Roles in an organization, from the lowest. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]
/** The highest role that members of a team can have in a shared workspace, by the team's role in it. */
export const workspaceRoles: Record<'owner' | 'editor' | 'viewer', Role> = {
  owner: 'owner',
  editor: 'member',
  viewer: 'viewer',
}
export const lowerRole = (a: Role, b: Role): Role => (isAtLeast(a, b) ? b : a)
export const isAtLeast = (role: Role | undefined, needed: Role): boolean =>
  role !== undefined && roles.indexOf(role) >= roles.indexOf(needed)
