import { AppError } from '../../../src/errors.ts'
import { splitLines } from '../../../src/text/lines.ts'
import { version } from '../../../src/version.ts'
import { mcpCredential } from '../../agents/mcp-token.ts'
import type { ServerChoice } from '../../api/profiles.ts'
import { isUnsent } from '../../copy/offline/reachability.ts'
import { safeLine } from '../../terminal/output.ts'
import { createOffline, type OfflineMode } from './mcp-offline.ts'

/**
 * A bridge for clients that only speak stdio: sends each line to the server and prints each message from its SSE
 * connection as a line. Standard output carries only the protocol; messages for people go to standard error.
 */
export async function runBridge({
  toolsets,
  readonly,
  ...where
}: ServerChoice & { toolsets?: string; readonly?: boolean }): Promise<void> {
  const { server, token, id } = await mcpCredential(where)
  if (process.stdin.isTTY)
    console.error(
      'tutti: this command speaks MCP with programs, one message per line. ' +
        'Press Ctrl-D to end it. To set up a program: tutti connect',
    )
  const address = new URL('/mcp/sse', server)
  // Distinguishes several windows that share a token. The id stays the same when the connection is reopened.
  address.searchParams.set('connection', crypto.randomUUID())
  if (toolsets) address.searchParams.set('toolsets', toolsets)
  if (readonly) address.searchParams.set('readonly', '1')
  // The client has closed its end.
  process.stdout.on('error', () => process.exit(0))
  const only = { toolsets: toolsets?.split(',').filter(Boolean) ?? [], readonly: readonly === true }
  const connection = new ServerConnection(address, token, createOffline(where, id, only))
  for await (const line of splitLines(process.stdin)) if (line.trim()) await connection.send(line)
  await connection.close()
}

type Id = string | number
interface Message {
  id?: Id
  method?: string
  params?: Record<string, unknown> & { uri?: string }
}

const RETRY_MS = [0, 500, 1000, 2000, 5000]
/** Shorter with a copy, which can answer instead. */
const RETRY_WITH_COPY_MS = [0, 500, 1000]
/** How long to wait for outstanding responses after the client has closed its end. */
const DRAIN_MS = 10_000
/** Id of requests that repeat the introduction; their responses are not passed on. */
const REPEATED_ID = 'tutti-initialize-again'

