import { AppError } from '../../src/errors.ts'
import { linesOf } from '../../src/text/lines.ts'
import { mcpCredential, type Where } from '../agents/mcp-token.ts'
import { plain } from '../terminal/output.ts'

/**
 * A bridge for clients that only speak stdio: each line goes to the server over one SSE connection, each message comes back as a line.
 * Standard output is the protocol's alone; what people should read goes to standard error.
 */
export async function bridge({
  toolsets,
  readonly,
  ...where
}: Where & { toolsets?: string; readonly?: boolean }): Promise<void> {
  const { server, token } = await mcpCredential(where)
  if (process.stdin.isTTY)
    console.error(
      'tutti: this speaks MCP with programs, one message a line. Ctrl-D ends it; tutti connect sets a program up.',
    )
  const address = new URL('/mcp/sse', server)
  if (toolsets) address.searchParams.set('toolsets', toolsets)
  if (readonly) address.searchParams.set('readonly', '1')
  // A client that has gone does not read any more.
  process.stdout.on('error', () => process.exit(0))
  const connection = new Connection(address, token)
  for await (const line of linesOf(process.stdin)) if (line.trim()) await connection.send(line)
  await connection.close()
}

type Id = string | number
interface Message {
  id?: Id
  method?: string
  params?: { uri?: string }
}

const RETRY_MS = [0, 500, 1000, 2000, 5000]
/** For answers that are still to come when the client has closed its end. */
const LAST_ANSWERS_MS = 10_000
const OPENING = 'tutti-initialize-again'

const say = (message: object | string): void =>
  void process.stdout.write(
    `${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
  )
const sayError = (id: Id | null, code: number, message: string): void => say({ id, error: { code, message } })

class Connection {
  readonly #abort = new AbortController()
  #endpoint: Promise<URL> | undefined
  #streams = 0
  /** Requests that the client waits for, and whether the server has taken them. */
  readonly #open = new Map<Id, boolean>()
  /** How the client introduced itself, which a server that was restarted does not know any more. */
  #introduction: { initialize?: Message; initialized?: string } = {}
  /** What it watches, which that server does not know either. */
  readonly #watched = new Map<string | undefined, Message>()

  constructor(
    private readonly address: URL,
    private readonly token: string,
  ) {}

  async close(): Promise<void> {
    for (const until = Date.now() + LAST_ANSWERS_MS; this.#open.size > 0 && Date.now() < until; ) await Bun.sleep(10)
    this.#abort.abort()
  }

  /** In the order they came. A server that restarts meanwhile is found again; what it cannot do is told to the client as an answer. */
  async send(line: string): Promise<void> {
    let message: Message
    try {
      message = JSON.parse(line) as Message
    } catch {
      return sayError(null, -32_700, 'Parse error')
    }
    if (message === null || typeof message !== 'object') return sayError(null, -32_600, 'Invalid request')
    const { id, method } = message
    const failed = await this.#deliver(line, method === undefined ? undefined : id)
    if (!failed) {
      if (method === 'initialize') this.#introduction = { initialize: message }
      if (method === 'notifications/initialized') this.#introduction.initialized = line
      if (method === 'resources/subscribe') this.#watched.set(message.params?.uri, message)
      if (method === 'resources/unsubscribe') this.#watched.delete(message.params?.uri)
      return
    }
    console.error(`tutti: ${failed.message}`)
    // A notification has no answer.
    if (id !== undefined && method !== undefined) sayError(id, -32_000, failed.message)
  }

  async #deliver(line: string, id: Id | undefined): Promise<Error | undefined> {
    let failed: Error | undefined
    for (const wait of RETRY_MS) {
      if (wait > 0) await Bun.sleep(wait)
      try {
        const endpoint = await this.#stream()
        if (id !== undefined) this.#open.set(id, false)
        await this.#post(endpoint, line)
        if (id === undefined || !this.#open.has(id)) return undefined
        if (!this.#endpoint) throw broken()
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

  /** One that was refused is asked for again with the next message. */
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
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.token}` },
      body,
      redirect: 'manual',
      signal: this.#abort.signal,
    }).catch((error: { code?: string }) => {
      throw error.code === 'ConnectionRefused' ? error : broken()
    })
    if (!response.ok) throw await refusalOf(response)
  }

  async #connect(): Promise<URL> {
    const stream = ++this.#streams
    const response = await fetch(this.address, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${this.token}` },
      // What an agent says, and the token, go where the user said and nowhere else.
      redirect: 'manual',
      signal: this.#abort.signal,
    })
    if (!response.ok || !response.body) throw await refusalOf(response)
    const { promise, resolve, reject } = Promise.withResolvers<URL>()
    const ended = (error?: unknown) =>
      reject(error instanceof AppError ? error : new AppError('unavailable', 'The server has closed the connection.'))
    void this.#read(response.body, resolve, stream).then(() => ended(), ended)
    const endpoint = await promise
    const { initialize, initialized } = this.#introduction
    const again = (message: Message) => this.#post(endpoint, JSON.stringify({ ...message, id: OPENING }))
    if (initialize) await again(initialize)
    if (initialized) await this.#post(endpoint, initialized)
    for (const message of this.#watched.values()) await again(message)
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
          const name = field(event, 'event')
          const data = field(event, 'data')
          if (name === 'endpoint' && data) opened(this.#sameOrigin(data))
          else if (data) this.#tell(data)
        }
      }
    } finally {
      // One that has been replaced is nobody's loss.
      if (stream === this.#streams) this.#lost()
    }
  }

  #sameOrigin(path: string): URL {
    const { origin } = this.address
    const endpoint = new URL(path, this.address)
    if (endpoint.origin !== origin)
      throw new AppError('upstream_failed', `${origin} wants messages sent to another server, which are not.`)
    return endpoint
  }

  #lost(): void {
    this.#endpoint = undefined
    for (const [id, taken] of this.#open) {
      if (!taken) continue
      this.#open.delete(id)
      sayError(id, -32_000, broken().message)
    }
    void this.#comeBack()
  }

  /** Who says nothing still wants to hear, so the stream is opened again without being asked. It keeps nobody from ending. */
  async #comeBack(): Promise<void> {
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
    const { id, method } = JSON.parse(data) as Message
    if (id === OPENING) return
    if (id !== undefined && method === undefined) this.#open.delete(id)
    say(data)
  }
}

/** By line feeds only: what a pattern takes for the end of a line may stand inside a text. */
const field = (event: string, name: string): string | undefined =>
  event
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .trimStart()

/** Whether it was done nobody knows, so it is not sent again. */
const broken = () =>
  new AppError(
    'upstream_failed',
    'The connection broke before the server answered. See whether it was done, or try again.',
  )

async function refusalOf(response: Response): Promise<AppError> {
  const body = (await response.json().catch(() => undefined)) as { detail?: string } | undefined
  const detail = plain(body?.detail ?? `The server answered ${response.status}.`)
  if (response.status === 401)
    return new AppError(
      'unauthenticated',
      `${detail} If it was kept from before: tutti connect <program> --stdio --yes makes a new one.`,
    )
  const again = response.status === 404 || response.status >= 500
  return new AppError(again ? 'unavailable' : 'upstream_failed', detail)
}
