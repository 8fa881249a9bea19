import { and, eq } from 'drizzle-orm'
import { contextOf } from '../../action.ts'
import { type Actor, anonymous } from '../../auth/actor.ts'
import { throwIfRefused } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { InternalEndpoint } from '../../feature.ts'
import type { AcceptSocket, Socket } from '../../live/socket.ts'
import type { App } from '../../services.ts'
import type { ConnectedTunnel } from '../../tunnel/connected-tunnels.ts'
import type { TunnelUser } from '../../tunnel/frames.ts'
import { type Claim, HANDOVER_HEADER, HandoverVerifier, receiveHandover } from '../../tunnel/handover.ts'
import { users } from '../users/table.ts'
import { reachRefusal } from './access.ts'
import { handoverKey } from './dialers.ts'
import { userOf } from './rows.ts'

const verifiers = new WeakMap<App, HandoverVerifier>()
function verifierOf(app: App): HandoverVerifier {
  const known = verifiers.get(app) ?? new HandoverVerifier(handoverKey(app), () => app.clock().getTime())
  verifiers.set(app, known)
  return known
}

/**
 * Accepts a request from another instance for a machine that is connected here. The signature proves only that another
 * instance sent it, so the user's permissions are checked again.
 */
export const takeHandover: InternalEndpoint = async (app, { request, params: { id = '' }, upgrade }) => {
  const claim =
    app.config.INSTANCE_URL === undefined ? undefined : verifierOf(app).verify(request.headers.get(HANDOVER_HEADER), id)
  if (!claim) throw new AppError('not_found', `There is nothing at ${new URL(request.url).pathname}.`)
  const connection = await app.tunnels.whenConnected(id)
  if (connection?.generation !== claim.generation)
    throw new AppError('conflict', 'The machine has disconnected or reconnected.')
  const release = app.tunnels.hold(connection)
  try {
    const user = await callerOf(app, claim, connection)
    const accept: AcceptSocket = (socket) => peerOf(socket, claim, connection, user, release)
    if (!upgrade({ accept })) throw new AppError('upgrade_required', 'This is a WebSocket.')
  } catch (error) {
    release()
    throw error
  }
}

async function callerOf(app: App, claim: Claim, { facts }: ConnectedTunnel): Promise<TunnelUser | null> {
  const actor = claim.user === '' ? anonymous : await activeUser(app, claim.user)
  throwIfRefused(reachRefusal(contextOf(app, actor), facts))
  return userOf(app, actor, facts)
}

async function activeUser(app: App, id: string): Promise<Actor> {
  if ((await app.db.$count(users, and(eq(users.id, id), eq(users.status, 'active')))) === 0)
    throw new AppError('forbidden', 'This user cannot sign in.')
  return app.auth.actorFor(id)
}

function peerOf(
  socket: Socket,
  claim: Claim,
  connection: ConnectedTunnel,
  user: TunnelUser | null,
  release: () => void,
) {
  const { traffic } = connection
  const session = receiveHandover(socket, claim, (head, hasBody) => {
    traffic.requests++
    const started = performance.now()
    const stream = connection.open({ ...head, user }, hasBody)
    release()
    const { service, method, target } = head
    const tell = (status: number) =>
      connection.onForwarded?.({
        service,
        method,
        target,
        status,
        ms: performance.now() - started,
        user: user?.email ?? null,
      })
    void stream.response().then(
      ({ status }) => tell(status),
      () => tell(502),
    )
    return stream
  })
  return {
    receive: (message: string | Uint8Array) => {
      if (typeof message === 'string') return session.close('a text message', 1003)
      traffic.bytes += message.length
      session.receive(message)
    },
    onDrain: () => session.onDrain(),
    onClose: () => {
      release()
      session.onConnectionLost()
    },
  }
}
