import { type Channel, codes, failure, isRequest, type Message, type MessageId } from './message.ts'

/** Methods that a client may use on a server of which only some tools are allowed. */
const methods = new Set(['initialize', 'ping', 'tools/list', 'tools/call', 'logging/setLevel'])
/** What such a server may say that it can. */
const capabilities = ['tools', 'logging']

/**
 * Lets a client use the tools that `tunnel.json` names, and see no others. With such a list, resources and prompts are
 * closed too: a list of tools is meant as all that may be used.
 */
export class ToolFilter {
  readonly #listing = new Set<MessageId>()
  readonly #introducing = new Set<MessageId>()

  /** `allowed` undefined: everything. */
  constructor(private readonly allowed: readonly string[] | undefined) {}

  /** Sends a message of the client, or returns the response that refuses it. */
  send(message: Message, to: Channel): Message | undefined {
    const refused = this.#refusal(message)
    if (refused) return isRequest(message) ? failure(message.id, ...refused) : undefined
    if (message.method === 'tools/list') this.#listing.add(message.id as MessageId)
    if (message.method === 'initialize') this.#introducing.add(message.id as MessageId)
    to.send(message)
    return undefined
  }

  /** Returns a message of the server as the client may see it. */
  received(message: Message): Message {
    const { allowed } = this
    if (message.method !== undefined || message.id == null) return message
    const [wasList, wasIntroduction] = [this.#listing.delete(message.id), this.#introducing.delete(message.id)]
    if (!allowed || !message.result) return message
    if (wasList && Array.isArray(message.result.tools)) {
      const tools = (message.result.tools as { name?: unknown }[]).filter(({ name }) => allowed.includes(String(name)))
      return { ...message, result: { ...message.result, tools } }
    }
    if (!wasIntroduction) return message
    const can = (message.result.capabilities ?? {}) as Record<string, unknown>
    const kept = Object.fromEntries(capabilities.flatMap((name) => (name in can ? [[name, can[name]]] : [])))
    return { ...message, result: { ...message.result, capabilities: kept } }
  }

  #refusal({ method, params }: Message): [code: number, message: string] | undefined {
    if (!this.allowed || method === undefined) return undefined
    if (method === 'tools/call' && !this.allowed.includes(String(params?.name)))
      return [codes.params, `Unknown tool: ${String(params?.name).slice(0, 100)}`]
    if (methods.has(method) || method.startsWith('notifications/')) return undefined
    return [codes.unknownMethod, `Method not found: ${method.slice(0, 100)}`]
  }
}
