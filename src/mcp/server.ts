import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server'
import { contextOf } from '../action.ts'
import { AppError } from '../errors.ts'
import type { Guard } from '../http/guard.ts'
import { mayHear } from '../live/audience.ts'
import { KEEP_ALIVE_MS } from '../live/connections.ts'
import type { App } from '../services.ts'
import { Calls } from './calls.ts'
import { Catalogue } from './catalogue.ts'
import { callersProject } from './hooks.ts'
import { instructionsFor } from './instructions.ts'
import { type Asking, Offer } from './offer.ts'
import { authInfoOf, type Behind, type Caller, callerOf, newServer, type Sender } from './protocol.ts'
import { Requests } from './requests.ts'
import { resultOf } from './result.ts'
import { Names } from './source.ts'
import { isCall, parsed, SseConnection } from './sse.ts'
import { Streams, type Tell } from './streams.ts'
import { listen, recheck } from './subscriptions.ts'
import type { Tool } from './tool.ts'

/** Messages whose results contain the instructions, in the protocols of 2025 and 2026. */
const greetings = new Set(['initialize', 'server/discover'])

export interface Mcp {
  /** Streamable HTTP, of every revision. */
  streamable(request: Request): Promise<Response>
  /** HTTP+SSE: the stream of events. */
  openStream(request: Request): Promise<Response>
  /** HTTP+SSE: a message to the session that the stream named. */
  message(request: Request): Promise<Response>
  /** Number of open streams, for /metrics. */
  readonly streams: number
  /** Waits a moment for running calls to end, then closes every stream. */
  close(): Promise<void>
}

/** `build` creates the server behind this layer; the conformance suite passes its own. */
export const createMcp = (app: App, guard: Guard, tools: readonly Tool[], build: typeof newServer = newServer): Mcp =>
  new McpEndpoints(app, guard, tools, build)

class McpEndpoints implements Mcp {
  readonly #requests: Requests
  readonly #calls: Calls
  readonly #catalogue: Catalogue
  readonly #offer: Offer
  readonly #streams: Streams
  readonly #sessions = new Map<string, SseConnection>()
  readonly #behind: Behind
  readonly #options: { keepAliveMs: number; onerror: (error: Error) => void }
  readonly #factory: McpServerFactory
  readonly #handler: ReturnType<typeof createMcpHandler>

