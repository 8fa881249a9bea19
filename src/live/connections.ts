import type { Actor } from '../auth/actor.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import { AppError } from '../errors.ts'
import type { Bus } from '../events/bus.ts'
import { requireRoom } from './limits.ts'

/** Far below every idle timeout between server and client: ours is 30 s. */
export const KEEP_ALIVE_MS = 5_000
/** An expiring credential emits no event, so the credentials of open connections are checked this often. */
const LOOK_AGAIN_MS = 60_000

/** The owner of a connection. The secret is kept to check the credential when rights may have changed. */
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
export interface Listener {
  actor: Actor
  /** When the credential was last checked, as `Date.now()`. */
  lookedAt: number
}

/** Keeps connections alive, limits them per credential, and closes them when their credential is no longer valid. */
export class Connections<C extends Connection, L extends Listener> {
  readonly #open = new Map<C, L>()
  /** The credentials of connections that are being set up. */
  readonly #reserved: string[] = []
  readonly #leave: (() => void)[]
  readonly #ticking: Timer

  constructor(
    private readonly auth: Authenticator,
    bus: Bus,
    /** Called after `listener.actor` was updated. */
    private readonly onLookedUp: (listener: L) => void,
  ) {
    const unwatch = auth.watch((concerns) => {
      for (const [connection, listener] of this.#open)
        if (concerns(listener.actor)) void this.#lookAgain(connection, listener)
    })
    this.#leave = [unwatch, bus.pollWhile(() => this.#open.size > 0)]
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

  /** Throws if the owner has no place left. Call it where nothing is awaited before `add`; otherwise use `reserve`. */
  requireRoom({ credentialId }: Owner): void {
    requireRoom([...this.#open.keys()].map(({ owner }) => owner.credentialId).concat(this.#reserved), credentialId)
  }

  /**
   * Takes one of the owner's places before anything is awaited, so that requests in parallel cannot pass the limit.
   * The place is held until the caller has added the connection or failed: `using _place = connections.reserve(owner)`.
   */
  reserve(owner: Owner): Disposable {
    this.requireRoom(owner)
    this.#reserved.push(owner.credentialId)
    return { [Symbol.dispose]: () => void this.#reserved.splice(this.#reserved.indexOf(owner.credentialId), 1) }
  }

  /** Checks the credential once more, because it may have been revoked while the connection was being set up. */
  add(connection: C, listener: L): void {
    this.#open.set(connection, listener)
    void this.#lookAgain(connection, listener)
  }

  delete(connection: C): void {
    this.#open.delete(connection)
  }

  close(): void {
    for (const leave of this.#leave) leave()
    clearInterval(this.#ticking)
    for (const connection of [...this.#open.keys()]) connection.close()
  }

  #tick(): void {
    const old = Date.now() - LOOK_AGAIN_MS
    for (const [connection, listener] of this.#open) {
      connection.keepAlive()
      if (listener.lookedAt <= old) void this.#lookAgain(connection, listener)
    }
  }

  async #lookAgain(connection: C, listener: L): Promise<void> {
    listener.lookedAt = Date.now()
    try {
      listener.actor = await this.auth.look(connection.owner.secret)
      this.onLookedUp(listener)
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') connection.close()
      // The database is unreachable: check the credential again with the next keep-alive.
      else listener.lookedAt = 0
    }
  }
}
