import { toIso } from '../db/columns.ts'
import type { Driver } from '../db/driver.ts'
import { AppError } from '../errors.ts'
import type { Bus } from '../events/bus.ts'
import type { Catalogue } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import type { Actor } from './actor.ts'
import { type CredentialRow, keyRow, type PersonRow, sessionRow, tokenRow, userRow } from './credential-rows.ts'
import type { Jwt } from './jwt.ts'
import { atLeast, inWorkspace, lesser, type Role } from './policy.ts'
import { hashSecret, kindOf } from './secrets.ts'

export const CACHE_MS = 1000
const CACHE_SIZE = 10_000

/** Where a call came from. `ip` may be a getter, because it is needed only for the first use between two flushes. */
interface From {
  readonly ip: string | null
}

interface Entry {
  actor: Promise<Actor>
  at: number
  /** Set once it is read. */
  known?: Actor
}

/** Returns true for an actor whose rights an event may have changed. */
export type Concerns = (actor: Actor) => boolean

/**
 * The only way from a bearer secret to an Actor, for HTTP, MCP, sockets and tunnels. Actors are cached for at most a
 * second, and dropped at once when an event reports that their rights changed, here or on another instance.
 */
export class Authenticator {
  readonly #cache = new Map<string, Entry>()
  readonly #watchers = new Set<(concerns: Concerns) => void>()
  /** Credentials used since the last flush, by id. */
  readonly #used = new Map<string, { actor: Actor; at: string; ip: string | null; count: number }>()

