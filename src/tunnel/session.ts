import {
  decodeFrames,
  decodeJson,
  encodeJson,
  encodeU32,
  type Frame,
  frameFlags,
  frameTypes,
  Goodbye,
  MOST_HEAD,
  ProtocolError,
  RequestHead,
  type ResetCode,
  ResponseHead,
  readResetCode,
  resetCodes,
} from './frames.ts'
import { creditReturnThreshold, type SessionEvents, sessionLimits } from './limits.ts'
import { Outbox, type Transport } from './outbox.ts'
import { creditCost, Stream, type StreamCarrier, StreamReset } from './stream.ts'

/**
 * Both ends of a tunnel: streams over one connection. Each stream has its own credit and there is no common window, so
 * a stalled reader stops only its own stream. The server opens streams with rising even ids; the agent opens none.
 */
export class TunnelSession implements StreamCarrier {
  readonly #streams = new Map<number, Stream>()
  #lastId = 0
  readonly #outbox: Outbox
  #grown = 0
  #isLeaving = false
  #closedBy: string | undefined
  #receivedAt: number
  #pingAt: number | undefined
  rttMs: number | undefined

  constructor(
    private readonly side: 'server' | 'agent',
    private readonly transport: Transport,
    private readonly events: SessionEvents,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#receivedAt = now()
    this.#outbox = new Outbox(transport, now)
  }

  get streams(): number {
    return this.#streams.size
  }

  /** Counts the streams whose holder the callback accepts. */
  streamsOf = (isCounted: (holder: string) => boolean): number =>
    this.#streams.values().reduce((count, { holder }) => count + Number(isCounted(holder)), 0)

  get isClosed(): boolean {
    return this.#closedBy !== undefined
  }

  get isOpen(): boolean {
    return !this.isClosed && !this.#isLeaving && this.#streams.size < sessionLimits.streams
  }

  /** The connection accepts no data at the moment, or has ended. */
  get isBlocked(): boolean {
    return this.isClosed || this.#outbox.isBlocked
  }

  /** Opens a stream. `hasBody`: DATA follows. Throws `RangeError` for a head that is too large. */
  open(sendHead: RequestHead, hasBody: boolean): Stream {
    if (!this.isOpen) throw new Error('no stream can be opened')
    const payload = encodeJson(sendHead, MOST_HEAD)
    this.#lastId += 2
    const stream = this.#add(this.#lastId, sendHead)
    stream.isLocallyEnded = !hasBody
    this.#send({ type: frameTypes.headers, flags: hasBody ? 0 : frameFlags.end, stream: stream.id, payload })
    return stream
  }

  settings = (value: object): void => this.#sendJson(frameTypes.settings, value)
  action = (value: object): void => this.#sendJson(frameTypes.action, value)
  result = (value: object): void => this.#sendJson(frameTypes.result, value)

