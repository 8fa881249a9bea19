import { AppError } from '../errors.ts'
import type { Actor, CredentialKind } from './actor.ts'

export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]
/** What a team's part in a shared workspace lets its members do there, at most. */
export const inWorkspace: Record<'owner' | 'editor' | 'viewer', Role> = {
  owner: 'owner',
  editor: 'member',
  viewer: 'viewer',
}
export const lesser = (a: Role, b: Role): Role => (atLeast(a, b) ? b : a)
export const atLeast = (role: Role | undefined, needed: Role): boolean =>
  role !== undefined && roles.indexOf(role) >= roles.indexOf(needed)

/** Who may call an action. Every action carries one; `tutti config policy` prints them all. */
export interface Rule {
  /** Credential kinds; `anonymous` lets everybody in. The machine itself (`system`) may do everything. */
  kinds: readonly CredentialKind[]
  /** `notes:write`: met by `write`, `notes:write` (and for reads also by `read`). Null: no scope is asked for. */
  scope: string | null
  /** Least role in the current organization; null where the action is about the caller's own account or asks the row itself. */
  role: Role | null
  /** Also for somebody who is in no organization at all: he still has what is personal, and what is public. */
  alone?: true
  /** Instance administrators only. */
  admin?: true
  /** Only the person himself: not an administrator who acts as him. */
  own?: true
  /** Only where the person signed in himself: not on a device that somebody approved. */
  interactive?: true
  /** The same, and only where he signed in or confirmed to be himself within so many minutes. */
  recent?: number
}

/** Filled as actions and tools are defined: what scopes and toolsets there are, for those who hand out credentials. */
export const known = { resources: new Set<string>(), toolsets: new Set(['core']) }

const everyKind = ['session', 'api_key', 'mcp_token'] as const

/** Work on an organization's records: any credential, the scope, and a role in the organization (viewer reads, member writes). */
export const member = (
  scope: `${string}:${'read' | 'write'}`,
  role: Role = scope.endsWith(':read') ? 'viewer' : 'member',
): Rule => ({
  kinds: everyKind,
  scope,
  role,
})
/** The same for what may also be personal: who is in no organization is not asked for a role in one. */
export const memberOrAlone = (scope: `${string}:${'read' | 'write'}`): Rule => ({ ...member(scope), alone: true })
/** The caller's own things on the web API. */
export const account = (scope: `${string}:${'read' | 'write'}`): Rule => ({
  kinds: ['session', 'api_key'],
  scope,
  role: null,
})
/** Whoever is signed in, an administrator who acts as somebody else included. */
export const signedIn: Rule = { kinds: ['session'], scope: null, role: null }
/** What may only be done by the person himself, signed in: an API key or an impersonator must not mint or revoke credentials. */
export const person: Rule = { ...signedIn, own: true }
/** The same, and in a browser: not on a device that was signed in by a code. */
export const interactive: Rule = { ...person, interactive: true }
/** The same, and only right after proving it: for what a stolen session must not be enough for. */
export const recent = (minutes: number): Rule => ({ ...person, recent: minutes })
export const admin: Rule = { ...person, admin: true }
export const recentAdmin = (minutes: number): Rule => ({ ...admin, recent: minutes })
export const anyone: Rule = { kinds: ['anonymous', ...everyKind], scope: null, role: null }
/** Only the machine itself: command line, seeds, jobs. */
export const machine: Rule = { kinds: [], scope: null, role: null }

export const scopeHolds = (held: readonly string[], needed: string): boolean => {
  const [resource, access] = needed.split(':') as [string, 'read' | 'write']
  const enough = access === 'read' ? ['read', 'write'] : ['write']
  return enough.some((a) => held.includes(a) || held.includes(`${resource}:${a}`))
}

/** 401 → 403, before any input is looked at. Rows are checked by the queries themselves. */
export function authorize(actor: Actor, rule: Rule, what: string, clock: () => Date): void {
  if (actor.kind === 'system') return
  if (actor.kind === 'anonymous' && !rule.kinds.includes('anonymous'))
    throw new AppError('unauthenticated', 'Send a valid credential: `Authorization: Bearer <token>`.')
  if (!rule.kinds.includes(actor.kind))
    throw new AppError('forbidden', `${what} cannot be done with ${credentialNames[actor.kind]}.`)
  if (rule.own && actor.session?.impersonatorId)
    throw new AppError('forbidden', `${what} cannot be done while acting as somebody else.`)
  if (rule.interactive) requireInteractive(actor, what)
  if (rule.admin && !actor.admin) throw new AppError('forbidden', `${what} is for administrators of this instance.`)
  if (rule.scope && !scopeHolds(actor.scopes, rule.scope))
    throw new AppError('forbidden', `This credential lacks the scope ${rule.scope}, which ${what} needs.`)
  if (rule.role && !(rule.alone && actor.organizationId === null))
    requireRole(actor, actor.organizationId, rule.role, what)
  if (rule.recent !== undefined) requireRecent(actor, rule.recent, what, clock())
}

function requireInteractive({ session }: Actor, what: string): void {
  if (session?.via === 'device')
    throw new AppError('forbidden', `${what} cannot be done from a device that was signed in by a code. Use a browser.`)
}

/** Also for actions where only some rows ask for it. */
export function requireRecent(actor: Actor, minutes: number, what: string, now: Date): void {
  requireInteractive(actor, what)
  const proved = actor.session?.authenticatedAt
  if (!proved || now.getTime() - Date.parse(proved) > minutes * 60_000)
    throw new AppError(
      'forbidden.reauth',
      `${what} needs you to have confirmed within ${minutes} minutes that it is you: POST /api/auth/reauth, then repeat.`,
    )
}

/** Also for rows: 403 on something the caller may see but not change. */
export function requireRole(actor: Actor, organizationId: string | null, needed: Role, what: string): void {
  if (actor.kind === 'system') return
  const role = organizationId ? actor.memberships.get(organizationId) : undefined
  if (!atLeast(role, needed))
    throw new AppError(
      'forbidden',
      `${what} needs the role ${needed} in this organization; yours is ${role ?? 'none'}.`,
    )
}

/** On a project: the role in its organization, or what a workspace that both share gives, whichever is more. */
export function requireRoleOn(
  actor: Actor,
  project: { organizationId: string; workspaceId: string | null; visibility: string },
  needed: Role,
  what: string,
): void {
  const shared =
    project.workspaceId && project.visibility !== 'private' ? actor.workspaces.get(project.workspaceId) : undefined
  if (!atLeast(shared, needed)) requireRole(actor, project.organizationId, needed, what)
}

const credentialNames: Record<CredentialKind, string> = {
  anonymous: 'no credential',
  session: 'a login session',
  api_key: 'an API key',
  mcp_token: 'an MCP token',
  system: 'the machine',
}
