import type { Elysia } from 'elysia'
import { contextOf } from '../action.ts'
import { baseUrl } from '../address.ts'
import { anonymous } from '../auth/actor.ts'
import { networkOf } from '../auth/limits.ts'
import { AppError } from '../errors.ts'
import type { AppWithFeatures, OpenEndpoint, SiteFormHandler, SitePageRenderer, SiteResponse } from '../feature.ts'
import { readBytes } from '../http/body.ts'
import { chosenTheme } from '../http/cookies.ts'
import type { Guard } from '../http/guard.ts'
import { headers } from '../http/headers.ts'
import { buildOpenapi, type RouteLike } from '../http/openapi.ts'
import { accountPages } from '../pages/account-pages.ts'
import { assets, pageHeaders } from '../pages/pages.ts'
import type { App } from '../services.ts'
import { version } from '../version.ts'
import { ApiReference } from './reference.ts'

/** Adds the pages for people, their files, and the documents that describe the API. */
export function addPages(server: Elysia, app: AppWithFeatures, guard: Guard, routes: () => RouteLike[]): void {
  // Equal for everyone and large, so both are built once.
  let reference: ApiReference | undefined
  let document: string | undefined
  const page = (body: string, withSearch = false) =>
    new Response(body, { headers: { ...headers, ...pageHeaders(withSearch ? "'self'" : undefined) } })
  const apiReference = () => {
    reference ??= new ApiReference(routes())
    return reference
  }

  server
    .get('/assets/:name', ({ params, request }) => {
      admitReader(guard, request)
      return assetOf(params.name)
    })
    .get('/api/reference', ({ request }) => page(apiReference().index(searchQuery(request)), true))
    .get('/api/reference/:tag', ({ params }) => page(apiReference().group(params.tag), true))
    .get('/api/openapi.json', () => {
      document ??= JSON.stringify(buildOpenapi(routes(), version))
      return new Response(document, { headers: { ...headers, 'content-type': 'application/json' } })
    })
  for (const [path, render] of app.features.flatMap(({ pages }) => Object.entries(pages ?? {})))
    server.get(path, async ({ params, request }) => {
      const { body, withSearch } = await render(contextOf(app, anonymous), params, searchQuery(request))
      return page(body, withSearch)
    })
  for (const [path, body] of Object.entries(accountPages)) server.get(path, () => page(body))
  const site = siteOf(app, guard)
  // People who are signed in see the dashboard at `/`, so the dashboard has that address.
  for (const [path, render] of app.features.flatMap((feature) => Object.entries(feature.site ?? {})))
    if (path !== '/')
      server.get(path, async ({ params, request, set }) => writeAnswer(await site(render, params, request), set))
  const form = formOf(app, guard)
  for (const [path, take] of app.features.flatMap((feature) => Object.entries(feature.forms ?? {})))
    server.post(path, ({ request }) => form(take, request), { parse: 'none' })
  addOpen(server, app, guard)
}

/** Any origin may read the responses: they do not depend on the caller, and no cookie is read. */
const forPages = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
  'access-control-allow-methods': 'GET, POST',
  'access-control-max-age': '86400',
}

/** Adds the endpoints of standards, which programs call without a credential. */
function addOpen(server: Elysia, app: AppWithFeatures, guard: Guard): void {
  const run = async (take: OpenEndpoint, request: Request): Promise<Response> => {
    const seen = guard.seen(request)
    const wait = guard.perNetwork.take(networkOf(seen.ip))
    if (wait > 0) throw guard.limitError(guard.perNetwork, wait)
    const body = request.method === 'POST' ? await readBytes(request, MOST_FORM, MOST_FORM) : new Uint8Array()
    const contentType = request.headers.get('content-type') ?? ''
    const userAgent = request.headers.get('user-agent')
    const ctx = contextOf(app, anonymous, { requestId: seen.requestId, from: seen, userAgent })
    const answer = await take(ctx, { base: baseUrl(app, request), body, contentType })
    if (!answer) throw new AppError('not_found', 'There is no page at this address.')
    return toResponse({ ...answer, headers: { ...forPages, ...answer.headers } })
  }
  for (const [name, take] of app.features.flatMap(({ open }) => Object.entries(open ?? {}))) {
    const [method, path] = name.split(' ') as ['GET' | 'POST', string]
    guard.open.add(path)
    server.route(method, path, ({ request }) => run(take, request), { parse: 'none' })
    server.options(path, () => new Response(null, { status: 204, headers: { ...headers, ...forPages } }))
  }
}

/** Bytes of a form: its longest text, encoded, and the rest. */
const MOST_FORM = 64 << 10

