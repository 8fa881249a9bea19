import {
  type AuthInfo,
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerOptions,
} from '@modelcontextprotocol/server'
import type { Actor } from '../auth/actor.ts'
import type { RequestFacts } from '../http/guard.ts'
import { unwatchResource, watchResource } from '../live/audience.ts'
import type { Owner } from '../live/stream-connections.ts'
import type { App } from '../services.ts'
import { logError, toAppError } from '../thrown.ts'
import { version } from '../version.ts'
import type { Arguments, ToolCatalogue, ToolSelection } from './catalogue.ts'
import type { McpCaller, ResourcesAndPrompts } from './resources-and-prompts.ts'
import type { OpenStream } from './streams/streams.ts'

/** Who sent a message. */
export interface MessageSender {
  readonly requestId: string
  readonly from: RequestFacts
  readonly actor: Actor
  readonly owner: Owner
  readonly userAgent: string | null
}

/** A sender and the selection of their connection. */
export interface ToolCaller extends MessageSender {
  readonly selection: ToolSelection
  /** What the client is told when it connects. Only with messages that ask for it. */
  readonly instructions?: string
  /** See `connection.ts`. */
  readonly connection?: string
}

export interface McpBackend {
  readonly app: App
  readonly catalogue: ToolCatalogue
  readonly offer: ResourcesAndPrompts
  asking(caller: ToolCaller): McpCaller
  call(name: string, args: Arguments, caller: ToolCaller, signal: AbortSignal): Promise<CallToolResult>
}

/** How the client receives notifications: on its own stream, on a stream that it opens for this, or not at all. */
export type NotificationChannel = 'stream' | 'listen' | 'none'

const cacheHint = { ttlMs: 300_000, cacheScope: 'private' } as const
/** Records change at any time, so clients must not cache them. */
const fresh = { ttlMs: 0, cacheScope: 'private' } as const

const optionsOf = (delivery: NotificationChannel): ServerOptions => ({
  capabilities: {
    tools: { listChanged: true },
    prompts: delivery === 'none' ? {} : { listChanged: true },
    resources: delivery === 'none' ? {} : { subscribe: true },
    completions: {},
    ...(delivery === 'stream' && { logging: {} }),
  },
  cacheHints: {
    'tools/list': cacheHint,
    'server/discover': cacheHint,
    'resources/templates/list': cacheHint,
    'resources/list': fresh,
    'resources/read': fresh,
    'prompts/list': fresh,
  },
})
/** Created once, because every stream and every request has its own server. */
const options = { stream: optionsOf('stream'), listen: optionsOf('listen'), none: optionsOf('none') }
const identity = { name: 'tutti', title: 'Tutti', version }

interface Connecting {
  /** What the client is told when it connects. */
  instructions?: string
  /** The stream of the connection, if there is one. */
  open?: OpenStream
}

/** Creates the server of the SDK, which handles the handshake, lists, and every message of Streamable HTTP. */
export function newServer(
  behind: McpBackend,
  delivery: NotificationChannel,
  { instructions, open }: Connecting = {},
): Server {
  const { catalogue, offer, call } = behind
  const server = new Server(identity, { ...options[delivery], ...(instructions && { instructions }) })
  const offered = offering(behind)

  server.setRequestHandler('tools/list', (_request, ctx) => {
    const { actor, selection } = callerOf(ctx.http?.authInfo)
    return { tools: catalogue.list(actor, selection) }
  })
  server.setRequestHandler('tools/call', ({ params }, ctx) =>
    call(params.name, params.arguments ?? {}, callerOf(ctx.http?.authInfo), ctx.mcpReq.signal),
  )
  server.setRequestHandler('resources/list', (_request, ctx) =>
    offered(ctx.http?.authInfo, async (who) => ({ resources: await offer.list(who) })),
  )
  server.setRequestHandler('resources/templates/list', (_request, ctx) =>
    offered(ctx.http?.authInfo, async (who) => ({ resourceTemplates: offer.templates(who) })),
  )
  server.setRequestHandler('resources/read', ({ params }, ctx) =>
    offered(ctx.http?.authInfo, (who) => offer.read(params.uri, who)),
  )
  server.setRequestHandler('prompts/list', ({ params }, ctx) =>
    offered(ctx.http?.authInfo, (who) => offer.prompts(params?.cursor, who)),
  )
  server.setRequestHandler('prompts/get', ({ params }, ctx) =>
    offered(ctx.http?.authInfo, (who) => offer.prompt(params.name, params.arguments ?? {}, who)),
  )
  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }, ctx) =>
    offered(ctx.http?.authInfo, async (who) => ({
      completion: { values: ref.type === 'ref/resource' ? await offer.complete(ref.uri, argument.value, who) : [] },
    })),
  )
  if (open) addSubscriptions(server, offer, offered, open)
  return server
}

type Offered = <T>(info: AuthInfo | undefined, work: (asking: McpCaller) => Promise<T>) => Promise<T>

/** Returns a function that hides internal errors from the caller; the log has them under the id of the request. */
const offering =
  ({ app, asking }: McpBackend): Offered =>
  async (info, work) => {
    const caller = callerOf(info)
    try {
      return await work(asking(caller))
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown
      const error = toAppError(thrown)
      logError(app.log, error, { requestId: caller.requestId })
      const reason = error.code === 'internal' ? 'Internal error' : `${error.code}: ${error.message}`
      throw new ProtocolError(ProtocolErrorCode.InternalError, `${reason} (request ${caller.requestId})`)
    }
  }

function addSubscriptions(server: Server, offer: ResourcesAndPrompts, offered: Offered, open: OpenStream): void {
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, ctx) =>
    offered(ctx.http?.authInfo, async (who) => {
      watchResource(open.watched, await offer.subject(uri, who), uri)
      return {}
    }),
  )
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    unwatchResource(open.watched, uri)
    return {}
  })
}

/** Carries the caller through the SDK to the handlers. The SDK does not get the token. */
export const authInfoOf = (caller: ToolCaller): AuthInfo => ({
  token: '',
  clientId: caller.owner.credentialId,
  scopes: [],
  extra: { caller },
})

export function callerOf(info: AuthInfo | undefined): ToolCaller {
  const caller = info?.extra?.caller
  if (!caller) throw new Error('A message without its caller')
  return caller as ToolCaller
}
