import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { check } from '../../src/check.ts'
import { parseJson } from '../../src/http/body.ts'
import { documentedRoutes } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { type Answer, call, type Person, person, sharedApp, testApp, unique } from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { slowClients } from './slow.ts'
import { openSocket, portOf, readResponses, sendRaw, wireRequest } from './socket.ts'

/** Which bodies are accepted, and that others do no harm. */
const t = await sharedApp()
void slowClients()
let ada: Person
let auth: string
beforeAll(async () => {
  ada = await person(t)
  auth = `Authorization: Bearer ${ada.token}`
})

afterEach(async () => {
  expect((await call(t, 'GET', '/health')).status).toBe(200)
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Answer> =>
  send('/api/notes', body, headers)
async function send(
  path: string,
  body: string | URLSearchParams | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<Answer> {
  const response = await fetch(t.url + path, {
    method,
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ada.token}`, ...headers },
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}
const titles = async (): Promise<string[]> =>
  (await ada.fetch<{ items: { title: string }[] }>('GET', '/api/notes?limit=200')).body.items.map((n) => n.title)

describe('a body that cannot be read', () => {
  test('gets 400 if its JSON is invalid', async () => {
    for (const body of [
      '{',
      '{"title":}',
      '{"title":"x"',
      "{'title':'x'}",
      '{"title":"x",}',
      'title=x',
      '{"title":NaN}',
      '{"title":"x"} {}',
      '\u0000',
      '//',
      'undefined',
      '{"title":"\t"}',
      '\ufeff\ufeff{}',
    ]) {
      const answer = await post(body)
      expect([body, answer.status, answer.body.code]).toEqual([body, 400, 'invalid.malformed'])
    }
  })

  test('gets 422 if it is empty', async () => {
    expect((await post('')).status).toBe(422)
  })

  test('gets 400 if it is not UTF-8', async () => {
    const wrapped = (...bytes: number[]) =>
      Uint8Array.from([...Buffer.from('{"title":"'), ...bytes, ...Buffer.from('"}')])
    for (const bytes of [
      [0xff],
      [0xc3, 0x28],
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xc0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
    ]) {
      const answer = await post(wrapped(...bytes))
      expect([bytes, answer.status, answer.body.detail]).toEqual([bytes, 400, 'The body is not valid UTF-8.'])
    }
    expect((await post(wrapped(0xf0, 0x9f, 0x8e, 0xb5))).body.title).toBe('🎵')
  })

  test('gets 415 if it has another media type', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      'application/jsonp',
      'application',
      'json',
      'application/json, text/plain',
      '',
    ])
      expect([type, (await post('{"title":"x"}', { 'content-type': type })).status]).toEqual([type, 415])
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'application/merge-patch+json',
    ])
      expect([type, (await post('{"title":"x"}', { 'content-type': type })).status]).toEqual([type, 201])
  })

  test('changes nothing as a browser form from another site', async () => {
    const before = await titles()
    expect(
      (
        await send('/api/notes', new URLSearchParams({ title: 'form' }), {
          'content-type': 'application/x-www-form-urlencoded',
        })
      ).status,
    ).toBe(415)
    expect((await send('/api/notes', '{"title":"form"}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect(await titles()).toEqual(before)
  })

  test('gets 415 if it is compressed', async () => {
    const bomb = Bun.gzipSync(Buffer.from(JSON.stringify({ title: 'x'.repeat(5 << 20) })))
    expect(bomb.byteLength).toBeLessThan(10_000)
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'identity, gzip'])
      expect([encoding, (await post(bomb, { 'content-encoding': encoding })).status]).toEqual([encoding, 415])
  })
})

test('an error about a nullable field names the other allowed values', async () => {
  const project = (await ada.fetch('POST', '/api/projects', { name: unique('Dates') })).body
  for (const [field, value, message] of [
    ['dueAt', 'tomorrow', 'dueAt is not a valid date or time, such as 2026-11-15T09:30:00.000Z.'],
    ['estimate', 'much', 'estimate must be of type number.'],
  ] as const) {
    const task = (await ada.fetch('POST', `/api/projects/${project.id}/tasks`, { title: unique('One') })).body
    const { status, body } = await ada.fetch('PATCH', `/api/tasks/${task.id}`, { [field]: value })
    expect([status, body.detail]).toEqual([422, message])
  }
})

describe('a body that is too large', () => {
  test('gets 413 at once for an announced length of 10 MB', async () => {
    const begun = performance.now()
    const [answer] = await sendRaw(
      t,
      wireRequest(t, 'POST /api/notes', [auth, 'Content-Type: application/json', `Content-Length: ${10 << 20}`]),
    )
    expect(answer?.status).toBe(413)
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      code: 'too_large',
      detail: 'The body is larger than 1048576 bytes.',
    })
    expect(performance.now() - begun).toBeLessThan(allowing(1000))
  })

  test('gets 413 when its chunks exceed the limit', async () => {
    const socket = await openSocket(t)
    try {
      const answers = readResponses(socket)
      socket.write(
        wireRequest(t, 'POST /api/notes', [auth, 'Content-Type: application/json', 'Transfer-Encoding: chunked']),
      )
      const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`
      // Never the last chunk: the answer must not wait for it.
      for (let sent = 0; sent < 160 && !socket.destroyed; sent++) socket.write(chunk)
      expect((await answers)[0]?.status).toBe(413)
    } finally {
      socket.destroy()
    }
  })

  test("is measured exactly against the operator's limit", async () => {
    const small = await testApp({ MAX_BODY_BYTES: '2000', background: 'off' })
    const sized = (bytes: number) => `{"title":"x","content":"${'x'.repeat(bytes - 26)}"}`
    expect(Buffer.byteLength(sized(2000))).toBe(2000)
    const headers = { authorization: `Bearer ${ada.token}` }
    expect((await call(small, 'POST', '/api/notes', sized(2000), headers)).status).toBe(201)
    expect((await call(small, 'POST', '/api/notes', sized(2001), headers)).status).toBe(413)
    const chunked = (bytes: number) =>
      wireRequest(
        small,
        'POST /api/notes',
        [auth, 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
        `${bytes.toString(16)}\r\n${sized(bytes)}\r\n0\r\n\r\n`,
      )
    expect((await sendRaw(small, chunked(2000)))[0]?.status).toBe(201)
    expect((await sendRaw(small, chunked(2001)))[0]?.status).toBe(413)
    await small.close()
  })

  test('is not read without a valid credential', async () => {
    const [answer] = await sendRaw(
      t,
      wireRequest(t, 'POST /api/notes', ['Content-Type: application/json', `Content-Length: ${1 << 19}`]),
    )
    expect(answer?.status).toBe(401)
  })

  test('gets 422 if it is nested deeper than 32; brackets in texts do not count', async () => {
    const nested = (depth: number) => `{"name":"x","settings":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`
    expect((await send('/api/projects', nested(32))).status).toBe(201)
    expect((await send('/api/projects', nested(33))).body).toMatchObject({
      status: 422,
      detail: 'The JSON is nested more than 32 levels deep.',
    })
    for (const [opening, closing] of [
      ['[', ']'],
      ['{"a":', '}'],
    ])
      expect((await post(`${opening?.repeat(100_000)}1${closing?.repeat(100_000)}`)).status).toBe(422)
    expect((await post('['.repeat(500_000))).status).toBe(422)
    expect((await post(JSON.stringify({ title: '[{'.repeat(90), content: '\\"[['.repeat(1000) }))).status).toBe(201)
  })

  test('is refused fast for long texts and lists anywhere', async () => {
    const long = 'x'.repeat(900_000)
    const bodies: [string, string, object][] = [
      ['POST', '/api/notes', { title: long }],
      ['POST', '/api/notes', { title: 'x', content: long }],
      ['POST', '/api/notes', { title: 'x', tags: [long] }],
      ['POST', '/api/notes', { title: 'x', tags: Array.from({ length: 50_000 }, (_, i) => `t${i}`) }],
      ['POST', '/api/notes', { title: 'x', links: [{ url: `https://example.com/${long}` }] }],
      ['POST', '/api/notes', { title: 'x', projectId: long }],
      ['POST', '/api/notes', { title: 'x', scope: long }],
      ['POST', '/api/notes', { [long]: 1 }],
      ['POST', '/api/notes', Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 1]))],
      ['POST', '/api/projects', { name: 'x', settings: { a: long } }],
      ['POST', '/api/projects', { name: 'x', key: long }],
      ['POST', '/api/auth/login', { email: `${long}@example.com`, password: 'x' }],
      ['POST', '/api/auth/login', { email: 'ada@example.com', password: long }],
      ['POST', '/api/auth/register', { email: `${'a.'.repeat(400_000)}@example.com`, password: 'x', name: 'x' }],
      ['POST', '/api/auth/register', { email: `a@${'a-'.repeat(400_000)}`, password: 'x', name: 'x' }],
      ['PATCH', '/api/auth/profile', { handle: 'a-'.repeat(400_000) }],
      ['POST', '/api/settings/api-keys', { name: 'x', scopes: [`${'a'.repeat(800_000)}:`] }],
    ]
    for (const [method, path, body] of bodies) {
      const answer = await send(path, JSON.stringify(body), {}, method)
      const told = JSON.stringify(body).slice(0, 40)
      expect([told, answer.status]).toEqual([told, 422])
      // The error says what is wrong without repeating the whole input.
      expect(JSON.stringify(answer.body).length).toBeLessThan(20_000)
      // Our own check, in the processor's time. Elysia adds to it outside production, where it describes every error once more.
      const schema = documentedRoutes(t.server.routes).find((r) => r.method === method && r.path === path)?.hooks
        .body as TSchema
      check(schema, {})
      const begun = process.cpuUsage()
      expect(check(schema, body).length + (path === '/api/projects' ? 1 : 0)).toBeGreaterThan(0)
      const { user, system } = process.cpuUsage(begun)
      expect([told, (user + system) / 1000 < 100]).toEqual([told, true])
    }
  })

  test('is checked fast even with texts that are costly for patterns', async () => {
    const cruel: [string, string, object][] = [
      ['POST', '/api/auth/login', { email: `a@${'a'.repeat(60)}.${'a-'.repeat(90)}!`, password: 'x' }],
      ['POST', '/api/auth/login', { email: `a@${'a.'.repeat(120)}!`, password: 'x' }],
      ['PATCH', '/api/auth/profile', { handle: `${'a-a'.repeat(20)}-!` }],
      ['POST', '/api/notes', { title: ' '.repeat(200) }],
      ['POST', '/api/notes', { title: 'x', links: [{ url: `https://${'a.'.repeat(900)}` }] }],
      ['POST', '/api/notes', { title: 'x', links: [{ url: `http://[${':'.repeat(1900)}` }] }],
    ]
    for (const [method, path, body] of cruel) {
      const begun = performance.now()
      expect([400, 401, 422, 429, 201]).toContain((await send(path, JSON.stringify(body), {}, method)).status)
      expect(performance.now() - begun).toBeLessThan(allowing(2000))
    }
    const begun = performance.now()
    const wiki = await post(JSON.stringify({ title: 'x', content: `${'[['.repeat(60_000)}${'[[a'.repeat(20_000)}` }))
    expect(wiki.status).toBe(201)
    expect(performance.now() - begun).toBeLessThan(allowing(2000))
  })
})