const writeMessage = (message: object | string): void =>
  void process.stdout.write(
    `${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
  )
const sendError = (id: Id | null, code: number, message: string): void => writeMessage({ id, error: { code, message } })

class ServerConnection {
  readonly #abort = new AbortController()
  #endpoint: Promise<URL> | undefined
  #streams = 0
  /** Requests without a response yet, and whether the server has accepted them. */
  readonly #open = new Map<Id, boolean>()
  /** How the client introduced itself. Repeated to a server that was restarted. */
  #introduction: { initialize?: Message; initialized?: string } = {}
  /** Resources that the client subscribed to. Also repeated. */
  readonly #watched = new Map<string | undefined, Message>()

  /** The copy responds, because the server cannot be reached. */
  #away = false
  /** Requests whose responses are needed again without the server. */
  readonly #asked = new Map<Id, string>()

  constructor(
    private readonly address: URL,
    private readonly token: string,
    private readonly offline?: OfflineMode,
  ) {}

  /** The name tells the server that the agent can run `tutti`. */
  get #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.token}`, 'user-agent': `tutti/${version}` }
  }

  async close(): Promise<void> {
    for (const until = Date.now() + DRAIN_MS; this.#open.size > 0 && Date.now() < until; ) await Bun.sleep(10)
    this.#abort.abort()
  }

  /** Sends messages in order and reconnects to a server that restarts. A failed request gets an error response. */
  async send(line: string): Promise<void> {
    let message: Message
    try {
      message = JSON.parse(line) as Message
    } catch {
      return sendError(null, -32_700, 'Parse error')
    }
    if (message === null || typeof message !== 'object') return sendError(null, -32_600, 'Invalid request')
    const { id, method } = message
    if (id !== undefined && (method === 'initialize' || method === 'tools/list')) this.#asked.set(id, method)
    const failed = await this.#deliver(line, method === undefined ? undefined : id)
    const isTaken = failed !== undefined && this.offline !== undefined && isUnsent(failed)
    if (isTaken) this.#respond(message)
    if (!failed || isTaken) {
      if (method === 'initialize') this.#introduction = { initialize: message }
      if (method === 'notifications/initialized') this.#introduction.initialized = line
      if (method === 'resources/subscribe') this.#watched.set(message.params?.uri, message)
      if (method === 'resources/unsubscribe') this.#watched.delete(message.params?.uri)
      return
    }
    console.error(`tutti: ${failed.message}`)
    // A notification has no response.
    if (id !== undefined && method !== undefined) sendError(id, -32_000, failed.message)
  }

  /** Responds from the copy. The introduction is repeated to the server once it can be reached. */
  #respond(message: Message): void {
    if (!this.#away) {
      console.error('tutti: the server cannot be reached; using the copy on this computer')
      this.#away = true
      void this.#reconnect()
    }
    const answer = this.offline?.agent.respond(message)
    if (answer && message.id !== undefined) writeMessage({ id: message.id, ...answer })
  }

  /** Tells the client that all tools work again, and sends what was queued. */
  #back(): void {
    if (!this.#away) return
    this.#away = false
    writeMessage({ method: 'notifications/tools/list_changed' })
    this.offline?.send().catch((error: Error) => console.error(`tutti: ${error.message}`))
  }

  async #deliver(line: string, id: Id | undefined): Promise<Error | undefined> {
    let failed: Error | undefined
    for (const wait of this.#away ? [0] : this.offline ? RETRY_WITH_COPY_MS : RETRY_MS) {
      if (wait > 0) await Bun.sleep(wait)
      try {
        const endpoint = await this.#stream()
        if (id !== undefined) this.#open.set(id, false)
        await this.#post(endpoint, line)
        if (id === undefined || !this.#open.has(id)) return undefined
        if (!this.#endpoint) throw brokenConnection()
        this.#open.set(id, true)
        return undefined
      } catch (error) {
        failed = error as Error
        if (id !== undefined) this.#open.delete(id)
        if (error instanceof AppError && error.code !== 'unavailable') break
        this.#endpoint = undefined
      }
    }
    return failed
  }

  /** Returns where to send messages. After a refused connection, the next message tries again. */
  async #stream(): Promise<URL> {
    this.#endpoint ??= this.#connect()
    try {
      return await this.#endpoint
    } catch (error) {
      this.#endpoint = undefined
      throw error
    }
  }

  async #post(endpoint: URL, body: string): Promise<void> {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers },
      body,
      redirect: 'manual',
      signal: this.#abort.signal,
    }).catch((error: { code?: string }) => {
      throw isUnsent(error) ? error : brokenConnection()
    })
    if (!response.ok) throw await responseError(response)
  }

  async #connect(): Promise<URL> {
    const stream = ++this.#streams
    const response = await fetch(this.address, {
      headers: { accept: 'text/event-stream', ...this.#headers },
      // Messages and the token go only to the server that the user named.
      redirect: 'manual',
      signal: this.#abort.signal,
    })
    if (!response.ok || !response.body) throw await responseError(response)
    const { promise, resolve, reject } = Promise.withResolvers<URL>()
    const ended = (error?: unknown) =>
      reject(error instanceof AppError ? error : new AppError('unavailable', 'The server closed the connection.'))
    void this.#read(response.body, resolve, stream).then(() => ended(), ended)
    const endpoint = await promise
    const { initialize, initialized } = this.#introduction
    const again = (message: Message) => this.#post(endpoint, JSON.stringify({ ...message, id: REPEATED_ID }))
    if (initialize) await again(initialize)
    if (initialized) await this.#post(endpoint, initialized)
    for (const message of this.#watched.values()) await again(message)
    this.#back()
    return endpoint
  }

  async #read(body: ReadableStream<Uint8Array>, opened: (endpoint: URL) => void, stream: number): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of body) {
        rest += decoder.decode(chunk, { stream: true })
        const events = rest.split('\n\n')
        rest = events.pop() as string
        for (const event of events) {
          const name = eventField(event, 'event')
          const data = eventField(event, 'data')
          if (name === 'endpoint' && data) opened(this.#sameOrigin(data))
          else if (data) this.#tell(data)
        }
      }
    } finally {
      // A stream that was already replaced does not count.
      if (stream === this.#streams) this.#lost()
    }
  }

  #sameOrigin(path: string): URL {
    const { origin } = this.address
    const endpoint = new URL(path, this.address)
    if (endpoint.origin !== origin)
      throw new AppError('upstream_failed', `${origin} asked to send messages to another server, which is not allowed.`)
    return endpoint
  }

  #lost(): void {
    this.#endpoint = undefined
    for (const [id, taken] of this.#open) {
      if (!taken) continue
      this.#open.delete(id)
      sendError(id, -32_000, brokenConnection().message)
    }
    void this.#reconnect()
  }

  /**
   * Reopens the stream, so that a client that sends nothing still gets notifications. Does not keep the process alive.
   */
  async #reconnect(): Promise<void> {
    for (let wait = 500; ; wait = Math.min(wait * 2, 30_000)) {
      await new Promise<void>((resolve) => void setTimeout(resolve, wait).unref())
      if (this.#endpoint || this.#abort.signal.aborted) return
      const refused = await this.#stream().catch(
        (error: unknown) => error instanceof AppError && error.code !== 'unavailable',
      )
      if (refused === true) return
    }
  }

  #tell(data: string): void {
    const { id, method, result } = JSON.parse(data) as Message & { result?: object }
    if (id === REPEATED_ID) return
    const asked = id === undefined ? undefined : this.#asked.get(id)
    if (asked !== undefined && result) this.offline?.agent.remember(asked, result)
    if (id !== undefined) this.#asked.delete(id)
    if (id !== undefined && method === undefined) this.#open.delete(id)
    writeMessage(data)
  }
}

/** Splits at line feeds only: other line separators may occur inside JSON strings. */
const eventField = (event: string, name: string): string | undefined =>
  event
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .trimStart()

/** The server may or may not have carried out the request, so it is not sent again. */
const brokenConnection = () =>
  new AppError(
    'upstream_failed',
    'The connection broke before the server responded. Check whether the request was carried out, or try again.',
  )

async function responseError(response: Response): Promise<AppError> {
  const body = (await response.json().catch(() => undefined)) as { detail?: string } | undefined
  const detail = safeLine(body?.detail ?? `The server returned status ${response.status}.`)
  if (response.status === 401)
    return new AppError(
      'unauthenticated',
      `${detail} To replace a stored token that has expired or was revoked: tutti connect <program> --stdio --yes`,
    )
  const again = response.status === 404 || response.status >= 500
  return new AppError(again ? 'unavailable' : 'upstream_failed', detail)
}
