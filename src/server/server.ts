import type { Server } from 'bun'
import { type AnyElysia, Elysia } from 'elysia'
import { publicUrl } from '../address.ts'
import { networkOf } from '../auth/limits.ts'
import { isSameSecret } from '../auth/secrets.ts'
import { AppError } from '../errors.ts'
import type { AppWithFeatures } from '../feature.ts'
import { http } from '../http/context.ts'
import { Guard, withHost } from '../http/guard.ts'
import { headers } from '../http/headers.ts'
import { documentedRoutes, type RouteLike, routesOf } from '../http/openapi.ts'
import { problemResponse } from '../http/problem.ts'
import type { SocketData } from '../live/socket.ts'
import { WholeResponse } from '../mcp/direct-calls.ts'
import { HANDOVER_PATH } from '../mcp/handover.ts'
import { createMcp, type Mcp } from '../mcp/server.ts'
import type { App } from '../services.ts'
import { logError, toAppError } from '../thrown.ts'
import { socketHandlers } from '../ws/socket.ts'
import { compressAnswer } from './compression.ts'
import { addDashboard } from './dashboard.ts'
import { addHealth, healthRoute } from './health.ts'
import { Metrics } from './metrics.ts'
import { addPages, cachedSitePage, siteHome } from './pages.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export interface HttpServer {
  readonly url: string
  readonly port: number
  readonly routes: readonly RouteLike[]
  handle(request: Request): Promise<Response>
  /** Reports that this instance is about to stop, so that load balancers choose others. Requests are still served. */
  leave(): void
  /** Accepts no new connections and refuses further requests with 503, while running ones finish. */
  stop(drainMs?: number): Promise<void>
}

export interface HttpOptions {
  /**
   * Replies with an error if a response does not fit its documented schema. Only for tests: it costs a seventh of the
   * time of a list, and finds only our own mistakes.
   */
  checkAnswers?: boolean
}

export function buildHttp(app: AppWithFeatures, { checkAnswers = false }: HttpOptions = {}) {
  const guard = new Guard(app.config)
  const metrics = new Metrics()
  const mcp = createMcp(app, guard, app.tools)
  const state = { leaving: false, draining: false, running: 0 }

  const routers = app.features.flatMap((feature) => (feature.routes ? [feature.routes(http())] : []))
  const described = describedBy(routers)
  const routes = () => described
  requirePolicy(described)
  if (!checkAnswers) for (const route of routers.flatMap(routesOf)) delete route.hooks.response

  const server = new Elysia({ normalize: false })
  server
    .decorate('app', app)
    .decorate('guard', guard)
    .headers(headers)
    .onRequest(({ request, set }) => {
      const seen = guard.check(request)
      set.headers['x-request-id'] = seen.requestId
      // A kept connection would be cut when the server stops, perhaps with a request in transit.
      if (state.leaving) set.headers.connection = 'close'
      if (state.draining && !isInternal(request))
        throw new AppError('unavailable', 'The server is stopping. Try again in a moment.', { retryAfter: 2 })
    })
    .onError(({ error, request, query }) => {
      const path = URL.parse(request.url)?.pathname ?? '/'
      const { requestId } = guard.seen(request)
      const known =
        (error as { code?: string }).code === 'NOT_FOUND'
          ? missing(server, request.method, path)
          : toAppError(error, query)
      logError(app.log, known, { requestId, method: request.method, path })
      return problemResponse(known, path, requestId, headers, request)
    })
  // Added directly, not through another router: adding a route takes a while, and there are hundreds.
  for (const router of routers) server.use(router)
  addMetrics(server, app, guard, () =>
    metrics.render(app, { mcp_streams: mcp.streams, live_connections: app.live.size, http_running: state.running }),
  )
  addMcp(server, mcp)
  addInternal(server, app, guard)
  addHealth(server, app, () => (state.leaving ? 'stopping' : app.clockWatch.isTrusted ? undefined : 'clock'))
  addPages(server, app, guard, routes)
  addDashboard(server, siteHome(app, guard))
  return { server, guard, metrics, mcp, state, routes }
}

