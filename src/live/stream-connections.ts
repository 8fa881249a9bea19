import type { Actor } from '../auth/actor.ts'
import { type Authenticator, affectedActors } from '../auth/authenticate.ts'
import { AppError } from '../errors.ts'
import type { EventCatalogue } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import { requireStreamSlot } from './limits.ts'

/** Far below every idle timeout between server and client: ours is 30 s. */
export const KEEP_ALIVE_MS = 5_000
/** An expiring credential emits no event, so the credentials of open connections are checked this often. */
const LOOK_AGAIN_MS = 60_000

/** The owner of a connection. The secret is used to check the credential again when rights may have changed. */
export interface Owner {
  readonly credentialId: string
  readonly secret: string
}

/** A connection that stays open to notify a client of changes, in any protocol. */
export interface Connection {
  readonly owner: Owner
  keepAlive(): void
  close(): void
}

/** The state of an open connection; protocols extend it. */
export interface ConnectionState {
  actor: Actor
  /** When the credential was last checked, as `Date.now()`. */
  checkedAt: number
  /** The credential could not be checked after a change of rights: nothing is sent until the check succeeds. */
  isUnsure?: boolean
  /** Resolves after the first check of the credential; nothing is sent before. */
  ready?: Promise<void>
}

/** Keeps connections alive, limits them per credential, and closes them when their credential is no longer valid. */
export class StreamConnections<C extends Connection, L extends ConnectionState> {
  readonly #open = new Map<C, L>()
  /** The credentials of connections that are being set up. */
  readonly #reserved: string[] = []
  readonly #ticking: Timer

  constructor(
    private readonly auth: Authenticator,
    private readonly events: EventCatalogue,
    /** Called after `listener.actor` was updated; `wasUnsure`: the client may have missed events. */
    private readonly onLookedUp: (listener: L, wasUnsure: boolean) => void,
  ) {
    this.#ticking = setInterval(() => this.#tick(), KEEP_ALIVE_MS)
    this.#ticking.unref()
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): IterableIterator<[C, L]> {
    return this.#open.entries()
  }

  get(connection: C): L | undefined {
    return this.#open.get(connection)
  }

  /** Throws at the limit of the owner. Use `reserve` if anything is awaited before `add`. */
  requireSlot({ credentialId }: Owner): void {
    requireStreamSlot(
      [...this.#open.keys()].map(({ owner }) => owner.credentialId).concat(this.#reserved),
      credentialId,
    )
  }

  /**
   * Reserves a slot before anything is awaited, so that parallel requests cannot pass the limit. The slot is held until
   * the caller has added the connection or failed: `using _place = connections.reserve(owner)`.
   */
  reserve(owner: Owner): Disposable {
    this.requireSlot(owner)
    this.#reserved.push(owner.credentialId)
    return { [Symbol.dispose]: () => void this.#reserved.splice(this.#reserved.indexOf(owner.credentialId), 1) }
  }

  /** Checks the credential once more, because it may have been revoked while the connection was being set up. */
  add(connection: C, listener: L): void {
    this.#open.set(connection, listener)
    listener.ready = this.#lookAgain(connection, listener)
  }

  delete(connection: C): void {
    this.#open.delete(connection)
  }

  /** Reads again the rights that these events may have changed. Everything sent afterwards respects the new rights. */
  async renew(rows: readonly AppEvent[]): Promise<void> {
    const changes = rows.flatMap((row) => affectedActors(this.events, row) ?? [])
    if (changes.length === 0) return
    const stale = [...this.#open].filter(([, { actor }]) => changes.some((concerns) => concerns(actor)))
    await Promise.all(stale.map(([connection, listener]) => this.#lookAgain(connection, listener)))
  }

  close(): void {
    clearInterval(this.#ticking)
    for (const connection of [...this.#open.keys()]) connection.close()
  }

  #tick(): void {
    const old = Date.now() - LOOK_AGAIN_MS
    for (const [connection, listener] of this.#open) {
      connection.keepAlive()
      if (listener.checkedAt <= old) void this.#lookAgain(connection, listener)
    }
  }

  async #lookAgain(connection: C, listener: L): Promise<void> {
    listener.checkedAt = Date.now()
    try {
      listener.actor = await this.auth.lookUp(connection.owner.secret)
      const wasUnsure = listener.isUnsure === true
      listener.isUnsure = false
      this.onLookedUp(listener, wasUnsure)
    } catch (error) {
      listener.isUnsure = true
      if (error instanceof AppError && error.code === 'unauthenticated') connection.close()
      // The database is unreachable: check the credential again with the next keep-alive.
      else listener.checkedAt = 0
    }
  }
}