  /** Announces that no more streams will be opened; `drain`: once the agent has reconnected. Open streams continue. */
  sendGoaway(goodbye: Goodbye): void {
    if (this.#isLeaving || this.isClosed) return
    this.#isLeaving = goodbye.reason !== 'drain'
    this.#sendJson(frameTypes.goaway, goodbye)
  }

  /** Ends the session and all its streams. */
  close(reason: string, code = 1000): void {
    if (this.isClosed) return
    this.#outbox.flush()
    this.#closedBy = reason
    this.transport.close(code, reason)
    this.#end(reason)
  }

  onConnectionLost(reason = 'lost'): void {
    if (this.isClosed) return
    this.#closedBy = reason
    this.#end(reason)
  }

  receive(message: Uint8Array): void {
    if (this.isClosed) return
    this.#receivedAt = this.now()
    try {
      decodeFrames(message, (next) => {
        if (!this.isClosed) this.#handle(next, message)
      })
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.sendGoaway({ reason: 'protocol' })
      this.close(error.message, 1002)
    }
  }

  onDrain = (): void => this.#outbox.onDrain()

  /** Call it every few seconds. Pings a quiet connection, and closes a silent one. */
  tick(): void {
    if (this.isClosed) return
    const now = this.now()
    const quiet = now - this.#receivedAt
    if (quiet >= sessionLimits.gone) this.close('nothing was received', 1001)
    else if (quiet >= sessionLimits.quiet) this.ping()
    for (const stream of this.#streams.values())
      if (stream.isIdleLimited && now - stream.lastByteAt >= sessionLimits.idle) stream.reset(resetCodes.timeout)
  }

  /** Measures the time of a round trip. */
  ping(): void {
    if (this.#pingAt !== undefined) return
    this.#pingAt = this.now()
    const payload = new Uint8Array(new Float64Array([this.#pingAt]).buffer)
    this.#send({ type: frameTypes.ping, flags: 0, stream: 0, payload })
  }

  ready = (stream: Stream): boolean => {
    // Sent bytes count too: during a slow upload, the other side returns no credit for minutes.
    stream.lastByteAt = this.now()
    return this.#outbox.streamReady(stream)
  }

  sendHead(stream: Stream, sendHead: ResponseHead, isEnd: boolean): void {
    const payload = encodeJson(sendHead, MOST_HEAD)
    this.#send({ type: frameTypes.headers, flags: isEnd ? frameFlags.end : 0, stream: stream.id, payload })
  }

  sendReset(stream: Stream, code: ResetCode): void {
    this.#send({ type: frameTypes.reset, flags: 0, stream: stream.id, payload: encodeU32(code) })
  }

  onConsumed(stream: Stream, cost: number): void {
    stream.creditToReturn += cost
    if (stream.isRemotelyEnded || this.isClosed || stream.creditToReturn < creditReturnThreshold(stream.window)) return
    let given = stream.creditToReturn
    stream.creditToReturn = 0
    // The reader keeps up, so a larger window speeds up a slow connection.
    if (stream.queued * 2 <= stream.window && stream.window < sessionLimits.mostCredit) {
      const more = Math.min(stream.window, sessionLimits.growth - this.#grown)
      this.#grown += more
      stream.window += more
      given += more
    }
    stream.receiveCredit += given
    this.#send({ type: frameTypes.window, flags: 0, stream: stream.id, payload: encodeU32(given) })
  }

  onFinished(stream: Stream): void {
    if (!this.#streams.delete(stream.id)) return
    this.#grown -= stream.window - sessionLimits.credit
  }

  #handle(next: Frame, message: Uint8Array): void {
    switch (next.type) {
      case frameTypes.data:
        this.#onData(next, message)
        break
      case frameTypes.headers:
        if (this.side === 'agent') this.#onRequest(next)
        else this.#onResponse(next)
        break
      case frameTypes.reset:
        this.#known(next)?.fail(new StreamReset(readResetCode(next.payload)))
        break
      case frameTypes.window:
        this.#onWindow(next)
        break
      default:
        this.#onConnectionFrame(next)
    }
  }

  /** Ignores unknown types, which a newer version may send. */
  #onConnectionFrame({ type, flags, stream, payload }: Frame): void {
    if (stream !== 0) throw new ProtocolError('a frame of the connection names a stream')
    if (type === frameTypes.ping) this.#onPing(flags, payload)
    else if (type === frameTypes.settings) this.events.settings?.(payload)
    else if (type === frameTypes.action) this.events.action?.(payload)
    else if (type === frameTypes.result) this.events.result?.(payload)
    else if (type === frameTypes.goaway) {
      const goodbye = decodeJson(Goodbye, payload)
      this.#isLeaving ||= goodbye.reason !== 'drain'
      this.events.goaway?.(goodbye)
    }
  }

  /** Returns the stream of a frame; undefined if the stream has ended and late frames still arrive. */
  #known({ stream: id }: Frame): Stream | undefined {
    const stream = this.#streams.get(id)
    if (!stream && (id === 0 || id % 2 === 1 || id > this.#lastId)) throw new ProtocolError('no such stream')
    return stream
  }

  #onResponse(next: Frame): void {
    const stream = this.#known(next)
    const head = decodeJson(ResponseHead, next.payload, MOST_HEAD)
    if (!stream) return
    if (stream.isRemotelyEnded || !stream.accept(head)) throw new ProtocolError('a second head')
    stream.lastByteAt = this.now()
    if (next.flags & frameFlags.end) stream.endRemotely()
  }

  #onRequest({ stream: id, flags, payload }: Frame): void {
    if (id === 0 || id % 2 === 1 || id <= this.#lastId) throw new ProtocolError('a stream id is wrong')
    const head = decodeJson(RequestHead, payload, MOST_HEAD)
    this.#lastId = id
    if (!this.isOpen) {
      this.#send({ type: frameTypes.reset, flags: 0, stream: id, payload: encodeU32(resetCodes.refused) })
      return
    }
    const stream = this.#add(id, head)
    stream.isRemotelyEnded = (flags & frameFlags.end) !== 0
    this.events.opened?.(stream)
  }

  #onData(next: Frame, message: Uint8Array): void {
    const stream = this.#known(next)
    if (!stream) return
    if (stream.isRemotelyEnded) throw new ProtocolError('data after the end')
    if (this.side === 'server' && !stream.hasHead) throw new ProtocolError('data before the head')
    const cost = creditCost(next.payload.length)
    if (cost > stream.receiveCredit) throw new ProtocolError('data beyond the credit')
    stream.receiveCredit -= cost
    stream.lastByteAt = this.now()
    // A view would keep the whole message in memory until its small part is read.
    const bytes = next.payload.length * 2 < message.length ? next.payload.slice() : next.payload
    stream.receive({ bytes, flags: next.flags })
  }

  #onWindow(next: Frame): void {
    if (next.payload.length !== 4) throw new ProtocolError('a window has four bytes')
    const more = new DataView(next.payload.buffer, next.payload.byteOffset).getUint32(0)
    const stream = this.#known(next)
    if (!stream) return
    if (more === 0 || stream.sendCredit + more > 0x7fff_ffff) throw new ProtocolError('a window is wrong')
    stream.sendCredit += more
    stream.lastByteAt = this.now()
    this.ready(stream)
  }

  #onPing(flags: number, payload: Uint8Array): void {
    if (payload.length !== 8) throw new ProtocolError('a ping has eight bytes')
    if ((flags & frameFlags.ack) === 0) {
      // If the other side does not read, replies to pings would only fill the memory.
      if (!this.#outbox.isBlocked)
        this.#send({ type: frameTypes.ping, flags: frameFlags.ack, stream: 0, payload: payload.slice() })
      return
    }
    if (this.#pingAt === undefined) return
    this.rttMs = Math.max(0, Math.round((this.now() - this.#pingAt) * 10) / 10)
    this.#pingAt = undefined
  }

  #add(id: number, sendHead: RequestHead): Stream {
    const stream = new Stream(id, sendHead, this, sessionLimits.credit)
    stream.lastByteAt = this.now()
    this.#streams.set(id, stream)
    return stream
  }

  #sendJson(type: Frame['type'], value: object): void {
    this.#send({ type, flags: 0, stream: 0, payload: encodeJson(value) })
  }

  #send(next: Frame): void {
    if (this.isClosed || this.#outbox.control(next)) return
    // The other side forces replies but does not read them.
    this.close('too many replies wait', 1008)
  }

  #end(reason: string): void {
    const failure = new StreamReset(resetCodes.local)
    for (const stream of [...this.#streams.values()]) stream.fail(failure)
    this.#outbox.close()
    this.events.closed?.(reason)
  }
}
