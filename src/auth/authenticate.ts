import { toIso } from '../db/columns.ts'
import type { Driver } from '../db/driver.ts'
import { AppError } from '../errors.ts'
import type { Bus } from '../events/bus.ts'
import type { EventCatalogue } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import type { Actor } from './actor.ts'
import {
  invalidCredential,
  keyActor,
  parseMemberships,
  parseShared,
  personFields,
  pickOrganization,
  sessionActor,
  tokenActor,
  tunnelActor,
} from './actor-rows.ts'
import {
  type CredentialRow,
  type KeyRow,
  keyRow,
  keyRowById,
  type SessionRow,
  sessionRow,
  type TokenRow,
  type TunnelRow,
  tokenRow,
  tokenRowById,
  tunnelRow,
  userRow,
} from './credential-rows.ts'
import type { Jwt } from './jwt.ts'
import { hashSecret, secretKind } from './secrets.ts'

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

/** Uses of a credential that are not written yet. */
interface Use {
  actor: Actor
  at: Date
  /** The address of the first use since the last write; undefined if there was none. */
  ip: string | null | undefined
  count: number
}

/** Returns true for an actor whose rights an event may have changed. */
export type ActorFilter = (actor: Actor) => boolean

/** The current rights of a connection, or why it has lost them. */
export type RenewedActor = { actor: Actor; expiresAt: string } | { ended: 'credential' | 'suspended' }

/**
 * The only way from a bearer secret to an Actor, for HTTP, MCP, sockets and tunnels. Actors are cached for at most a
 * second, and dropped at once when an event reports that their rights changed, here or on another instance.
 */
export class Authenticator {
  readonly #cache = new Map<string, Entry>()
  readonly #watchers = new Set<(concerns: ActorFilter) => void>()
  /** Credentials whose last uses are not written yet, by id. */
  readonly #used = new Map<string, Use>()
  #flushed: Promise<void> = Promise.resolve()
  #lastCallAt: Date | undefined

  constructor(
    private readonly driver: Driver,
    private readonly jwt: Jwt,
    private readonly clock: () => Date,
    bus: Bus,
    private readonly events: EventCatalogue,
  ) {
    bus.subscribe((event) => this.#onEvent(event))
  }

  /** Throws `unauthenticated` unless the credential is valid and its user is active. Counts as a use. */
  async authenticate(secret: string, from?: From): Promise<Actor> {
    return this.#noteCall(await this.lookUp(secret), from)
  }

  /** When this process last received a call with a valid credential. */
  get lastCallAt(): Date | undefined {
    return this.#lastCallAt
  }

  /** Like `authenticate`, where the credential was looked up within the last second; otherwise undefined. */
  cachedActor(secret: string, from?: From): Actor | undefined {
    const found = this.#cache.get(secret)
    if (!found?.known || performance.now() - found.at >= CACHE_MS) return undefined
    return this.#noteCall(found.known, from)
  }

  /**
   * Reads the rights of an open connection again, without the cache and by the id of its credential, so that the secret
   * need not be kept. A login session outlives the token that opened the connection. Does not count as a use.
   */
  async renew({ kind, credentialId }: Pick<Actor, 'kind' | 'credentialId'>): Promise<RenewedActor> {
    const found = credentialId === null ? undefined : await this.#rowOf(kind, credentialId)
    // Suspending an account also ends its credentials.
    if (found?.status === 'suspended') return { ended: 'suspended' }
    try {
      const row = this.#valid(found)
      return { actor: actorOf(row), expiresAt: toIso(row.expires_at) }
    } catch (error) {
      if (error instanceof AppError) return { ended: 'credential' }
      throw error
    }
  }

  #rowOf(kind: Actor['kind'], id: string): Promise<AnyRow | undefined> {
    if (kind === 'session') return sessionRow(this.driver, id)
    if (kind === 'tunnel') return tunnelRow(this.driver, id, 'id')
    return kind === 'api_key' ? keyRowById(this.driver, id) : tokenRowById(this.driver, id)
  }

  /** Like `authenticate`, but not counted as a use. */
  async lookUp(secret: string): Promise<Actor> {
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
    const memberships = parseMemberships(row)
    return {
      ...personFields(row),
      credentialId: null,
      kind: 'session',
      scopes: ['write'],
      memberships,
      ...parseShared(row.shared, memberships),
      organizationId: pickOrganization(memberships, row.preferred),
    }
  }

  /** Calls `onChange` when rights may have changed, so that open streams of those concerned check them again. */
  watch(onChange: (concerns: ActorFilter) => void): () => void {
    this.#watchers.add(onChange)
    return () => void this.#watchers.delete(onChange)
  }

  /** Stores which credentials were used since the last call. Runs on a timer and at shutdown, not during requests. */
  flushUsage(): Promise<void> {
    const flushed = this.#flushed.then(() => this.#writeUses())
    this.#flushed = flushed.catch(() => undefined)
    return flushed
  }

