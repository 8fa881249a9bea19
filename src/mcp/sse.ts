import {
  type AuthInfo,
  type JSONRPCMessage,
  type MessageExtraInfo,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server'
import type { Actor } from '../auth/actor.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import { AppError } from '../errors.ts'
import type { Arguments, Catalogue, Selection } from './catalogue.ts'

const STREAMS_AT_ONCE = 10
/** Well below every idle timeout on the way: ours is 30 s. */
export const KEEP_ALIVE_MS = 5_000
/** A token that runs out sends no event, so open streams are looked at now and then. */
const LOOK_AGAIN_MS = 60_000
/** A reader that lets more than this pile up is cut off: memory belongs to those who read. */
const MOST_QUEUED = 1 << 20

const encoder = new TextEncoder()
const KEEP_ALIVE = encoder.encode(': keep-alive\n\n')
const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }

/** Whose stream it is; the secret is kept to look again when rights may have changed. */
export interface Owner {
  readonly credentialId: string
  readonly userId: string | null
  readonly secret: string
}

export interface Stream {
  readonly owner: Owner
  keepAlive(): void
  close(): void
}

/** One connection of the HTTP+SSE transport: events go out on the stream, messages come in by POST. */
export class Session implements Transport, Stream {
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
    private readonly onEnd: (session: Session) => void,
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
    this.#write(encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`))
  }

  keepAlive(): void {
    this.#write(KEEP_ALIVE)
  }

  /** Everything but calls is the SDK's. */
  receive(message: JSONRPCMessage, authInfo: AuthInfo): void {
    if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId }
      if (requestId !== undefined) this.#running.get(requestId)?.abort()
    }
    this.onmessage?.(message, { authInfo })
  }

  /** Runs one call and sends its answer, unless the client cancelled it or left. */
  async run(id: RequestId, work: (signal: AbortSignal) => Promise<JSONRPCMessage>): Promise<void> {
    const abort = new AbortController()
    this.#running.set(id, abort)
    try {
      const answer = await work(abort.signal)
      if (!abort.signal.aborted) await this.send(answer)
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
      // The client was faster.
    }
    for (const abort of this.#running.values()) abort.abort()
    this.onEnd(this)
    this.onclose?.()
  }
}

/** A stream that the SDK writes (`subscriptions/listen`), with an end that we see and can bring about. */
export function relay(source: Response, owner: Owner, onEnd: (stream: Stream) => void): { stream: Stream; response: Response } {
  const reader = (source.body as ReadableStream<Uint8Array>).getReader()
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    void reader.cancel().catch(() => undefined)
    onEnd(stream)
  }
  // Cancelling the reader ends the read that is under way, and with it the answer.
  const stream: Stream = { owner, keepAlive: () => undefined, close: end }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (value) controller.enqueue(value)
      if (!done) return
      end()
      controller.close()
    },
    cancel: end,
  })
  return { stream, response: new Response(body, { status: source.status, headers: source.headers }) }
}

interface Open {
  /** Of the tools it was told about. */
  key: string
  readonly selection: Selection
  lookedAt: number
  /** Tells the client that its tools are others now. */
  readonly changed: () => void
}

/** The open streams: kept alive, counted for each token, and closed as soon as their token no longer holds. */
export class Streams {
  readonly #open = new Map<Stream, Open>()
  readonly #unwatch: () => void
  readonly #ticking: Timer

  constructor(
    private readonly auth: Authenticator,
    private readonly catalogue: Catalogue,
  ) {
    this.#unwatch = auth.watch((userId) => {
      for (const [stream, open] of this.#open) if (!userId || stream.owner.userId === userId) void this.#lookAgain(stream, open)
    })
    this.#ticking = setInterval(() => this.#tick(), KEEP_ALIVE_MS)
    this.#ticking.unref()
  }

  get size(): number {
    return this.#open.size
  }

  selectionOf(stream: Stream): Selection | undefined {
    return this.#open.get(stream)?.selection
  }

  requireRoom({ credentialId }: Owner): void {
    let open = 0
    for (const { owner } of this.#open.keys()) if (owner.credentialId === credentialId) open++
    if (open >= STREAMS_AT_ONCE)
      throw new AppError('rate_limited', `This token has ${open} streams open, the most there may be. Close one first.`, { retryAfter: 5 })
  }

  add(stream: Stream, actor: Actor, selection: Selection, changed: () => void = () => undefined): void {
    this.#open.set(stream, { key: this.catalogue.key(actor, selection), selection, lookedAt: Date.now(), changed })
  }

  delete(stream: Stream): void {
    this.#open.delete(stream)
  }

  close(): void {
    this.#unwatch()
    clearInterval(this.#ticking)
    for (const stream of [...this.#open.keys()]) stream.close()
  }

  #tick(): void {
    const old = Date.now() - LOOK_AGAIN_MS
    for (const [stream, open] of this.#open) {
      stream.keepAlive()
      if (open.lookedAt <= old) void this.#lookAgain(stream, open)
    }
  }

  async #lookAgain(stream: Stream, open: Open): Promise<void> {
    open.lookedAt = Date.now()
    try {
      const actor = await this.auth.look(stream.owner.secret)
      const key = this.catalogue.key(actor, open.selection)
      if (key === open.key) return
      open.key = key
      open.changed()
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') stream.close()
      // The database is away: whether the token still holds is asked again with the next keep-alive.
      else open.lookedAt = 0
    }
  }
}

// ---- messages

export type Message = { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: unknown }

export interface Call {
  id: RequestId
  params: { name: string; arguments?: Arguments }
}

/** A well-formed `tools/call` request; whatever is not quite one is left to the SDK to refuse. */
export function isCall(message: Message): message is Message & Call {
  const { jsonrpc, id, method, params } = message
  if (method !== 'tools/call' || jsonrpc !== '2.0' || !(typeof id === 'string' || Number.isInteger(id))) return false
  if (typeof params !== 'object' || params === null) return false
  const { name, arguments: args = {}, task } = params as { name?: unknown; arguments?: unknown; task?: unknown }
  return typeof name === 'string' && task === undefined && typeof args === 'object' && args !== null && !Array.isArray(args)
}

export function parsed(message: Message): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(message)
  } catch {
    throw new AppError('invalid.malformed', 'This is not a JSON-RPC message.')
  }
}
