import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server'
import { contextOf } from '../action.ts'
import type { Actor } from '../auth/actor.ts'
import { AppError } from '../errors.ts'
import type { Guard } from '../http/guard.ts'
import { KEEP_ALIVE_MS } from '../live/stream-connections.ts'
import type { App } from '../services.ts'
import { UserNames } from './attribution.ts'
import { ToolCalls } from './calls.ts'
import { ToolCatalogue } from './catalogue.ts'
import { ConnectionReports, chosenConnection, connectionOf, newConnection } from './connection.ts'
import { isDirectCall, sendWhenDone, WholeResponse } from './direct-calls.ts'
import { HANDOVER_PATH, Handover } from './handover.ts'
import { callersProject } from './hooks.ts'
import { instructionsFor } from './instructions.ts'
import { forwardToMachine } from './local-mcp.ts'
import { authInfoOf, callerOf, type McpBackend, type MessageSender, newServer, type ToolCaller } from './protocol.ts'
import { McpRequests } from './requests.ts'
import { type McpCaller, ResourcesAndPrompts } from './resources-and-prompts.ts'
import { toCallResult } from './result.ts'
import { EventStream } from './streams/event-stream.ts'
import { isToolCall, parseMessage, SseConnection } from './streams/sse.ts'
import { McpStreams, type StreamNotifier } from './streams/streams.ts'
import { dropUnreadable, mayReceive, openSubscription, promptNames } from './streams/subscriptions.ts'
import type { Tool } from './tool.ts'

/** Messages whose results contain the instructions, in the protocols of 2025 and 2026. */
const greetings = new Set(['initialize', 'server/discover'])

export interface Mcp {
  /** Streamable HTTP, of every revision. */
  streamable(request: Request): Promise<Response>
  /** HTTP+SSE: the stream of events. */
  openStream(request: Request): Promise<Response>
  /** HTTP+SSE: a message to the session that the stream named, here or on another instance. */
  message(request: Request): Promise<Response>
  /** HTTP+SSE: a message that landed on another instance. */
  handedOver(request: Request): Promise<Response>
  /** Streamable HTTP to an MCP server of a machine: `/mcp/tunnels/:slug/:server`. */
  local(request: Request, place: { slug: string; server: string }): Promise<Response>
  /** Number of open streams, for /metrics. */
  readonly streams: number
  /** Waits a moment for running calls to end, then closes every stream. */
  close(): Promise<void>
}

/** `build` creates the server behind this layer; the conformance suite passes its own. */
export const createMcp = (app: App, guard: Guard, tools: readonly Tool[], build: typeof newServer = newServer): Mcp =>
  new McpEndpoints(app, guard, tools, build)

class McpEndpoints implements Mcp {
  readonly #requests: McpRequests
  readonly #reports: ConnectionReports
  readonly #calls: ToolCalls
  readonly #catalogue: ToolCatalogue
  readonly #offer: ResourcesAndPrompts
  readonly #streams: McpStreams
  readonly #handover: Handover
  readonly #sessions = new Map<string, SseConnection>()
  /** The streams whose end is the end of a connection. */
  readonly #connected = new Set<EventStream>()
  readonly #behind: McpBackend
  readonly #options: { keepAliveMs: number; onerror: (error: Error) => void }
  readonly #factory: McpServerFactory
  readonly #handler: ReturnType<typeof createMcpHandler>

