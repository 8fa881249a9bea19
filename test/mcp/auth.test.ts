import { beforeAll, describe, expect, test } from 'bun:test'
import { newSecret } from '../../src/auth/secrets.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import { apiKey, call, mcpToken, type Person, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { openRaw } from './support.ts'

let t: TestApp
let ada: Person
let token: string

const doors = [
  ['GET', '/mcp/sse'],
  ['POST', '/mcp/sse'],
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
  ['POST', '/mcp/messages?sessionId=x'],
] as const

const knock = (method: string, path: string, headers: Record<string, string>) =>
  call(t, method, path, method === 'POST' ? { jsonrpc: '2.0', id: 1, method: 'ping' } : undefined, headers)

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  token = await mcpToken(t, ada)
})

describe('the MCP endpoints refuse', () => {
  const cases: [string, () => Promise<Record<string, string>> | Record<string, string>, RegExp][] = [
    ['a request without a credential', () => ({}), /Send an MCP token/],
    ['another authorization scheme', () => ({ authorization: `Basic ${btoa('a:b')}` }), /Bearer/],
    [
      'an API key',
      async () => ({ authorization: `Bearer ${await apiKey(t, ada)}` }),
      /An API key does not work here.*MCP token/,
    ],
    [
      'a login session',
      () => ({ authorization: `Bearer ${ada.token}` }),
      /A login session does not work here.*MCP token/,
    ],
    ['the cookie of a session', () => ({ cookie: `tutti_access=${ada.token}` }), /Send an MCP token/],
    ['the cookie of an MCP token', () => ({ cookie: `tutti_access=${token}` }), /Send an MCP token/],
    ['an invented token', () => ({ authorization: `Bearer ${newSecret('mcp_live')}` }), /not valid/],
    [
      'a token with a wrong checksum',
      () => ({ authorization: `Bearer ${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}` }),
      /not valid/,
    ],
    ['a tunnel secret', () => ({ authorization: `Bearer ${newSecret('tunnel')}` }), /does not work here/],
  ]
  for (const [name, headers, says] of cases)
    test(name, async () => {
      for (const [method, path] of doors) {
        const answer = await knock(method, path, await headers())
        expect([method, path, answer.status]).toEqual([method, path, 401])
        // Only one address offers to sign in.
        expect(answer.headers.get('www-authenticate')).toMatch(
          path === '/mcp' ? /^Bearer resource_metadata="http\S+", scope="read write"$/ : /^Bearer realm="tutti"$/,
        )
        expect(answer.headers.get('content-type')).toContain('application/problem+json')
        expect(answer.body).toMatchObject({ code: 'unauthenticated', status: 401 })
        expect(answer.body.detail as string).toMatch(says)
      }
    })

  test('a token in the address, even with a valid one in the header', async () => {
    for (const [method, path] of doors)
      for (const name of ['token', 'access_token'])
        for (const headers of [{}, { authorization: `Bearer ${token}` }] as Record<string, string>[]) {
          const answer = await knock(method, `${path}${path.includes('?') ? '&' : '?'}${name}=${token}`, headers)
          expect(answer.status).toBe(401)
          expect(JSON.stringify(answer.body)).not.toContain(token)
        }
  })
})

test('calls without a token are limited for each network', async () => {
  const few = await testApp({ RATE_LIMIT_ANONYMOUS: '3' })
  const statuses: number[] = []
  for (let i = 0; i < 5; i++)
    statuses.push((await call(few, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' })).status)
  expect(statuses).toEqual([401, 401, 401, 429, 429])
  await few.close()
})

test('a message that is no tool call counts as a plain request', async () => {
  const few = await testApp({ RATE_LIMIT_PER_MINUTE: '1', RATE_LIMIT_BURST: '2' })
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' }
  const ping = () => call(few, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)
  expect([(await ping()).status, (await ping()).status]).toEqual([200, 200])
  const third = await ping()
  expect(third.status).toBe(429)
  expect(Number(third.headers.get('retry-after'))).toBeWithin(1, 61)
  expect(third.body).toMatchObject({ code: 'rate_limited' })
  await few.close()
})

test('the token is checked with every message', async () => {
  const made = await tokens.createToken(await ada.ctx(), { name: 'short', organizationId: ada.organizationId })
  const headers = { authorization: `Bearer ${made.token}`, accept: 'application/json, text/event-stream' }
  const ping = () => call(t, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)
  expect((await ping()).status).toBe(200)
  await tokens.revokeToken(await ada.ctx(), { id: made.id })
  expect((await ping()).status).toBe(401)
})

test('an expired token is refused, and its stream ends at the next check', async () => {
  let now = Date.now()
  const later = await testApp({}, () => new Date(now))
  const who = await person(later)
  const ctx = await who.ctx()
  const stream = await openRaw(later.url, await mcpToken(later, who, { expiresInDays: 1 }))
  now += 25 * 3_600_000
  await Bun.sleep(1_000) // longer than a credential is remembered
  expect((await stream.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(401)
  await tokens.createToken(ctx, { name: 'another', organizationId: who.organizationId })
  await stream.ended
  await later.close()
})
