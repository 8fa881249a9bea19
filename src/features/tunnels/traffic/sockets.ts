import { type Ctx, read } from '../../../action.ts'
import { throwIfRefused } from '../../../auth/policy.ts'
import { AppError, type ErrorCode } from '../../../errors.ts'
import type { AcceptSocket, Peer, Socket } from '../../../live/socket.ts'
import { SocketBridge } from '../../../tunnel/bridge.ts'
import type { Dialer } from '../../../tunnel/connected-tunnels.ts'
import { forwardLimits, openCountedStream } from '../../../tunnel/forward.ts'
import { type RequestHead, type ResetCode, resetCodes, type TunnelUser } from '../../../tunnel/frames.ts'
import { type Stream, StreamReset } from '../../../tunnel/stream.ts'
import { reachRefusal } from '../access.ts'
import { dialerFor } from '../dialers.ts'
import { findTunnel, type TunnelRow, userOf } from '../rows.ts'
import { tunnelActRule } from '../rules.ts'
import { OpenStreams } from './open-streams.ts'

interface SocketRequest {
  ref: string
  service?: string
  path?: string
  /** An MCP server, instead of a service. */
  mcp?: string
  /** The subprotocols that the client offers. */
  protocols: string | null
  /** The client asks for a WebSocket. */
  isUpgrade: boolean
  upgrade(data: { accept: AcceptSocket }): boolean
}

/** Connects a user's WebSocket with a WebSocket of a service, or with an MCP server, behind a tunnel. */
export const connectService = read(
  'tunnels.connectService',
  tunnelActRule,
  async (ctx, { ref, isUpgrade, upgrade, ...wanted }: SocketRequest): Promise<void> => {
    const tunnel = await findTunnel(ctx, ref)
    throwIfRefused(reachRefusal(ctx, tunnel))
    if (!isUpgrade) throw new AppError('upgrade_required', 'This is a WebSocket: connect with ws:// or wss://.')
    const found = await dialerFor(ctx.app, tunnel.id)
    if (!found) throw new AppError('upstream_failed', 'The machine of this tunnel is not connected.')
    const stream = await openSocket(ctx, tunnel, found.dialer, wanted)
    OpenStreams.of(ctx.app).add(stream, { actor: ctx.actor, tunnelId: tunnel.id })
    const accept: AcceptSocket = (socket) => peerOf(socket, stream, found.dialer)
    if (upgrade({ accept })) return
    stream.reset(resetCodes.cancelled)
    throw new AppError('upgrade_required', 'This is a WebSocket: connect with ws:// or wss://.')
  },
)

type SocketTarget = Pick<SocketRequest, 'service' | 'path' | 'mcp' | 'protocols'>

function headFor(
  { slug }: TunnelRow,
  { service, path, mcp, protocols }: SocketTarget,
  user: TunnelUser | null,
): RequestHead {
  if ((service === undefined) === (mcp === undefined))
    throw new AppError('invalid', 'Name a service or an MCP server: ?service= or ?mcp=.')
  if (mcp !== undefined) return { kind: 'mcp', service: mcp, method: 'CONNECT', target: '/', headers: [], user }
  const name = service as string
  const headers: [string, string][] = [['host', `${name}--${slug}`]]
  if (protocols !== null) headers.push(['sec-websocket-protocol', protocols])
  if (user) headers.push(['tutti-user', user.id], ['tutti-email', user.email])
  return { kind: 'ws', service: name, method: 'GET', target: path ?? '/', headers, user }
}

async function openSocket(ctx: Ctx, tunnel: TunnelRow, dialer: Dialer, to: SocketTarget): Promise<Stream> {
  const head = headFor(tunnel, to, await userOf(ctx, ctx.actor, tunnel))
  const refusal = (status: number, detail: string) => {
    throw new AppError(status === 429 ? 'rate_limited' : status === 503 ? 'unavailable' : 'upstream_failed', detail)
  }
  const stream = (await openCountedStream(dialer, head, true, refusal)) as Stream
  const timer = setTimeout(() => stream.reset(resetCodes.timeout), forwardLimits.firstByte)
  try {
    const { status } = await stream.response()
    if (status !== 101) throw new AppError('upstream_failed', 'The machine did not accept the connection.')
    return stream
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error
    throw new AppError(...failureOf(error.code))
  } finally {
    clearTimeout(timer)
  }
}

function failureOf(code: ResetCode): [ErrorCode, string] {
  if (code === resetCodes.refused) return ['forbidden', 'The machine does not allow this.']
  if (code === resetCodes.timeout) return ['upstream_timeout', 'The service did not respond in time.']
  return ['upstream_failed', 'The service did not accept a WebSocket.']
}

function peerOf(socket: Socket, stream: Stream, { traffic }: Dialer): Peer {
  const over = {
    send: (message: string | Uint8Array) => socket.send(message),
    close: (code: number, reason: string) => socket.close(code, reason),
    waiting: () => socket.getBufferedAmount(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  }
  return new SocketBridge(over, stream, (bytes) => {
    traffic.bytes += bytes
  })
}
