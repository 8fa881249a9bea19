import { isRequest, type McpChannel, type RpcMessage, rpcError, rpcErrorCodes } from './message.ts'

/** Methods that are allowed if `tunnel.json` lists tools. */
const methods = new Set(['initialize', 'ping', 'tools/list', 'tools/call', 'logging/setLevel'])
/** Capabilities that such a server may announce. */
const capabilities = ['tools', 'logging']

/**
 * Limits a client to the tools that `tunnel.json` lists. With such a list, resources and prompts are closed too: the
 * list is everything that may be used.
 */
export class ToolFilter {
  /** `allowed` undefined: no limit. */
  constructor(private readonly allowed: readonly string[] | undefined) {}

  /** Sends a message of the client, or returns the response that refuses it. */
  send(message: RpcMessage, to: McpChannel): RpcMessage | undefined {
    const refused = this.#refusal(message)
    if (refused) return isRequest(message) ? rpcError(message.id, ...refused) : undefined
    to.send(message)
    return undefined
  }

  /**
   * Returns a message of the server without tools that are not allowed. Looks at the content of the result, not at its
   * request: with a repeated id, a list of tools could pass as another result.
   */
  filterReply(message: RpcMessage): RpcMessage {
    const { allowed } = this
    if (!allowed || message.method !== undefined || !message.result) return message
    const result = { ...message.result }
    if (Array.isArray(result.tools))
      result.tools = result.tools.filter((tool: { name?: unknown } | null) => allowed.includes(String(tool?.name)))
    if (typeof result.capabilities === 'object' && result.capabilities !== null) {
      const can = result.capabilities as Record<string, unknown>
      result.capabilities = Object.fromEntries(capabilities.flatMap((name) => (name in can ? [[name, can[name]]] : [])))
    }
    return { ...message, result }
  }

  #refusal({ method, params }: RpcMessage): [code: number, message: string] | undefined {
    if (!this.allowed || method === undefined) return undefined
    if (method === 'tools/call' && !this.allowed.includes(String(params?.name)))
      return [rpcErrorCodes.params, `Unknown tool: ${String(params?.name).slice(0, 100)}`]
    if (methods.has(method) || method.startsWith('notifications/')) return undefined
    return [rpcErrorCodes.unknownMethod, `Method not found: ${method.slice(0, 100)}`]
  }
}