  constructor(
    private readonly driver: Driver,
    private readonly jwt: Jwt,
    private readonly clock: () => Date,
    bus: Bus,
    private readonly events: Catalogue,
  ) {
    bus.subscribe((event) => this.#onEvent(event))
  }

  /** Throws `unauthenticated` unless the credential is valid and its user is active. Counts as a use. */
  async authenticate(secret: string, from?: From): Promise<Actor> {
    return this.#note(await this.look(secret), from)
  }

  /** Like `authenticate`, but not counted as a use: for open streams that check their credential again. */
  async look(secret: string): Promise<Actor> {
    const found = this.#cache.get(secret)
    const now = performance.now()
    if (found && now - found.at < CACHE_MS) return found.actor
    const entry: Entry = { actor: this.#load(secret), at: now }
    this.#cache.delete(secret)
    this.#cache.set(secret, entry)
    if (this.#cache.size > CACHE_SIZE) this.#cache.delete(this.#cache.keys().next().value as string)
    try {
      entry.known = await entry.actor
      return entry.known
    } catch (error) {
      if (this.#cache.get(secret) === entry) this.#cache.delete(secret)
      throw error
    }
  }

  /** Returns a user on whose behalf the server acts (seeds, jobs). Without a credential: no limits, no idempotency. */
  async actorFor(userId: string): Promise<Actor> {
    const row = await userRow(this.driver, userId)
    if (!row) throw new AppError('not_found', 'No such user.')
    const memberships = membershipsOf(row)
    return {
      ...personOf(row),
      credentialId: null,
      kind: 'session',
      scopes: ['write'],
      memberships,
      ...sharedWith(row.shared, memberships),
      organizationId: current(memberships, row.preferred),
    }
  }

  /** Calls `onChange` when rights may have changed, so that open streams of those concerned check them again. */
  watch(onChange: (concerns: Concerns) => void): () => void {
    this.#watchers.add(onChange)
    return () => void this.#watchers.delete(onChange)
  }

  /** Stores which credentials were used since the last call. Runs on a timer and at shutdown, not during requests. */
  async flushUsage(): Promise<void> {
    const batch = [...this.#used]
    this.#used.clear()
    for (const [id, { actor, at, ip, count }] of batch) {
      const { kind } = actor
      if (kind === 'session')
        await this.driver.query('update login_sessions set last_seen_at = $2 where id = $1', [id, at])
      if (kind === 'api_key') await this.driver.query('update api_keys set last_used_at = $2 where id = $1', [id, at])
      if (kind === 'mcp_token')
        await this.driver.query(
          'update mcp_tokens set last_used_at = $2, last_used_ip = $3, use_count = use_count + $4 where id = $1',
          [id, at, ip, count],
        )
    }
  }

  /** The callers that this process saw since the last flush. */
  *unwritten(): Iterable<{ actor: Actor; at: string }> {
    yield* this.#used.values()
  }

  #note(actor: Actor, from?: From): Actor {
    if (!actor.credentialId) return actor
    const seen = this.#used.get(actor.credentialId)
    if (seen) seen.count++
    else this.#used.set(actor.credentialId, { actor, at: this.clock().toISOString(), ip: from?.ip ?? null, count: 1 })
    return actor
  }

  #onEvent(event: AppEvent): void {
    if (!this.events.changesRights(event)) return
    const concerns = this.events.get(event.type) ? concernedBy(event) : everybody
    for (const [secret, { known }] of this.#cache) if (!known || concerns(known)) this.#cache.delete(secret)
    for (const watcher of this.#watchers) watcher(concerns)
  }

  async #load(secret: string): Promise<Actor> {
    switch (kindOf(secret)) {
      case 'api_key':
        return this.#byKey(secret)
      case 'mcp_live':
      case 'mcp_test':
        return this.#byToken(secret)
      case undefined:
        return this.#bySession(secret)
      default:
        throw refused()
    }
  }

  async #bySession(secret: string): Promise<Actor> {
    const claims = secret.startsWith('eyJ') ? await this.jwt.verify(secret, this.clock()) : undefined
    if (!claims) throw refused()
    const row = this.#valid(await sessionRow(this.driver, claims.sessionId))
    if (row.user_id !== claims.userId) throw refused()
    const memberships = membershipsOf(row)
    return {
      ...personOf(row),
      credentialId: row.credential_id,
      kind: 'session',
      scopes: ['write'],
      memberships,
      ...sharedWith(row.shared, memberships),
      session: {
        via: row.via,
        authenticatedAt: row.authenticated_at === null ? null : toIso(row.authenticated_at),
        impersonatorId: row.impersonator_id,
      },
      organizationId: current(memberships, row.preferred),
    }
  }

  async #byKey(secret: string): Promise<Actor> {
    const row = this.#valid(await keyRow(this.driver, hashSecret(secret)))
    const only = row.organization_id
    const all = membershipsOf(row)
    const memberships = only ? new Map([...all].filter(([id]) => id === only)) : all
    // The key is bound to an organization that its user has left.
    if (only && memberships.size === 0) throw refused()
    return {
      ...personOf(row),
      credentialId: row.credential_id,
      kind: 'api_key',
      ...(only && { bound: true as const }),
      scopes: textArray(row.scopes),
      memberships,
      ...(only ? nothingShared : sharedWith(row.shared, memberships)),
      organizationId: current(memberships, row.preferred),
    }
  }

  async #byToken(secret: string): Promise<Actor> {
    const row = this.#valid(await tokenRow(this.driver, hashSecret(secret)))
    const organizationId = row.organization_id
    // A sandbox has no members of its own: the role in its parent organization counts.
    const role = membershipsOf(row).get(row.member_of)
    if (!role) throw refused()
    return {
      ...personOf(row),
      credentialId: row.credential_id,
      kind: 'mcp_token',
      bound: true,
      scopes: textArray(row.scopes),
      memberships: new Map([[organizationId, role]]),
      ...(row.member_of !== organizationId && { sandboxOf: row.member_of }),
      ...nothingShared,
      organizationId,
      ...(row.own_space && { ownSpace: true as const }),
      expiresAt: toIso(row.expires_at),
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

  #valid<R extends CredentialRow>(row: R | undefined): R {
    if (row?.status !== 'active' || row.revoked_at !== null || toIso(row.expires_at) <= this.clock().toISOString())
      throw refused()
    return row
  }
}

const everybody: Concerns = () => true

/** The user that the event names; or whoever has rights in its organization, also through a workspace. */
function concernedBy({ data, userId, organizationId }: AppEvent): Concerns {
  const named = typeof data.userId === 'string' ? data.userId : userId
  if (named) return (actor) => actor.userId === named
  if (!organizationId) return everybody
  return ({ memberships, reach, sandboxOf }) =>
    memberships.has(organizationId) || reach.includes(organizationId) || sandboxOf === organizationId
}

const refused = () =>
  new AppError(
    'unauthenticated',
    'The credential is not valid: unknown, expired or revoked. Sign in again or create a new one.',
  )

const personOf = (row: PersonRow) => ({ userId: row.user_id, name: row.user_name, admin: row.is_admin })

const membershipsOf = (row: PersonRow): Map<string, Role> => new Map(JSON.parse(row.memberships) as [string, Role][])

/** For a credential that is bound to one organization: it does not see workspaces that others share with it. */
const nothingShared = { workspaces: new Map<string, Role>(), reach: [] as string[] }

function sharedWith(value: string, memberships: ReadonlyMap<string, Role>): Pick<Actor, 'workspaces' | 'reach'> {
  if (value === '[]') return nothingShared
  const workspaces = new Map<string, Role>()
  const reach = new Set<string>()
  for (const [id, role, team, teams] of JSON.parse(value) as [string, keyof typeof inWorkspace, string, string[]][]) {
    const own = memberships.get(team)
    if (!own) continue
    const held = lesser(inWorkspace[role], own)
    if (!atLeast(workspaces.get(id), held)) workspaces.set(id, held)
    for (const other of teams) if (!memberships.has(other)) reach.add(other)
  }
  return { workspaces, reach: [...reach] }
}

const current = (memberships: ReadonlyMap<string, Role>, preferred: string | null): string | null =>
  preferred !== null && memberships.has(preferred) ? preferred : (memberships.keys().next().value ?? null)

/** Splits an array literal at its commas: scopes and toolsets contain no commas, quotes or braces. */
const textArray = (value: string): string[] => value.slice(1, -1).split(',').filter(Boolean)
