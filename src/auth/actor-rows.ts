import { toIso } from '../db/columns.ts'
import { AppError } from '../errors.ts'
import type { Actor } from './actor.ts'
import type { KeyRow, PersonRow, SessionRow, TokenRow, TunnelRow } from './credential-rows.ts'
import { isAtLeast, lowerRole, type Role, workspaceRoles } from './policy.ts'

// Rows of credentials as actors. The caller has checked that the credential is valid.

export const invalidCredential = () =>
  new AppError(
    'unauthenticated',
    'The credential is not valid: unknown, expired or revoked. Sign in again or create a new one.',
  )

export const personFields = (row: PersonRow) => ({ userId: row.user_id, name: row.user_name, admin: row.is_admin })

export const parseMemberships = (row: PersonRow): Map<string, Role> =>
  new Map(JSON.parse(row.memberships) as [string, Role][])

/** For a credential that is bound to one organization: it does not see workspaces that others share with it. */
const nothingShared = { workspaces: new Map<string, Role>(), reach: [] as string[] }

export function parseShared(
  value: string,
  memberships: ReadonlyMap<string, Role>,
): Pick<Actor, 'workspaces' | 'reach'> {
  if (value === '[]') return nothingShared
  const workspaces = new Map<string, Role>()
  const reach = new Set<string>()
  for (const [id, role, team, teams] of JSON.parse(value) as [
    string,
    keyof typeof workspaceRoles,
    string,
    string[],
  ][]) {
    const own = memberships.get(team)
    if (!own) continue
    const held = lowerRole(workspaceRoles[role], own)
    if (!isAtLeast(workspaces.get(id), held)) workspaces.set(id, held)
    for (const other of teams) if (!memberships.has(other)) reach.add(other)
  }
  return { workspaces, reach: [...reach] }
}

export const pickOrganization = (memberships: ReadonlyMap<string, Role>, preferred: string | null): string | null =>
  preferred !== null && memberships.has(preferred) ? preferred : (memberships.keys().next().value ?? null)

/** Splits an array literal at its commas: scopes and toolsets contain no commas, quotes or braces. */
const textArray = (value: string): string[] => value.slice(1, -1).split(',').filter(Boolean)

/** A limited credential sees only these projects, and belongs to one organization. */
const limitOf = (row: KeyRow | TokenRow): Pick<Actor, 'projects'> =>
  row.projects === null ? {} : { projects: textArray(row.projects) }

export function sessionActor(row: SessionRow): Actor {
  const memberships = parseMemberships(row)
  return {
    ...personFields(row),
    credentialId: row.credential_id,
    kind: 'session',
    scopes: ['write'],
    memberships,
    ...parseShared(row.shared, memberships),
    session: {
      via: row.via,
      authenticatedAt: row.authenticated_at === null ? null : toIso(row.authenticated_at),
      impersonatorId: row.impersonator_id,
    },
    organizationId: pickOrganization(memberships, row.preferred),
  }
}

export function keyActor(row: KeyRow): Actor {
  const only = row.organization_id
  const all = parseMemberships(row)
  const memberships = only ? new Map([...all].filter(([id]) => id === only)) : all
  // The key is bound to an organization that its user has left.
  if (only && memberships.size === 0) throw invalidCredential()
  if (!only && row.projects !== null) throw invalidCredential()
  return {
    ...personFields(row),
    credentialId: row.credential_id,
    kind: 'api_key',
    ...(only && { bound: true as const }),
    ...limitOf(row),
    scopes: textArray(row.scopes),
    memberships,
    ...(only ? nothingShared : parseShared(row.shared, memberships)),
    organizationId: pickOrganization(memberships, row.preferred),
  }
}

export function tokenActor(row: TokenRow): Actor {
  const organizationId = row.organization_id
  // A sandbox has no members of its own: the role in its parent organization counts.
  const role = parseMemberships(row).get(row.member_of)
  if (!role) throw invalidCredential()
  return {
    ...personFields(row),
    credentialId: row.credential_id,
    kind: 'mcp_token',
    ...(row.granted && { granted: true as const }),
    bound: true,
    ...limitOf(row),
    scopes: textArray(row.scopes),
    memberships: new Map([[organizationId, role]]),
    ...(row.member_of !== organizationId && { sandboxOf: row.member_of }),
    ...nothingShared,
    organizationId,
    ...(row.own_space && { ownSpace: true as const }),
    // A token that renews itself needs no warning before it expires.
    ...(!row.granted && { expiresAt: toIso(row.expires_at) }),
    toolsets: textArray(row.toolsets),
    projectId: row.project_id,
    ...(row.agent_id !== null && {
      agent: {
        id: row.agent_id,
        name: String(row.agent_name),
        ...(row.agent_client !== null && { client: row.agent_client }),
        ...(row.agent_for_user && { forUser: true as const }),
      },
    }),
  }
}

/** Without memberships: what the machine may do comes from its credential only, and not from its owner's rights. */
export function tunnelActor(row: TunnelRow): Actor {
  // The owner has left the team of the tunnel.
  if (!parseMemberships(row).has(row.organization_id)) throw invalidCredential()
  return {
    ...personFields(row),
    admin: false,
    credentialId: row.credential_id,
    kind: 'tunnel',
    bound: true,
    scopes: [],
    memberships: new Map(),
    ...nothingShared,
    organizationId: row.organization_id,
    tunnelId: row.tunnel_id,
  }
}
