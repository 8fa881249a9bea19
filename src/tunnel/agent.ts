import type { ActionHandler, ConfirmationRequest } from './actions/action.ts'
import { type ActionEnd, type ActionReporter, ActionRunner } from './actions/action-runner.ts'
import { actionHandlers } from './actions/handlers.ts'
import { ActionRequest, decodeJson, resetCodes, SUBPROTOCOL, Welcome } from './frames.ts'
import { callHttp } from './http/call.ts'
import { ServiceConnectionPool } from './http/service-connections.ts'
import { sendOver } from './instance-dial.ts'
import { bridgeLocalSocket, isListening, RecordedRequest } from './local-service.ts'
import { isAllowed, type MachineConfig, machineOffer } from './machine-config.ts'
import { mcpHandlers } from './mcp/handlers.ts'
import { LocalMcp } from './mcp/local-mcp.ts'
import { TunnelSession } from './session.ts'
import type { Stream } from './stream.ts'

/** A finished request, for the log of the machine. */
export interface ServedRequest {
  service: string
  method: string
  target: string
  user: string | null
  status: number | 'refused'
  ms: number
}

export interface ServiceAddress {
  name: string
  /** Null: the server serves no tunnel services. */
  url: string | null
}

export interface TunnelAgentOptions {
  machine: MachineConfig
  onState?(state: 'online' | 'offline', detail: string): void
  /** Called with each heartbeat. */
  onAddresses?(services: ServiceAddress[]): void
  /** `kept`: the request, if `keepsRequests` is set and the request can be repeated. */
  onServed?(served: ServedRequest, kept?: RecordedRequest): void
  keepsRequests?: boolean
  onAction?(ended: ActionEnd): void
  /** Asks a person at the machine. Without it, what needs a confirmation is refused. */
  confirm?(question: ConfirmationRequest, signal: AbortSignal): Promise<boolean>
  /** The environment of commands. Default: empty. */
  env?: Readonly<Record<string, string>>
  /** Default: all built-in handlers. */
  handlers?: Readonly<Record<string, ActionHandler>>
  /** Milliseconds between heartbeats. */
  heartbeatMs?: number
  /** Bounds of the time before the next attempt, in milliseconds. */
  retryMs?: readonly [least: number, most: number]
}

/** Longer than the server takes to close a replaced connection. Only the server knows when it opens no more streams. */
const DRAIN_MS = 12_000

/** The machine's end of a tunnel. Reconnects until it is stopped or its credential is refused. */
export class TunnelAgent {
  readonly #stopped = Promise.withResolvers<void>()
  readonly #actions: ActionRunner
  /** Open connections: the current one, and replaced ones that are still draining. */
  readonly #links = new Set<TunnelConnection>()
  /** Outlives connections, so that sessions of clients survive a restart of the server. */
  readonly #mcp: LocalMcp
  /** Connections to local services, shared by all tunnel connections. */
  readonly #lines = new ServiceConnectionPool()
  #isStopped = false

