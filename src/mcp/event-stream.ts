import type { Connection, Owner } from '../live/connections.ts'
import { MOST_QUEUED } from '../live/limits.ts'

const encoder = new TextEncoder()
const KEEP_ALIVE = encoder.encode(': keep-alive\n\n')
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/**
 * A stream of events that stays open. By itself it is the stream that a client of 2025-x opens by GET: the client hears
 * of changes, and the server learns when the client has gone.
 */
export class EventStream implements Connection {
  readonly response: Response
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #closed = false

  constructor(
    readonly owner: Owner,
    /** The name of the connection: see `connection.ts`. */
    readonly connection: string,
    private readonly ended: () => void,
  ) {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => void this.end(),
      },
      { highWaterMark: MOST_QUEUED, size: (chunk) => chunk?.byteLength ?? 0 },
    )
    this.response = new Response(body, { headers })
  }

  get isClosed(): boolean {
    return this.#closed
  }

  keepAlive(): void {
    this.#write(KEEP_ALIVE)
  }

  /** Sends a message, given as JSON. */
  sendJson(json: string): void {
    this.write(`event: message\ndata: ${json}\n\n`)
  }

  protected write(text: string): void {
    this.#write(encoder.encode(text))
  }

  close(): void {
    this.end()
  }

  protected end(reason?: Error): boolean {
    if (this.#closed) return false
    this.#closed = true
    try {
      if (reason) this.#controller.error(reason)
      else this.#controller.close()
    } catch {
      // The client has already closed the stream.
    }
    this.ended()
    return true
  }

  #write(chunk: Uint8Array): void {
    if (this.#closed) return
    if ((this.#controller.desiredSize ?? 0) <= 0) return void this.end(new Error('The client does not read'))
    try {
      this.#controller.enqueue(chunk)
    } catch {
      this.end()
    }
  }
}
