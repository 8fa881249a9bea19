import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { connect } from 'node:net'
import * as members from '../../src/features/organizations/members.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import { relayResponse } from '../../src/mcp/streams/streams.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { anyTool, big, openRaw, serveTools, type TestCtx, until, ways } from './support.ts'

let t: TestApp
let ada: Person
let token: string
let url: string
let stop: () => Promise<void>
let open: () => number

/** Calls of `hold` that are running, newest last. */
const held: { ctx: TestCtx; release(): void }[] = []

const hold = anyTool('hold', (ctx) => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  held.push({ ctx, release: () => resolve({ held: true }) })
  return promise
})

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  token = await mcpToken(t, ada)
  const served = serveTools(t, [hold, big])
  ;({ url, stop } = served)
  open = () => served.mcp.streams
})
afterEach(() => until(() => open() === 0))
afterAll(() => stop())

/** Opens a stream of the newest protocol. */
type Asked = RequestInit & { base?: string }
/** A request of 2026-07-28. */
const ask = (token: string, method: string, params: object, { base = url, ...init }: Asked = {}) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return fetch(`${base}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'l1', method, params: { _meta, ...params } }),
    ...init,
  })
}
const listen = (token: string, notifications: object = { toolsListChanged: true }, init?: Asked) =>
  ask(token, 'subscriptions/listen', { notifications }, init)

test('the first event of a stream contains the retry time and the address for messages', async () => {
  const stream = await openRaw(url, token)
  expect(stream.first).toMatch(/^retry: 1000\nevent: endpoint\ndata: \/mcp\/messages\?sessionId=[\w-]{43}$/)
  const other = await openRaw(url, token)
  expect(other.endpoint).not.toBe(stream.endpoint)
  stream.abort()
  other.abort()
})

test('a comment keeps a stream alive beyond the idle timeout of the server', async () => {
  const stream = await openRaw(url, token)
  await until(() => stream.comments > 0 || open() === 0)
  await Bun.sleep(500)
  expect(open()).toBe(1)
  expect(stream.comments).toBeGreaterThan(0)
  stream.abort()
})

describe('a session', () => {
  test('is not found with another token, of the same user or another', async () => {
    const stream = await openRaw(url, token)
    for (const foreign of [await mcpToken(t, ada), await mcpToken(t, await person(t))]) {
      const answer = await stream.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, foreign)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ code: 'not_found' })
    }
    expect((await stream.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(202)
    expect(await stream.wait(1)).toEqual({ jsonrpc: '2.0', id: 1, result: {} as never })
    stream.abort()
  })

  test('ends with its stream', async () => {
    const stream = await openRaw(url, token)
    stream.abort()
    await until(() => open() === 0)
    expect((await stream.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404)
  })
})

describe('losing rights', () => {
  const timed = async (stream: { ended: Promise<void> }, act: () => Promise<unknown>): Promise<number> => {
    const done = act().then(() => performance.now())
    await stream.ended
    return performance.now() - (await done)
  }

  test('by a revoked token closes its streams within a second, and no others', async () => {
    const made = await tokens.createToken(await ada.ctx(), { name: 'gone', organizationId: ada.organizationId })
    const streams = await Promise.all([1, 2, 3].map(() => openRaw(url, made.token as string)))
    const other = await openRaw(url, token)
    const took = await Promise.all(
      streams.map((s, i) =>
        timed(s, async () => (i === 0 ? tokens.revokeToken(await ada.ctx(), { id: made.id }) : undefined)),
      ),
    )
    expect(Math.max(...took)).toBeLessThan(allowing(1000))
    expect((await other.call(1, 'big')).result?.isError).toBeUndefined()
    other.abort()
  })

  test('by a lost membership closes the streams too', async () => {
    const grace = await member(t, ada, 'member')
    const ctx = await grace.ctx()
    const { token: hers } = await tokens.createToken(
      { ...ctx, actor: { ...ctx.actor, organizationId: ada.organizationId } },
      { name: 'hers', organizationId: ada.organizationId },
    )
    const stream = await openRaw(url, hers as string)
    expect(
      await timed(stream, async () =>
        members.removeMember(await ada.ctx(), { id: ada.organizationId, userId: grace.userId }),
      ),
    ).toBeLessThan(allowing(1000))
  })

  test('stops all later events, however long the check of the rights takes', async () => {
    const hopper = await member(t, ada, 'member')
    const ctx = await hopper.ctx()
    const inTeam = { ...ctx, actor: { ...ctx.actor, organizationId: ada.organizationId } }
    const { token: hers } = await tokens.createToken(inTeam, { name: 'hers', organizationId: ada.organizationId })
    const made = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Open' })
    const task = await ada.fetch<{ id: string; key: string }>('POST', `/api/projects/${made.body.id}/tasks`, {
      title: 'Watched',
    })
    const resourceSubscriptions = [`tutti://task/${task.body.key}`]
    // Otherwise its creation might be told in place of its first change.
    await t.app.bus.catchUp()
    const response = await listen(hers as string, { resourceSubscriptions }, { base: t.url })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    const read = async () => {
      const { done, value } = await reader.read()
      text += new TextDecoder().decode(value)
      return !done
    }
    while (!text.includes('acknowledged')) await read()
    const rename = (title: string) => ada.fetch('PATCH', `/api/tasks/${task.body.id}`, { title })
    await rename('Before')
    while (!text.includes('resources/updated')) await read()
    text = ''
    const { promise: checked, resolve: go } = Promise.withResolvers<void>()
    const look = t.app.auth.lookUp.bind(t.app.auth)
    const slow = spyOn(t.app.auth, 'lookUp').mockImplementation(async (secret) => {
      if (secret === hers) await checked
      return look(secret)
    })
    await members.removeMember(await ada.ctx(), { id: ada.organizationId, userId: hopper.userId })
    await rename('After')
    await until(() => slow.mock.calls.some(([secret]) => secret === hers))
    slow.mockRestore()
    go()
    while (await read());
    expect(text).not.toContain('resources/updated')
  })

  test('ends a subscription of the newest protocol too', async () => {
    const made = await tokens.createToken(await ada.ctx(), { name: 'gone', organizationId: ada.organizationId })
    const response = await listen(made.token as string)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(open()).toBe(1)
    const ended = response.text()
    await tokens.revokeToken(await ada.ctx(), { id: made.id })
    expect(await ended).toContain('notifications/subscriptions/acknowledged')
    expect(open()).toBe(0)
  })

  test('by a change of role notifies the client that its tools changed', async () => {
    const grace = await member(t, ada, 'viewer')
    const ctx = await grace.ctx()
    const { token: hers } = await tokens.createToken(
      { ...ctx, actor: { ...ctx.actor, organizationId: ada.organizationId } },
      { name: 'hers', organizationId: ada.organizationId },
    )
    const client = await (ways['v2 client, SSE'] as (typeof ways)[string])(t.url, hers as string)
    const told = new Promise<void>((resolve) => client.onToolsChanged(resolve))
    expect(await client.list()).not.toContain('create_note')
    await members.setRole(await ada.ctx(), { id: ada.organizationId, userId: grace.userId, role: 'member' })
    await told
    expect(await client.list()).toContain('create_note')
    await client.close()
  })
})

