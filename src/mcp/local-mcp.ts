import { contextOf } from '../action.ts'
import { AppError } from '../errors.ts'
import type { Guard } from '../http/guard.ts'
import type { App } from '../services.ts'
import { localMcp } from './hooks.ts'
import type { McpRequests } from './requests.ts'

/** Passes a request of Streamable HTTP on to an MCP server of a machine, and returns its response. */
export const forwardToMachine = (
  app: App,
  guard: Guard,
  requests: McpRequests,
  request: Request,
  place: { slug: string; server: string },
): Promise<Response> =>
  requests.answer(request, async (sender) => {
    const isMessage = request.method === 'POST'
    if (!isMessage && request.method !== 'GET' && request.method !== 'DELETE')
      throw new AppError('method_not_allowed', `This address accepts GET, POST and DELETE, not ${request.method}.`, {
        allow: 'GET, POST, DELETE',
      })
    const message = isMessage ? await requests.read(request) : undefined
    const asking = await requests.withFreshRights(sender)
    if (message?.method === 'tools/call') requests.countCall(asking)
    else requests.count(asking)
    guard.server?.timeout(request, 0)
    const { actor, requestId, from, userAgent } = asking
    const ctx = contextOf(app, actor, { requestId, from, userAgent })
    const [response] = await localMcp.call(ctx, { ...place, request, message })
    if (!response) throw new AppError('not_found', 'This server has no tunnels.')
    return response
  })