  /** A use stays in memory until it is written, so that readers in between do not miss it. */
  async #writeUses(): Promise<void> {
    for (const [id, use] of [...this.#used]) {
      const { actor, ip = null, count } = use
      use.ip = undefined
      const { kind } = actor
      const at = use.at.toISOString()
      if (kind === 'session')
        await this.driver.query('update login_sessions set last_seen_at = $2 where id = $1', [id, at])
      if (kind === 'api_key') await this.driver.query('update api_keys set last_used_at = $2 where id = $1', [id, at])
      if (kind === 'mcp_token')
        await this.driver.query(
          `update ${actor.granted ? 'oauth_grants' : 'mcp_tokens'} set last_used_at = $2, last_used_ip = coalesce($3, last_used_ip), use_count = use_count + $4 where id = $1`,
          [id, at, ip, count],
        )
      use.count -= count
      if (use.count === 0) this.#used.delete(id)
    }
  }

  /** The callers that this process saw since the last flush, when last, and how often. */
  *unwritten(): Iterable<{ actor: Actor; at: string; count: number }> {
    for (const { actor, at, count } of this.#used.values()) yield { actor, at: at.toISOString(), count }
  }

  /** The uses of a credential that are not written yet. */
  unwrittenUses(credentialId: string): { at: string; count: number } | undefined {
    const use = this.#used.get(credentialId)
    return use && { at: use.at.toISOString(), count: use.count }
  }

  #noteCall(actor: Actor, from?: From): Actor {
    this.#lastCallAt = this.clock()
    return this.countUse(actor, from)
  }

  /** Counts a use of the actor's credential, for calls that the server makes itself as this actor. */
  countUse(actor: Actor, from?: From): Actor {
    if (!actor.credentialId) return actor
    const seen = this.#used.get(actor.credentialId)
    if (!seen) this.#used.set(actor.credentialId, { actor, at: this.clock(), ip: from?.ip ?? null, count: 1 })
    else {
      seen.count++
      seen.at = this.clock()
      if (seen.ip === undefined) seen.ip = from?.ip ?? null
    }
    return actor
  }

  #onEvent(event: AppEvent): void {
    const concerns = affectedActors(this.events, event)
    if (!concerns) return
    for (const [secret, { known }] of this.#cache) if (!known || concerns(known)) this.#cache.delete(secret)
    for (const watcher of this.#watchers) watcher(concerns)
  }

  async #load(secret: string): Promise<Actor> {
    switch (secretKind(secret)) {
      case 'api_key':
        return this.#byKey(secret)
      case 'mcp_live':
      case 'mcp_test':
        return this.#byToken(secret)
      case 'tunnel':
        return tunnelActor(this.#valid(await tunnelRow(this.driver, hashSecret(secret))))
      case undefined:
        return this.#bySession(secret)
      default:
        throw invalidCredential()
    }
  }

  async #bySession(secret: string): Promise<Actor> {
    const claims = secret.startsWith('eyJ') ? await this.jwt.verify(secret, this.clock()) : undefined
    if (!claims) throw invalidCredential()
    const row = this.#valid(await sessionRow(this.driver, claims.sessionId))
    if (row.user_id !== claims.userId) throw invalidCredential()
    return sessionActor(row)
  }

  async #byKey(secret: string): Promise<Actor> {
    return keyActor(this.#valid(await keyRow(this.driver, secret)))
  }

  async #byToken(secret: string): Promise<Actor> {
    return tokenActor(this.#valid(await tokenRow(this.driver, secret)))
  }

  #valid<R extends CredentialRow>(row: R | undefined): R {
    if (row?.status !== 'active' || row.revoked_at !== null || toIso(row.expires_at) <= this.clock().toISOString())
      throw invalidCredential()
    return row
  }
}

type AnyRow = SessionRow | KeyRow | TokenRow | TunnelRow

function actorOf(row: AnyRow): Actor {
  if ('impersonator_id' in row) return sessionActor(row)
  if ('tunnel_id' in row) return tunnelActor(row)
  return 'member_of' in row ? tokenActor(row) : keyActor(row)
}

const everybody: ActorFilter = () => true

/** Returns a test for actors whose rights the event may have changed; undefined if it changes none. */
export function affectedActors(events: EventCatalogue, event: AppEvent): ActorFilter | undefined {
  if (!events.changesRights(event)) return undefined
  return events.get(event.type) ? concernedBy(event) : everybody
}

/** The user that the event names; or whoever has rights in its organization, also through a workspace. */
function concernedBy({ data, userId, organizationId }: AppEvent): ActorFilter {
  const named = typeof data.userId === 'string' ? data.userId : userId
  if (named) return (actor) => actor.userId === named
  if (!organizationId) return everybody
  return ({ memberships, reach, sandboxOf, tunnelId, organizationId: own }) =>
    (tunnelId !== undefined && own === organizationId) ||
    memberships.has(organizationId) ||
    reach.includes(organizationId) ||
    sandboxOf === organizationId
}
