import type { Offer } from './frames.ts'
import type { Place } from './places.ts'
import type { Session } from './session.ts'

/** What decides who may reach a connected machine, as of the last change. */
export interface TunnelFacts {
  id: string
  slug: string
  organizationId: string
  ownerId: string
  access: 'private' | 'organization' | 'public'
  paused: boolean
}

/** A machine that is connected to this process. */
export interface Connection {
  facts: TunnelFacts
  readonly generation: number
  readonly session: Session
  offer: Offer
  /** Counted since they were last written. */
  readonly traffic: { requests: number; bytes: number }
}

/** The machines that are connected to this process, by tunnel. */
export class Switchboard {
  readonly #byId = new Map<string, Connection>()
  readonly #bySlug = new Map<string, Connection>()
  /** Returns where a service can be opened, once the listener runs. */
  addressOf: (slug: string, service: string) => string | undefined = () => undefined

  /** Returns the tunnel that a request to the listener is for. */
  placeOf: (request: Request) => Place | undefined = () => undefined
  /** The port of the listener, once it runs. */
  listening: number | undefined
  #isDraining = false

  get size(): number {
    return this.#byId.size
  }

  /** This process is about to stop: machines should connect again, to another one. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Asks all machines to connect elsewhere. What they are doing goes on meanwhile. */
  drain(): void {
    this.#isDraining = true
    for (const { session } of this.#byId.values()) session.leave({ reason: 'drain' })
  }

  get all(): Iterable<Connection> {
    return this.#byId.values()
  }

  of(tunnelId: string): Connection | undefined {
    return this.#byId.get(tunnelId)
  }

  bySlug(slug: string): Connection | undefined {
    return this.#bySlug.get(slug)
  }

  /** Takes the place of an earlier connection of the tunnel, which is returned. */
  add(connection: Connection): Connection | undefined {
    const earlier = this.#byId.get(connection.facts.id)
    if (earlier) this.#bySlug.delete(earlier.facts.slug)
    this.#byId.set(connection.facts.id, connection)
    this.#bySlug.set(connection.facts.slug, connection)
    return earlier
  }

  change(connection: Connection, facts: TunnelFacts): void {
    if (this.#byId.get(facts.id) !== connection) return
    this.#bySlug.delete(connection.facts.slug)
    connection.facts = facts
    this.#bySlug.set(facts.slug, connection)
  }

  remove(connection: Connection): void {
    const { id, slug } = connection.facts
    if (this.#byId.get(id) !== connection) return
    this.#byId.delete(id)
    this.#bySlug.delete(slug)
  }
}
