import type { MachineOffer, RequestHead } from './frames.ts'
import type { TunnelSession } from './session.ts'
import type { Stream } from './stream.ts'
import type { TunnelAddress } from './tunnel-address.ts'

/** The facts that decide who may reach a machine. */
export interface TunnelFacts {
  id: string
  slug: string
  organizationId: string
  ownerId: string
  access: 'private' | 'organization' | 'public'
  paused: boolean
  version: number
}

export interface ForwardedRequest {
  service: string
  method: string
  target: string
  status: number
  ms: number
  user: string | null
}

/** Counts since the last write to the database. */
export interface Traffic {
  requests: number
  bytes: number
}

/** Opens streams to a machine, directly or through the process that it is connected to. */
export interface Dialer {
  /**
   * Opens a stream. `hasBody`: DATA follows. Throws `RangeError` for a head that is too large, and `MachineUnreachable`
   * if the machine cannot be reached now.
   */
  open(head: RequestHead, hasBody: boolean): Stream | Promise<Stream>
  readonly traffic: Traffic
  onForwarded?(passed: ForwardedRequest): void
}

const refusals = {
  gone: [502, 'The machine of this tunnel is not connected.'],
  busy: [503, 'The machine has too many open requests.'],
  share: [429, 'You have too many open requests to this machine. Wait until one of them has ended.'],
} as const

/** No stream to the machine can be opened. `share`: the caller has reached their limit. */
export class MachineUnreachable extends Error {
  constructor(readonly reason: keyof typeof refusals) {
    super(`no stream to the machine: ${reason}`)
  }

  /** The status and the text of the response. */
  get refusal(): readonly [status: number, detail: string] {
    return refusals[this.reason]
  }
}

/** A machine that is connected to this process. */
export interface ConnectedTunnel extends Dialer {
  open(head: RequestHead, hasBody: boolean): Stream
  facts: TunnelFacts
  readonly generation: number
  readonly session: TunnelSession
  offer: MachineOffer
}

/** Milliseconds that the streams of a replaced connection have to end. */
const RETIRE_MS = 10_000

/** The machines that are connected to this process, by tunnel. */
export class ConnectedTunnels {
  readonly #byId = new Map<string, ConnectedTunnel>()
  readonly #bySlug = new Map<string, ConnectedTunnel>()
  /** Returns where a service can be opened, once the listener runs. */
  addressOf: (slug: string, service: string) => string | undefined = () => undefined
  /** Returns the origin at which browsers reach a host of the listener, once it runs. */
  originOf: (hostname: string) => string | undefined = () => undefined
  /** Returns the tunnel that a request to the listener is for. */
  tunnelAddressOf: (request: Request) => TunnelAddress | 'ambiguous' | undefined = () => undefined
  /** The port of the listener, once it runs. */
  listenerPort: number | undefined
  /** Opens a stream through another process that has the machine, at this address and with this signature. */
  openRemotely: (address: string, signature: string, head: RequestHead, hasBody: boolean) => Promise<Stream> =
    async () => {
      throw new MachineUnreachable('gone')
    }
  /** The number of requests that the listener is serving. */
  activeRequests: () => number = () => 0
  /** Connections that were replaced while this process drains; their streams continue for a while. */
  readonly #retired = new Set<ConnectedTunnel>()
  /** Connections on which another process is about to open streams. */
  readonly #held = new Map<ConnectedTunnel, number>()
  /** Connections that are being stored: other processes may know them earlier than this one. */
  readonly #trackOpening = new Map<string, Promise<void>>()
  #isDraining = false

  get size(): number {
    return this.#byId.size
  }

  /** This process is about to stop: machines should reconnect to another process. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Asks all machines to reconnect to another process. Open requests continue. */
  drain(): void {
    this.#isDraining = true
    for (const { session } of this.#byId.values()) session.sendGoaway({ reason: 'drain' })
  }

  /** Opens no more streams on a replaced connection, and calls `close` when the open ones have ended. */
  retire(connection: ConnectedTunnel, close: () => void): void {
    this.remove(connection)
    this.#retired.add(connection)
    const end = Date.now() + RETIRE_MS
    const timer = setInterval(() => {
      const { session } = connection
      const isUsed = session.streams > 0 || this.#held.has(connection)
      if (!session.isClosed && isUsed && Date.now() < end) return
      clearInterval(timer)
      this.#retired.delete(connection)
      if (!session.isClosed) close()
    }, 20)
  }

  /** Keeps a retired connection open until the returned function is called. */
  hold(connection: ConnectedTunnel): () => void {
    this.#held.set(connection, (this.#held.get(connection) ?? 0) + 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const left = (this.#held.get(connection) ?? 1) - 1
      if (left > 0) this.#held.set(connection, left)
      else this.#held.delete(connection)
    }
  }

  /** Whether requests are running. `untilMoved`: also whether machines are still connected to this process. */
  isBusy(untilMoved: boolean): boolean {
    if (this.activeRequests() > 0 || this.#retired.size > 0) return true
    return [...this.#byId.values()].some(({ session }) => untilMoved || session.streams > 0)
  }

  get all(): Iterable<ConnectedTunnel> {
    return this.#byId.values()
  }

  get(tunnelId: string): ConnectedTunnel | undefined {
    return this.#byId.get(tunnelId)
  }

  bySlug(slug: string): ConnectedTunnel | undefined {
    return this.#bySlug.get(slug)
  }

  /** A connection of this tunnel is being stored. When `work` ends, it was added or has failed. */
  opening(tunnelId: string, work: Promise<void>): void {
    this.#trackOpening.set(tunnelId, work)
    void work.finally(() => {
      if (this.#trackOpening.get(tunnelId) === work) this.#trackOpening.delete(tunnelId)
    })
  }

  /** Like `of`, but waits for a connection that is being stored. */
  async whenConnected(tunnelId: string): Promise<ConnectedTunnel | undefined> {
    await this.#trackOpening.get(tunnelId)
    return this.get(tunnelId)
  }

  /** Returns the earlier connection of the tunnel, which it replaces. */
  add(connection: ConnectedTunnel): ConnectedTunnel | undefined {
    const earlier = this.#byId.get(connection.facts.id)
    if (earlier) this.#bySlug.delete(earlier.facts.slug)
    this.#byId.set(connection.facts.id, connection)
    this.#bySlug.set(connection.facts.slug, connection)
    return earlier
  }

  updateFacts(connection: ConnectedTunnel, facts: TunnelFacts): void {
    // Facts that were read earlier may arrive later.
    if (this.#byId.get(facts.id) !== connection || facts.version < connection.facts.version) return
    this.#bySlug.delete(connection.facts.slug)
    connection.facts = facts
    this.#bySlug.set(facts.slug, connection)
  }

  remove(connection: ConnectedTunnel): void {
    const { id, slug } = connection.facts
    if (this.#byId.get(id) !== connection) return
    this.#byId.delete(id)
    this.#bySlug.delete(slug)
  }
}
