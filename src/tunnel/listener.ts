import type { Server, ServerWebSocket, WebSocketHandler } from 'bun'
import { MOST_SOCKET_MESSAGE, SocketBridge } from './bridge.ts'
import type { Traffic } from './connected-tunnels.ts'
import {
  type AdmittedRequest,
  awaitResponseHead,
  forwardRequest,
  isUpgrade,
  openStream,
  type RefusalWriter,
  reportForwarded,
} from './forward.ts'
import { resetCodes } from './frames.ts'
import type { Stream } from './stream.ts'
import { type TunnelAddress, tunnelAddressOf } from './tunnel-address.ts'

/** The decisions of the owner of the listener. */
export interface RequestGate {
  /** Returns the address of the client; `direct` may be that of a proxy. */
  clientOf(request: Request, direct: string | null): string | null
  /** Returns the user and the target of the request, or the response that refuses it. */
  admit(request: Request, address: TunnelAddress, client: string | null): Promise<AdmittedRequest | Response>
  refuse: RefusalWriter
}

export interface TunnelListenerOptions {
  host: string
  port: number
  /** Services are at its subdomains. */
  domain: string
  /** Also accept services by path; for a domain that needs no DNS and is not the operator's own. */
  byPath: boolean
}

interface SocketData {
  stream: Stream
  traffic: Traffic
  bridge?: SocketBridge
}

export interface TunnelListener {
  port: number
  /** Returns the number of running requests and open WebSockets. */
  activeRequests(): number
  stop(): Promise<void>
}

/** Joins WebSockets of clients with those of services. */
const sockets: WebSocketHandler<SocketData> = {
  maxPayloadLength: MOST_SOCKET_MESSAGE,
  idleTimeout: 120,
  sendPings: true,
  backpressureLimit: 16 << 20,
  open(socket) {
    const { stream, traffic } = socket.data
    socket.data.bridge = new SocketBridge(toSocketLike(socket), stream, (bytes) => {
      traffic.bytes += bytes
    })
  },
  message(socket, message) {
    socket.data.bridge?.receive(message)
  },
  drain: (socket) => socket.data.bridge?.onDrain(),
  close: (socket, code, reason) => socket.data.bridge?.onClose(code, reason),
}

/** Seconds without a byte after which a connection ends, unless a service is responding on it. */
const IDLE_SECONDS = 30

/** Serves the services of connected machines on a separate port, so that no tunnel runs on the origin of the API. */
export function startTunnelListener(
  { host, port, domain, byPath }: TunnelListenerOptions,
  gate: RequestGate,
): TunnelListener {
  const server: Server<SocketData> = Bun.serve<SocketData>({
    hostname: host,
    port,
    reusePort: false,
    development: false,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request) {
      const address = tunnelAddressOf(request, domain, byPath)
      if (address === 'ambiguous') return gate.refuse(400, 'The request names more than one host, or none.')
      if (!address) return gate.refuse(404, 'There is no tunnel at this address.')
      const client = gate.clientOf(request, server.requestIP(request)?.address ?? null)
      const admitted = await gate.admit(request, address, client)
      if (admitted instanceof Response) return admitted
      // A service may be slow, so the connection has no time limit until its response has ended.
      server.timeout(request, 0)
      const onEnd = () => server.timeout(request, IDLE_SECONDS)
      if (!isUpgrade(request)) return forwardRequest(request, address, admitted, client, { refuse: gate.refuse, onEnd })
      const refusal = await upgrade(request, address, admitted, client)
      if (refusal) onEnd()
      return refusal
    },
    error: () => gate.refuse(502, 'The request failed.'),
    websocket: sockets,
  })

  async function upgrade(request: Request, address: TunnelAddress, to: AdmittedRequest, client: string | null) {
    const { refuse } = gate
    const started = performance.now()
    const stream = await openStream(request, address, to, client, refuse)
    if (stream instanceof Response) return stream
    const head = await awaitResponseHead(stream, refuse)
    reportForwarded(request, address, to, head.status, started)
    if (head instanceof Response) return head
    if (head.status !== 101) {
      stream.reset(resetCodes.cancelled)
      return refuse(head.status >= 400 ? head.status : 502, 'The service did not accept a WebSocket.')
    }
    const protocol = head.headers.find(([name]) => name.toLowerCase() === 'sec-websocket-protocol')?.[1]
    const headers = protocol === undefined ? undefined : { 'sec-websocket-protocol': protocol }
    if (server.upgrade(request, { data: { stream, traffic: to.dialer.traffic }, headers })) return undefined
    stream.reset(resetCodes.cancelled)
    return refuse(400, 'This is not a WebSocket handshake.')
  }

  return {
    port: server.port as number,
    activeRequests: () => server.pendingRequests + server.pendingWebSockets,
    stop: () => server.stop(true),
  }
}

const toSocketLike = (socket: ServerWebSocket<SocketData>) => ({
  send: (message: string | Uint8Array) => socket.send(message),
  close: (code: number, reason: string) => socket.close(code, reason),
  waiting: () => socket.getBufferedAmount(),
  pause: () => socket.pause(),
  resume: () => socket.resume(),
})
