import { afterAll, beforeAll, expect, test } from 'bun:test'
import { HANDOVER_PATH } from '../../src/mcp/handover.ts'
import { mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { freePort } from '../support/port.ts'
import { openRaw, type RawStream, ways } from './support.ts'

/** Two instances of one installation behind a proxy that sends requests to any of them. */
let one: TestApp
let two: TestApp
let ada: Person
let token: string
let stream: RawStream

function instance(more: Record<string, string> = {}): Promise<TestApp> {
  const port = String(freePort())
  return testApp({ PORT: port, INSTANCE_URL: `http://127.0.0.1:${port}`, INSTANCE_NETWORK: 'private', ...more })
}

beforeAll(async () => {
  ;[one, two] = [await instance(), await instance({ TRUSTED_PROXIES: '127.0.0.1' })]
  ada = await person(one)
  token = await mcpToken(one, ada)
  stream = await openRaw(one.url, token)
})
afterAll(async () => {
  stream.abort()
  await Promise.all([one.close(), two.close()])
})

const post = (t: TestApp, message: unknown, more: Record<string, string> = {}, path = stream.endpoint) =>
  fetch(t.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })

test('a message that arrives at the other instance is answered on its stream', async () => {
  for (let id = 1; id <= 9; id++) {
    const response = await post(id % 3 === 0 ? one : two, ping(id))
    expect([id, response.status, await response.text()]).toEqual([id, 202, 'Accepted'])
    expect((await stream.wait(id)).result).toEqual({} as never)
  }
  const call = { name: 'create_note', arguments: { title: 'Over there', content: 'x' } }
  const message = { jsonrpc: '2.0', id: 10, method: 'tools/call', params: call }
  const request = { 'x-forwarded-for': '203.0.113.7', 'x-request-id': 'handed-over-1' }
  expect((await post(two, message, request)).status).toBe(202)
  expect((await stream.wait(10)).result?.isError).toBeFalsy()
  const { rows } = await one.app.driver.query(
    "select ip, request_id, origin::text from events where type = 'note.created' and organization_id = $1::uuid",
    [ada.organizationId],
  )
  // The instance that holds the stream ran the call, and knows who asked.
  expect(rows).toEqual([['203.0.113.7', 'handed-over-1', one.app.instanceId]])
})

test('the official client works whichever instance receives a message', async () => {
  let turn = 0
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { url } = turn++ % 2 === 0 ? one : two
      return fetch(url + pathname + search, { method: request.method, headers: request.headers, body: request.body })
    },
  })
  const client = await (ways['v1 client, SSE'] as (typeof ways)[string])(`http://127.0.0.1:${proxy.port}`, token)
  expect((await client.list()).length).toBeGreaterThan(5)
  for (let n = 0; n < 4; n++) expect((await client.call('list_notes')).isError).toBeFalsy()
  await client.close()
  await proxy.stop(true)
})

test('the session of another credential is not found on any instance', async () => {
  const colleague = await mcpToken(one, await member(one, ada, 'member'))
  for (const secret of [await mcpToken(one, ada), colleague])
    for (const t of [one, two]) expect((await post(t, ping(1), { authorization: `Bearer ${secret}` })).status).toBe(404)
  for (const id of ['', 'x', 'x.y', `${stream.endpoint.slice(-300)}x`])
    expect((await post(two, ping(1), {}, `/mcp/messages?sessionId=${encodeURIComponent(id)}`)).status).toBe(404)
  expect((await post(two, ping(1), { authorization: 'Bearer svc_live_x' })).status).toBe(401)
})

test('an invalid message gets the same error on every instance', async () => {
  const said = async (response: Response) => {
    const { requestId: _, ...problem } = (await response.json()) as Record<string, unknown>
    return { status: response.status, type: response.headers.get('content-type'), problem }
  }
  for (const [body, type] of [
    ['{', 'application/json'],
    ['[]', 'application/json'],
    ['{}', 'text/plain'],
    ['"x"', 'application/json'],
  ] as const) {
    const [here, there] = [
      await post(one, body, { 'content-type': type }),
      await post(two, body, { 'content-type': type }),
    ]
    expect(await said(there)).toEqual(await said(here))
  }
  const tooLong = JSON.stringify({ ...ping(1), params: { x: 'x'.repeat(1 << 20) } })
  expect((await post(two, tooLong)).status).toBe(413)
})

test('only an instance can forward a message', async () => {
  const query = stream.endpoint.slice(stream.endpoint.indexOf('?'))
  const sealed = (parts: unknown[]) => ({ 'tutti-handover': one.app.seal.close(JSON.stringify(parts)) })
  const sessionId = new URLSearchParams(query).get('sessionId') as string
  const now = Date.now()
  for (const headers of [
    {} as Record<string, string>,
    { 'tutti-handover': 'x' },
    { 'tutti-handover': sessionId.split('.')[1] as string },
    sealed(['mcp message', `${sessionId}x`, String(now), '203.0.113.7']),
    sealed(['mcp message', sessionId, String(now - 40_000), '203.0.113.7']),
    sealed(['mcp message', sessionId, 'soon', '203.0.113.7']),
  ])
    expect((await post(one, ping(1), headers, HANDOVER_PATH + query)).status).toBe(404)
  const right = sealed(['mcp message', sessionId, String(now), '203.0.113.7'])
  expect((await post(one, ping(20), right, HANDOVER_PATH + query)).status).toBe(202)
  // Even so the credential must be that of the session.
  const other = { ...right, authorization: `Bearer ${await mcpToken(one, ada)}` }
  expect((await post(one, ping(21), other, HANDOVER_PATH + query)).status).toBe(404)
  expect((await fetch(one.url + HANDOVER_PATH + query)).status).toBe(405)
})

test('a stopped instance has no sessions; one that does not reply is unavailable', async () => {
  const gone = await instance()
  const left = await openRaw(gone.url, token)
  expect((await post(two, ping(1), {}, left.endpoint)).status).toBe(202)
  await gone.close()
  const response = await post(two, ping(2), {}, left.endpoint)
  expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
    404,
    expect.stringContaining('GET /mcp/sse'),
  ])

  const { rows } = await one.app.driver.query('select id::text from mcp_tokens where organization_id = $1::uuid', [
    ada.organizationId,
  ])
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.end() } })
  const statuses = await Promise.all(
    rows.map(async ([credentialId]) => {
      const sealed = two.app.seal.close(
        JSON.stringify(['mcp session', credentialId, `http://127.0.0.1:${silent.port}`]),
      )
      return (await post(two, ping(3), {}, `/mcp/messages?sessionId=x.${sealed}`)).status
    }),
  )
  silent.stop(true)
  // One of the credentials is the sender's.
  expect(statuses.toSorted()).toEqual([...statuses.slice(1).map(() => 404), 503])
})
