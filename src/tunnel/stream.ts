import { flag, type RequestHead, type ResetCode, type ResponseHead, resets } from './frames.ts'

/** The other side, or the session's end, has reset a stream. */
export class StreamReset extends Error {
  constructor(readonly code: ResetCode) {
    super(`the stream was reset (${code})`)
  }
}

/** A part of a body, or of a message of a WebSocket. */
export interface Chunk {
  bytes: Uint8Array
  flags: number
}

/** What a stream needs of its session. */
export interface Carrier {
  /** There is something to send, as far as the credit goes. Returns whether all of it can leave now. */
  ready(stream: Stream): boolean
  head(stream: Stream, head: ResponseHead, isEnd: boolean): void
  reset(stream: Stream, code: ResetCode): void
  /** The consumer took this many bytes, counted with `costOf`. */
  took(stream: Stream, cost: number): void
  /** Nothing more can happen on it. */
  finished(stream: Stream): void
}

/**
 * A frame costs more credit than its bytes, so that a flood of tiny or empty frames ends like one of large frames: with
 * the credit, and not with the memory of the reader.
 */
const FRAME_COST = 64
export const costOf = (length: number): number => length + FRAME_COST
/** The most bytes that fit into a frame for this much credit. */
export const affordable = (credit: number): number => credit - FRAME_COST

const nothing = new Uint8Array(0)

/** One request and its response, or one WebSocket. */
export class Stream {
  /** Credit for sending, given by the other side. */
  sendCredit: number
  /** Credit that the other side still has. */
  receiveCredit: number
  /** The size to which its credit is filled up. */
  window: number
  /** Taken by the consumer, and not yet given back. */
  toReturn = 0
  /** Bytes that the consumer has not taken. */
  queued = 0
  lastByteAt = 0
  isLocallyEnded = false
  isRemotelyEnded = false
  /** Ends after minutes without a byte. Not for a WebSocket, events and MCP, which may be silent for long. */
  isIdleLimited = true
  /** Who asked for it, where callers have shares. */
  holder = ''
  /** It is in the session's round of streams with something to send. */
  isQueued = false
  readonly out: Chunk[] = []
  /** Bytes that were written and have not been sent. */
  waiting = 0
  readonly #in: Chunk[] = []
  #failure: StreamReset | undefined
  #reader: { resolve(chunk: Chunk | null): void; reject(error: Error): void } | undefined
  #writer: PromiseWithResolvers<void> | undefined
  #head: PromiseWithResolvers<ResponseHead> | undefined
  #hasHead = false
  #isDone = false
  /** Called once, when nothing more can happen on the stream. */
  onClosed: (() => void) | undefined

  constructor(
    readonly id: number,
    readonly request: RequestHead,
    private readonly carrier: Carrier,
    credit: number,
  ) {
    this.sendCredit = credit
    this.receiveCredit = credit
    this.window = credit
  }

  /** It was reset, or both sides have ended and everything was read. */
  get isClosed(): boolean {
    return this.#isDone
  }

  /** The credit is enough for all that waits. */
  get isAffordable(): boolean {
    return this.sendCredit >= this.waiting + FRAME_COST * (this.out.length + (this.waiting >> 16))
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
    this.carrier.head(this, head, isEnd)
    if (isEnd) this.#endLocally()
  }

  /** Returns a promise if the sender should wait before it sends more. */
  write(bytes: Uint8Array, flags = 0): Promise<void> | undefined {
    if (this.#failure) throw this.#failure
    if (this.isLocallyEnded) throw new Error('written after the end')
    if (bytes.length === 0 && flags === 0) return undefined
    this.out.push({ bytes, flags })
    this.waiting += bytes.length
    if (this.carrier.ready(this)) return undefined
    this.#writer ??= Promise.withResolvers<void>()
    return this.#writer.promise
  }

  /** Sends the last part. */
  end(bytes: Uint8Array = nothing, flags = 0): void {
    if (this.isClosed || this.isLocallyEnded) return
    this.out.push({ bytes, flags: flags | flag.end })
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

  /** Returns the next chunk if there is one; null at the end; undefined if one has to wait. */
  take(): Chunk | null | undefined {
    const chunk = this.#in.shift()
    if (chunk) {
      this.queued -= chunk.bytes.length
      this.carrier.took(this, costOf(chunk.bytes.length))
      this.#settle()
      return chunk
    }
    return this.isRemotelyEnded && !this.#failure ? null : undefined
  }

  /** Returns all that there is if nothing more will come. */
  takeAll(): Uint8Array<ArrayBuffer> | undefined {
    if (!this.isRemotelyEnded || this.#failure) return undefined
    const chunks: Uint8Array[] = []
    for (let chunk = this.take(); chunk; chunk = this.take()) chunks.push(chunk.bytes)
    return (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) as Uint8Array<ArrayBuffer>
  }

  reset(code: ResetCode = resets.cancelled): void {
    if (this.#isDone) return
    if (!this.isLocallyEnded || !this.isRemotelyEnded || this.out.length > 0) this.carrier.reset(this, code)
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
    const isEnd = (chunk.flags & flag.end) !== 0
    this.queued += chunk.bytes.length
    if (chunk.bytes.length > 0 || !isEnd || chunk.flags !== flag.end) this.#in.push(chunk)
    else this.carrier.took(this, costOf(0))
    if (isEnd) this.endRemotely()
    else this.#wake()
  }

  endRemotely(): void {
    this.isRemotelyEnded = true
    this.#wake()
    this.#settle()
  }

  /** All that was written has been sent. */
  sent(): void {
    const writer = this.#writer
    this.#writer = undefined
    writer?.resolve()
    if (this.isLocallyEnded) this.#settle()
  }

  fail(failure: StreamReset): void {
    if (this.#isDone) return
    this.#failure = failure
    this.out.length = 0
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
    if (this.out.length === 0 && this.#in.length === 0) this.#close()
  }

  #close(): void {
    this.#isDone = true
    this.carrier.finished(this)
    const closed = this.onClosed
    this.onClosed = undefined
    closed?.()
  }
}
