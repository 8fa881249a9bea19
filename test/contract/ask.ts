import { documentedRoutes, exampleOf, type RouteLike, routeAction } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { type Answer, call, type Person, sharedApp } from '../support/app.ts'
import type { Json } from './json-schema.ts'
import { mismatch } from './json-schema.ts'
import type { World } from './world.ts'

/** The running server, all its routes, and the document it publishes about them. */
export const t = await sharedApp()
export const routes: RouteLike[] = documentedRoutes(t.server.routes)
export const document = (await call<Record<string, Json>>(t, 'GET', '/api/openapi.json')).body

export const nameOf = ({ method, path }: RouteLike): string => `${method} ${path}`
export const ruleOf = (route: RouteLike) => routeAction(route).rule
export const isPublic = (route: RouteLike): boolean => ruleOf(route).kinds.includes('anonymous')
export const isWrite = (route: RouteLike): boolean => routeAction(route).kind === 'write'

/** Live events: any credential of the web API may listen, and each event needs the scope of its kind. */
export const isLive = (route: RouteLike): boolean =>
  /^hub\.|^tunnels\.connectService$/.test(routeAction(route).id) || isOfMachine(route)
/** A WebSocket, which has no answer of its own. */
export const isSocket = ({ path }: RouteLike): boolean => path.endsWith('/ws') || path === '/api/tunnels/reverse'
/** Only for the credential of a tunnel's machine. */
const isOfMachine = (route: RouteLike): boolean => ruleOf(route).kinds.every((kind) => kind === 'tunnel')

/** A caller with access, so that only the input can be refused. */
export function whoMayCall(
  route: RouteLike,
  { owner, machine }: World,
  admin: Person,
): Pick<Person, 'fetch'> | undefined {
  if (isPublic(route)) return undefined
  if (isOfMachine(route)) return machine
  return ruleOf(route).admin ? admin : owner
}

export const properties = (schema: TSchema | undefined): [string, TSchema][] =>
  Object.entries((schema?.properties ?? {}) as Record<string, TSchema>)
export const errorsOf = ({ body: { errors = [] } }: Answer) => errors as { pointer: string; code: string }[]

/** Copies and exports: the scopes of a key decide on each record, so the routes themselves need none. */
export const isCopy = (route: RouteLike): boolean => /^(sync\.|transfer\.export$)/.test(routeAction(route).id)

export interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security?: Json[]
  parameters?: { name: string; in: string; required: boolean; schema: Json; example?: Json }[]
  requestBody?: { required: boolean; content: Record<string, { schema: Json; example: Json }> }
  responses: Record<string, { description: string; content: Record<string, { schema: Json; example?: Json }> }>
}

export function operationOf({ method, path }: RouteLike): Operation {
  const item = (document.paths as Record<string, Record<string, unknown>>)[path.replace(/:(\w+)/g, '{$1}')]
  const found = item?.[method.toLowerCase()]
  if (!found) throw new Error(`${method} ${path} is not in /api/openapi.json`)
  return found as Operation
}

/** Responses of all loops in this folder that the document does not describe. Every file ends by expecting none. */
export const undocumentedResponses: string[] = []

type As = Pick<Person, 'fetch'> | undefined

/** Adds the required query parameters that the caller did not give. */
function withQuery({ hooks: { query } }: RouteLike, path: string): string {
  const missing = ((query?.required ?? []) as string[]).filter((name) => !new RegExp(`[?&]${name}=`).test(path))
  if (!query || missing.length === 0) return path
  const example = exampleOf(query) as Record<string, unknown>
  return `${path}${path.includes('?') ? '&' : '?'}${missing.map((name) => `${name}=${encodeURIComponent(String(example[name]))}`).join('&')}`
}

/** Calls a route as a user or anonymously, and compares the response with the document. */
export async function callRoute(
  route: RouteLike,
  as: As,
  at: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = withQuery(route, at)
  // Without it, /api/events is a stream that does not end.
  const sent = { accept: 'application/json', ...headers }
  const answer = as ? await as.fetch(route.method, path, body, sent) : await call(t, route.method, path, body, sent)
  const promised = operationOf(route).responses[answer.status]
  const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
  const told = `${route.method} ${path} → ${answer.status}`
  if (!promised) undocumentedResponses.push(`${told}: the status is not documented`)
  else if (![type, type.replace(/^image\/.*/, 'image/*'), '*/*'].some((one) => promised.content[one]))
    undocumentedResponses.push(`${told}: ${type} is not documented`)
  else if (promised.content[type]) {
    const body = type === 'application/x-ndjson' ? answer.body.text : answer.body
    const wrong = mismatch(promised.content[type].schema, body as Json, document)
    if (wrong) undocumentedResponses.push(`${told}: ${wrong}`)
  }
  return answer
}

/** Collects the calls that got another status than expected; a loop expects an empty list. */
export class Failures {
  readonly list: string[] = []
  check(told: string, answer: Answer, expected: number | number[]): void {
    if (![expected].flat().includes(answer.status))
      this.list.push(
        `${told}: ${answer.status} instead of ${[expected].flat().join('/')} ${JSON.stringify(answer.body).slice(0, 200)}`,
      )
  }
}

export const withToken = (token: string, headers: Record<string, string> = {}): Pick<Person, 'fetch'> => ({
  fetch: (method, path, body, more = {}) =>
    call(t, method, path, body, { accept: 'application/json', authorization: `Bearer ${token}`, ...headers, ...more }),
})

/** A person's key, bound to their current organization. */
export async function keyOf(who: Person, scopes: string[]): Promise<Pick<Person, 'fetch'>> {
  const { body } = await who.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'key', scopes })
  return withToken(body.token, { 'x-organization-id': who.organizationId })
}
