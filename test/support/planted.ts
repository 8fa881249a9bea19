import { documentedRoutes, exampleOf, isUpload, type RouteLike } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import type { Person, TestApp } from './app.ts'

type Init = RequestInit & { headers?: Record<string, string> }

/** Has the form of a token but is none, so it may be stored. */
export const decoy = `svc_live_${'Ab3'.repeat(13)}`

interface Callers {
  person: Person
  /** An MCP token. */
  agent: string
}

/**
 * Sends secrets to every route and to MCP, wherever a caller may put one by mistake: in place of an id, as a parameter, as
 * a field, in headers. Returns what was answered to those requests, except for the bodies of successful ones.
 */
export async function plant(t: TestApp, secrets: string[], { person, agent }: Callers): Promise<string[]> {
  const shown: string[] = []
  const ask = async (name: string, path: string, { headers, ...init }: Init = {}) => {
    // Without `accept`, /api/events is a stream that does not end.
    const accepting = { accept: 'application/json', ...headers }
    const response = await fetch(t.url + path, { redirect: 'manual', headers: accepting, ...init })
    const text = await response.text()
    const body = response.status >= 300 || path.startsWith('/mcp') ? text : ''
    shown.push(JSON.stringify({ name, status: response.status, headers: Object.fromEntries(response.headers), body }))
  }
  const signedIn = { authorization: `Bearer ${person.token}` }
  const json = { ...signedIn, 'content-type': 'application/json' }
  const routes: RouteLike[] = documentedRoutes(t.server.routes)
  for (const [i, { method, path, hooks }] of routes.entries()) {
    // All routes hide secrets in one place, so each gets one kind of them.
    const secret = secrets[i % secrets.length] as string
    const name = `${method} ${path}`
    const withBody = method !== 'GET' && hooks.body && !isUpload(hooks)
    const at = path.replace(/:\w+/g, secret)
    if (at !== path) await ask(name, at, { method, headers: signedIn })
    // An unknown parameter: nothing is done.
    await ask(name, `${at}?${secret}=${secret}`, { method, headers: signedIn })
    const queries = Object.keys((hooks.query?.properties ?? {}) as object)
    for (const query of method === 'GET' ? queries : [])
      await ask(name, `${path.replace(/:\w+/g, decoy)}?${query}=${decoy}`, { headers: signedIn })
    if (withBody)
      for (const body of bodies(hooks.body as TSchema, secret))
        await ask(name, path.replace(/:\w+/g, decoy), { method, headers: json, body: JSON.stringify(body) })
  }
  for (const secret of secrets) await plantElsewhere(ask, secret, signedIn)
  for (const [method, params] of messages([...secrets, decoy]))
    await ask('MCP', '/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${agent}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  return shown
}

/** Bodies that are refused for a field that is called like a secret, and the documented one with a reference that is none. */
function* bodies(schema: TSchema, secret: string): Generator<object> {
  yield { [secret]: secret }
  const example = exampleOf(schema) as Record<string, unknown>
  for (const [field, value] of Object.entries((schema.properties ?? {}) as Record<string, TSchema>)) {
    const reference = /Id$|^(assignee|project|task|story|team|role|status|links)$/.test(field)
    if (reference) yield { ...example, [field]: value.type === 'array' ? [decoy] : decoy }
  }
}

/** In headers, and where a browser opens an address. */
async function plantElsewhere(
  ask: (name: string, path: string, init?: Init) => Promise<void>,
  secret: string,
  signedIn: Record<string, string>,
): Promise<void> {
  for (const header of ['x-request-id', 'x-organization-id', 'if-match', 'idempotency-key', 'origin', 'user-agent'])
    for (const as of [{}, signedIn]) await ask(header, '/api/notes', { headers: { ...as, [header]: secret } })
  for (const cookie of ['tutti_access', 'tutti_refresh'])
    await ask(cookie, '/api/notes', { headers: { cookie: `${cookie}=${secret}` } })
  const browser = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }
  for (const path of [
    '/nothing/:secret',
    '/account/:secret',
    '/api/notes/:secret',
    '/api/auth/oauth/:secret',
    '/a?token=:secret',
  ])
    await ask(path, path.replace(':secret', secret), { headers: browser })
}

function* messages(secrets: string[]): Generator<[method: string, params: object]> {
  for (const secret of secrets) {
    yield ['tools/call', { name: secret, arguments: {} }]
    yield ['tools/call', { name: 'get_note', arguments: { note: secret } }]
    yield ['tools/call', { name: 'get_note', arguments: { [secret]: 1 } }]
    yield ['resources/read', { uri: `tutti://note/${encodeURIComponent(secret)}` }]
    yield ['resources/read', { uri: `tutti://${secret}` }]
    yield ['prompts/get', { name: secret }]
    yield [secret, {}]
  }
}

/** What an administrator's monitoring reads. */
export const metricsOf = async (t: TestApp, { token }: Person): Promise<string[]> => {
  const response = await fetch(`${t.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  return [await response.text()]
}
