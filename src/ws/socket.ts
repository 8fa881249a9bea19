import type { ServerWebSocket, WebSocketHandler } from 'bun'
import type { Actor } from '../auth/actor.ts'
import { AppError, familyOf } from '../errors.ts'
import type { Hub } from '../live/hub.ts'
import { hubLimits } from '../live/limits.ts'
import { type ClientTransport, type CloseReason, closeReasons, type Listener } from '../live/listener.ts'
import type { Notice } from '../live/messages.ts'
import type { Peer, SocketData } from '../live/socket.ts'
import type { Log } from '../log.ts'
import { toAppError } from '../thrown.ts'
import { messageRef, type Operation, parseJsonMessage, parseOperation } from './operations.ts'

/** Bytes of a message, on any socket. The hub takes less. */
const MOST_MESSAGE = 1 << 20

/** This many messages that we cannot use end a connection. */
const MOST_INVALID = 10
/** Answers may wait beyond the limit for events, up to here: the client sends without reading. */
const MOST_UNREAD = 1 << 20

/** One WebSocket: reads the client's operations and passes on what the hub sends. */
class Client implements ClientTransport, Peer {
  #listener: Listener | undefined
  #invalid = 0
  #isGone = false
  /** Messages that the client may still send at once, and when that was counted. */
  #allowance: number = hubLimits.burst
  #countedAt = performance.now()
  /** Operations are done one after the other, in their order. */
  #last: Promise<void>

  constructor(
    private readonly socket: ServerWebSocket<SocketData>,
    actor: Actor,
    private readonly hub: Hub,
    private readonly log: Log,
  ) {
    this.#last = this.#open(actor)
  }

  get bufferedBytes(): number {
    return this.socket.getBufferedAmount()
  }

  sendEvent(json: string): boolean {
    return this.socket.send(json) > 0
  }

  batch(send: () => void): void {
    this.socket.cork(send)
  }

  sendNotice(sendNotice: Notice): void {
    this.socket.send(JSON.stringify(sendNotice))
    if (this.bufferedBytes > MOST_UNREAD && this.#listener) this.hub.close(this.#listener, 'slow')
  }

  close(why: CloseReason): void {
    const [code, reason] = closeReasons[why]
    this.socket.close(code, reason)
  }

  onDrain(): void {
    if (this.#listener) this.hub.onDrain(this.#listener)
  }

  onClose(): void {
    this.#isGone = true
    if (this.#listener) this.hub.onDisconnect(this.#listener)
  }

  receive(message: string | Uint8Array): void {
    if (Buffer.byteLength(message) > hubLimits.message) this.socket.close(1009, 'Message too large')
    else if (!this.#mayReceive()) this.#end('flood')
    else this.#last = this.#last.then(() => this.#do(message))
  }

  #mayReceive(): boolean {
    const now = performance.now()
    const earned = ((now - this.#countedAt) / 1000) * hubLimits.perSecond
    this.#allowance = Math.min(hubLimits.burst, this.#allowance + earned) - 1
    this.#countedAt = now
    return this.#allowance >= 0
  }

  async #open(actor: Actor): Promise<void> {
    try {
      this.#listener = await this.hub.open(actor, this)
      if (this.#isGone) this.hub.onDisconnect(this.#listener)
    } catch (error) {
      this.log.debug('a live connection could not be opened', { error })
      this.socket.close(1013, 'Try again later')
    }
  }

  async #do(message: string | Uint8Array): Promise<void> {
    const listener = this.#listener
    if (!listener || listener.isClosed) return
    let ref: unknown
    try {
      const value = parseJsonMessage(message)
      ref = messageRef(value)
      await this.#run(listener, parseOperation(value))
    } catch (error) {
      const { code, message: detail, status } = toAppError(error)
      if (status >= 500) this.log.warn('a live operation failed', { error })
      const isInvalid = familyOf(code) === 'invalid'
      this.sendNotice({ op: 'error', ref, code: isInvalid ? 'invalid' : code, detail })
      if (error instanceof AppError && isInvalid && ++this.#invalid >= MOST_INVALID) this.#end('invalid')
    }
  }

  async #run(listener: Listener, operation: Operation): Promise<void> {
    if (operation.op === 'subscribe') return this.hub.subscribe(listener, operation.topics, operation)
    if (operation.op === 'unsubscribe') return this.hub.unsubscribe(listener, operation.topics, operation.ref)
    if (operation.op === 'here') return this.hub.joinPresence(listener, operation.topic, operation.state)
    return this.hub.presence.leave(listener, operation.topic)
  }

  #end(why: CloseReason): void {
    if (this.#listener) this.hub.close(this.#listener, why)
    else this.close(why)
  }
}

/** The handlers of all WebSockets of the server. */
export const socketHandlers = (hub: Hub, log: Log): WebSocketHandler<SocketData> => ({
  maxPayloadLength: MOST_MESSAGE,
  idleTimeout: 40,
  sendPings: true,
  // Slow clients are served from the log instead, so little waits here; closing by limit would lose the reason.
  backpressureLimit: 16 << 20,
  closeOnBackpressureLimit: false,
  open(socket) {
    const { data } = socket
    if ('accept' in data) data.peer = data.accept(socket)
    else {
      data.peer = new Client(socket, data.actor as Actor, hub, log)
      // The listener has an actor that stays current, which all connections of the credential share.
      data.actor = undefined
    }
  },
  message(socket, message) {
    socket.data.peer?.receive(message)
  },
  drain(socket) {
    socket.data.peer?.onDrain()
  },
  close(socket, code, reason) {
    socket.data.peer?.onClose(code, reason)
  },
})
