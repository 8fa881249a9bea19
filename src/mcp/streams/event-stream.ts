import { MOST_QUEUED_BYTES } from '../../live/limits.ts'
import type { Connection, Owner } from '../../live/stream-connections.ts'

const encoder = new TextEncoder()
export const keepAlive = encoder.encode(': keep-alive\n\n')
export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
/** A message, given as JSON, as an event of a stream. */
export const messageEvent = (json: string): string => `event: message\ndata: ${json}\n\n`

/**
 * A stream of events that stays open. By itself it is the stream that a client of 2025-x opens by GET: the client is
 * notified of changes, and the server learns when the client has gone.
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
      { highWaterMark: MOST_QUEUED_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
    )
    this.response = new Response(body, { headers: streamHeaders })
  }

  get isClosed(): boolean {
    return this.#closed
  }

  keepAlive(): void {
    this.#write(keepAlive)
  }

  /** Sends a message, given as JSON. */
  sendJson(json: string): void {
    this.write(messageEvent(json))
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