function addMetrics(server: Elysia, app: App, guard: Guard, render: () => Promise<string>): void {
  server.get('/metrics', async ({ request }) => {
    await mayReadMetrics(app, guard, request)
    const type = 'text/plain; version=0.0.4; charset=utf-8'
    return new Response(await render(), { headers: { ...headers, 'content-type': type } })
  })
}

function addMcp(server: Elysia, mcp: Mcp): void {
  server
    .get('/mcp/sse', ({ request }) => mcp.openStream(request), { parse: 'none' })
    .post('/mcp/sse', async ({ request, set }) => asText(await mcp.streamable(request), set), { parse: 'none' })
    .delete('/mcp/sse', async ({ request, set }) => asText(await mcp.streamable(request), set), { parse: 'none' })
    .post('/mcp/messages', async ({ request, set }) => asText(await mcp.message(request), set), { parse: 'none' })
    .post(HANDOVER_PATH, async ({ request, set }) => asText(await mcp.handedOver(request), set), { parse: 'none' })
    .all('/mcp', async ({ request, set }) => asText(await mcp.streamable(request), set), { parse: 'none' })
    // For programs with a token. It does not announce sign-in, which some programs would prefer to their token.
    .all('/mcp/token', async ({ request, set }) => asText(await mcp.streamable(request), set), { parse: 'none' })
    .all('/mcp/tunnels/:slug/:server', ({ request, params }) => mcp.local(request, params), { parse: 'none' })
}

function addInternal(server: Elysia, app: AppWithFeatures, guard: Guard): void {
  for (const [path, take] of app.features.flatMap(({ internal }) => Object.entries(internal ?? {})))
    server.get(path, ({ request, params }) =>
      take(app, { request, params: params as Record<string, string>, upgrade: (data) => guard.upgrade(request, data) }),
    )
}

/** Returns copies of the routes, which keep their response schemas when the response checks are removed. */
const describedBy = (routers: readonly AnyElysia[]): RouteLike[] =>
  [...routers.flatMap(routesOf), healthRoute].map((route) => ({ ...route, hooks: { ...route.hooks } }))

/**
 * Returns the text of a response instead of the response. Elysia would copy its headers one by one and its body as a
 * stream, which is a good part of what a message costs.
 */
function asText(response: Response, set: { status?: number | string; headers: object }): Response | string {
  if (!(response instanceof WholeResponse)) return response
  set.status = response.init.status
  Object.assign(set.headers, response.init.headers)
  return response.whole
}

function missing({ router }: Elysia, method: string, path: string): AppError {
  // Elysia keeps paths without parameters separately.
  const allow = methods.filter(
    (m) => m !== method && (router.static[path]?.[m] !== undefined || router.http.find(m, path)),
  )
  if (allow.length > 0)
    return new AppError('method_not_allowed', `${path} accepts ${allow.join(', ')}, not ${method}.`, {
      allow: allow.join(', '),
    })
  return new AppError('not_found', `There is no operation at ${path}. See all operations at /api/reference.`)
}

/** Throws if a route has no policy, so that the server does not start with one. */
function requirePolicy(routes: readonly RouteLike[]): void {
  const withRule = new Set(documentedRoutes(routes))
  const bare = routes.filter((r) => !withRule.has(r))
  if (bare.length > 0)
    throw new Error(
      `Routes without a policy: ${bare.map((r) => `${r.method} ${r.path}`).join(', ')}. Use ...on(action, summary).`,
    )
}

