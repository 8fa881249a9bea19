import { AppError, type ErrorCode, type ErrorDetails } from '../errors.ts'
import type { Actor, CredentialKind } from './actor.ts'
import { isAtLeast, type Role } from './roles.ts'

export { isAtLeast, lowerRole, type Role, roles, workspaceRoles } from './roles.ts'

/** Who may call an action. Every action carries one; `tutti config policy` prints them all. */
export interface Rule {
  /** Accepted kinds of credentials; `anonymous` accepts every caller. `system` may do everything. */
  kinds: readonly CredentialKind[]
  /** `notes:read` is met by `notes:read`, `notes:write`, `read` and `write`. Null: no scope is needed. */
  scope: string | null
  /** Lowest role in the current organization. Null: the action concerns the caller's own account, or checks the row. */
  role: Role | null
  /** Also for a user without any organization, who still has personal and public records. */
  alone?: true
  /** Concerns the caller's whole account: not for a key that is bound to one organization. */
  account?: true
  /**
   * Also for a credential that is limited to projects: what the action reads and changes belongs to a project. Its
   * queries (`Rights`) and `requireWriter` apply the limit. Every other action refuses such a credential.
   */
  limited?: true
  /** Instance administrators only. */
  admin?: true
  /** Not for an administrator who acts as the user. */
  own?: true
  /** Not on a device that was approved with a code. */
  interactive?: true
  /** As `interactive`, and only if the user signed in or confirmed their identity within this many minutes. */
  recent?: number
  /** The page where a person at a browser does it, for refusals. Default: the page of the account. */
  page?: string
}

/** The toolset that allows the MCP servers of machines. It contains no tools of this server. */
export const TUNNELS_TOOLSET = 'tunnels'

/** Resources whose records belong to projects. Actions about all others refuse a credential limited to projects. */
const projectResources: ReadonlySet<string> = new Set([
  'activities',
  'agents',
  'decisions',
  'features',
  'links',
  'memories',
  'notes',
  'projects',
  'repos',
  'search',
  'sessions',
  'skills',
  'specs',
  'tasks',
  'uploads',
  'views',
])

const everyKind = ['session', 'api_key', 'mcp_token'] as const

/** For an organization's records: any credential with the scope, and a role (default: viewer reads, member writes). */
export const member = (
  scope: `${string}:${'read' | 'write'}`,
  role: Role = scope.endsWith(':read') ? 'viewer' : 'member',
): Rule => ({
  kinds: everyKind,
  scope,
  role,
  ...(projectResources.has(scope.split(':')[0] as string) && { limited: true as const }),
})
/** Like `member`, for records that may also be personal: a user without any organization needs no role. */
export const memberOrAlone = (scope: `${string}:${'read' | 'write'}`): Rule => ({ ...member(scope), alone: true })
/** The rule for something that belongs to a whole team: not for a credential that is limited to projects. */
export const wholeTeam = ({ limited: _, ...rule }: Rule): Rule => rule
/** For the web API, where the row or the named organization decides who may do it. */
export const byRow = (scope: `${string}:${'read' | 'write'}`): Rule => ({
  kinds: ['session', 'api_key'],
  scope,
  role: null,
})
/** For the caller's own account, on the web API. A key that is bound to one organization sees nothing of it. */
export const account = (scope: `${string}:${'read' | 'write'}`): Rule => ({ ...byRow(scope), account: true })
/** For every login session, including an administrator who acts as someone else. */
export const signedIn: Rule = { kinds: ['session'], scope: null, role: null }
/** For the signed-in user themselves: an API key or an impersonator must not create or revoke credentials. */
export const person: Rule = { ...signedIn, own: true }
/** Like `person`, but only in a browser: not on a device that was signed in by a code. */
export const interactive: Rule = { ...person, interactive: true }
/** Like `interactive`; refusals name the page where the person does it. */
export const atBrowser = (page: string): Rule => ({ ...interactive, page })
/** Like `person`, but only soon after a confirmation of identity: a stolen session must not be enough. */
export const recent = (minutes: number): Rule => ({ ...person, recent: minutes })
/** For administrators of the instance, in a browser: a device that an agent may also use administers nothing. */
export const admin: Rule = { ...interactive, admin: true }
export const recentAdmin = (minutes: number): Rule => ({ ...admin, recent: minutes })
export const anyone: Rule = { kinds: ['anonymous', ...everyKind], scope: null, role: null, limited: true }
/** For the machine of a tunnel, with its own credential. */
export const tunnelMachine: Rule = { kinds: ['tunnel'], scope: null, role: null }
/** For the server itself: command line, seeds, jobs. */
export const machine: Rule = { kinds: [], scope: null, role: null }

export const scopeHolds = (held: readonly string[], needed: string): boolean => {
  const [resource, access] = needed.split(':') as [string, 'read' | 'write']
  const enough = access === 'read' ? ['read', 'write'] : ['write']
  return enough.some((a) => held.includes(a) || held.includes(`${resource}:${a}`))
}

/** Why a caller may not do something: the code and text of the error. */
export interface Refusal {
  code: ErrorCode
  detail: string
  details?: ErrorDetails
}

export const toRefusalError = ({ code, detail, details }: Refusal): AppError => new AppError(code, detail, details)
export function throwIfRefused(refusal: Refusal | undefined): void {
  if (refusal) throw toRefusalError(refusal)
}

