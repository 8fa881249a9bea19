import { fromJson, resets, SUBPROTOCOL, Welcome } from './frames.ts'
import { callHttp, callSocket, isListening } from './local.ts'
import { isAllowed, type Machine, offerOf } from './machine.ts'
import { Session } from './session.ts'
import type { Stream } from './stream.ts'

/** What a request came to, for the log of the machine. */
export interface Served {
  service: string
  method: string
  target: string
  user: string | null
  status: number | 'refused'
  ms: number
}

export interface AgentOptions {
  machine: Machine
  onState?(state: 'online' | 'offline', detail: string): void
  onServed?(served: Served): void
  /** Milliseconds between heartbeats. */
  heartbeatMs?: number
  /** Bounds of the time before the next attempt, in milliseconds. */
  retryMs?: readonly [least: number, most: number]
}

/** Bytes that may wait in the connection before streams have to wait. */
const HIGH_WATER = 512 << 10
const DRAIN_MS = 10_000

/** The machine's end of a tunnel: connects, and connects again, until it is stopped or its credential is refused. */
export class Agent {
  readonly #stopped = Promise.withResolvers<void>()
  #link: Link | undefined
  #isStopped = false

  constructor(private readonly options: AgentOptions) {}

  stop(): void {
    this.#isStopped = true
    this.#stopped.resolve()
    this.#link?.session.close('stopped')
  }

  /** Resolves when the agent was stopped, or with why it gave up. */
  async run(): Promise<'stopped' | 'refused'> {
    const [least, most] = this.options.retryMs ?? [500, 30_000]
    for (let wait = least; !this.#isStopped; ) {
      const link = new Link(this.options, this.#link)
      this.#link = link
      const end = await link.ended
      if (this.#isStopped) return 'stopped'
      if (end === 'drain') continue
      if (end === 'revoked' || (!link.wasOnline && (await this.#isRefused()))) return 'refused'
      if (link.wasOnline) wait = least
      // Full jitter, so that machines do not come back all at once.
      await Promise.race([Bun.sleep(Math.random() * wait), this.#stopped.promise])
      wait = Math.min(most, wait * 2)
    }
    return 'stopped'
  }

  /** A failed handshake does not say why, so the credential is tried where the status can be read. */
  async #isRefused(): Promise<boolean> {
    const response = await heartbeat(this.options.machine, { generation: 1, services: [] }).catch(() => undefined)
    return response?.status === 401
  }
}

const heartbeat = ({ server, token }: Machine, body: object): Promise<Response> =>
  fetch(new URL('/api/tunnels/heartbeat', server), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })

/** One connection. */
class Link {
  readonly session: Session
  readonly #ended = Promise.withResolvers<string>()
  readonly #socket: WebSocket
  #generation: number | undefined
  #timers: Timer[] = []
  wasOnline = false
  #isLeft = false

  /** `earlier`: a connection that is being drained; it gets some time for its streams once this one is up. */
  constructor(
    private readonly options: AgentOptions,
    private readonly earlier: Link | undefined,
  ) {
    const { machine } = options
    const address = new URL('/api/tunnels/reverse', machine.server)
    address.protocol = address.protocol.replace('http', 'ws')
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${machine.token}` },
      protocols: [SUBPROTOCOL],
    })
    this.#socket = socket
    socket.binaryType = 'arraybuffer'
    this.session = new Session(
      'agent',
      {
        send: (bytes) => this.#send(bytes),
        close: (code, reason) => socket.close(code === 1002 ? 4002 : code === 1000 ? 1000 : 4000, reason),
      },
      {
        opened: (stream) => this.#serve(stream),
        settings: (payload) => this.#welcome(fromJson(Welcome, payload)),
        goaway: ({ reason }) => {
          if (reason === 'drain') this.#leave()
          else if (reason === 'revoked') this.#ended.resolve('revoked')
        },
        closed: (reason) => this.#end(reason),
      },
    )
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') this.session.close('text', 1003)
      else this.session.receive(new Uint8Array(data))
    }
    socket.onopen = () => this.session.settings(offerOf(machine))
    socket.onclose = () => this.session.lost()
  }

  get ended(): Promise<string> {
    return this.#ended.promise
  }

  #send(bytes: Uint8Array): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    this.#socket.send(bytes)
    if (this.#socket.bufferedAmount < HIGH_WATER) return true
    this.#untilDrained()
    return false
  }

  /** A client's socket tells nothing when its bytes have left, so it is asked until they have. */
  #untilDrained(): void {
    setTimeout(() => {
      if (this.session.isClosed) return
      if (this.#socket.bufferedAmount < HIGH_WATER / 2) this.session.drained()
      else this.#untilDrained()
    }, 2)
  }

  #welcome({ generation }: Welcome): void {
    this.#generation = generation
    this.wasOnline = true
    this.options.onState?.('online', this.options.machine.server)
    const drained = this.earlier?.session
    if (drained && !drained.isClosed) setTimeout(() => drained.close('drained'), DRAIN_MS).unref()
    void this.#beat()
    this.#timers = [
      setInterval(() => void this.#beat(), this.options.heartbeatMs ?? 15_000),
      setInterval(() => this.session.tick(), 5000),
    ]
  }

  async #beat(): Promise<void> {
    const { machine } = this.options
    const services = await Promise.all(
      Object.entries(machine.services).map(async ([name, { url }]) => ({ name, ok: await isListening(url) })),
    )
    this.session.ping()
    const { rttMs } = this.session
    const body = { generation: this.#generation, services, ...(rttMs !== undefined && { rttMs: Math.round(rttMs) }) }
    const response = await heartbeat(machine, body).catch(() => undefined)
    const taken = response?.ok ? ((await response.json()) as { drain?: boolean }) : undefined
    if (taken?.drain) this.#leave()
  }

  /** The next connection is opened first; the streams of this one go on meanwhile. */
  #leave(): void {
    this.#isLeft = true
    this.#ended.resolve('drain')
  }

  #end(reason: string): void {
    for (const timer of this.#timers) clearInterval(timer)
    if (this.wasOnline && !this.#isLeft) this.options.onState?.('offline', reason)
    this.#ended.resolve(reason)
  }

  /** The machine decides: what its own file does not name or allow is refused, whatever the server says. */
  #serve(stream: Stream): void {
    const { kind, service: name, method, target, user } = stream.request
    const { machine, onServed } = this.options
    const started = performance.now()
    const tell = (status: Served['status']) =>
      onServed?.({ service: name, method, target, user: user?.email ?? null, status, ms: performance.now() - started })
    const service = Object.hasOwn(machine.services, name) ? machine.services[name] : undefined
    if (!service || kind === 'mcp' || !isAllowed(service.who, user, machine.ownerId)) {
      tell('refused')
      stream.reset(resets.refused)
    } else if (kind === 'ws') callSocket(stream, service.url, tell)
    else callHttp(stream, service.url, tell)
  }
}
