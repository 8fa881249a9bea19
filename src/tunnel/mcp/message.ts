export type MessageId = string | number

/** A request, notification or response of JSON-RPC 2.0. */
export interface RpcMessage {
  jsonrpc: '2.0'
  id?: MessageId | null
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string; data?: unknown }
}

/** Error codes of JSON-RPC that this program sends itself. */
export const rpcErrorCodes = {
  parse: -32_700,
  invalid: -32_600,
  unknownMethod: -32_601,
  params: -32_602,
  server: -32_000,
} as const

/** Returns the message in a text; undefined for anything else, including batches. */
export function parseRpcMessage(text: string): RpcMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { jsonrpc, id, method } = value as Record<string, unknown>
  const isId = id === undefined || id === null || typeof id === 'string' || typeof id === 'number'
  const isMethod = method === undefined || typeof method === 'string'
  return jsonrpc === '2.0' && isId && isMethod ? (value as RpcMessage) : undefined
}

export const isRequest = ({ id, method }: RpcMessage): boolean =>
  method !== undefined && id !== undefined && id !== null
export const isResponse = ({ id, method }: RpcMessage): boolean =>
  method === undefined && id !== undefined && id !== null

export const rpcError = (id: RpcMessage['id'], code: number, message: string): RpcMessage => ({
  jsonrpc: '2.0',
  id: id ?? null,
  error: { code, message },
})

/** A connection to a local MCP server. */
export interface McpChannel {
  send(message: RpcMessage): void
  close(): void
}

export interface McpChannelEvents {
  message(message: RpcMessage): void
  /** The server has ended or cannot be reached. Called at most once, and not after `close`. */
  closed(): void
}
