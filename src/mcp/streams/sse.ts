import {
  type AuthInfo,
  type JSONRPCMessage,
  type MessageExtraInfo,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server'
import { AppError } from '../../errors.ts'
import type { Owner } from '../../live/stream-connections.ts'
import type { Arguments } from '../catalogue.ts'
import { EventStream } from './event-stream.ts'

/** One connection of the HTTP+SSE transport: events go out on the stream, messages come in by POST. */
export class SseConnection extends EventStream implements Transport {
  /** 256 random bits and a suffix. Knowing it is not enough: it works only with the token that opened it. */
  readonly sessionId: string
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #running = new Map<RequestId, AbortController>()

  constructor(owner: Owner, connection: string, endpoint: string, suffix: string, ended: () => void) {
    super(owner, connection, ended)
    this.sessionId = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url') + suffix
    this.write(`retry: 1000\nevent: endpoint\ndata: ${endpoint}?sessionId=${this.sessionId}\n\n`)
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.sendJson(JSON.stringify(message))
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
      if (!abort.signal.aborted) this.sendJson(response)
    } finally {
      if (this.#running.get(id) === abort) this.#running.delete(id)
    }
  }

  override async close(): Promise<void> {
    this.end()
  }

  protected override end(reason?: Error): boolean {
    if (!super.end(reason)) return false
    for (const abort of this.#running.values()) abort.abort()
    this.onclose?.()
    return true
  }
}

// ---- messages

export type McpMessage = { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: unknown }

export interface ToolCallMessage {
  id: RequestId
  params: { name: string; arguments?: Arguments }
}

/** Returns true for a well-formed `tools/call` request. The SDK refuses malformed ones. */
export function isToolCall(message: McpMessage): message is McpMessage & ToolCallMessage {
  const { jsonrpc, id, method, params } = message
  if (method !== 'tools/call' || jsonrpc !== '2.0' || !(typeof id === 'string' || Number.isInteger(id))) return false
  if (typeof params !== 'object' || params === null) return false
  const { name, arguments: args = {}, task } = params as { name?: unknown; arguments?: unknown; task?: unknown }
  return (
    typeof name === 'string' && task === undefined && typeof args === 'object' && args !== null && !Array.isArray(args)
  )
}

export function parseMessage(message: McpMessage): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(message)
  } catch {
    throw new AppError('invalid.malformed', 'This is not a JSON-RPC message.')
  }
}
