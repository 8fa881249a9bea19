import type { McpServer } from '../machine-config.ts'
import { ToolFilter } from './filter.ts'
import { HttpChannel } from './http.ts'
import { isRequest, isResponse, type MessageId, type RpcMessage, rpcError, rpcErrorCodes } from './message.ts'
import { StdioChannel } from './stdio.ts'

/** Messages that are kept while no client listens. */
const MOST_WAITING = 100

type Take = (message: RpcMessage) => void

/** One client's session with a local MCP server: a separate process, or a separate session at its address. */
export class McpSession {
  readonly id = crypto.randomUUID()
  readonly #channel: StdioChannel | HttpChannel
  readonly #filter: ToolFilter
  /** Callbacks for responses, by request id. */
  readonly #waiting = new Map<MessageId, { take: Take; progress: unknown }>()
  #listener: Take | undefined
  #unheard: RpcMessage[] = []
  #isClosed = false
  readonly #onClosed = new Set<() => void>()
  lastUsedAt: number

  constructor(
    readonly server: string,
    readonly userId: string,
    { argv, url, tools, folder, env }: McpServer,
    private readonly now: () => number,
  ) {
    this.lastUsedAt = now()
    this.#filter = new ToolFilter(tools)
    const events = { message: (message: RpcMessage) => this.#received(message), closed: () => this.#ended() }
    this.#channel = argv ? new StdioChannel({ argv, folder, env }, events) : new HttpChannel(url as string, events)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#listener === undefined
  }

  /** Calls `tell` once, when the session has ended. The returned function cancels this. */
  whenClosed(tell: () => void): () => void {
    this.#onClosed.add(tell)
    return () => void this.#onClosed.delete(tell)
  }

  /** Sends a message. `take` receives the response, and messages of the server if no client listens. */
  send(message: RpcMessage, take?: Take): void {
    this.lastUsedAt = this.now()
    if (this.#isClosed) {
      if (isRequest(message)) take?.(rpcError(message.id, rpcErrorCodes.server, 'The server has ended.'))
      return
    }
    if (take && isRequest(message)) {
      if (this.#waiting.has(message.id as MessageId)) {
        take(rpcError(message.id, rpcErrorCodes.invalid, 'Another request with this id is running.'))
        return
      }
      const progress = (message.params?._meta as { progressToken?: unknown } | undefined)?.progressToken
      this.#waiting.set(message.id as MessageId, { take, progress })
    }
    const refused = this.#filter.send(message, this.#channel)
    if (refused) this.#received(refused)
  }

  /** Drops the callback of a request. */
  forget(id: MessageId): void {
    this.#waiting.delete(id)
  }

  /** Passes on the server's own messages. A later listener replaces an earlier one. */
  listen(take: Take): () => void {
    this.#listener = take
    for (const message of this.#unheard.splice(0)) take(message)
    return () => {
      if (this.#listener === take) this.#listener = undefined
      this.lastUsedAt = this.now()
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#channel.close()
    this.#end()
  }

  /** Ends it at once, with the process of the server. */
  kill(): void {
    this.#channel.kill()
    this.#end()
  }

  #received(message: RpcMessage): void {
    this.lastUsedAt = this.now()
    const seen = this.#filter.filterReply(message)
    if (isResponse(seen)) {
      const asked = this.#waiting.get(seen.id as MessageId)
      this.#waiting.delete(seen.id as MessageId)
      asked?.take(seen)
      return
    }
    const take = this.#takerOf(seen)
    if (take) take(seen)
    else if (this.#unheard.length < MOST_WAITING) this.#unheard.push(seen)
  }

  /** Progress goes to the sender of its request, so that it cannot arrive after the response. */
  #takerOf({ method, params }: RpcMessage): Take | undefined {
    const waiting = [...this.#waiting.values()]
    const token = method === 'notifications/progress' ? params?.progressToken : undefined
    const asked = token === undefined ? undefined : waiting.find(({ progress }) => progress === token)
    return asked?.take ?? this.#listener ?? waiting.at(-1)?.take
  }

  #ended(): void {
    const waiting = [...this.#waiting]
    this.#end()
    for (const [id, { take }] of waiting) take(rpcError(id, rpcErrorCodes.server, 'The server has ended.'))
  }

  #end(): void {
    this.#isClosed = true
    this.#waiting.clear()
    this.#unheard = []
    for (const tell of [...this.#onClosed]) tell()
    this.#onClosed.clear()
  }
}
