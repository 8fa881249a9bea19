import {
  type Frame,
  frameFlags,
  frameTypes,
  HEADER_BYTES,
  MOST_MESSAGE,
  MOST_PAYLOAD,
  writeFrameHeader,
} from './frames.ts'
import { affordableBytes, creditCost, type Stream } from './stream.ts'

/** Sends messages, for example over a WebSocket. */
export interface Transport {
  /** Returns false if the sender should wait for `onDrain`. The bytes may change after the call. */
  send(message: Uint8Array): boolean
  close(code: number, reason: string): void
}

/** Bytes of control frames that are buffered while the other side does not read. */
const MOST_CONTROL = 1 << 20

/** The message that is being written. All sessions share it, because `send` copies the bytes. */
const scratch = new Uint8Array(MOST_MESSAGE)

/** Sends control frames first, then data: one frame of each stream in turn, within the stream's credit. */
export class Outbox {
  /** Streams with data to send, in turn. */
  readonly #round: Stream[] = []
  readonly #sendControl: Frame[] = []
  /** Streams whose last data is in the message that is being written. */
  readonly #emptied: Stream[] = []
  #controlBytes = 0
  #isBlocked = false
  #isScheduled = false
  #isClosed = false

  constructor(
    private readonly transport: Transport,
    private readonly now: () => number,
  ) {}

  /** The transport accepts no data at the moment. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Returns false if too many control frames are buffered. */
  control(next: Frame): boolean {
    this.#sendControl.push(next)
    this.#controlBytes += HEADER_BYTES + next.payload.length
    this.#flushSoon()
    return this.#controlBytes <= MOST_CONTROL
  }

  /** The stream has data to send, or received credit. Returns whether all data can be sent now. */
  streamReady(stream: Stream): boolean {
    this.#enqueue(stream)
    this.#flushSoon()
    return !this.#isBlocked && stream.isAffordable
  }

  onDrain(): void {
    this.#isBlocked = false
    this.flush()
  }

  close(): void {
    this.#isClosed = true
    this.#sendControl.length = 0
    this.#round.length = 0
  }

  flush(): void {
    while (!this.#isClosed && !this.#isBlocked && (this.#sendControl.length > 0 || this.#round.length > 0)) {
      const length = this.#fill()
      if (length > 0 && !this.transport.send(scratch.subarray(0, length))) this.#isBlocked = true
      // Only after the send: a callback may close the session, which writes the next message.
      for (const stream of this.#emptied.splice(0)) if (stream.outgoing.length === 0) stream.onSent()
    }
  }

  /** Combines everything written in one turn of the event loop into one message. */
  #flushSoon(): void {
    if (this.#isScheduled || this.#isBlocked || this.#isClosed) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.flush()
    })
  }

  #enqueue(stream: Stream): void {
    if (stream.isQueued || !canSend(stream)) return
    stream.isQueued = true
    this.#round.push(stream)
  }

  /** Writes the next message and returns its length. */
  #fill(): number {
    let length = 0
    let used = 0
    for (const next of this.#sendControl) {
      if (length + HEADER_BYTES + next.payload.length > MOST_MESSAGE) break
      length = putFrame(length, next, next.payload)
      used++
    }
    this.#controlBytes -= length
    this.#sendControl.splice(0, used)
    while (this.#round.length > 0 && length + HEADER_BYTES + MOST_PAYLOAD <= MOST_MESSAGE) {
      const stream = this.#round.shift() as Stream
      stream.isQueued = false
      length = this.#put(stream, length)
      this.#enqueue(stream)
    }
    return length
  }

  #put(stream: Stream, at: number): number {
    const [next] = stream.outgoing
    if (!next || !canSend(stream)) return at
    const length = Math.min(next.bytes.length, MOST_PAYLOAD, affordableBytes(stream.sendCredit))
    const isWhole = length === next.bytes.length
    stream.sendCredit -= creditCost(length)
    stream.waiting -= length
    stream.lastByteAt = this.now()
    // The end flags belong to the last frame of a chunk, the text flag to all of its frames.
    const flags = isWhole ? next.flags : next.flags & frameFlags.text
    const bytes = isWhole ? next.bytes : next.bytes.subarray(0, length)
    const end = putFrame(at, { type: frameTypes.data, flags, stream: stream.id }, bytes)
    if (isWhole) stream.outgoing.shift()
    else next.bytes = next.bytes.subarray(length)
    if (stream.outgoing.length === 0) this.#emptied.push(stream)
    return end
  }
}

function canSend({ outgoing: [next], sendCredit }: Stream): boolean {
  return next !== undefined && sendCredit >= creditCost(Math.min(next.bytes.length, 1))
}

/** Writes a frame to the message and returns the position after it. */
function putFrame(at: number, head: Omit<Frame, 'payload'>, payload: Uint8Array): number {
  const from = writeFrameHeader(scratch, at, payload.length, head)
  scratch.set(payload, from)
  return from + payload.length
}
