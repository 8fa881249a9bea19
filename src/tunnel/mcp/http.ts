import { splitLines } from '../../text/lines.ts'
import {
  isRequest,
  type McpChannel,
  type McpChannelEvents,
  parseRpcMessage,
  type RpcMessage,
  rpcError,
  rpcErrorCodes,
} from './message.ts'

/** Characters of one message of a server. */
const MOST_LINE = 8 << 20

/** A local MCP server that listens on an address of this machine (Streamable HTTP). */
export class HttpChannel implements McpChannel {
  readonly #abort = new AbortController()
  #session: string | undefined
  #version: string | undefined
  #isClosed = false

  constructor(
    private readonly url: string,
    private readonly events: McpChannelEvents,
  ) {}

  send(message: RpcMessage): void {
    void this.#post(message)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#abort.abort()
    if (this.#session === undefined) return
    const signal = AbortSignal.timeout(5000)
    void fetch(this.url, { method: 'DELETE', headers: this.#headers(), signal }).catch(() => undefined)
  }

  kill(): void {
    this.close()
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      ...(this.#version !== undefined && { 'mcp-protocol-version': this.#version }),
    }
  }

  async #post(message: RpcMessage): Promise<void> {
    try {
      const response = await fetch(this.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...this.#headers(),
        },
        body: JSON.stringify(message),
        redirect: 'error',
        signal: this.#abort.signal,
      })
      if (response.status === 404 && this.#session !== undefined) return this.#ended()
      this.#session ??= response.headers.get('mcp-session-id') ?? undefined
      const answered = await this.#receive(response)
      if (isRequest(message) && !answered.has(message.id as string))
        this.#tell(
          rpcError(message.id, rpcErrorCodes.server, `The server returned ${response.status} without a response.`),
        )
      if (message.method === 'notifications/initialized') void this.#listen()
    } catch {
      if (isRequest(message)) this.#tell(rpcError(message.id, rpcErrorCodes.server, 'The server does not respond.'))
    }
  }

  /** Reads the server's own messages. Not every server has such a stream. */
  async #listen(): Promise<void> {
    try {
      const headers = { accept: 'text/event-stream', ...this.#headers() }
      const response = await fetch(this.url, { headers, redirect: 'error', signal: this.#abort.signal })
      if (response.ok) await this.#receive(response)
    } catch {
      // Calls work without it.
    }
  }

  /** Passes on the messages of a response and returns the ids of those that are responses. */
  async #receive(response: Response): Promise<Set<unknown>> {
    const ids = new Set<unknown>()
    const take = (text: string) => {
      const message = parseRpcMessage(text)
      if (!message) return
      if (message.method === undefined) ids.add(message.id)
      const version = message.result?.protocolVersion
      if (typeof version === 'string') this.#version ??= version
      this.#tell(message)
    }
    const mediaType = response.headers.get('content-type') ?? ''
    if (!response.body || response.status === 202) return ids
    if (!mediaType.startsWith('text/event-stream')) take(await response.text())
    else for await (const data of eventsIn(response.body)) take(data)
    return ids
  }

  #tell(message: RpcMessage): void {
    if (!this.#isClosed) this.events.message(message)
  }

  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#abort.abort()
    this.events.closed()
  }
}

/** Returns the data of each event of a stream of server-sent events. */
async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = []
  for await (const given of splitLines(body, { longest: MOST_LINE })) {
    const line = given.replace(/\r$/, '')
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
    else if (line === '' && data.length > 0) {
      yield data.join('\n')
      data = []
    }
  }
}
