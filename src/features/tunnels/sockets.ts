import { type Ctx, read } from '../../action.ts'
import { refuse } from '../../auth/policy.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { Accept, Peer, Socket } from '../../live/socket.ts'
import { SocketBridge } from '../../tunnel/bridge.ts'
import { forwardLimits } from '../../tunnel/forward.ts'
import { type ResetCode, resets } from '../../tunnel/frames.ts'
import { type Stream, StreamReset } from '../../tunnel/stream.ts'
import type { Connection } from '../../tunnel/switchboard.ts'
import { reachRefusal } from './access.ts'
import { emailOf, find, type TunnelRow } from './rows.ts'
import { changing } from './rules.ts'

interface Wanted {
  ref: string
  service: string
  path?: string
  /** The subprotocols that the client offers. */
  protocols: string | null
  /** The client asks for a WebSocket. */
  isUpgrade: boolean
  upgrade(data: { accept: Accept }): boolean
}

/** Joins a WebSocket of a user with one of a service behind a tunnel. */
export const connectService = read(
  'tunnels.connectService',
  changing,
  async (ctx, { ref, service, path = '/', protocols, isUpgrade, upgrade }: Wanted): Promise<void> => {
    const tunnel = await find(ctx, ref)
    refuse(reachRefusal(ctx, tunnel))
    if (!isUpgrade) throw new AppError('upgrade_required', 'This is a WebSocket: connect with ws:// or wss://.')
    const connection = ctx.app.tunnels.of(tunnel.id)
    if (!connection?.session.isOpen)
      throw new AppError('upstream_failed', 'The machine of this tunnel is not connected.')
    const stream = await open(ctx, tunnel, connection, { service, path, protocols })
    const accept: Accept = (socket) => peerOf(socket, stream, connection)
    if (upgrade({ accept })) return
    stream.reset(resets.cancelled)
    throw new AppError('upgrade_required', 'This is a WebSocket: connect with ws:// or wss://.')
  },
)

type Target = Required<Pick<Wanted, 'service' | 'path' | 'protocols'>>

async function open(ctx: Ctx, tunnel: TunnelRow, connection: Connection, to: Target): Promise<Stream> {
  const { actor, app } = ctx
  const role = actor.memberships.get(tunnel.organizationId)
  const user = actor.userId && role ? { id: actor.userId, email: await emailOf(app, actor.userId), role } : null
  const headers: [string, string][] = [['host', `${to.service}--${tunnel.slug}`]]
  if (to.protocols !== null) headers.push(['sec-websocket-protocol', to.protocols])
  if (user) headers.push(['tutti-user', user.id], ['tutti-email', user.email])
  const { service, path: target } = to
  const stream = connection.session.open({ kind: 'ws', service, method: 'GET', target, headers, user }, true)
  connection.traffic.requests++
  const timer = setTimeout(() => stream.reset(resets.timeout), forwardLimits.firstByte)
  try {
    await stream.response()
    return stream
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error
    throw new AppError(...failureOf(error.code))
  } finally {
    clearTimeout(timer)
  }
}

function failureOf(code: ResetCode): [ErrorCode, string] {
  if (code === resets.refused) return ['forbidden', 'The machine does not allow this.']
  if (code === resets.timeout) return ['upstream_timeout', 'The service did not respond in time.']
  return ['upstream_failed', 'The service did not accept a WebSocket.']
}

function peerOf(socket: Socket, stream: Stream, { traffic }: Connection): Peer {
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
