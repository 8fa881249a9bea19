import { type Ctx, contextOf } from '../../action.ts'
import { type Actor, system } from '../../auth/actor.ts'
import type { Peer, Socket } from '../../live/socket.ts'
import { fromJson, type Goodbye, Offer, ProtocolError } from '../../tunnel/frames.ts'
import { Session } from '../../tunnel/session.ts'
import { type Connection, type TunnelFacts, Unreachable } from '../../tunnel/switchboard.ts'
import { RequestLog } from './traffic/request-log.ts'
import { holderOf, isShareTaken } from './traffic/shares.ts'

/** Stores the state of a connection. */
interface Book {
  opened(ctx: Ctx, input: undefined): Promise<{ generation: number; facts: TunnelFacts }>
  closed(ctx: Ctx, connection: Connection): Promise<void>
  offered(ctx: Ctx, connection: Connection, offer: Offer): Promise<void>
  /** A payload of RESULT. */
  reported(connection: Connection, payload: Uint8Array): void
}

/** Bytes that may wait in the socket before streams are paused. */
const HIGH_WATER = 512 << 10

/** How often a machine may send its offer on one connection, because each one is stored. Agents send it once. */
export const MOST_OFFERS = 100

/** The connections of each process, with the credential that each was opened with. */
const actors = new WeakMap<Connection, Actor>()
export const actorOf = (connection: Connection): Actor => actors.get(connection) ?? system

export function cut({ session }: Connection, reason: Goodbye['reason']): void {
  session.leave({ reason })
  session.close(reason, reason === 'revoked' ? 4401 : 4409)
}

/** The server side of a machine's connection. */
export class MachineConnection implements Peer {
  readonly #session: Session
  #connection: Connection | undefined
  /** Other parts see the machine only after it has sent its offer. */
  #isOpening = false
  #offers = 0

  constructor(
    private readonly ctx: Ctx,
    private readonly socket: Socket,
    private readonly book: Book,
  ) {
    this.#session = new Session(
      'server',
      { send: (bytes) => this.#send(bytes), close: (code, reason) => socket.close(code, reason) },
      {
        settings: (payload) => this.#offered(fromJson(Offer, payload)),
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

  drained(): void {
    this.#session.drained()
  }

  left(): void {
    this.#session.lost()
  }

  #send(bytes: Uint8Array): boolean {
    return this.socket.send(bytes) >= 0 || this.socket.getBufferedAmount() < HIGH_WATER
  }

  async #open(offer: Offer): Promise<void> {
    this.#isOpening = true
    const { ctx } = this
    const { app, actor } = ctx
    try {
      const { generation, facts } = await this.book.opened(contextOf(app, actor), undefined)
      const session = this.#session
      const connection: Connection = {
        facts,
        generation,
        session,
        offer,
        traffic: { requests: 0, bytes: 0 },
        onPassed: (passed) => RequestLog.of(app).add(facts.id, passed),
        open: (head, hasBody) => {
          if (!session.isOpen) throw new Unreachable(session.isClosed ? 'gone' : 'busy')
          const holder = holderOf(head)
          if (isShareTaken(session, holder)) throw new Unreachable('share')
          return Object.assign(session.open(head, hasBody), { holder })
        },
      }
      actors.set(connection, actor)
      this.#connection = connection
      if (this.#session.isClosed) return this.#closed()
      const earlier = app.tunnels.add(connection)
      if (earlier) cut(earlier, 'replaced')
      this.#session.settings({ generation, tunnelId: facts.id, ownerId: facts.ownerId, slug: facts.slug })
      this.#store(offer)
    } catch (error) {
      app.log.warn('a tunnel could not be opened', { error })
      this.#session.close('try again later', 1013)
    }
  }

  #offered(offer: Offer): void {
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

  #store(offer: Offer): void {
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
