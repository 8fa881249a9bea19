import type { Elysia } from 'elysia'
import { contextOf } from '../action.ts'
import { anonymous } from '../auth/actor.ts'
import { AppError } from '../errors.ts'
import { features } from '../feature.ts'
import { accountPages } from '../pages/account-pages.ts'
import { assets, pageHeaders } from '../pages/pages.ts'
import { Reference } from '../pages/reference.ts'
import type { App } from '../services.ts'
import { version } from '../version.ts'
import { headers } from './headers.ts'
import { openapi, type RouteLike } from './openapi.ts'

/** Adds the pages for people, their files, and the documents that describe the API. */
export function addPages(server: Elysia, app: App, routes: () => RouteLike[]): void {
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