/** Handles forms of the public site, with the rate limit of the network. */
const formOf =
  (app: App, guard: Guard) =>
  async (take: SiteFormHandler, request: Request): Promise<Response> => {
    const seen = guard.seen(request)
    const wait = guard.perNetwork.take(networkOf(seen.ip))
    if (wait > 0) throw guard.limitError(guard.perNetwork, wait)
    if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? ''))
      throw new AppError('unsupported_media', 'Send the form as application/x-www-form-urlencoded.')
    const body = new TextDecoder().decode(await readBytes(request, MOST_FORM, MOST_FORM))
    const call = { requestId: seen.requestId, from: seen, userAgent: request.headers.get('user-agent') }
    const signedIn = async () => {
      const secret = guard.credential(request)
      if (!secret) throw new AppError('unauthenticated', 'Sign in first.')
      return contextOf(app, await app.auth.authenticate(secret, seen), call)
    }
    const sender = { base: baseUrl(app, request), signedIn }
    return toResponse(await take(contextOf(app, anonymous, call), new URLSearchParams(body), sender))
  }

const toResponse = ({ body, status, headers: own }: SiteResponse): Response =>
  new Response(body, { status, headers: { ...headers, ...own } })

/**
 * Returns the text of a page, with its status and headers in `set`. Elysia would copy the headers of a Response one by
 * one and its body as a stream, which is most of what a page from memory costs.
 */
function writeAnswer(
  answer: SiteResponse | undefined,
  set: { status?: number | string; headers: object },
): Response | string {
  if (!answer) return new Response(null, { status: 404 })
  const { body, status, headers: own } = answer
  if (typeof body !== 'string') return toResponse(answer)
  set.status = status
  Object.assign(set.headers, own)
  return body
}

/** Serves `/` to visitors who are not signed in. */
export const siteHome = (app: AppWithFeatures, guard: Guard): ((request: Request) => Promise<Response>) => {
  const render = app.features.map((feature) => feature.site?.['/']).find((one) => one !== undefined)
  const site = siteOf(app, guard)
  return async (request) => {
    const answer = render && (await site(render, {}, request))
    if (!answer) throw new AppError('not_found', 'There is no page at this address.')
    return toResponse(answer)
  }
}

/** Throws 429 if a network reads public pages and their files too often. */
function admitReader(guard: Guard, request: Request): void {
  const wait = guard.perReader.take(networkOf(guard.seen(request).ip))
  if (wait > 0) throw guard.limitError(guard.perReader, wait)
}

/** Serves pages of the public site, with the rate limit of the network. */
const siteOf =
  (app: App, guard: Guard) =>
  (render: SitePageRenderer, params: Record<string, string>, request: Request): Promise<SiteResponse | undefined> => {
    admitReader(guard, request)
    const url = URL.parse(request.url)
    return render(contextOf(app, anonymous, { from: guard.seen(request) }), {
      path: url?.pathname ?? '/',
      params,
      query: url?.searchParams ?? new URLSearchParams(),
      ifNoneMatch: request.headers.get('if-none-match'),
      base: baseUrl(app, request),
      ...(url?.pathname === '/' && { theme: chosenTheme(request) }),
    })
  }

/**
 * Returns a cached public page without a promise or the router, which would cost more than the page. Undefined for
 * other requests, and for requests that must be refused.
 */
export const cachedSitePage = (app: AppWithFeatures, guard: Guard): ((request: Request) => Response | undefined) => {
  const kept = app.features.flatMap((feature) => feature.keptPage ?? [])
  return (request) => {
    const { url, method } = request
    if (method !== 'GET' || url.includes('?')) return undefined
    const asked = { path: pathIn(url), ifNoneMatch: request.headers.get('if-none-match') }
    for (const find of kept) {
      const answer = find(app, asked)
      if (answer) return admitCached(guard, request, answer)
    }
    return undefined
  }
}

const pathIn = (url: string): string => url.slice(url.indexOf('/', url.indexOf('//') + 2))

function admitCached(
  guard: Guard,
  request: Request,
  { body, status, headers: own }: SiteResponse,
): Response | undefined {
  try {
    const { requestId, ip } = guard.check(request)
    if (guard.perReader.take(networkOf(ip)) > 0) return undefined
    return new Response(body, { status, headers: { ...headers, ...own, 'x-request-id': requestId } })
  } catch {
    return undefined
  }
}

const searchQuery = (request: Request): string =>
  (URL.parse(request.url)?.searchParams.get('q') ?? '').trim().slice(0, 100)

function assetOf(name: string): Response {
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
  if (!asset) throw new AppError('not_found', 'No such file.')
  return new Response(asset.body, {
    headers: { ...headers, 'content-type': asset.type, 'cache-control': 'no-cache' },
  })
}