  constructor(
    private readonly app: App,
    private readonly guard: Guard,
    tools: readonly Tool[],
    private readonly build: typeof newServer,
  ) {
    const names = new Names()
    const catalogue = new Catalogue(tools)
    const offer = new Offer(catalogue, names)
    const calls = new Calls(app, guard, catalogue, names)
    this.#requests = new Requests(app, guard)
    this.#calls = calls
    this.#catalogue = catalogue
    this.#offer = offer
    this.#streams = new Streams(
      app.auth,
      app.bus,
      app.events,
      catalogue,
      (actor, selection) => offer.seesPrompts(actor, selection),
      (actor, event) => mayHear(app, actor, event),
      (open) => recheck(app, offer, open),
    )
    this.#behind = {
      app,
      catalogue,
      offer,
      asking: (caller) => this.#asking(caller),
      call: async (name, args, caller, signal) => resultOf(await calls.run(name, args, caller, signal)),
    }
    this.#options = {
      keepAliveMs: KEEP_ALIVE_MS,
      onerror: (error) => app.log.debug('mcp', { error: error.message }),
    }
    this.#factory = ({ era, authInfo }) => {
      const { instructions } = callerOf(authInfo)
      return build(this.#behind, era === 'modern' ? 'listen' : 'none', { instructions })
    }
    this.#handler = createMcpHandler(this.#factory, this.#options)
  }

  get streams(): number {
    return this.#streams.size
  }
  streamable(request: Request): Promise<Response> {
    return this.#requests.answer(request, async (sender, url) => {
      if (request.method !== 'POST') {
        const allow = url.pathname === '/mcp/sse' ? 'GET, POST' : 'POST'
        throw new AppError('method_not_allowed', `${url.pathname} takes ${allow}, not ${request.method}.`, { allow })
      }
      const selection = this.#catalogue.selection(url.searchParams)
      const message = await this.#requests.read(request)
      const asking = { ...(await this.#requests.refreshed(sender)), selection }
      if (message.method !== 'tools/call') this.#requests.count(asking)
      const greets = greetings.has(String(message.method))
      const caller = greets ? { ...asking, instructions: await this.#instructions(asking) } : asking
      if (message.method !== 'subscriptions/listen')
        return this.#handler.fetch(request, { authInfo: authInfoOf(caller), parsedBody: message })
      const surroundings = {
        offer: this.#offer,
        requests: this.#requests,
        streams: this.#streams,
        factory: this.#factory,
        options: this.#options,
        asking: (asker: Caller) => this.#asking(asker),
      }
      return listen(surroundings, request, message, caller)
    })
  }

  openStream(request: Request): Promise<Response> {
    return this.#requests.answer(request, (sender, url) => this.#open(request, sender, url))
  }

  message(request: Request): Promise<Response> {
    return this.#requests.answer(request, async (sender, url) => {
      const session = this.#sessions.get(url.searchParams.get('sessionId') ?? '')
      const selection = session && this.#streams.of(session)?.selection
      if (!selection || session.owner.credentialId !== sender.owner.credentialId)
        throw new AppError('not_found', 'This token has no such session. Open the stream again: GET /mcp/sse.')
      const message = await this.#requests.read(request)
      const caller = { ...(await this.#requests.refreshed(sender)), selection }
      if (isCall(message))
        void session.run(message.id, (signal) => this.#calls.respond(message.id, message.params, caller, signal))
      else {
        this.#requests.count(caller)
        session.receive(parsed(message), authInfoOf(caller))
      }
      return new Response('Accepted', { status: 202 })
    })
  }

  async close(): Promise<void> {
    this.#requests.stop()
    await this.#calls.drain()
    this.#streams.close()
    await this.#handler.close()
  }

  #asking({ actor, selection, requestId, from, userAgent }: Caller): Asking {
    return { ctx: contextOf(this.app, actor, { requestId, from, userAgent }), actor, selection }
  }

  async #instructions(caller: Caller): Promise<string> {
    const listed = this.#catalogue.list(caller.actor, caller.selection)
    const [project] = await callersProject.call(this.#asking(caller).ctx, {})
    return instructionsFor({
      tools: new Set(listed.map(({ name }) => name)),
      writes: listed.some(({ annotations }) => annotations?.readOnlyHint === false),
      project: project?.key,
      expiresAt: caller.actor.expiresAt,
    })
  }

  async #open(request: Request, sender: Sender, url: URL): Promise<Response> {
    const { onerror } = this.#options
    const selection = this.#catalogue.selection(url.searchParams)
    this.#requests.count(sender)
    const instructions = await this.#instructions({ ...sender, selection })
    this.#streams.requireRoom(sender.owner)
    const session = new SseConnection(sender.owner, '/mcp/messages', () => {
      this.#streams.delete(session)
      this.#sessions.delete(session.sessionId)
      // A client that does not read does not notice the end either, so the connection gets its idle timeout back.
      this.guard.server?.timeout(request, 5)
    })
    const tell: Tell = {
      tools: () => void server.sendToolListChanged().catch(onerror),
      prompts: () => void server.sendPromptListChanged().catch(onerror),
      updated: (uri) => void server.sendResourceUpdated({ uri }).catch(onerror),
      status: (data, level = 'info') =>
        void server.sendLoggingMessage({ level, logger: 'tutti', data }, session.sessionId).catch(onerror),
    }
    const open = this.#streams.add(session, sender.actor, selection, tell)
    const server = this.build(this.#behind, 'stream', { instructions, open })
    server.onerror = onerror
    this.#sessions.set(session.sessionId, session)
    await server.connect(session).catch((error: unknown) => {
      void session.close()
      throw error
    })
    this.guard.server?.timeout(request, 0)
    request.signal.addEventListener('abort', () => void session.close(), { once: true })
    if (request.signal.aborted) void session.close()
    return session.response
  }
}