async function mayReadMetrics(app: App, guard: Guard, request: Request): Promise<void> {
  const secret = guard.credential(request)
  const { METRICS_TOKEN } = app.config
  if (secret && METRICS_TOKEN && isSameSecret(secret, METRICS_TOKEN)) return
  // Counts as a guess.
  const wait = guard.perNetwork.take(networkOf(guard.seen(request).ip))
  if (wait > 0) throw guard.limitError(guard.perNetwork, wait)
  if (!secret) throw new AppError('unauthenticated', 'Send METRICS_TOKEN or the token of an administrator.')
  const actor = await app.auth.authenticate(secret)
  if (!actor.admin || actor.kind !== 'session')
    throw new AppError('forbidden', 'Only administrators of this server can read metrics.')
}

/** Whether another instance sent the request. Such requests are served until the end. */
const isInternal = ({ url }: Request): boolean => URL.parse(url)?.pathname.startsWith('/internal/') ?? false

/** Longer requests are cut off, so that slow clients cannot hold connections. */
const IDLE_SECONDS = 30

/** Starts listening. `built`: routes that were built earlier, because that takes a while. */
export function startHttp(
  app: AppWithFeatures,
  options: HttpOptions = {},
  built = buildHttp(app, options),
): HttpServer {
  const { server, guard, metrics, mcp, state, routes } = built
  const { HOST, PORT } = app.config
  const fetch = server.fetch
  const keptPage = cachedSitePage(app, guard)
  const routed = async (request: Request, started: number): Promise<Response> => {
    state.running++
    try {
      const response = await compressAnswer(request, await fetch(request))
      metrics.request(response.status, performance.now() - started)
      return response
    } finally {
      state.running--
      guard.uploads.end(request)
    }
  }
  const listening: Server<SocketData> = Bun.serve<SocketData>({
    hostname: HOST,
    port: PORT,
    idleTimeout: IDLE_SECONDS,
    // Larger than any of our own limits, which reply with a problem body before the bytes are read.
    maxRequestBodySize: 1 << 30,
    // Bun's default without `development` is true: a second server on the port would silently get half of the requests.
    reusePort: false,
    development: false,
    websocket: socketHandlers(app.live, app.log),
    fetch(asked) {
      const started = performance.now()
      const request = withHost(asked)
      const page = state.leaving ? undefined : keptPage(request)
      if (!page) return routed(request, started)
      metrics.request(page.status, performance.now() - started)
      return page
    },
    error(error) {
      app.log.error('request failed outside the router', { error })
      return problemResponse(toAppError(error), '/', crypto.randomUUID(), headers)
    },
  })
  guard.attach(listening, (request, data) => listening.upgrade(request, { data }))
  Object.assign(app.gauges, { mcpStreams: () => mcp.streams, http: () => state.running, live: () => app.live.size })
  app.url = publicUrl(app.config, listening.port as number)
  app.listening = { host: HOST, port: listening.port as number }
  return {
    url: app.url,
    port: listening.port as number,
    routes: routes(),
    handle: async (request) => fetch(request),
    leave() {
      state.leaving = true
    },
    async stop(drainMs = 10_000) {
      state.leaving = state.draining = true
      app.live.stop()
      app.tunnels.drain()
      await mcp.close()
      await waitUntilDrained(app, state, listening, Date.now() + drainMs)
      await listening.stop(true)
    },
  }
}

/**
 * Waits until nothing runs, and closes the listener: a load balancer can repeat a refused connection elsewhere, because
 * nothing was sent. With other instances, machines first reconnect to them; until then this instance serves them.
 */
async function waitUntilDrained(
  { config, tunnels }: App,
  state: { running: number },
  listening: Server<SocketData>,
  deadline: number,
): Promise<void> {
  const hasOthers = config.INSTANCE_URL !== undefined
  let isOpen = true
  while ((state.running > 0 || tunnels.isBusy(hasOthers)) && Date.now() < deadline) {
    if (isOpen && !(hasOthers && tunnels.isBusy(true))) {
      isOpen = false
      void listening.stop()
    }
    await Bun.sleep(20)
  }
}
