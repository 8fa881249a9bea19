import { AppError, notFound } from '../errors.ts'
import { isAtLeast, type Role } from './roles.ts'

/** How a login session began. */
export const vias = [
  'password',
  'code',
  'magic_link',
  'passkey',
  'github',
  'google',
  'oidc',
  'device',
  'setup',
  'impersonation',
] as const
export type Via = (typeof vias)[number]

/** Facts that only login sessions have. */
interface SessionFacts {
  readonly via: Via
  /** When the person last proved their identity; null for sessions of devices and of impersonation. */
  readonly authenticatedAt: string | null
  /** The administrator acting as this user. */
  readonly impersonatorId: string | null
}

export type CredentialKind = 'anonymous' | 'session' | 'api_key' | 'mcp_token' | 'tunnel' | 'system'

/** Who is calling, and with which rights: read from the database, never from claims. */
export interface Actor {
  readonly kind: CredentialKind
  readonly userId: string | null
  readonly name: string
  /** Instance administrator. */
  readonly admin: boolean
  /**
   * The session, key or token; of a token that a program got by sign-in, its permission. Idempotency keys,
   * limits and audit entries refer to it.
   */
  readonly credentialId: string | null
  readonly scopes: readonly string[]
  /** The organizations this credential can access, with the user's role in each. */
  readonly memberships: ReadonlyMap<string, Role>
  /** For a token of a sandbox: the organization whose members may use it. */
  readonly sandboxOf?: string
  /**
   * Workspaces shared with the caller's teams, with the lower of the team's role in it and the caller's role in the
   * team.
   */
  readonly workspaces: ReadonlyMap<string, Role>
  /** The other organizations in those workspaces: the caller may see part of their records. */
  readonly reach: readonly string[]
  readonly session?: SessionFacts
  /** The current organization. */
  readonly organizationId: string | null
  /** Bound to one organization: always for an MCP token, optionally for an API key. */
  readonly bound?: true
  /** For an MCP token: it is bound to its user's own space, and therefore also sees their personal records. */
  readonly ownSpace?: true
  /** For an MCP token: a program got it by sign-in, and can ask for more scopes. */
  readonly granted?: true
  /** For an MCP token that does not renew itself: when it expires. */
  readonly expiresAt?: string
  readonly toolsets?: readonly string[]
  /** The agent that acts for the user: always for an MCP token, unless its agent was deleted. */
  readonly agent?: {
    readonly id: string
    readonly name: string
    /** The program that it runs in. */
    readonly client?: string
    /** It was made for a token of this user, and works for no one else. */
    readonly forUser?: true
  }
  /** For a credential that is limited to projects: the only ones that it sees. It belongs to one team. */
  readonly projects?: readonly string[]
  /** The default project, if the MCP token names one. */
  readonly projectId?: string | null
  /** For the credential of a machine: its tunnel. Such an actor has no rights but to serve it. */
  readonly tunnelId?: string
}

/**
 * True for the person themselves at a browser: not a key, not a device that an agent may also use, not an administrator
 * acting as them.
 */
export const isInPerson = ({ kind, session }: Actor): boolean =>
  kind === 'session' && session?.via !== 'device' && !session?.impersonatorId

/**
 * True if the caller sees and writes the user's personal records: not with a credential of another team, nor with one
 * that is limited to projects.
 */
export const seesPersonal = ({ bound, ownSpace, projects }: Actor): boolean =>
  !projects && (!bound || ownSpace === true)

/** Returns the caller's own ids: of an agent that works for one user only, also that user's id. */
export const ownIds = ({ agent, userId }: Actor): string[] =>
  [agent?.id, !agent || agent.forUser ? userId : null].filter((id) => typeof id === 'string')

/** An id that equals no user's. */
export const NO_USER_ID = '00000000-0000-0000-0000-000000000000'

const nothing = {
  userId: null,
  admin: false,
  credentialId: null,
  scopes: [],
  memberships: new Map<string, Role>(),
  workspaces: new Map<string, Role>(),
  reach: [],
  organizationId: null,
}
export const anonymous: Actor = { ...nothing, kind: 'anonymous', name: 'anonymous' }
export const system: Actor = { ...nothing, kind: 'system', name: 'system', admin: true }
/** A user of the command line on the server itself, whom the audit log distinguishes from the server's own work. */
export const operator: Actor = { ...system, name: 'operator' }

/** Returns the organizations whose records without a project the caller sees: none if it is limited to projects. */
export const organizationsOf = (actor: Actor, role: Role = 'viewer'): string[] =>
  actor.projects ? [] : membershipsWith(actor, role)

/** Returns the organizations in which the caller has at least this role. */
export const membershipsWith = (actor: Actor, role: Role): string[] =>
  [...actor.memberships].filter(([, held]) => isAtLeast(held, role)).map(([id]) => id)

/** Switches to the organization of `X-Organization-Id`. One that the caller is not in is not found. */
export function switchOrganization(actor: Actor, organizationId: string): Actor {
  if (actor.organizationId === organizationId || actor.kind === 'anonymous') return actor
  if (!actor.memberships.has(organizationId))
    throw notFound('organization', organizationId, 'among yours (X-Organization-Id)')
  return { ...actor, organizationId }
}

/**
 * Returns the teams that a personal list covers: the given one if the caller is a member. By default, the team that the
 * credential is bound to, or all teams of the caller.
 */
export function teamsToList(actor: Actor, organizationId?: string): string[] {
  if (organizationId !== undefined) return actor.memberships.has(organizationId) ? [organizationId] : []
  return actor.bound ? [currentOrganization(actor)] : organizationsOf(actor)
}

/** For actions whose rule admits only signed-in callers. */
export function userIdOf(actor: Actor): string {
  if (!actor.userId) throw new AppError('forbidden', 'Only a user can do this.')
  return actor.userId
}

export function currentOrganization(actor: Actor): string {
  if (!actor.organizationId)
    throw new AppError('forbidden', 'You are not a member of any organization. Create one first.', {
      next: [{ route: 'POST /api/teams', command: 'tutti teams create <name>' }],
    })
  return actor.organizationId
}
