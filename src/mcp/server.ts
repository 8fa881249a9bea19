import {
  createMcpHandler,
  isJsonContentType,
  type McpServerFactory,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import { type Ctx, contextOf } from '../action.ts'
import { networkOf } from '../auth/limits.ts'
import { prefixes } from '../auth/secrets.ts'
import { check } from '../check.ts'
import { AppError } from '../errors.ts'
import { renewLeases } from '../features/tasks/leases.ts'
import { parseJson, readBytes } from '../http/body.ts'
import type { Guard, Seen } from '../http/guard.ts'
import { logError, problemResponse, toAppError } from '../http/problem.ts'
import { KEEP_ALIVE_MS, type Open, type Owner, relay, Streams, type Tell, unwatch, watch } from '../live/streams.ts'
import type { App } from '../services.ts'
import { type Arguments, Catalogue, refusal } from './catalogue.ts'
import { type Asking, Offer } from './offer.ts'
import { authInfoOf, type Behind, type Caller, newServer, type Sender } from './protocol.ts'
import { failure, responseOf, resultOf, success, type Told } from './result.ts'
import { Names, sourceOf } from './source.ts'
import { type Call, isCall, type Message, parsed, Session } from './sse.ts'
import { callOf, type Tool } from './tool.ts'

export interface Mcp {
  /** Streamable HTTP, of every revision. */
  streamable(request: Request): Promise<Response>
  /** HTTP+SSE: the stream of events. */
  openStream(request: Request): Promise<Response>
  /** HTTP+SSE: a message to the session that the stream named. */
  message(request: Request): Promise<Response>
  /** Open streams, for /metrics. */
  readonly streams: number
  /** Lets running calls end, for a moment, and closes every stream. */
  close(): Promise<void>
}

const CALLS_AT_ONCE = 16
const DRAIN_MS = 5_000

/** `build`: what answers behind this layer; the conformance suite brings a server of its own. */
export function createMcp(app: App, guard: Guard, tools: readonly Tool[], build: typeof newServer = newServer): Mcp {
  const catalogue = new Catalogue(tools)
  const names = new Names()
  const offer = new Offer(catalogue, names)
  const streams = new Streams(
    app.auth,
    app.bus,
    app.events,
    catalogue,
    (actor, selection) => offer.seesPrompts(actor, selection),
    recheck,
  )
  const sessions = new Map<string, Session>()
  const running = new Map<string, number>()
  let closing = false

  // ---- tools

  async function call(name: string, args: Arguments, caller: Caller, signal: AbortSignal): Promise<Told> {
    const { requestId, owner } = caller
    try {
      const wait = guard.perToken.take(owner.credentialId)
      if (wait > 0) throw guard.limited(guard.perToken, wait)
      const tool = catalogue.get(name)
      if (!tool)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Unknown tool: ${name.slice(0, 100)}. tools/list names those you have.`,
        )
      const runs = callOf(tool, args)
      const refused = refusal(tool, caller.actor, caller.selection, runs)
      if (refused) throw refused
      const input = catalogue.read(tool, args)
      const errors = check(tool.input, input)
      if (errors.length > 0) throw new AppError('invalid', errors.map((e) => e.message).join(' '), { errors })
      const ctx = contextFor(input, caller, signal)
      const answer = await oneOfFew(owner, () => tool.run(ctx, input as never))
      return success(answer, tool, input, await sourceOf(ctx, { name: tool.name, action: runs.action }, answer, names))
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown
      const error = toAppError(thrown)
      logError(app.log, error, { requestId, tool: name })
      return failure(error, name, requestId, (other) => catalogue.get(other) !== undefined)
    }
  }

  function contextFor(input: Arguments, { actor, requestId, from, userAgent }: Caller, signal: AbortSignal): Ctx {
    const { idempotencyKey, expectedVersion } = input as { idempotencyKey?: string; expectedVersion?: number }
    renewLeases({ app, actor })
    return contextOf(app, actor, { requestId, from, userAgent, idempotencyKey, expectedVersion, signal })
  }

  async function oneOfFew<T>({ credentialId }: Owner, work: () => Promise<T>): Promise<T> {
    const now = running.get(credentialId) ?? 0
    if (now >= CALLS_AT_ONCE)
      throw new AppError('rate_limited', `This token has ${now} calls running. Wait for one to end, then call again.`, {
        retryAfter: 1,
      })
    running.set(credentialId, now + 1)
    try {
      return await work()
    } finally {
      const left = (running.get(credentialId) ?? 1) - 1
      if (left > 0) running.set(credentialId, left)
      else running.delete(credentialId)
    }
  }

  // ---- what the SDK serves

  const asking = ({ actor, selection, requestId, from, userAgent }: Caller): Asking => ({
    ctx: contextOf(app, actor, { requestId, from, userAgent }),
    actor,
    selection,
  })
  const behind: Behind = {
    app,
    catalogue,
    offer,
    asking,
    call: async (name, args, caller, signal) => resultOf(await call(name, args, caller, signal)),
  }
  const onerror = (error: Error) => app.log.debug('mcp', { error: error.message })
  const factory: McpServerFactory = ({ era }) => build(behind, era === 'modern' ? 'listen' : 'none')
  const options = { keepAliveMs: KEEP_ALIVE_MS, onerror }
  const handler = createMcpHandler(factory, options)

  /** Drops what its token may no longer read from what a stream watches. */
  async function recheck({ actor, selection, watched }: Open): Promise<void> {
    const who: Asking = { ctx: contextOf(app, actor), actor, selection }
    for (const uri of [...watched.values()].flatMap((uris) => [...uris]))
      await offer.subject(uri, who).catch((error: unknown) => {
        unwatch({ watched }, uri)
        // Whoever cannot be asked is not told; the client reads it again when it wants to know.
        if (!(error instanceof ProtocolError)) logError(app.log, toAppError(error), { uri })
      })
  }

  /** `subscriptions/listen` of 2026-07-28. Each has a source of events of its own, so that none is told of what another token may see. */
  async function listen(request: Request, message: Message, caller: Caller): Promise<Response> {
    streams.requireRoom(caller.owner)
    const watched: Open['watched'] = new Map()
    const parsedBody = await readable(message, caller, watched)
    let publish: ((event: ServerEvent) => void) | undefined
    const bus: ServerEventBus = {
      publish: () => undefined,
      subscribe(listener) {
        publish = listener
        return () => {
          publish = undefined
        }
      },
    }
    const response = await createMcpHandler(factory, { ...options, bus }).fetch(request, {
      authInfo: authInfoOf(caller),
      parsedBody,
    })
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const relayed = relay(response, caller.owner, (stream) => streams.delete(stream))
    const tell: Tell = {
      tools: () => publish?.({ kind: 'tools_list_changed' }),
      prompts: () => publish?.({ kind: 'prompts_list_changed' }),
      updated: (uri) => publish?.({ kind: 'resource_updated', uri }),
    }
    streams.add(relayed.stream, caller.actor, caller.selection, tell, watched)
    return relayed.response
  }

  /** The message with only those resources that the caller may read; which they are is what the client is told first. */
  async function readable(message: Message, caller: Caller, watched: Open['watched']): Promise<Message> {
    const params = message.params as { notifications?: { resourceSubscriptions?: unknown } } | undefined
    const wanted = params?.notifications?.resourceSubscriptions
    if (!Array.isArray(wanted) || !wanted.every((uri) => typeof uri === 'string')) return message
    const resourceSubscriptions: string[] = []
    for (const uri of wanted) {
      takeRequest(caller)
      try {
        watch({ watched }, await offer.subject(uri, asking(caller)), uri)
        resourceSubscriptions.push(uri)
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
      }
    }
    return { ...message, params: { ...params, notifications: { ...params?.notifications, resourceSubscriptions } } }
  }

  // ---- who calls, and what he sends

  async function identify(request: Request, url: URL, seen: Seen): Promise<Sender> {
    if (url.searchParams.has('token') || url.searchParams.has('access_token'))
      throw new AppError(
        'unauthenticated',
        'A token in the address ends up in logs. Revoke it, make a new one and send it as `Authorization: Bearer svc_live_…`.',
      )
    // Not the cookie: a page that a person visits must not be able to act as an agent.
    const secret = request.headers.has('authorization') ? guard.credential(request) : undefined
    if (!secret)
      throw new AppError('unauthenticated', `Send an MCP token: \`Authorization: Bearer svc_live_…\`. ${HOW}`, newToken)
    if (!secret.startsWith(prefixes.mcp_live) && !secret.startsWith(prefixes.mcp_test)) {
      const what = secret.startsWith('svc_')
        ? 'An API key'
        : secret.startsWith('eyJ')
          ? 'A login session'
          : 'This credential'
      throw new AppError(
        'unauthenticated',
        `${what} does not work here; an MCP token (svc_live_… or svc_test_…) does. ${HOW}`,
        newToken,
      )
    }
    const actor = await app.auth.authenticate(secret, seen)
    const { credentialId, userId } = actor
    if (actor.kind !== 'mcp_token' || !credentialId)
      throw new AppError('unauthenticated', `This is not an MCP token. ${HOW}`, newToken)
    return {
      requestId: seen.requestId,
      from: seen,
      actor,
      userAgent: request.headers.get('user-agent'),
      owner: { credentialId, userId, secret },
    }
  }

  /** Whatever is refused before it becomes JSON-RPC is answered with a problem body. */
  async function answer(request: Request, work: (sender: Sender, url: URL) => Promise<Response>): Promise<Response> {
    const url = new URL(request.url)
    const seen = guard.seen(request)
    try {
      if (closing)
        throw new AppError('unavailable', 'The server is stopping. Try again in a moment.', { retryAfter: 2 })
      return await work(await identify(request, url, seen), url)
    } catch (thrown) {
      let error = toAppError(thrown)
      const wait = error.status === 401 ? guard.perNetwork.take(networkOf(seen.ip)) : 0
      if (wait > 0) error = guard.limited(guard.perNetwork, wait)
      logError(app.log, error, { requestId: seen.requestId, method: request.method, path: url.pathname })
      return problemResponse(error, url.pathname, seen.requestId, {})
    }
  }

  async function read(request: Request): Promise<Message> {
    if (!isJsonContentType(request.headers.get('content-type')))
      throw new AppError('unsupported_media', 'Send JSON-RPC with "Content-Type: application/json".')
    const message = parseJson(await readBytes(request, app.config.MAX_BODY_BYTES))
    if (Array.isArray(message))
      throw new AppError('invalid.malformed', 'JSON-RPC batches are not accepted. Send one message at a time.')
    if (typeof message !== 'object' || message === null)
      throw new AppError('invalid.malformed', 'This is not a JSON-RPC message.')
    return message
  }

  /** After the message was read: its sender may have taken half a minute over it, and the token be revoked by now. */
  const stillThere = async (sender: Sender): Promise<Sender> => ({
    ...sender,
    actor: await app.auth.look(sender.owner.secret),
  })

  /** Calls have a limit of their own, which they are told about in their answer; all else counts as plain requests. */
  function takeRequest({ owner }: Sender): void {
    const wait = guard.perCredential.take(owner.credentialId)
    if (wait > 0) throw guard.limited(guard.perCredential, wait)
  }

  /** Beside the SDK, whose checks of every message and answer cost more than the rest of a call. */
  async function respond(id: RequestId, params: Call['params'], caller: Caller, signal: AbortSignal): Promise<string> {
    try {
      return responseOf(id, await call(params.name, params.arguments ?? {}, caller, signal))
    } catch (thrown) {
      const known = thrown instanceof ProtocolError
      if (!known) app.log.error('tool call failed', { requestId: caller.requestId, error: thrown })
      const error = known
        ? { code: thrown.code, message: thrown.message }
        : { code: ProtocolErrorCode.InternalError, message: `Internal error (request ${caller.requestId})` }
      return JSON.stringify({ jsonrpc: '2.0', id, error })
    }
  }

  return {
    get streams() {
      return streams.size
    },

    streamable: (request) =>
      answer(request, async (sender, url) => {
        if (request.method !== 'POST') {
          const allow = url.pathname === '/mcp/sse' ? 'GET, POST' : 'POST'
          throw new AppError('method_not_allowed', `${url.pathname} takes ${allow}, not ${request.method}.`, { allow })
        }
        const selection = catalogue.selection(url.searchParams)
        const message = await read(request)
        const caller = { ...(await stillThere(sender)), selection }
        if (message.method !== 'tools/call') takeRequest(caller)
        if (message.method === 'subscriptions/listen') return listen(request, message, caller)
        return handler.fetch(request, { authInfo: authInfoOf(caller), parsedBody: message })
      }),

    openStream: (request) =>
      answer(request, async (sender, url) => {
        const selection = catalogue.selection(url.searchParams)
        takeRequest(sender)
        streams.requireRoom(sender.owner)
        const session = new Session(sender.owner, '/mcp/messages', () => {
          streams.delete(session)
          sessions.delete(session.sessionId)
          // Who does not read does not see the end either, so the connection gets its idle timeout back.
          guard.server?.timeout(request, 5)
        })
        const tell: Tell = {
          tools: () => void server.sendToolListChanged().catch(onerror),
          prompts: () => void server.sendPromptListChanged().catch(onerror),
          updated: (uri) => void server.sendResourceUpdated({ uri }).catch(onerror),
          status: (data) =>
            void server.sendLoggingMessage({ level: 'info', logger: 'tutti', data }, session.sessionId).catch(onerror),
        }
        const server = build(behind, 'stream', streams.add(session, sender.actor, selection, tell))
        server.onerror = onerror
        sessions.set(session.sessionId, session)
        await server.connect(session)
        guard.server?.timeout(request, 0)
        request.signal.addEventListener('abort', () => void session.close(), { once: true })
        return session.response
      }),

    message: (request) =>
      answer(request, async (sender, url) => {
        const session = sessions.get(url.searchParams.get('sessionId') ?? '')
        const selection = session && streams.of(session)?.selection
        if (!selection || session.owner.credentialId !== sender.owner.credentialId)
          throw new AppError('not_found', 'No such session of this token. Open the stream again: GET /mcp/sse.')
        const message = await read(request)
        const caller = { ...(await stillThere(sender)), selection }
        if (isCall(message))
          void session.run(message.id, (signal) => respond(message.id, message.params, caller, signal))
        else {
          takeRequest(caller)
          session.receive(parsed(message), authInfoOf(caller))
        }
        return new Response('Accepted', { status: 202 })
      }),

    async close() {
      closing = true
      const deadline = Date.now() + DRAIN_MS
      while (running.size > 0 && Date.now() < deadline) await Bun.sleep(20)
      streams.close()
      await handler.close()
    },
  }
}

const HOW = 'Create one in the settings.'
const newToken = { next: [{ route: 'POST /api/mcp-tokens', command: 'tutti connect <program>' }] }
