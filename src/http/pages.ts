import type { Elysia } from 'elysia'
import { contextOf } from '../action.ts'
import { anonymous } from '../auth/actor.ts'
import { networkOf } from '../auth/limits.ts'
import { AppError } from '../errors.ts'
import { features, type SiteAnswer, type SiteFormOf, type SitePageOf } from '../feature.ts'
import { accountPages } from '../pages/account-pages.ts'
import { assets, pageHeaders } from '../pages/pages.ts'
import { Reference } from '../pages/reference.ts'
import type { App } from '../services.ts'
import { version } from '../version.ts'
import { readBytes } from './body.ts'
import type { Guard } from './guard.ts'
import { headers } from './headers.ts'
import { openapi, type RouteLike } from './openapi.ts'

/** Adds the pages for people, their files, and the documents that describe the API. */
export function addPages(server: Elysia, app: App, guard: Guard, routes: () => RouteLike[]): void {
  // Equal for everyone and large, so both are built once.
  let reference: Reference | undefined
  let document: string | undefined
  const page = (body: string, withSearch = false) =>
    new Response(body, { headers: { ...headers, ...pageHeaders(withSearch) } })
  const apiReference = () => {
    reference ??= new Reference(routes())
    return reference
  }

  server
    .get('/assets/:name', ({ params }) => assetOf(params.name))
    .get('/api/reference', ({ request }) => page(apiReference().index(searched(request)), true))
    .get('/api/reference/:tag', ({ params }) => page(apiReference().group(params.tag), true))
    .get('/api/openapi.json', () => {
      document ??= JSON.stringify(openapi(routes(), version))
      return new Response(document, { headers: { ...headers, 'content-type': 'application/json' } })
    })
  for (const [path, render] of features.flatMap(({ pages }) => Object.entries(pages ?? {})))
    server.get(path, async ({ params, request }) => {
      const { body, withSearch } = await render(contextOf(app, anonymous), params, searched(request))
      return page(body, withSearch)
    })
  for (const [path, body] of Object.entries(accountPages)) server.get(path, () => page(body))
  const site = siteOf(app, guard)
  // Who is signed in sees the dashboard at `/`, so the dashboard has that address.
  for (const [path, render] of features.flatMap((feature) => Object.entries(feature.site ?? {})))
    if (path !== '/') server.get(path, ({ params, request }) => site(render, params, request))
  const form = formOf(app, guard)
  for (const [path, take] of features.flatMap((feature) => Object.entries(feature.forms ?? {})))
    server.post(path, ({ request }) => form(take, request), { parse: 'none' })
}

/** Bytes of a form: its longest text, encoded, and the rest. */
const MOST_FORM = 64 << 10

/** Takes forms of the public site, as often as the limit of a network allows. */
const formOf =
  (app: App, guard: Guard) =>
  async (take: SiteFormOf, request: Request): Promise<Response> => {
    const seen = guard.seen(request)
    const wait = guard.perNetwork.take(networkOf(seen.ip))
    if (wait > 0) throw guard.limited(guard.perNetwork, wait)
    if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? ''))
      throw new AppError('unsupported_media', 'Send the form as application/x-www-form-urlencoded.')
    const body = new TextDecoder().decode(await readBytes(request, MOST_FORM, MOST_FORM))
    const ctx = contextOf(app, anonymous, { requestId: seen.requestId, from: seen })
    return sent(await take(ctx, new URLSearchParams(body)))
  }

const sent = ({ body, status, headers: own }: SiteAnswer): Response =>
  new Response(body, { status, headers: { ...headers, ...own } })

/** Returns the public home page that the site has, if any. */
export const homeOf = (app: App, guard: Guard): ((request: Request) => Promise<Response | undefined>) => {
  const render = features.map((feature) => feature.site?.['/']).find((one) => one !== undefined)
  const site = siteOf(app, guard)
  return async (request) => {
    if (!render) return undefined
    const response = await site(render, {}, request)
    return response.status === 404 ? undefined : response
  }
}

/** Serves pages of the public site: to anybody, as often as the limit of a network allows. */
const siteOf =
  (app: App, guard: Guard) =>
  async (render: SitePageOf, params: Record<string, string>, request: Request): Promise<Response> => {
    const wait = guard.perReader.take(networkOf(guard.seen(request).ip))
    if (wait > 0) throw guard.limited(guard.perReader, wait)
    const url = URL.parse(request.url)
    const answer = await render(contextOf(app, anonymous), {
      path: url?.pathname ?? '/',
      params,
      query: url?.searchParams ?? new URLSearchParams(),
      ifNoneMatch: request.headers.get('if-none-match'),
    })
    if (!answer) return new Response(null, { status: 404 })
    return sent(answer)
  }

const searched = (request: Request): string =>
  (URL.parse(request.url)?.searchParams.get('q') ?? '').trim().slice(0, 100)

function assetOf(name: string): Response {
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
  if (!asset) throw new AppError('not_found', 'No such file.')
  return new Response(asset.body, {
    headers: { ...headers, 'content-type': asset.type, 'cache-control': 'no-cache' },
  })
}