  constructor(
    private readonly app: App,
    private readonly guard: Guard,
    tools: readonly Tool[],
    private readonly build: typeof newServer,
  ) {
    const names = new UserNames()
    const catalogue = new ToolCatalogue(tools)
    const offer = new ResourcesAndPrompts(catalogue, names)
    const calls = new ToolCalls(app, guard, catalogue, names)
    this.#requests = new McpRequests(app, guard)
    this.#handover = new Handover(app)
    this.#reports = new ConnectionReports(app)
    this.#calls = calls
    this.#catalogue = catalogue
    this.#offer = offer
    this.#streams = new McpStreams(
      app,
      catalogue,
      (actor, selection) => offer.seesPrompts(actor, selection),
      (actor, event) => mayReceive(app, actor, event),
      (actor) => promptNames(app, actor),
      (open) => dropUnreadable(app, offer, open),
      (actor) => app.live.presence.trackStream(actor),
    )
    this.#behind = {
      app,
      catalogue,
      offer,
      asking: (caller) => this.#asking(caller),
      call: async (name, args, caller, signal) => toCallResult(await calls.run(name, args, caller, signal)),
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
      const connection = connectionOf(request)
      if (request.method === 'DELETE' && connection) return this.#forget(sender, connection)
      if (request.method === 'GET' && connection) return this.#stand(request, sender, url, connection)
      if (request.method !== 'POST') {
        // The other methods need the name of a connection.
        const allow = url.pathname === '/mcp/sse' ? 'GET, POST' : 'POST'
        throw new AppError('method_not_allowed', `${url.pathname} accepts ${allow}, not ${request.method}.`, { allow })
      }
      const selection = this.#catalogue.selection(url.searchParams)
      const message = await this.#requests.read(request)
      const asking = { ...(await this.#requests.withFreshRights(sender)), selection, connection }
      if (message.method !== 'tools/call') this.#requests.count(asking)
      else this.#calls.requireScope(asking.actor, message.params)
      await this.#reports.client(asking.actor, message)
      if (this.build === newServer && isDirectCall(request, message))
        return sendWhenDone(this.#calls.respond(message.id, message.params, asking, request.signal))
      const greets = greetings.has(String(message.method))
      const caller = greets ? { ...asking, instructions: await this.#instructions(asking) } : asking
      if (message.method !== 'subscriptions/listen') {
        const response = await this.#handler.fetch(request, { authInfo: authInfoOf(caller), parsedBody: message })
        if (message.method === 'initialize' && response.ok) response.headers.set('mcp-session-id', newConnection())
        return response
      }
      const surroundings = {
        offer: this.#offer,
        requests: this.#requests,
        streams: this.#streams,
        factory: this.#factory,
        options: this.#options,
        asking: (asker: ToolCaller) => this.#asking(asker),
      }
      return openSubscription(surroundings, request, message, caller)
    })
  }

  openStream(request: Request): Promise<Response> {
    return this.#requests.answer(request, async (sender, url) => {
      const connection = connectionOf(request)
      return connection ? this.#stand(request, sender, url, connection) : this.#open(request, sender, url)
    })
  }

  message(request: Request): Promise<Response> {
    return this.#requests.answer(request, async (sender, url) => {
      const sessionId = url.searchParams.get('sessionId') ?? ''
      const handedOver = !this.#sessions.has(sessionId) && (await this.#handover.send(request, sessionId, sender))
      return handedOver || this.#accept(request, sender, sessionId)
    })
  }

  async handedOver(request: Request): Promise<Response> {
    const sessionId = new URL(request.url).searchParams.get('sessionId') ?? ''
    const client = this.#handover.received(request, sessionId)
    if (!client) throw new AppError('not_found', `There is no operation at ${HANDOVER_PATH}.`)
    this.guard.setClientAddress(request, client.ip)
    // Never on to a third instance.
    return this.#requests.answer(request, (sender) => this.#accept(request, sender, sessionId), '/mcp/messages')
  }

  local(request: Request, place: { slug: string; server: string }): Promise<Response> {
    return forwardToMachine(this.app, this.guard, this.#requests, request, place)
  }

  async close(): Promise<void> {
    this.#requests.stop()
    await this.#calls.drain()
    this.#streams.close()
    await this.#reports.drain()
    await this.#handler.close()
  }

  /** Takes a message for a session of this process. */
  async #accept(request: Request, sender: MessageSender, sessionId: string): Promise<Response> {
    const session = this.#sessions.get(sessionId)
    const selection = session && this.#streams.of(session)?.selection
    if (!selection || session.owner.credentialId !== sender.owner.credentialId)
      throw new AppError('not_found', 'This token has no such session. Open the stream again: GET /mcp/sse.')
    const message = await this.#requests.read(request)
    const caller = { ...(await this.#requests.withFreshRights(sender)), selection, connection: session.connection }
    await this.#reports.client(caller.actor, message)
    if (isToolCall(message))
      void session
        .run(message.id, (signal) => this.#calls.respond(message.id, message.params, caller, signal))
        // A call that ends after its connection may have claimed a task for it.
        .finally(() => session.isClosed && this.#ended(session, caller.actor))
    else {
      this.#requests.count(caller)
      session.receive(parseMessage(message), authInfoOf(caller))
    }
    return new WholeResponse('Accepted', { status: 202 })
  }

  /** A client of 2025-x ends its connection. */
  async #forget({ actor }: MessageSender, connection: string): Promise<Response> {
    await this.#reports.connection(actor, connection, false)
    return new Response(null, { status: 204 })
  }

  /** A stream has ended. Its client may have replaced it by another one of the same name already. */
  #ended({ connection, owner }: EventStream, actor: Actor): void {
    for (const other of this.#connected)
      if (other.connection === connection && other.owner.credentialId === owner.credentialId) return
    void this.#reports.connection(actor, connection, false)
  }

  #asking({ actor, selection, requestId, from, userAgent, connection }: ToolCaller): McpCaller {
    return { ctx: contextOf(this.app, actor, { requestId, from, userAgent, connection }), actor, selection }
  }

  async #instructions(caller: ToolCaller): Promise<string> {
    const listed = this.#catalogue.list(caller.actor, caller.selection)
    const [project] = await callersProject.call(this.#asking(caller).ctx, {})
    return instructionsFor({
      tools: new Set(listed.map(({ name }) => name)),
      writes: listed.some(({ annotations }) => annotations?.readOnlyHint === false),
      project: project?.key,
      expiresAt: caller.actor.expiresAt,
    })
  }

  async #open(request: Request, sender: MessageSender, url: URL): Promise<Response> {
    const { onerror } = this.#options
    const selection = this.#catalogue.selection(url.searchParams)
    this.#requests.count(sender)
    const instructions = await this.#instructions({ ...sender, selection })
    using _following = await this.#streams.follow()
    this.#streams.requireRoom(sender.owner)
    const chosen = chosenConnection(url)
    const suffix = this.#handover.suffixFor(sender.owner.credentialId)
    const session = new SseConnection(sender.owner, chosen ?? newConnection(), '/mcp/messages', suffix, () => {
      this.#sessions.delete(session.sessionId)
      this.#left(request, session, sender.actor)
    })
    const tell: StreamNotifier = {
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
    return this.#stay(request, session, sender.actor)
  }

  /** A client of 2025-x listens. When this stream ends, its connection does. */
  async #stand(request: Request, sender: MessageSender, url: URL, connection: string): Promise<Response> {
    const selection = this.#catalogue.selection(url.searchParams)
    this.#requests.count(sender)
    using _following = await this.#streams.follow()
    this.#streams.requireRoom(sender.owner)
    const stream = new EventStream(sender.owner, connection, () => this.#left(request, stream, sender.actor))
    const tools = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    const nothing = () => undefined
    const tell: StreamNotifier = { tools: () => stream.sendJson(tools), prompts: nothing, updated: nothing }
    this.#streams.add(stream, sender.actor, selection, tell)
    stream.keepAlive()
    return this.#stay(request, stream, sender.actor)
  }

  /** Keeps a stream open until its client goes. */
  async #stay(request: Request, stream: EventStream, actor: Actor): Promise<Response> {
    this.#connected.add(stream)
    this.guard.server?.timeout(request, 0)
    request.signal.addEventListener('abort', () => stream.close(), { once: true })
    if (request.signal.aborted) stream.close()
    else await this.#reports.connection(actor, stream.connection, true)
    return stream.response
  }

  #left(request: Request, stream: EventStream, actor: Actor): void {
    this.#streams.delete(stream)
    this.#connected.delete(stream)
    this.#ended(stream, actor)
    // A client that does not read does not notice the end either, so the connection gets its idle timeout back.
    this.guard.server?.timeout(request, 5)
  }
}