  constructor(private readonly options: TunnelAgentOptions) {
    const { machine, env, confirm, onAction: onEnded } = options
    this.#mcp = new LocalMcp(machine, env)
    const handlers = options.handlers ?? { ...actionHandlers, ...mcpHandlers(this.#mcp) }
    this.#actions = new ActionRunner({ machine, handlers, env, confirm, onEnded })
  }

  stop(): void {
    this.#isStopped = true
    this.#stopped.resolve()
    for (const link of this.#links) link.session.close('stopped')
    this.#mcp.stop()
    this.#lines.stop()
  }

  /** Resolves when the agent was stopped or its credential was refused. */
  async run(): Promise<'stopped' | 'refused'> {
    try {
      return await this.#run()
    } finally {
      // No program may outlive the tunnel.
      await this.#actions.stop()
    }
  }

  async #run(): Promise<'stopped' | 'refused'> {
    const [least, most] = this.options.retryMs ?? [500, 30_000]
    for (let wait = least; !this.#isStopped; ) {
      const link = this.#connect()
      const end = await link.ended
      if (this.#isStopped) return 'stopped'
      if (end === 'drain') continue
      if (end === 'revoked' || (!link.wasOnline && (await this.#isRefused()))) return 'refused'
      if (link.wasOnline) wait = least
      // Full jitter, so that machines do not all reconnect at once.
      await Promise.race([Bun.sleep(Math.random() * wait), this.#stopped.promise])
      wait = Math.min(most, wait * 2)
    }
    return 'stopped'
  }

  #connect(): TunnelConnection {
    const link = new TunnelConnection(this.options, this.#actions, this.#mcp, this.#lines, {
      // Gives the streams of replaced connections some time to end.
      online: () => {
        for (const other of this.#links) if (other !== link) other.retire()
      },
      closed: () => void this.#links.delete(link),
    })
    this.#links.add(link)
    return link
  }

  /** A failed handshake has no reason, so the credential is tested with a request whose status can be read. */
  async #isRefused(): Promise<boolean> {
    const response = await heartbeat(this.options.machine, { generation: 1, services: [] }).catch(() => undefined)
    return response?.status === 401
  }
}

const heartbeat = ({ server, token }: MachineConfig, body: object): Promise<Response> =>
  fetch(new URL('/api/tunnels/heartbeat', server), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })

/** Older servers send no services. */
interface HeartbeatReply {
  drain?: boolean
  services?: ServiceAddress[]
}

/** One connection to the server. */
class TunnelConnection {
  readonly session: TunnelSession
  readonly #ended = Promise.withResolvers<string>()
  readonly #socket: WebSocket
  #generation: number | undefined
  #timers: Timer[] = []
  readonly #reporter: ActionReporter
  wasOnline = false
  #isLeft = false

  constructor(
    private readonly options: TunnelAgentOptions,
    private readonly actions: ActionRunner,
    private readonly mcp: LocalMcp,
    private readonly lines: ServiceConnectionPool,
    private readonly tell: { online(): void; closed(): void },
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
    this.session = new TunnelSession(
      'agent',
      {
        send: (bytes) => this.#send(bytes),
        close: (code, reason) => socket.close(code === 1002 ? 4002 : code === 1000 ? 1000 : 4000, reason),
      },
      {
        opened: (stream) => this.#serve(stream),
        settings: (payload) => this.#welcome(decodeJson(Welcome, payload)),
        action: (payload) => this.actions.accept(decodeJson(ActionRequest, payload)),
        goaway: ({ reason }) => {
          if (reason === 'drain') this.#leave()
          else if (reason === 'revoked') this.#ended.resolve('revoked')
        },
        closed: (reason) => this.#end(reason),
      },
    )
    const { session } = this
    this.#reporter = {
      get isBlocked() {
        return session.isBlocked
      },
      report: (report) => session.result(report),
    }
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') this.session.close('text', 1003)
      else this.session.receive(new Uint8Array(data))
    }
    socket.onopen = () => this.session.settings({ ...machineOffer(machine), running: actions.running })
    socket.onclose = () => this.session.onConnectionLost()
  }

  get ended(): Promise<string> {
    return this.#ended.promise
  }

  #send(bytes: Uint8Array): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    return sendOver(this.#socket, this.session, bytes)
  }

  #welcome({ generation }: Welcome): void {
    this.#generation = generation
    this.wasOnline = true
    this.actions.connect(this.#reporter)
    this.options.onState?.('online', this.options.machine.server)
    this.tell.online()
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
    const taken = response?.ok ? ((await response.json()) as HeartbeatReply) : undefined
    if (taken?.services?.length) this.options.onAddresses?.(taken.services)
    if (taken?.drain) this.#leave()
  }

  /** Closes the connection after a while, if the server has not done so. */
  retire(): void {
    setTimeout(() => this.session.close('drained'), DRAIN_MS).unref()
  }

  /** The agent opens the next connection first. Until then this one continues and accepts new streams. */
  #leave(): void {
    this.#isLeft = true
    this.#ended.resolve('drain')
  }

  #end(reason: string): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.actions.disconnect(this.#reporter)
    if (this.wasOnline && !this.#isLeft) this.options.onState?.('offline', reason)
    this.tell.closed()
    this.#ended.resolve(reason)
  }

  /** The machine decides: it refuses everything that `tunnel.json` does not allow, whatever the server sends. */
  #serve(stream: Stream): void {
    const { kind, service: name, method, target, user } = stream.request
    const { machine, onServed } = this.options
    const started = performance.now()
    const tell = (status: ServedRequest['status'], kept?: RecordedRequest) =>
      onServed?.(
        { service: name, method, target, user: user?.email ?? null, status, ms: performance.now() - started },
        kept,
      )
    if (kind === 'mcp') {
      void this.mcp.serve(stream, tell)
      return
    }
    const service = Object.hasOwn(machine.services, name) ? machine.services[name] : undefined
    if (!service || !isAllowed(service.who, user, machine.ownerId)) {
      tell('refused')
      stream.reset(resetCodes.refused)
    } else if (kind === 'ws') bridgeLocalSocket(stream, service.url, (status) => tell(status))
    else {
      const kept = this.options.keepsRequests ? new RecordedRequest(service.url, stream.request) : undefined
      callHttp(this.lines, stream, service.url, (status) => tell(status, kept), kept)
    }
  }
}