describe('a client that disconnects', () => {
  test('ends its session and aborts its running calls', async () => {
    const stream = await openRaw(url, token)
    void stream.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } })
    await until(() => held.length === 1)
    const { ctx, release } = held.pop() as (typeof held)[number]
    const aborted = new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
    stream.abort()
    await aborted
    expect(open()).toBe(0)
    release()
  })

  for (const [revision, more] of [
    ['2025-11-25', {}],
    [
      '2026-07-28',
      {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    ],
  ] as const)
    test(`from Streamable HTTP ${revision} aborts its running call`, async () => {
      const abort = new AbortController()
      const answer = fetch(`${url}/mcp`, {
        method: 'POST',
        signal: abort.signal,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': revision,
          ...(revision === '2026-07-28' && { 'mcp-method': 'tools/call', 'mcp-name': 'hold' }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'hold', arguments: {}, ...more },
        }),
      }).then(
        (r) => r.text().catch(() => ''),
        () => '',
      )
      await until(() => held.length === 1)
      const { ctx, release } = held.pop() as (typeof held)[number]
      const aborted = new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
      abort.abort()
      await aborted
      release()
      await answer
    })

  test('or cancels one call gets no answer to it', async () => {
    const stream = await openRaw(url, token)
    void stream.post({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'hold' } })
    await until(() => held.length === 1)
    const { ctx, release } = held.pop() as (typeof held)[number]
    await stream.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } })
    expect(ctx.signal.aborted).toBe(true)
    release()
    const next = await Promise.race([stream.wait('a'), stream.call('b', 'big')])
    expect(next.id).toBe('b')
    stream.abort()
  })
})

