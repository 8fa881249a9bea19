import { flow, write } from '../../action.ts'
import { type Rule, TUNNELS_TOOLSET, throwIfRefused } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { awaitResponseHead, openCountedStream, type RefusalWriter, streamBody } from '../../tunnel/forward.ts'
import { cancelWhenClientLeaves } from '../../tunnel/response-timeout.ts'
import { reachRefusal } from './access.ts'
import { dialerFor } from './dialers.ts'
import { tunnelToolCalled } from './events.ts'
import { findTunnel, type TunnelRow, tunnelEvent, userOf } from './rows.ts'
import { OpenStreams } from './traffic/open-streams.ts'

const mcpRule: Rule = { kinds: ['mcp_token'], scope: 'tunnels:write', role: 'member' }

interface McpRequest {
  slug: string
  server: string
  request: Request
  /** The JSON-RPC message; undefined for GET and DELETE. */
  message?: { method?: unknown; params?: unknown }
}

/** Request headers that are passed to the machine. None of them is ours or contains the caller's credential. */
const requestHeaders = ['accept', 'content-type', 'mcp-session-id', 'mcp-protocol-version', 'last-event-id']
/** Response headers for the client: the machine is untrusted, but answers at the address of this server. */
const responseHeaders = ['content-type', 'mcp-session-id', 'mcp-protocol-version']
const responseTypes = /^(application\/json|text\/event-stream)\b/

const throwRefusal: RefusalWriter = (status, detail) => {
  throw new AppError(codeOf(status), detail)
}

function codeOf(status: number) {
  if (status === 403) return 'forbidden'
  if (status === 413) return 'too_large'
  if (status === 429) return 'rate_limited'
  if (status === 503) return 'unavailable'
  return status === 504 ? 'upstream_timeout' : 'upstream_failed'
}

/** Forwards a message of an agent to a local MCP server of a machine, and streams its response. */
export const forwardToMcp = flow('tunnels.useMcp', mcpRule, async (ctx, asked: McpRequest): Promise<Response> => {
  const { app, actor } = ctx
  const { slug, server, request, message } = asked
  if (actor.toolsets?.length && !actor.toolsets.includes(TUNNELS_TOOLSET))
    throw new AppError('forbidden', `This token is restricted to toolsets that do not include ${TUNNELS_TOOLSET}.`)
  const streams = OpenStreams.of(app)
  const since = streams.changes
  const tunnel = await findTunnel(ctx, slug)
  throwIfRefused(reachRefusal(ctx, tunnel))
  const found = await dialerFor(app, tunnel.id)
  if (!found) throw new AppError('upstream_failed', 'The machine of this tunnel is not connected.')
  if (!found.offer.mcp?.some(({ name }) => name === server)) throw notFound('MCP server', server)
  const user = await userOf(app, actor, tunnel)
  if (message?.method === 'tools/call') await recordCall(ctx, { tunnel, server, tool: toolOf(message.params) })
  const body = message === undefined ? undefined : new TextEncoder().encode(JSON.stringify(message))
  const headers = requestHeaders.flatMap((name): [string, string][] => {
    const value = request.headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  const head = { kind: 'mcp' as const, service: server, method: request.method, target: '/', headers, user }
  const stream = await openCountedStream(found.dialer, head, body !== undefined, throwRefusal)
  if (stream instanceof Response) return stream
  streams.add(stream, { actor, tunnelId: tunnel.id }, since)
  const { traffic } = found.dialer
  stream.isIdleLimited = false
  cancelWhenClientLeaves(request, stream)
  if (body) {
    traffic.bytes += body.length
    stream.end(body)
  }
  const answer = await awaitResponseHead(stream, throwRefusal)
  if (answer instanceof Response) return answer
  return new Response(streamBody(stream, traffic), { status: answer.status, headers: headersOf(answer.headers) })
})

function headersOf(pairs: readonly [string, string][]): Headers {
  const headers = new Headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  for (const [given, value] of pairs) {
    const name = given.toLowerCase()
    if (!responseHeaders.includes(name) || /[^\x20-\x7e]/.test(value)) continue
    if (name !== 'content-type' || responseTypes.test(value)) headers.set(name, value)
  }
  return headers
}

const toolOf = (params: unknown): string => String((params as { name?: unknown } | undefined)?.name ?? '').slice(0, 200)

/** Records each call of a tool, without its arguments: they may contain secrets. */
const recordCall = write(
  'tunnels.callTool',
  mcpRule,
  async (ctx, { tunnel, server, tool }: { tunnel: TunnelRow; server: string; tool: string }): Promise<void> => {
    ctx.emit(tunnelToolCalled, tunnelEvent(tunnel, { server, tool }))
  },
)