/** Whether the reader of a record may do something with it: `true`, or why not. */
export type Permission = true | Pick<Refusal, 'code' | 'detail'>
export const permissionOf = (refusal: Refusal | undefined): Permission =>
  refusal ? { code: refusal.code, detail: refusal.detail } : true

/** Adds `can` for the web API, whose pages offer actions. Tools leave it out: agents try, and get the reason. */
export const includePermissions = <C extends object>({ kind }: Actor, can: () => C): { can?: C } =>
  kind === 'mcp_token' ? {} : { can: can() }

const forbidden = (detail: string, details?: ErrorDetails): Refusal => ({ code: 'forbidden', detail, details })

/** Returns why the rule refuses this actor, or undefined. Checks only the credential: queries check the rows. */
export function ruleRefusal(actor: Actor, rule: Rule, what: string, clock: () => Date): Refusal | undefined {
  if (actor.kind === 'system') return undefined
  if (actor.kind === 'anonymous' && !rule.kinds.includes('anonymous'))
    return { code: 'unauthenticated', detail: 'Send a valid credential: `Authorization: Bearer <token>`.' }
  if (!rule.kinds.includes(actor.kind))
    return forbidden(
      `${what} cannot be done with ${credentialNames[actor.kind]}.`,
      rule.page ? { next: [{ page: rule.page }] } : undefined,
    )
  if (rule.account && actor.bound)
    return forbidden(`${what} cannot be done with a key that is bound to one organization: it concerns the account.`)
  if (actor.projects && !rule.limited)
    return forbidden(`${what} cannot be done with a credential that is limited to projects.`)
  if (rule.own && actor.session?.impersonatorId)
    return forbidden(`${what} cannot be done while acting as someone else.`)
  if (rule.admin && !actor.admin) return forbidden(`${what} is only for administrators of this server.`)
  const byDevice = rule.interactive ? deviceRefusal(actor, what, rule.page) : undefined
  if (byDevice) return byDevice
  if (rule.scope && !scopeHolds(actor.scopes, rule.scope))
    return forbidden(`This credential lacks the scope ${rule.scope}, which ${what} needs.`, { scope: rule.scope })
  const byRole =
    rule.role && !(rule.alone && actor.organizationId === null)
      ? roleRefusal(actor, actor.organizationId, rule.role, what)
      : undefined
  if (byRole) return byRole
  return rule.recent === undefined ? undefined : recentRefusal(actor, rule.recent, what, clock(), rule.page)
}

/** Throws 401 or 403. Runs before any input is checked. */
export const authorize = (actor: Actor, rule: Rule, what: string, clock: () => Date): void =>
  throwIfRefused(ruleRefusal(actor, rule, what, clock))

/** Returns why a session of a device may not do it, with the page where its user can. */
export const deviceRefusal = ({ session }: Actor, what: string, page = '/settings/profile'): Refusal | undefined =>
  session?.via === 'device'
    ? forbidden(`${what} cannot be done from a device that was signed in by a code. Use a browser.`, {
        next: [{ page }],
      })
    : undefined

function recentRefusal(actor: Actor, minutes: number, what: string, now: Date, page?: string): Refusal | undefined {
  const byDevice = deviceRefusal(actor, what, page)
  if (byDevice) return byDevice
  const proved = actor.session?.authenticatedAt
  if (proved && now.getTime() - Date.parse(proved) <= minutes * 60_000) return undefined
  return {
    code: 'forbidden.reauth',
    detail: `${what} needs proof of your identity from the last ${minutes} minutes. Confirm your identity, then repeat.`,
    details: { next: [{ route: 'POST /api/auth/reauth' }] },
  }
}

/** For actions in which only some rows need a recent confirmation. */
export const requireRecent = (actor: Actor, minutes: number, what: string, now: Date): void =>
  throwIfRefused(recentRefusal(actor, minutes, what, now))

/** Returns 403 for a role that is too low. Also used for rows that the caller may see but not change. */
export function roleRefusal(
  actor: Actor,
  organizationId: string | null,
  needed: Role,
  what: string,
): Refusal | undefined {
  if (actor.kind === 'system') return undefined
  const held = organizationId ? actor.memberships.get(organizationId) : undefined
  if (isAtLeast(held, needed)) return undefined
  return forbidden(`${what} needs the role ${needed} in this organization; yours is ${held ?? 'none'}.`, {
    role: { needed, held: held ?? null },
  })
}

export const requireRole = (actor: Actor, organizationId: string | null, needed: Role, what: string): void =>
  throwIfRefused(roleRefusal(actor, organizationId, needed, what))

type ProjectAccess = { organizationId: string; workspaceId: string | null; visibility: string }

/** In a project the higher role counts: that in its organization, or that from a shared workspace. */
export function roleRefusalOn(actor: Actor, project: ProjectAccess, needed: Role, what: string): Refusal | undefined {
  const shared =
    project.workspaceId && project.visibility !== 'private' ? actor.workspaces.get(project.workspaceId) : undefined
  return isAtLeast(shared, needed) ? undefined : roleRefusal(actor, project.organizationId, needed, what)
}

export const requireRoleOn = (actor: Actor, project: ProjectAccess, needed: Role, what: string): void =>
  throwIfRefused(roleRefusalOn(actor, project, needed, what))

const credentialNames: Record<CredentialKind, string> = {
  anonymous: 'no credential',
  session: 'a login session',
  api_key: 'an API key',
  mcp_token: 'an MCP token',
  tunnel: 'the credential of a tunnel',
  system: 'the machine',
}
