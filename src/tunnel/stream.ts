import { frameFlags, type RequestHead, type ResetCode, type ResponseHead, resetCodes } from './frames.ts'

/** A stream was reset by the other side or by the end of its session. */
export class StreamReset extends Error {
  constructor(readonly code: ResetCode) {
    super(`the stream was reset (${code})`)
  }
}

/** A part of a body or of a WebSocket message. */
export interface Chunk {
  bytes: Uint8Array
  flags: number
}

export interface StreamCarrier {
  /** The stream has data to send. Returns whether all of it can be sent now. */
  ready(stream: Stream): boolean
  sendHead(stream: Stream, head: ResponseHead, isEnd: boolean): void
  sendReset(stream: Stream, code: ResetCode): void
  /** The consumer has read this many bytes, counted with `creditCost`. */
  onConsumed(stream: Stream, cost: number): void
  onFinished(stream: Stream): void
}

/**
 * A frame costs more credit than its bytes, so that a flood of tiny or empty frames uses up the credit and not the
 * memory of the reader.
 */
const FRAME_COST = 64
export const creditCost = (length: number): number => length + FRAME_COST
export const affordableBytes = (credit: number): number => credit - FRAME_COST

const nothing = new Uint8Array(0)

/** One request and its response, or one WebSocket. */
export class Stream {
  /** Credit for sending, granted by the other side. */
  sendCredit: number
  /** Remaining credit of the other side. */
  receiveCredit: number
  /** The full credit of the other side. */
  window: number
  /** Credit of bytes that were read but not yet returned. */
  creditToReturn = 0
  /** Bytes that the consumer has not read. */
  queued = 0
  lastByteAt = 0
  isLocallyEnded = false
  isRemotelyEnded = false
  /** Ends after minutes without a byte. Not for a WebSocket, events and MCP, which may be silent for long. */
  isIdleLimited = true
  /** The caller, where callers have limits. */
  holder = ''
  /** It is in the outbox's queue. */
  isQueued = false
  readonly outgoing: Chunk[] = []
  /** Bytes written but not sent. */
  waiting = 0
  readonly #in: Chunk[] = []
  #failure: StreamReset | undefined
  #reader: { resolve(chunk: Chunk | null): void; reject(error: Error): void } | undefined
  #writer: PromiseWithResolvers<void> | undefined
  #head: PromiseWithResolvers<ResponseHead> | undefined
  #hasHead = false
  #isDone = false
  /** Called once, when the stream is finished. */
  onClosed: (() => void) | undefined

  constructor(
    readonly id: number,
    readonly request: RequestHead,
    private readonly carrier: StreamCarrier,
    credit: number,
  ) {
    this.sendCredit = credit
    this.receiveCredit = credit
    this.window = credit
  }

  /** The stream was reset, or both sides have ended and everything was read. */
  get isClosed(): boolean {
    return this.#isDone
  }

  /** The credit is enough for all unsent bytes. */
  get isAffordable(): boolean {
    return this.sendCredit >= this.waiting + FRAME_COST * (this.outgoing.length + (this.waiting >> 16))
  }

  get failure(): StreamReset | undefined {
    return this.#failure
  }

