import {
  createMcpHandler,
  type McpServerFactory,
  ProtocolError,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import { contextOf } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import type { AppEvent } from '../../events/event.ts'
import { unwatchResource, watchResource } from '../../live/audience.ts'
import { readVisible } from '../../records/readable.ts'
import type { App } from '../../services.ts'
import { logError, toAppError } from '../../thrown.ts'
import { listPrompts } from '../hooks.ts'
import { authInfoOf, type ToolCaller } from '../protocol.ts'
import type { McpRequests } from '../requests.ts'
import type { McpCaller, ResourcesAndPrompts } from '../resources-and-prompts.ts'
import type { McpMessage } from './sse.ts'
import { type McpStreams, type OpenStream, relayResponse, type StreamNotifier } from './streams.ts'

/** The parts of the MCP server that subscriptions need. */
interface Surroundings {
  offer: ResourcesAndPrompts
  requests: McpRequests
  streams: McpStreams
  factory: McpServerFactory
  options: { keepAliveMs: number; onerror: (error: Error) => void }
  asking(caller: ToolCaller): McpCaller
}

/**
 * Serves `subscriptions/listen` of 2026-07-28. Each stream has its own source of events, so that none receives what
 * only another token may see.
 */
export async function openSubscription(
  on: Surroundings,
  request: Request,
  message: McpMessage,
  caller: ToolCaller,
): Promise<Response> {
  using _following = await on.streams.follow()
  // The client has disconnected, so no slot is reserved.
  if (request.signal.aborted) return new Response(null, { status: 499 })
  using _place = on.streams.reserve(caller.owner)
  const watched: OpenStream['watched'] = new Map()
  const parsedBody = await readable(on, message, caller, watched)
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
  const response = await createMcpHandler(on.factory, { ...on.options, bus }).fetch(request, {
    authInfo: authInfoOf(caller),
    parsedBody,
  })
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response
  const relayed = relayResponse(response, caller.owner, (stream) => on.streams.delete(stream))
  const tell: StreamNotifier = {
    tools: () => publish?.({ kind: 'tools_list_changed' }),
    prompts: () => publish?.({ kind: 'prompts_list_changed' }),
    updated: (uri) => publish?.({ kind: 'resource_updated', uri }),
  }
  on.streams.add(relayed.stream, caller.actor, caller.selection, tell, watched)
  // The client may have gone while the resources were checked.
  if (request.signal.aborted) relayed.stream.close()
  return relayed.response
}

/** Returns the message with only the resources that the caller may read; the client is then told which they are. */
async function readable(
  on: Surroundings,
  message: McpMessage,
  caller: ToolCaller,
  watched: OpenStream['watched'],
): Promise<McpMessage> {
  const params = message.params as { notifications?: { resourceSubscriptions?: unknown } } | undefined
  const wanted = params?.notifications?.resourceSubscriptions
  if (!Array.isArray(wanted) || !wanted.every((uri) => typeof uri === 'string')) return message
  const resourceSubscriptions: string[] = []
  for (const uri of wanted) {
    on.requests.count(caller)
    try {
      watchResource(watched, await on.offer.subject(uri, on.asking(caller)), uri)
      resourceSubscriptions.push(uri)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
    }
  }
  return { ...message, params: { ...params, notifications: { ...params?.notifications, resourceSubscriptions } } }
}

/**
 * Returns whether the caller may read, now, what an event is about. A credential that is limited to projects also reads
 * a few records of its team that belong to no project: skills that its projects name, and its own agent.
 */
export async function mayReceive(app: App, actor: Actor, event: AppEvent): Promise<boolean> {
  const { audience } = app.live
  await audience.projects.load([event.projectId])
  if (audience.accessTo(actor, event).shared) return true
  const isOfTeam = actor.projects && event.projectId === null
  const record = isOfTeam ? app.records.find(audience.typeOf(event)?.kind ?? '') : undefined
  if (!record || event.subjectId === null) return false
  const seen = await readVisible(contextOf(app, actor), record.kind, [event.subjectId], ({ table }) => ({
    id: table.id,
  }))
  return seen.length > 0
}

/** Returns the names of the prompts that the caller sees, in one text. */
export const promptNames = async (app: App, actor: Actor): Promise<string> =>
  JSON.stringify(await listPrompts.call(contextOf(app, actor), {}))

/** Removes from what a stream watches the resources that its token may no longer read. */
export async function dropUnreadable(
  app: App,
  offer: ResourcesAndPrompts,
  { actor, selection, watched }: OpenStream,
): Promise<void> {
  const who: McpCaller = { ctx: contextOf(app, actor), actor, selection }
  for (const uri of [...watched.values()].flatMap((uris) => [...uris]))
    await offer.subject(uri, who).catch((error: unknown) => {
      unwatchResource(watched, uri)
      // If the check itself failed, the stream stops watching too; the client can read the record again.
      if (!(error instanceof ProtocolError)) logError(app.log, toAppError(error), { uri })
    })
}