describe('a token', () => {
  test('has at most ten streams', async () => {
    const mine = await mcpToken(t, ada)
    const streams = await Promise.all(Array.from({ length: 10 }, () => openRaw(url, mine)))
    const eleventh = await fetch(`${url}/mcp/sse`, { headers: { authorization: `Bearer ${mine}` } })
    expect(eleventh.status).toBe(429)
    expect(eleventh.headers.get('retry-after')).toBe('5')
    expect(await eleventh.json()).toMatchObject({
      code: 'rate_limited',
      detail: expect.stringContaining('10 open streams'),
    })
    const other = await openRaw(url, token)
    other.abort()
    streams[0]?.abort()
    await until(() => open() === 9)
    ;(await openRaw(url, mine)).abort()
    for (const s of streams) s.abort()
  })

  test('has at most ten streams, even if they are opened in parallel', async () => {
    const mine = await mcpToken(t, ada)
    // The first use of a token is reported before its request goes on, which then would come after the others.
    expect((await ask(mine, 'tools/list', {}, { base: t.url })).status).toBe(200)
    // Each is looked up before the stream opens, so all of them wait at once.
    const resourceSubscriptions = Array.from({ length: 3 }, () => `tutti://note/${crypto.randomUUID()}`)
    // Without the tools it would end at once and free its place, because none of the notes exist.
    const wanted = { resourceSubscriptions, toolsListChanged: true }
    const leaving = new AbortController()
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => listen(mine, wanted, { base: t.url, signal: leaving.signal })),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.sort()).toEqual([...Array<number>(10).fill(200), ...Array<number>(20).fill(429)])
    leaving.abort()
  })

  test('loses no place to a request that fails or is aborted', async () => {
    const mine = await mcpToken(t, ada)
    const tooMany = Array.from({ length: 101 }, (_, i) => `tutti://me?${i}`)
    for (let i = 0; i < 12; i++) {
      expect((await listen(mine, { toolsListChanged: 'x' })).headers.get('content-type')).toMatch(/json/)
      expect((await listen(mine, { resourceSubscriptions: tooMany })).status).toBeLessThan(500)
      const leaving = new AbortController()
      const given = listen(mine, { resourceSubscriptions: tooMany.slice(0, 9) }, { signal: leaving.signal })
      leaving.abort()
      expect(await given.catch(() => 'given up')).toBe('given up')
    }
    await until(() => open() === 0)
    const leaving = new AbortController()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => listen(mine, undefined, { signal: leaving.signal })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    leaving.abort()
  })

  test('has at most sixteen simultaneous calls over all its connections', async () => {
    const [a, b, c] = [await openRaw(url, token), await openRaw(url, token), await openRaw(url, await mcpToken(t, ada))]
    const answers = Array.from({ length: 16 }, (_, i) => (i % 2 ? a : b).call(i, 'hold'))
    await until(() => held.length === 16)
    const refused = await a.call('17th', 'hold')
    expect(refused.result).toMatchObject({ isError: true, structuredContent: { code: 'rate_limited' } })
    expect(refused.result?.content[0]?.text).toBe(
      'rate_limited: This token has 16 calls running. Wait for one to end, then call again.',
    )
    expect((await c.call(1, 'big')).result?.isError).toBeUndefined()
    for (const { release } of held.splice(0)) release()
    for (const answer of await Promise.all(answers)) expect(answer.result?.structuredContent).toEqual({ held: true })
    expect((await a.call('18th', 'big')).result?.isError).toBeUndefined()
    for (const s of [a, b, c]) s.abort()
  })

  test('is disconnected if its client does not read', async () => {
    const slow = await mcpToken(t, ada)
    const { port } = new URL(url)
    const socket = connect(Number(port), '127.0.0.1')
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()).on('error', () => resolve()))
    const endpoint = Promise.withResolvers<string>()
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const found = /data: (\S+)/.exec(text)?.[1]
      if (!found) return
      endpoint.resolve(found)
      socket.pause()
    })
    socket.write(`GET /mcp/sse HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${slow}\r\n\r\n`)
    const path = await endpoint.promise
    const post = (id: number) =>
      fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${slow}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'big' } }),
      })
    let sent = 0
    while ((await post(sent)).status === 202) if (++sent > 1000) throw new Error('140 MB later it is still connected')
    expect(open()).toBe(0)
    text = ''
    socket.removeAllListeners('data').resume()
    await closed
  })
})

test('a subscription is not buffered for a client that does not read', async () => {
  const chunk = new Uint8Array(70_000)
  let sent = 0
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(chunk)
      sent++
    },
  })
  const ended = Promise.withResolvers<void>()
  const owner = { credentialId: 'c', userId: null, secret: 's' }
  const { response } = relayResponse(new Response(endless), owner, () => ended.resolve())
  await ended.promise
  expect(sent * chunk.length).toBeLessThan(2 << 20)
  expect(await response.arrayBuffer().catch((error: Error) => error.message)).toBe('The client does not read')
})

test('closing the server lets running calls finish first', async () => {
  const own = serveTools(t, [hold])
  const stream = await openRaw(own.url, token)
  const answer = stream.call(1, 'hold')
  await until(() => held.length === 1)
  const stopped = own.mcp.close()
  expect((await stream.post({ jsonrpc: '2.0', id: 2, method: 'ping' })).status).toBe(503)
  held.pop()?.release()
  expect((await answer).result?.structuredContent).toEqual({ held: true })
  await stopped
  await stream.ended
  expect(own.mcp.streams).toBe(0)
  await own.stop()
})