  /** Resolves with the response's head, on the side that opened the stream. */
  response(): Promise<ResponseHead> {
    this.#head ??= Promise.withResolvers<ResponseHead>()
    if (this.#failure) this.#head.reject(this.#failure)
    return this.#head.promise
  }

  /** Sends the response's head, on the side that accepted the stream. */
  respond(head: ResponseHead, isEnd = false): void {
    if (this.isClosed || this.#hasHead) return
    this.#hasHead = true
    this.carrier.sendHead(this, head, isEnd)
    if (isEnd) this.#endLocally()
  }

  /** Returns a promise if the sender should wait before it sends more. */
  write(bytes: Uint8Array, flags = 0): Promise<void> | undefined {
    if (this.#failure) throw this.#failure
    if (this.isLocallyEnded) throw new Error('written after the end')
    if (bytes.length === 0 && flags === 0) return undefined
    this.outgoing.push({ bytes, flags })
    this.waiting += bytes.length
    if (this.carrier.ready(this)) return undefined
    this.#writer ??= Promise.withResolvers<void>()
    return this.#writer.promise
  }

  /** Sends the last part. */
  end(bytes: Uint8Array = nothing, flags = 0): void {
    if (this.isClosed || this.isLocallyEnded) return
    this.outgoing.push({ bytes, flags: flags | frameFlags.end })
    this.waiting += bytes.length
    this.isLocallyEnded = true
    this.carrier.ready(this)
  }

  /** Returns the next chunk; null after the last one. Throws `StreamReset`. */
  read(): Promise<Chunk | null> {
    const next = this.take()
    if (next !== undefined) return Promise.resolve(next)
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  /** Returns the next chunk without waiting; null at the end; undefined if none has arrived. */
  take(): Chunk | null | undefined {
    const chunk = this.#in.shift()
    if (chunk) {
      this.queued -= chunk.bytes.length
      this.carrier.onConsumed(this, creditCost(chunk.bytes.length))
      this.#settle()
      return chunk
    }
    return this.isRemotelyEnded && !this.#failure ? null : undefined
  }

  /** Returns all remaining bytes if the other side has ended; otherwise undefined. */
  takeAll(): Uint8Array<ArrayBuffer> | undefined {
    if (!this.isRemotelyEnded || this.#failure) return undefined
    const chunks: Uint8Array[] = []
    for (let chunk = this.take(); chunk; chunk = this.take()) chunks.push(chunk.bytes)
    return (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) as Uint8Array<ArrayBuffer>
  }

  reset(code: ResetCode = resetCodes.cancelled): void {
    if (this.#isDone) return
    if (!this.isLocallyEnded || !this.isRemotelyEnded || this.outgoing.length > 0) this.carrier.sendReset(this, code)
    this.fail(new StreamReset(code))
  }

  // ---- for the session

  accept(head: ResponseHead): boolean {
    if (this.#hasHead) return false
    this.#hasHead = true
    this.#head ??= Promise.withResolvers<ResponseHead>()
    this.#head.resolve(head)
    return true
  }

  get hasHead(): boolean {
    return this.#hasHead
  }

  receive(chunk: Chunk): void {
    const isEnd = (chunk.flags & frameFlags.end) !== 0
    this.queued += chunk.bytes.length
    if (chunk.bytes.length > 0 || !isEnd || chunk.flags !== frameFlags.end) this.#in.push(chunk)
    else this.carrier.onConsumed(this, creditCost(0))
    if (isEnd) this.endRemotely()
    else this.#wake()
  }

  endRemotely(): void {
    this.isRemotelyEnded = true
    this.#wake()
    this.#settle()
  }

  /** Called when everything written has been sent. */
  onSent(): void {
    const writer = this.#writer
    this.#writer = undefined
    writer?.resolve()
    if (this.isLocallyEnded) this.#settle()
  }

  fail(failure: StreamReset): void {
    if (this.#isDone) return
    this.#failure = failure
    this.outgoing.length = 0
    this.waiting = 0
    this.queued = 0
    this.#in.length = 0
    this.#reader?.reject(failure)
    this.#writer?.reject(failure)
    this.#reader = undefined
    this.#writer = undefined
    if (this.#head && !this.#hasHead) this.#head.reject(failure)
    this.#close()
  }

  #endLocally(): void {
    this.isLocallyEnded = true
    this.#settle()
  }

  #wake(): void {
    const reader = this.#reader
    if (!reader) return
    const next = this.take()
    if (next === undefined) return
    this.#reader = undefined
    reader.resolve(next)
  }

  #settle(): void {
    if (this.#isDone || !this.isLocallyEnded || !this.isRemotelyEnded) return
    if (this.outgoing.length === 0 && this.#in.length === 0) this.#close()
  }

  #close(): void {
    this.#isDone = true
    this.carrier.onFinished(this)
    const closed = this.onClosed
    this.onClosed = undefined
    closed?.()
  }
}
