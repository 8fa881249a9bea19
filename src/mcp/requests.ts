import { isJsonContentType } from '@modelcontextprotocol/server'
import { authChallenge, baseUrl, programsSignIn } from '../address.ts'
import { networkOf } from '../auth/limits.ts'
import { prefixes } from '../auth/secrets.ts'
import { AppError } from '../errors.ts'
import { parseJson, readBytes } from '../http/body.ts'
import type { Guard, RequestFacts } from '../http/guard.ts'
import { problemResponse } from '../http/problem.ts'
import type { App } from '../services.ts'
import { logError, toAppError } from '../thrown.ts'
import type { MessageSender } from './protocol.ts'
import type { McpMessage } from './streams/sse.ts'

const HOW = 'Create one in the settings.'
const newToken = { next: [{ route: 'POST /api/mcp-tokens', command: 'tutti connect <program>' }] }

/** Handles a request up to the JSON-RPC message: identifies the sender and reads the body. */
export class McpRequests {
  #stopping = false

  constructor(
    private readonly app: App,
    private readonly guard: Guard,
  ) {}

  /** Refuses every further request with 503. */
  stop(): void {
    this.#stopping = true
  }

  /**
   * Identifies the sender and runs `work`. Errors become a problem body, because no JSON-RPC message has been read yet.
   * `asked` is the client's path, if another instance handed the request over.
   */
  async answer(
    request: Request,
    work: (sender: MessageSender, url: URL) => Promise<Response>,
    asked?: string,
  ): Promise<Response> {
    const url = new URL(request.url)
    if (asked) url.pathname = asked
    const seen = this.guard.seen(request)
    try {
      if (this.#stopping)
        throw new AppError('unavailable', 'The server is stopping. Try again in a moment.', { retryAfter: 2 })
      return await work(await this.#identify(request, url, seen), url)
    } catch (thrown) {
      let error = toAppError(thrown)
      const wait = error.status === 401 ? this.guard.perNetwork.take(networkOf(seen.ip)) : 0
      if (wait > 0) error = this.guard.limitError(this.guard.perNetwork, wait)
      logError(this.app.log, error, { requestId: seen.requestId, method: request.method, path: url.pathname })
      const response = problemResponse(error, url.pathname, seen.requestId, {}, request)
      const challenge = this.#challenge(error, request, url)
      if (challenge) response.headers.set('www-authenticate', challenge)
      return response
    }
  }

  /**
   * Returns how a program can sign in, or request missing scopes. Only at `/mcp`, because at other addresses programs
   * would prefer signing in to the token that they have.
   */
  #challenge({ status, details }: AppError, request: Request, { pathname }: URL): string | undefined {
    if (pathname !== '/mcp' || !programsSignIn(this.app)) return undefined
    const base = baseUrl(this.app, request)
    if (status === 401) return authChallenge(base, 'read write')
    return status === 403 && details.scope
      ? authChallenge(base, details.scope.endsWith('write') ? 'read write' : 'read', 'error="insufficient_scope", ')
      : undefined
  }

  async read(request: Request): Promise<McpMessage> {
    if (!isJsonContentType(request.headers.get('content-type')))
      throw new AppError('unsupported_media', 'Send JSON-RPC with "Content-Type: application/json".')
    const message = parseJson(await readBytes(request, this.app.config.MAX_BODY_BYTES))
    if (Array.isArray(message))
      throw new AppError('invalid.malformed', 'JSON-RPC batches are not accepted. Send one message at a time.')
    if (typeof message !== 'object' || message === null)
      throw new AppError('invalid.malformed', 'This is not a JSON-RPC message.')
    return message
  }

  /** Checks the token again once the message has arrived: sending it may have taken half a minute. */
  async withFreshRights(sender: MessageSender): Promise<MessageSender> {
    return { ...sender, actor: await this.app.auth.lookUp(sender.owner.secret) }
  }

  /** Counts a plain request. Tool calls have their own limit, reported in their result. */
  count({ owner }: MessageSender): void {
    const wait = this.guard.perCredential.take(owner.credentialId)
    if (wait > 0) throw this.guard.limitError(this.guard.perCredential, wait)
  }

  /** Counts the call of a tool that is not ours. */
  countCall({ owner }: MessageSender): void {
    const wait = this.guard.perToken.take(owner.credentialId)
    if (wait > 0) throw this.guard.limitError(this.guard.perToken, wait)
  }

  async #identify(request: Request, url: URL, seen: RequestFacts): Promise<MessageSender> {
    if (url.searchParams.has('token') || url.searchParams.has('access_token'))
      throw new AppError(
        'unauthenticated',
        'A token in the address ends up in logs. Revoke it, create a new one and send it as `Authorization: Bearer svc_live_…`.',
      )
    // Not the cookie: a page that a person visits must not be able to act as an agent.
    const secret = request.headers.has('authorization') ? this.guard.credential(request) : undefined
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
    const actor = this.app.auth.cachedActor(secret, seen) ?? (await this.app.auth.authenticate(secret, seen))
    const { credentialId } = actor
    if (actor.kind !== 'mcp_token' || !credentialId)
      throw new AppError('unauthenticated', `This is not an MCP token. ${HOW}`, newToken)
    return {
      requestId: seen.requestId,
      from: seen,
      actor,
      userAgent: request.headers.get('user-agent'),
      owner: { credentialId, secret },
    }
  }
}
