import { frameFlags, resetCodes } from './frames.ts'
import { type Stream, StreamReset } from './stream.ts'

/** Bytes of one message of a WebSocket. */
export const MOST_SOCKET_MESSAGE = 1 << 20
/** Buffered bytes of a client above which the machine has to wait. */
const MOST_WAITING = 1 << 20

interface SocketLike {
  send(message: string | Uint8Array): unknown
  close(code: number, reason: string): void
  /** Buffered bytes. */
  waiting(): number
  pause(): void
  resume(): void
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8')

/** Copies messages between a WebSocket and a stream. Used by the listener and by the agent. */
export class SocketBridge {
  #drained: PromiseWithResolvers<void> | undefined
  #isClosed = false
  #isPaused = false

  constructor(
    private readonly socket: SocketLike,
    private readonly stream: Stream,
    private readonly count: (bytes: number) => void = () => undefined,
  ) {
    stream.isIdleLimited = false
    void this.#pump()
  }

  /** Pauses the socket until the message was sent. */
  receive(message: string | Uint8Array): void {
    const isText = typeof message === 'string'
    const bytes = isText ? encoder.encode(message) : message
    this.count(bytes.length)
    if (this.stream.isClosed || this.stream.isLocallyEnded) return
    const sent = this.stream.write(bytes, frameFlags.messageEnd | (isText ? frameFlags.text : 0))
    if (!sent || this.#isPaused) return
    this.#isPaused = true
    this.socket.pause()
    const resume = () => {
      this.#isPaused = false
      if (!this.#isClosed) this.socket.resume()
    }
    sent.then(resume, resume)
  }

  onDrain(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }

  /** The socket was closed. */
  onClose(code: number, reason: string): void {
    this.#isClosed = true
    this.onDrain()
    this.stream.end(closing(code, reason))
    // Nothing reads the data that may still arrive.
    if (!this.stream.isRemotelyEnded) setTimeout(() => this.stream.reset(resetCodes.cancelled), 1000).unref()
  }

  async #pump(): Promise<void> {
    let parts: Uint8Array[] = []
    let length = 0
    try {
      for (let chunk = await this.stream.read(); chunk; chunk = await this.stream.read()) {
        if (chunk.flags & frameFlags.end) return this.#end(chunk.bytes)
        length += chunk.bytes.length
        if (length > MOST_SOCKET_MESSAGE) throw new StreamReset(resetCodes.tooLarge)
        parts.push(chunk.bytes)
        if ((chunk.flags & frameFlags.messageEnd) === 0) continue
        this.#send(Buffer.concat(parts), (chunk.flags & frameFlags.text) !== 0)
        parts = []
        length = 0
        while (!this.#isClosed && this.socket.waiting() > MOST_WAITING) await this.#drain()
      }
      this.#end(new Uint8Array(0))
    } catch (error) {
      this.stream.reset(error instanceof StreamReset ? error.code : resetCodes.local)
      if (!this.#isClosed) this.socket.close(1011, 'The tunnel failed')
    }
  }

  #send(bytes: Uint8Array, isText: boolean): void {
    this.count(bytes.length)
    if (!this.#isClosed) this.socket.send(isText ? decoder.decode(bytes) : bytes)
  }

  #drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers<void>()
    return this.#drained.promise
  }

  #end(payload: Uint8Array): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const [code, reason] = closingOf(payload)
    this.socket.close(code, reason)
    this.stream.end(closing(code, ''))
  }
}

function closing(code: number, reason: string): Uint8Array {
  const text = encoder.encode(reason).subarray(0, 123)
  const bytes = new Uint8Array(2 + text.length)
  new DataView(bytes.buffer).setUint16(0, code)
  bytes.set(text, 2)
  return bytes
}

/** Replaces close codes that must not be sent. */
function closingOf(payload: Uint8Array): [number, string] {
  const code = payload.length < 2 ? 1000 : new DataView(payload.buffer, payload.byteOffset).getUint16(0)
  const isSendable = code === 1000 || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999)
  return [isSendable ? code : 1000, decoder.decode(payload.subarray(2)).slice(0, 100)]
}
