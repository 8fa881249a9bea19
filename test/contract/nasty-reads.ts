import { features, tools } from '../../src/all-features.ts'
import { documentedRoutes, exampleOf, type RouteLike, routeAction } from '../../src/http/openapi.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { accountPages } from '../../src/pages/account-pages.ts'
import type { TSchema } from '../../src/schema.ts'
import { flavours } from './nasty-values.ts'
import { type NastyWorld, nastyBody } from './nasty-world.ts'
import { bodyOf, fieldOf, fillPath, paramsOf, workable } from './world.ts'

/** One call of the loop, as it goes over the wire. */
export interface Call {
  name: string
  method: string
  path: string
  body?: object
  /** Undefined: without a credential. */
  as?: 'member' | 'admin' | 'agent'
}

export const propertiesOf = (schema: TSchema | undefined): [string, TSchema][] =>
  Object.entries((schema?.properties ?? {}) as Record<string, TSchema>)

/** Words that match what is stored, and texts that are slow to understand as a query. */
const asked = [
  'a',
  'a '.repeat(100),
  'a b c d e f g h i j k l m n o p q r s t u v w x y z',
  'e\u0301\u0323 x',
  '-a or "a a" '.repeat(15),
  '%_'.repeat(100),
]

/** Inputs for a schema of a query or a tool: the least, then all that makes the result larger, then each text. */
function inputs(schema: TSchema | undefined, least: Record<string, unknown>): Record<string, unknown>[] {
  const fields = propertiesOf(schema)
  const most = { ...least }
  for (const [name, field] of fields) {
    if (field.type === 'number' && /limit|budget|tokens|depth/i.test(name)) most[name] = field.maximum
    if (field.type === 'boolean') most[name] = true
  }
  const texts = fields.flatMap(([name, field]) => {
    const length = field.maxLength as number | undefined
    if (field.type !== 'string' || length === undefined || (field.pattern === undefined) === false) return []
    if (!/^(q|query|search|text|question)$/.test(name)) return []
    return asked.map((text) => ({ ...most, [name]: text.slice(0, length).trim() }))
  })
  return [...(Bun.deepEquals(least, most) ? [least] : [least, most]), ...texts]
}

/** Each path that the route has here: with every row in the last place, and the tenant's own in the others. */
function pathsOf(path: string, { paths, rows }: NastyWorld): string[] {
  const params = paramsOf(path)
  const valuesOf = (param: string) => [paths[param] as string, ...(rows.get(param) ?? [])]
  let filled = [['', 0] as [string, number]]
  for (const [n, param] of params.entries())
    filled = filled.flatMap(([head, done]) =>
      (n === params.length - 1 ? valuesOf(param) : valuesOf(param).slice(0, 1)).map((value): [string, number] => [
        head + param.slice(done).replace(/:\w+$/, encodeURIComponent(value)),
        param.length,
      ]),
    )
  return filled.map(([head, done]) => head + path.slice(done))
}

const isOpen = (route: RouteLike): boolean => routeAction(route).rule.kinds.includes('anonymous')
const reads = (route: RouteLike): boolean => routeAction(route).kind === 'read'

/** Returns every way to read by the web API. */
export function routeCalls(routes: readonly RouteLike[], world: NastyWorld): Call[] {
  return documentedRoutes(routes)
    .filter(reads)
    .flatMap((route) => {
      const { rule } = routeAction(route)
      const as = isOpen(route) ? undefined : rule.admin ? 'admin' : 'member'
      const { query, body } = route.hooks
      const required = (query?.required ?? []) as string[]
      const example = query ? (exampleOf(query) as Record<string, unknown>) : {}
      const queries = inputs(query, Object.fromEntries(required.map((name) => [name, example[name]])))
      const bodies = body ? inputs(body, bodyOf(route, world) as Record<string, unknown>) : [undefined]
      return pathsOf(route.path, world).flatMap((path, n) =>
        (n === 0 ? queries : queries.slice(0, 2)).flatMap((q) =>
          bodies.map((b) => {
            const text = Object.entries(q).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
            const name = `${route.method} ${route.path}`
            return { name, method: route.method, path: text.length ? `${path}?${text.join('&')}` : path, body: b, as }
          }),
        ),
      )
    })
}

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

const overMcp = (name: string, method: string, params: object): Call => ({
  name,
  method: 'POST',
  path: '/mcp',
  body: message(method, params),
  as: 'agent',
})

