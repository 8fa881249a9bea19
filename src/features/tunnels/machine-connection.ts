import { type Ctx, contextOf } from '../../action.ts'
import { type Actor, system } from '../../auth/actor.ts'
import type { Peer, Socket } from '../../live/socket.ts'
import { type ConnectedTunnel, MachineUnreachable, type TunnelFacts } from '../../tunnel/connected-tunnels.ts'
import { decodeJson, type Goodbye, MachineOffer, ProtocolError } from '../../tunnel/frames.ts'
import { TunnelSession } from '../../tunnel/session.ts'
import { RequestLog } from './traffic/request-log.ts'
import { holderOf, isShareTaken } from './traffic/shares.ts'

/** Stores the state of a connection. */
interface ConnectionStore {
  opened(ctx: Ctx, input: undefined): Promise<{ generation: number; facts: TunnelFacts }>
  closed(ctx: Ctx, connection: ConnectedTunnel): Promise<void>
  offered(ctx: Ctx, connection: ConnectedTunnel, offer: MachineOffer): Promise<void>
  /** A payload of RESULT. */
  reported(connection: ConnectedTunnel, payload: Uint8Array): void
}

/** Bytes that may wait in the socket before streams are paused. */
const HIGH_WATER = 512 << 10

/** How often a machine may send its offer on one connection, because each one is stored. Agents send it once. */
export const MOST_OFFERS = 100

/** The connections of each process, with the credential that each was opened with. */
const actorsByConnection = new WeakMap<ConnectedTunnel, Actor>()
export const actorOf = (connection: ConnectedTunnel): Actor => actorsByConnection.get(connection) ?? system

export function endConnection({ session }: ConnectedTunnel, reason: Goodbye['reason']): void {
  session.sendGoaway({ reason })
  session.close(reason, reason === 'revoked' ? 4401 : 4409)
}

/** The server side of a machine's connection. */
export class MachineConnection implements Peer {
  readonly #session: TunnelSession
  #connection: ConnectedTunnel | undefined
  /** Other parts see the machine only after it has sent its offer. */
  #isOpening = false
  #offers = 0

  constructor(
    private readonly ctx: Ctx,
    private readonly socket: Socket,
    private readonly book: ConnectionStore,
  ) {
    this.#session = new TunnelSession(
      'server',
      { send: (bytes) => this.#send(bytes), close: (code, reason) => socket.close(code, reason) },
      {
        settings: (payload) => this.#offered(decodeJson(MachineOffer, payload)),
        result: (payload) => {
          if (this.#connection) this.book.reported(this.#connection, payload)
        },
        closed: () => this.#closed(),
      },
    )
  }

  receive(message: string | Uint8Array): void {
    if (typeof message === 'string') this.#session.close('a text message', 1003)
    else this.#session.receive(message)
  }

  onDrain(): void {
    this.#session.onDrain()
  }

  onClose(): void {
    this.#session.onConnectionLost()
  }

  #send(bytes: Uint8Array): boolean {
    return this.socket.send(bytes) >= 0 || this.socket.getBufferedAmount() < HIGH_WATER
  }

  async #open(offer: MachineOffer): Promise<void> {
    this.#isOpening = true
    const { ctx } = this
    const { app, actor } = ctx
    try {
      const { generation, facts } = await this.book.opened(contextOf(app, actor), undefined)
      const session = this.#session
      const connection: ConnectedTunnel = {
        facts,
        generation,
        session,
        offer,
        traffic: { requests: 0, bytes: 0 },
        onForwarded: (passed) => RequestLog.of(app).add(facts.id, passed),
        open: (head, hasBody) => {
          if (!session.isOpen) throw new MachineUnreachable(session.isClosed ? 'gone' : 'busy')
          const holder = holderOf(head)
          if (isShareTaken(session, holder)) throw new MachineUnreachable('share')
          return Object.assign(session.open(head, hasBody), { holder })
        },
      }
      actorsByConnection.set(connection, actor)
      this.#connection = connection
      if (this.#session.isClosed) return this.#closed()
      const earlier = app.tunnels.add(connection)
      if (earlier) endConnection(earlier, 'replaced')
      this.#session.settings({ generation, tunnelId: facts.id, ownerId: facts.ownerId, slug: facts.slug })
      this.#store(offer)
    } catch (error) {
      app.log.warn('a tunnel could not be opened', { error })
      this.#session.close('try again later', 1013)
    }
  }

  #offered(offer: MachineOffer): void {
    if (++this.#offers > MOST_OFFERS) throw new ProtocolError('too many settings')
    const connection = this.#connection
    if (!connection) {
      const { app, actor } = this.ctx
      if (!this.#isOpening && actor.tunnelId) app.tunnels.opening(actor.tunnelId, this.#open(offer))
      return
    }
    connection.offer = offer
    this.#store(offer)
  }

  #store(offer: MachineOffer): void {
    const { app } = this.ctx
    if (!this.#connection) return
    this.book
      .offered(this.ctx, this.#connection, offer)
      .catch((error) => app.log.warn('services of a tunnel could not be stored', { error }))
  }

  #closed(): void {
    const connection = this.#connection
    if (!connection) return
    const { app } = this.ctx
    app.tunnels.remove(connection)
    this.book
      .closed(contextOf(app, system), connection)
      .catch((error) => app.log.debug('end of a tunnel connection could not be stored', { error }))
  }
}
