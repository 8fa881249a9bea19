import {
  type AuthInfo,
  type JSONRPCMessage,
  type MessageExtraInfo,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server'
import { AppError } from '../errors.ts'
import type { Connection, Owner } from '../live/connections.ts'
import { MOST_QUEUED } from '../live/limits.ts'
import type { Arguments } from './catalogue.ts'

const encoder = new TextEncoder()
const KEEP_ALIVE = encoder.encode(': keep-alive\n\n')
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** One connection of the HTTP+SSE transport: events go out on the stream, messages come in by POST. */
export class SseConnection implements Transport, Connection {
  /** 256 random bits. Knowing it is not enough: it works only with the token that opened it. */
  readonly sessionId = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
  readonly response: Response
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #running = new Map<RequestId, AbortController>()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #closed = false

  constructor(
    readonly owner: Owner,
    endpoint: string,
    private readonly onEnd: (session: SseConnection) => void,
  ) {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => void this.close(),
      },
      { highWaterMark: MOST_QUEUED, size: (chunk) => chunk?.byteLength ?? 0 },
    )
    this.response = new Response(body, { headers })
    this.#write(encoder.encode(`retry: 1000\nevent: endpoint\ndata: ${endpoint}?sessionId=${this.sessionId}\n\n`))
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#send(JSON.stringify(message))
  }

  #send(json: string): void {
    this.#write(encoder.encode(`event: message\ndata: ${json}\n\n`))
  }

  keepAlive(): void {
    this.#write(KEEP_ALIVE)
  }

  /** Passes a message to the SDK, which handles everything but tool calls. */
  receive(message: JSONRPCMessage, authInfo: AuthInfo): void {
    if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId }
      if (requestId !== undefined) this.#running.get(requestId)?.abort()
    }
    this.onmessage?.(message, { authInfo })
  }

  /** Runs one call and sends its response, unless the client cancelled it or disconnected. */
  async run(id: RequestId, work: (signal: AbortSignal) => Promise<string>): Promise<void> {
    const abort = new AbortController()
    this.#running.set(id, abort)
    try {
      const response = await work(abort.signal)
      if (!abort.signal.aborted) this.#send(response)
    } finally {
      if (this.#running.get(id) === abort) this.#running.delete(id)
    }
  }

  #write(chunk: Uint8Array): void {
    if (this.#closed) return
    if ((this.#controller.desiredSize ?? 0) <= 0) return void this.#end(new Error('The client does not read'))
    try {
      this.#controller.enqueue(chunk)
    } catch {
      this.#end()
    }
  }

  async close(): Promise<void> {
    this.#end()
  }

  #end(reason?: Error): void {
    if (this.#closed) return
    this.#closed = true
    try {
      if (reason) this.#controller.error(reason)
      else this.#controller.close()
    } catch {
      // The client has already closed the stream.
    }
    for (const abort of this.#running.values()) abort.abort()
    this.onEnd(this)
    this.onclose?.()
  }
}

// ---- messages

export type Message = { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: unknown }

export interface Call {
  id: RequestId
  params: { name: string; arguments?: Arguments }
}

/** Returns true for a well-formed `tools/call` request. The SDK refuses malformed ones. */
export function isCall(message: Message): message is Message & Call {
  const { jsonrpc, id, method, params } = message
  if (method !== 'tools/call' || jsonrpc !== '2.0' || !(typeof id === 'string' || Number.isInteger(id))) return false
  if (typeof params !== 'object' || params === null) return false
  const { name, arguments: args = {}, task } = params as { name?: unknown; arguments?: unknown; task?: unknown }
  return (
    typeof name === 'string' && task === undefined && typeof args === 'object' && args !== null && !Array.isArray(args)
  )
}

export function parsed(message: Message): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(message)
  } catch {
    throw new AppError('invalid.malformed', 'This is not a JSON-RPC message.')
  }
}
