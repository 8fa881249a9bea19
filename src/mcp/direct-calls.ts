import {
  PROTOCOL_VERSION_META_KEY,
  RELATED_TASK_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import { KEEP_ALIVE_MS } from '../live/stream-connections.ts'
import { streamHeaders as headers, keepAlive, messageEvent } from './streams/event-stream.ts'
import { isToolCall, type McpMessage, type ToolCallMessage } from './streams/sse.ts'

const revisions: ReadonlySet<string> = new Set(SUPPORTED_PROTOCOL_VERSIONS)
const fields = new Set(['jsonrpc', 'id', 'method', 'params'])

/**
 * Returns true for a well-formed tool call of 2025-x by Streamable HTTP, which does not need the SDK: that would create
 * a server, a transport and a stream for it, and check each message three times. The SDK handles everything else,
 * including refusals.
 */
export function isDirectCall({ headers: sent }: Request, message: McpMessage): message is McpMessage & ToolCallMessage {
  if (!isToolCall(message)) return false
  for (const name in message) if (!fields.has(name)) return false
  const version = sent.get('mcp-protocol-version')
  if (version !== null && !revisions.has(version)) return false
  const accepted = sent.get('accept')
  if (!accepted?.includes('application/json') || !accepted.includes('text/event-stream')) return false
  return isPlainMeta((message.params as { _meta?: unknown })._meta)
}

/** Revisions from 2026 on put protocol data into `_meta`. Earlier ones define only the progress token. */
function isPlainMeta(meta: unknown): boolean {
  if (meta === undefined) return true
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return false
  const { progressToken } = meta as { progressToken?: unknown }
  const isToken = progressToken === undefined || typeof progressToken === 'string' || Number.isInteger(progressToken)
  return isToken && !(PROTOCOL_VERSION_META_KEY in meta) && !(RELATED_TASK_META_KEY in meta)
}

/**
 * A response whose whole text is known, so that a server that copies responses need not read the body as a stream.
 */
export class WholeResponse extends Response {
  constructor(
    readonly whole: string,
    readonly init: { status: number; headers?: Record<string, string> },
  ) {
    super(whole, init)
  }
}

/** Sends the response as a whole, or as a stream that is kept alive if the call takes long. */
export async function sendWhenDone(answer: Promise<string>, keepAliveMs = KEEP_ALIVE_MS): Promise<Response> {
  const { promise: isSlow, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, keepAliveMs)
  const json = await Promise.race([answer, isSlow])
  clearTimeout(timer)
  if (json === undefined) return new Response(slowly(answer, keepAliveMs), { headers })
  return new WholeResponse(messageEvent(json), { status: 200, headers })
}

function slowly(answer: Promise<string>, keepAliveMs: number): ReadableStream<Uint8Array> {
  const { promise: left, resolve: leave } = Promise.withResolvers<undefined>()
  return new ReadableStream({
    start(controller) {
      controller.enqueue(keepAlive)
      const timer = setInterval(() => controller.enqueue(keepAlive), keepAliveMs)
      void Promise.race([answer, left]).then((json) => {
        clearInterval(timer)
        if (json === undefined) return
        controller.enqueue(new TextEncoder().encode(messageEvent(json)))
        controller.close()
      })
    },
    cancel: () => leave(undefined),
  })
}