describe('a valid body', () => {
  test('cannot change prototypes', async () => {
    expect((await post('{"title":"x","__proto__":{"polluted":true}}')).status).toBe(422)
    expect((await post('{"title":"x","\\u005f_proto__":{"polluted":true}}')).status).toBe(422)
    expect((await post('{"title":"x","constructor":{"prototype":{"polluted":true}}}')).status).toBe(422)
    expect((await post('{"__proto__":{"title":"x"}}')).status).toBe(422)
    const kept = await send(
      '/api/projects',
      '{"name":"x","settings":{"constructor":{"prototype":{"polluted":true}},"\\u005f_proto__":{"polluted":true},"toString":"x"}}',
    )
    expect([201, 422]).toContain(kept.status)
    expect(() => parseJson(Buffer.from('{"a":{"__proto__":{}}}'))).toThrow('__proto__')
  })

  test('gets 422 for NUL anywhere in a text', async () => {
    const bodies: [string, string, object][] = [
      ['POST', '/api/notes', { title: 'a\0b' }],
      ['POST', '/api/notes', { title: 'x', content: 'a\0b' }],
      ['POST', '/api/notes', { title: 'x', tags: ['a\0b'] }],
      ['POST', '/api/notes', { title: 'x', links: [{ url: 'https://example.com', title: 'a\0b' }] }],
      ['POST', '/api/projects', { name: 'x', settings: { 'a\0b': 1 } }],
      ['POST', '/api/projects', { name: 'x', settings: { a: '\0' } }],
      ['POST', '/api/teams', { name: '\0' }],
      ['PATCH', '/api/team', { description: '\0' }],
      ['PATCH', '/api/auth/profile', { bio: '\0' }],
      ['PATCH', '/api/auth/profile', { timezone: 'Europe/\0Berlin' }],
      ['POST', '/api/settings/api-keys', { name: '\0' }],
      ['POST', '/api/auth/register', { email: 'a\0b@example.com', password: 'violet anchor prefers rain', name: 'x' }],
      [
        'POST',
        '/api/auth/register',
        { email: 'nul@example.com', password: 'violet anchor prefers rain', name: 'a\0b' },
      ],
    ]
    for (const [method, path, body] of bodies) {
      const { status } = await send(path, JSON.stringify(body), {}, method)
      expect([path, JSON.stringify(body), status]).toEqual([path, JSON.stringify(body), 422])
    }
    expect((await send('/api/auth/login', JSON.stringify({ email: 'ada@example.com', password: 'a\0b' }))).status).toBe(
      401,
    )
  })

  test('with half a surrogate pair is refused or repaired, without an error 500', async () => {
    for (const half of ['\\ud800', '\\udc00', 'a\\ud83db', '\\udc00\\ud800'])
      for (const [path, body] of [
        ['/api/notes', `{"title":"${half}"}`],
        ['/api/notes', `{"title":"x","content":"${half}"}`],
        ['/api/notes', `{"title":"x","tags":["${half}"]}`],
        ['/api/notes', `{"title":"x","links":[{"url":"https://example.com","title":"${half}"}]}`],
        ['/api/projects', `{"name":"x","settings":{"a":"${half}","${half}":1}}`],
        ['/api/teams', `{"name":"${half}"}`],
        ['/api/settings/api-keys', `{"name":"${half}"}`],
        ['/api/auth/login', `{"email":"ada@example.com","password":"${half}"}`],
      ] as const) {
        const { status } = await send(path, body)
        expect([path, body, status < 500 && status !== 400]).toEqual([path, body, true])
      }
    expect((await ada.fetch('GET', '/api/notes?search=%ED%A0%80')).status).toBe(200)
  })

  test('with two equal keys uses and checks the last one', async () => {
    expect((await post('{"title":"first","title":"last"}')).body.title).toBe('last')
    expect((await post('{"title":"fine","title":7}')).status).toBe(422)
    expect((await post('{"surprise":1,"title":"fine","surprise":1}')).status).toBe(422)
  })

  test('returns every kind of text unchanged', async () => {
    for (const text of [
      "'; drop table notes; --",
      '<script>alert(1)</script>',
      '{{7*7}} #{7*7} <%= 7*7 %>',
      '%00 %s %n \\x00 \\u0000',
      '日本語 עברית \u202etxt',
      '👩‍👩‍👧‍👦 é é',
      ' \t\n x \r\n',
      '"\\"\\\\',
    ]) {
      const made = await post(JSON.stringify({ title: 'x', content: text }))
      expect(made.status).toBe(201)
      expect((await ada.fetch('GET', `/api/notes/${made.body.id}`)).body.content).toBe(text)
    }
  })

  test('is ignored on a route without a body', async () => {
    expect((await send('/api/auth/me', '{"role":"admin"}', {}, 'PATCH')).status).toBe(405)
    const socket = wireRequest(
      t,
      'GET /api/auth/me',
      [auth, 'Content-Type: application/json', 'Content-Length: 16'],
      '{"role":"admin"}',
    )
    const [answer] = await sendRaw(t, socket)
    expect(JSON.parse(answer?.body ?? '{}')).toMatchObject({ role: 'user' })
    expect(portOf(t)).toBeGreaterThan(0)
  })
})
