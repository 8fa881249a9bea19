import { encode, type Frame, flag, frame, HEADER, MOST_MESSAGE, MOST_PAYLOAD, putHeader } from './frames.ts'
import { affordable, costOf, type Stream } from './stream.ts'

/** What carries messages, such as a WebSocket. */
export interface Transport {
  /** Returns false if the sender should wait until `drained` is called. */
  send(message: Uint8Array): boolean
  close(code: number, reason: string): void
}

/** Bytes of control frames that may wait while the other side does not read. */
const MOST_CONTROL = 1 << 20

/** Sends control frames first, then the data of streams: one frame of each in turn, as far as their credit goes. */
export class Outbox {
  /** Streams with something to send, in turn. */
  readonly #round: Stream[] = []
  readonly #control: Uint8Array[] = []
  #controlBytes = 0
  #isBlocked = false
  #isScheduled = false
  #isClosed = false

  constructor(
    private readonly transport: Transport,
    private readonly now: () => number,
  ) {}

  /** The transport takes nothing at the moment. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Returns false if too many control frames wait already. */
  control(next: Frame): boolean {
    const bytes = encode(next)
    this.#control.push(bytes)
    this.#controlBytes += bytes.length
    this.#flushSoon()
    return this.#controlBytes <= MOST_CONTROL
  }

  /** The stream has something to send, or got credit. */
  ready(stream: Stream): void {
    this.#enqueue(stream)
    this.#flushSoon()
  }

  drained(): void {
    this.#isBlocked = false
    this.flush()
  }

  close(): void {
    this.#isClosed = true
    this.#control.length = 0
    this.#round.length = 0
  }

  flush(): void {
    while (!this.#isClosed && !this.#isBlocked && (this.#control.length > 0 || this.#round.length > 0)) {
      const message = this.#next()
      if (message.length > 0 && !this.transport.send(message)) this.#isBlocked = true
    }
  }

  /** What is written in one go leaves in one message. */
  #flushSoon(): void {
    if (this.#isScheduled || this.#isBlocked || this.#isClosed) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.flush()
    })
  }

  #enqueue(stream: Stream): void {
    if (stream.isQueued || !canSend(stream)) return
    stream.isQueued = true
    this.#round.push(stream)
  }

  #next(): Uint8Array {
    const message = new Message()
    while (this.#control[0] && message.fits(this.#control[0].length)) {
      const bytes = this.#control.shift() as Uint8Array
      this.#controlBytes -= bytes.length
      message.add(bytes)
    }
    while (this.#round.length > 0 && message.fits(HEADER + MOST_PAYLOAD)) {
      const stream = this.#round.shift() as Stream
      stream.isQueued = false
      this.#put(stream, message)
      this.#enqueue(stream)
    }
    return message.bytes()
  }

  #put(stream: Stream, message: Message): void {
    const [next] = stream.out
    if (!next || !canSend(stream)) return
    const length = Math.min(next.bytes.length, MOST_PAYLOAD, affordable(stream.sendCredit))
    const isWhole = length === next.bytes.length
    stream.sendCredit -= costOf(length)
    stream.lastByteAt = this.now()
    // The end of a message or of the stream belongs to the last frame of a chunk; the kind of message to all of them.
    const flags = isWhole ? next.flags : next.flags & flag.text
    message.frame({ type: frame.data, flags, stream: stream.id }, next.bytes.subarray(0, length))
    if (!isWhole) next.bytes = next.bytes.subarray(length)
    else stream.out.shift()
    if (stream.out.length === 0) stream.sent()
  }
}

function canSend({ out: [next], sendCredit }: Stream): boolean {
  return next !== undefined && sendCredit >= costOf(Math.min(next.bytes.length, 1))
}

/** Collects frames; copies payloads only once, when all are known. */
class Message {
  readonly #parts: Uint8Array[] = []
  #length = 0

  fits(length: number): boolean {
    return this.#length + length <= MOST_MESSAGE
  }

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes)
    this.#length += bytes.length
  }

  frame(head: Omit<Frame, 'payload'>, payload: Uint8Array): void {
    const header = new Uint8Array(HEADER)
    putHeader(header, 0, payload.length, head)
    this.add(header)
    if (payload.length > 0) this.add(payload)
  }

  bytes(): Uint8Array {
    const [only] = this.#parts
    if (this.#parts.length === 1 && only) return only
    const all = new Uint8Array(this.#length)
    let at = 0
    for (const part of this.#parts) {
      all.set(part, at)
      at += part.length
    }
    return all
  }
}
