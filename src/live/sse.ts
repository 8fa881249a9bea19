import type { Hub } from './hub.ts'
import { type ClientTransport, type CloseReason, closeReasons, type Listener } from './listener.ts'
import type { Notice } from './messages.ts'

const encoder = new TextEncoder()
/** Capacity of the stream in bytes. Events stop far below it. */
const ROOM = 1 << 20
/** A comment keeps proxies from closing a quiet stream. */
const COMMENT_MS = 15_000
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** The server's end of a connection that sends server-sent events to one client. */
export class SseClient implements ClientTransport {
  readonly response: Response
  listener: Listener | undefined
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isClosed = false
  #writtenAt = Date.now()
  /** Bytes written, and how many of them the client has read. */
  #written = 0
  #taken = 0

  constructor(private readonly hub: Hub) {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#onRoom(),
        cancel: () => this.onDisconnect(),
      },
      { highWaterMark: ROOM, size: (chunk) => chunk?.byteLength ?? 0 },
    )
    this.response = new Response(body, { headers })
  }

  get bufferedBytes(): number {
    return this.#isClosed ? 0 : ROOM - (this.#controller.desiredSize ?? ROOM)
  }

  sendEvent(json: string, cursor: string): boolean {
    this.#write(`id: ${cursor}\ndata: ${json}\n\n`)
    return this.bufferedBytes === 0
  }

  sendNotice(sendNotice: Notice): void {
    // Only these notices set an id: a client that resumes by Last-Event-ID must not skip events it has not received.
    const id =
      sendNotice.op === 'tick' || sendNotice.op === 'ready' || sendNotice.op === 'reset'
        ? `id: ${sendNotice.cursor}\n`
        : ''
    this.#write(`event: ${sendNotice.op}\n${id}data: ${JSON.stringify(sendNotice)}\n\n`)
  }

  keepAlive(now: number): void {
    if (now - this.#writtenAt >= COMMENT_MS) this.#write(': keep-alive\n\n')
  }

  close(why: CloseReason): void {
    const [code, reason] = closeReasons[why]
    this.#write(`event: close\ndata: ${JSON.stringify({ op: 'close', code, reason })}\n\n`)
    this.#end()
  }

  onDisconnect(): void {
    this.#end()
    if (this.listener) this.hub.onDisconnect(this.listener)
  }

  /** Called whenever the stream has room, also after a write that the client has not read. */
  #onRoom(): void {
    const taken = this.#written - this.bufferedBytes
    if (taken <= this.#taken) return
    this.#taken = taken
    if (this.listener) this.hub.onDrain(this.listener)
  }

  #end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      this.#controller.close()
    } catch {
      // The client has already closed the stream.
    }
  }

  #write(text: string): void {
    if (this.#isClosed) return
    this.#writtenAt = Date.now()
    try {
      const bytes = encoder.encode(text)
      this.#written += bytes.byteLength
      this.#controller.enqueue(bytes)
    } catch {
      this.onDisconnect()
    }
  }
}
