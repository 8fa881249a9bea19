import { OptionalKind } from '@sinclair/typebox'
import { AppError } from '../errors.ts'
import {
  describeAccess,
  documentedRoutes,
  exampleOf,
  isUpload,
  type RouteLike,
  responseSchemas,
  routeAction,
} from '../http/openapi.ts'
import { containsAll, docsPage, queryTerms } from '../pages/docs.ts'
import { fieldRows } from '../pages/field-rows.ts'
import { html } from '../pages/pages.ts'
import type { TSchema } from '../schema.ts'

/** The API reference: a list with a search, and a page for each resource. Made from the routes themselves. */
const tagOf = ({ hooks }: RouteLike): string => (hooks.detail as { tags: [string] }).tags[0]
const summaryOf = ({ hooks }: RouteLike): string => (hooks.detail as { summary: string }).summary

export class ApiReference {
  readonly #groups: Map<string, RouteLike[]>
  readonly #texts = new Map<RouteLike, string>()
  readonly #pages = new Map<string, string>()

  constructor(routes: readonly RouteLike[]) {
    const sorted = documentedRoutes(routes).toSorted((a, b) => tagOf(a).localeCompare(tagOf(b)))
    this.#groups = Map.groupBy(sorted, tagOf)
  }

  /** The list of all operations, or of those that match. */
  index(query: string): string {
    const words = queryTerms(query)
    const found = [...this.#groups].map(
      ([tag, list]) => [tag, list.filter((route) => containsAll(this.#text(route), words))] as const,
    )
    const hits = found.filter(([, list]) => list.length > 0)
    const count = hits.reduce((sum, [, list]) => sum + list.length, 0)
    const lead =
      words.length > 0
        ? `${count} operation${count === 1 ? '' : 's'} with “${html(query)}”. <a href="/api/reference">Show all</a>`
        : 'Every operation with its fields and an example. General rules: <a href="/manual/api">Web API</a>. For machines: <a href="/api/openapi.json">openapi.json</a>.'
    const sections = hits.map(
      ([tag, list]) =>
        `<h2><a href="/api/reference/${tag}">${html(tag)}</a></h2><ul class="ops">${list.map(operationItem).join('')}</ul>`,
    )
    return this.#page(
      'API reference',
      '',
      query,
      `<h1>API reference</h1><p class="lead">${lead}</p>${sections.join('')}`,
    )
  }

  /** All operations of one resource. Throws if there is none of this name. */
  group(tag: string): string {
    const known = this.#pages.get(tag)
    if (known) return known
    const list = this.#groups.get(tag)
    if (!list) throw new AppError('not_found', `The API has no resource ${JSON.stringify(tag)}.`)
    const body = `<p class="soft small"><a href="/api/reference">API reference</a></p><h1>${html(tag)}</h1>
<ul class="ops">${list.map(operationItem).join('')}</ul>${list.map(operation).join('')}`
    const page = this.#page(`${tag} · API reference`, tag, '', body)
    this.#pages.set(tag, page)
    return page
  }

  #page(title: string, current: string, query: string, body: string): string {
    const items = [...this.#groups.keys()].map((tag) => ({
      href: `/api/reference/${tag}`,
      text: tag,
      current: tag === current,
    }))
    const contents = [{ heading: 'Resources', items }]
    return docsPage({ title: `${title} · Tutti`, path: '/api/reference', what: 'the API', query, contents, body })
  }

  /** What the search looks at: names, address, summary, and the names of all fields. */
  #text(route: RouteLike): string {
    const known = this.#texts.get(route)
    if (known !== undefined) return known
    const { method, path, hooks } = route
    const { id, rule } = routeAction(route)
    const fields = [hooks.query, hooks.body].flatMap((schema) => Object.keys(schema?.properties ?? {}))
    const text = [method, path, id, summaryOf(route), rule.scope, ...fields].join(' ').toLowerCase()
    this.#texts.set(route, text)
    return text
  }
}

const operationItem = (route: RouteLike): string =>
  `<li><a href="/api/reference/${tagOf(route)}#${routeAction(route).id}"><span class="method">${route.method}</span> <code>${html(route.path)}</code></a> <span class="soft">${html(summaryOf(route))}</span></li>`

function operation(route: RouteLike): string {
  const { method, path, hooks } = route
  const { rule, id } = routeAction(route)
  return `<section class="op" id="${html(id)}"><h2><span class="method">${method}</span> <code>${html(path)}</code></h2>
<p>${html(summaryOf(route))}. <span class="soft">${html(describeAccess(rule).replaceAll('`', ''))}</span></p>
${fields('In the address', hooks.params)}${fields('Query', hooks.query)}
${isUpload(hooks) ? '' : fields('Body', hooks.body)}
<pre><code>${html(curlExample(route))}</code></pre>
${responseSection(hooks.response)}</section>`
}

/** What an operation returns; a WebSocket returns nothing of its own, and its messages are in the manual. */
function responseSection(response: unknown): string {
  const [first] = Object.entries(responseSchemas(response))
  if (!first) return '<p>The connection stays open. <a href="/manual/live">The manual</a> describes its messages.</p>'
  const [status, schema] = first
  return `<details><summary>Returns ${html(status)}</summary>${fields('', schema)}${exampleBlock(schema)}</details>`
}

const exampleBlock = (schema: TSchema): string =>
  `<pre><code>${html(JSON.stringify(exampleOf(schema), null, 2))}</code></pre>`

function fields(title: string, schema: TSchema | undefined): string {
  const rows = schema ? fieldRows(schema) : []
  if (rows.length === 0) return ''
  const cells = rows.map(
    ({ name, type, required, about }) =>
      `<tr><td><code>${html(name)}</code>${required ? ' <span class="soft">required</span>' : ''}<td>${html(type)}<td>${html(about)}`,
  )
  return `<table><tr><th>${html(title || 'Field')}<th>Type<th>${cells.join('')}</table>`
}

/** A call that works as it is written, once `$TUTTI` and `$TOKEN` are set and the ids are those of real records. */
export function curlExample(route: RouteLike): string {
  const { method, path, hooks } = route
  const values = (hooks.params?.properties ?? {}) as Record<string, TSchema>
  const filled = path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(values[name] ? exampleOf(values[name]) : name)),
  )
  const required = Object.entries((hooks.query?.properties ?? {}) as Record<string, TSchema>).filter(
    ([, schema]) => !schema[OptionalKind],
  )
  const query = new URLSearchParams(
    Object.fromEntries(required.map(([name, schema]) => [name, String(exampleOf(schema))])),
  ).toString()
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$TUTTI${filled}${query && `?${query}`}"`,
    !routeAction(route).rule.kinds.includes('anonymous') && '-H "authorization: Bearer $TOKEN"',
    isUpload(hooks) && '-F file=@picture.png',
    hooks.body && !isUpload(hooks) && "-H 'content-type: application/json'",
    // A quotation mark inside the text ends it for the shell, so it is written outside.
    hooks.body &&
      !isUpload(hooks) &&
      `-d '${JSON.stringify(exampleOf(hooks.body), null, 2).replaceAll("'", "'\\''").replaceAll('\n', '\n  ')}'`,
  ]
    .filter(Boolean)
    .join(' \\\n  ')
}