/** Returns what anyone may send without a credential: as documented, and as large and slow as allowed. */
export function anonymousWrites(routes: readonly RouteLike[], world: NastyWorld): Call[] {
  const open = documentedRoutes(routes).filter((route) => route.hooks.body && isOpen(route) && !reads(route))
  return open.flatMap((route) =>
    [bodyOf(route, world) ?? {}, ...flavours.map((flavour) => nastyBody(route, world, flavour))].map((body) => ({
      name: `${route.method} ${route.path}`,
      method: route.method,
      path: fillPath(route.path, world),
      body,
    })),
  )
}

/** Every schema that a caller's input is checked against, by name. */
export const inputSchemas = (routes: readonly RouteLike[]): [string, TSchema][] => [
  ...documentedRoutes(routes).flatMap(({ method, path, hooks: { body, query, params } }) =>
    [body, query, params].flatMap((schema): [string, TSchema][] => (schema ? [[`${method} ${path}`, schema]] : [])),
  ),
  ...tools.map((tool): [string, TSchema] => [tool.name, tool.input]),
]

/** Returns the pages and documents that anyone can open besides the routes of the API. */
export function pageCalls(): Call[] {
  const fixed = ['/', '/api/reference', '/api/openapi.json', '/health', '/health/live', '/health/ready', '/metrics']
  const own = features.flatMap(({ pages }) => Object.keys(pages ?? {})).map((path) => path.replace(/:\w+/g, 'start'))
  return [...fixed, ...Object.keys(accountPages), ...own, '/nothing-here'].map((path) => ({
    name: 'page',
    method: 'GET',
    path,
  }))
}

/** Returns the public pages of records: those whose path is one of the web API without `/api`, for every row. */
export function siteCalls({ rows }: NastyWorld): Call[] {
  const paths = features.flatMap(({ site }) => Object.keys(site ?? {}))
  return paths.flatMap((path) =>
    (rows.get(`/api${path}`) ?? []).map((row) => ({
      name: `site ${path}`,
      method: 'GET',
      path: path.replace(/:\w+$/, encodeURIComponent(row)),
    })),
  )
}

/** Returns every way to read by a tool. */
export function toolCalls(world: NastyWorld): Call[] {
  return tools
    .filter(({ action }) => action.kind === 'read')
    .flatMap((tool) =>
      inputs(tool.input, leastOf(tool, world)).map((args) =>
        overMcp(`tool ${tool.name}`, 'tools/call', { name: tool.name, arguments: args }),
      ),
    )
}

function leastOf(tool: Tool, world: NastyWorld): Record<string, unknown> {
  const example = { ...(exampleOf(tool.input) as Record<string, unknown>), ...workable[tool.action.id] }
  const input = Object.fromEntries(((tool.input.required ?? []) as string[]).map((name) => [name, example[name]]))
  for (const [name, schema] of propertiesOf(tool.input)) {
    const value = fieldOf(world, tool.action.id, name)
    if (/^Id\b/.test(schema.description ?? '') && value) input[name] = value
  }
  return input
}

/** The rest of MCP: prompts, and records as resources. */
export function offerCalls(world: NastyWorld, kinds: readonly string[]): Call[] {
  const skills = world.rows.get('/api/skills/public/:slug') ?? []
  const rowsOf = (kind: string): string[] =>
    [...world.rows]
      .filter(([param]) => new RegExp(`/${kind.replace(/y$/, 'ie')}s/:\\w+$`).test(param) && !param.includes('public'))
      .flatMap(([, ids]) => ids)
  return [
    overMcp('prompts/list', 'prompts/list', {}),
    ...skills.map((name) => overMcp('prompts/get', 'prompts/get', { name, arguments: { a: 'aaaaa' } })),
    overMcp('resources/list', 'resources/list', {}),
    overMcp('resources/templates/list', 'resources/templates/list', {}),
    overMcp('tools/list', 'tools/list', {}),
    overMcp('resources/read me', 'resources/read', { uri: 'tutti://me' }),
    ...kinds.flatMap((kind) => [
      ...rowsOf(kind).map((id) =>
        overMcp(`resources/read ${kind}`, 'resources/read', { uri: `tutti://${kind}/${id}` }),
      ),
      overMcp(`completion ${kind}`, 'completion/complete', {
        ref: { type: 'ref/resource', uri: `tutti://${kind}/{id}` },
        argument: { name: 'id', value: '' },
      }),
    ]),
  ]
}
