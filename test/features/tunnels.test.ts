import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Tunnel, TunnelClaimed, TunnelRegistered, TunnelStatus } from '../../src/features/tunnels/schema.ts'
import { type ServedRequest, TunnelAgent, type TunnelAgentOptions } from '../../src/tunnel/agent.ts'
import type { MachineConfig } from '../../src/tunnel/machine-config.ts'
import { sendRaw, wireRequest } from '../http/socket.ts'
import { apiKey, call, mcpToken, member, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { until } from '../support/until.ts'
import { expectEvent, expectEvents, expectRefusal, statuses, TestClock, times, watch } from './support.ts'

const clock = TestClock.ahead()
let t: TestApp
let owner: Person
let colleague: Person
let viewer: Person
let stranger: Person
const machineAbout = { hostname: 'build-1', os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }

/** Waits for something that another part of the process does. */
beforeAll(async () => {
  t = watch(await testApp({ TUNNEL_PORT: '0', TUNNEL_PUBLIC: 'on', TUNNEL_RATE: '1000000' }, clock.now))
  owner = await person(t)
  colleague = await member(t, owner, 'member')
  viewer = await member(t, owner, 'viewer')
  stranger = await person(t)
})
afterAll(() => t.close())

const register = (who: Person, body: object = { name: unique('Box') }) =>
  who.fetch<TunnelRegistered>('POST', '/api/tunnels/register', body)
const claim = (nonce: string) => call<TunnelClaimed>(t, 'POST', '/api/tunnels/claim', { nonce, ...machineAbout })
const beat = (token: string, body: object = { generation: 1, services: [] }) =>
  call(t, 'POST', '/api/tunnels/heartbeat', body, { authorization: `Bearer ${token}` })

describe('the record of a tunnel', () => {
  test('is created by a member, claimed once with the nonce, and visible to the team', async () => {
    const registered = await register(owner, { name: 'Build machine', slug: unique('build').slice(0, 30) })
    expect(registered.status).toBe(201)
    const { tunnel, nonce } = registered.body
    expect(tunnel).toMatchObject({ status: 'pending', access: 'private', ownerId: owner.userId, paused: false })
    expect(Buffer.from(nonce, 'base64url')).toHaveLength(32)
    await expectEvent(t, registered, 'tunnel.registered')

    const claims = await Promise.all(times(20, () => claim(nonce)))
    expect(statuses(claims)).toEqual([200, ...times(19, () => 401)])
    const claimed = claims.find(({ status }) => status === 200) as (typeof claims)[0]
    await expectEvent(t, claimed, 'tunnel.claimed')
    expect(claimed.body.token).toStartWith('svc_tun_')

    const seen = await viewer.fetch<Tunnel>('GET', `/api/tunnels/${tunnel.slug}`)
    expect(seen.body).toMatchObject({ status: 'connecting', hostname: 'build-1', id: tunnel.id })
    expect(seen.body.can?.update).toMatchObject({ code: 'forbidden' })
    expect((await owner.fetch<Tunnel>('GET', `/api/tunnels/${tunnel.id}`)).body.can?.update).toBe(true)
    expect((await colleague.fetch<Tunnel>('GET', `/api/tunnels/${tunnel.id}`)).body.can?.claim).not.toBe(true)
    await expectRefusal(t, await stranger.fetch('GET', `/api/tunnels/${tunnel.id}`), 404, 'not_found')
    await expectRefusal(t, await colleague.fetch('DELETE', `/api/tunnels/${tunnel.id}`), 403, 'forbidden')
    await expectRefusal(t, await register(viewer), 403, 'forbidden')
    await expectRefusal(t, await register(colleague, { tunnelId: tunnel.id }), 403, 'forbidden')
  })

  test('is refused alike to an old, a wrong and a used nonce', async () => {
    const { nonce } = (await register(owner)).body
    clock.forward({ minutes: 5, seconds: 1 })
    const old = await claim(nonce)
    const wrong = await claim('x'.repeat(43))
    expect([old.status, wrong.status]).toEqual([401, 401])
    expect((old.body as never as { detail: string }).detail).toBe((wrong.body as never as { detail: string }).detail)
  })

  test('gives its machine a credential that can only serve the tunnel', async () => {
    const { nonce, tunnel } = (await register(owner)).body
    const { token } = (await claim(nonce)).body
    const headers = { authorization: `Bearer ${token}` }
    expect((await call(t, 'GET', '/api/tunnels', undefined, headers)).status).toBe(403)
    expect((await call(t, 'GET', '/api/auth/me', undefined, headers)).status).toBe(403)
    expect((await call(t, 'POST', '/mcp', {}, headers)).status).toBeGreaterThanOrEqual(401)
    expect((await call(t, 'GET', '/health', undefined, headers)).status).toBe(200)
    for (const secret of [owner.token, await apiKey(t, owner)]) expect((await beat(secret)).status).toBe(403)
    expect((await beat(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).status).toBe(401)
    // No connection yet.
    expect((await beat(token)).status).toBe(409)
    const { body } = await call(t, 'GET', '/api/tunnels/reverse', undefined, headers)
    expect(body).toMatchObject({ status: 426 })
    await owner.fetch('DELETE', `/api/tunnels/${tunnel.id}`)
    expect((await beat(token)).status).toBe(401)
  })

  test('is versioned, and its slug stays reserved after the tunnel is deleted', async () => {
    const slug = unique('slug').slice(0, 30)
    const { tunnel } = (await register(owner, { name: 'One', slug })).body
    const changed = await owner.fetch<Tunnel>('PUT', `/api/tunnels/${tunnel.id}`, { paused: true, labels: ['linux'] })
    expect(changed.body).toMatchObject({ paused: true, labels: ['linux'], version: 2 })
    await expectEvent(t, changed, 'tunnel.updated')
    const late = await owner.fetch('PUT', `/api/tunnels/${tunnel.id}`, { name: 'Two' }, { 'if-match': '"1"' })
    expect(late.status).toBe(412)
    expect((await register(colleague, { name: 'Two', slug })).status).toBe(409)
    expect((await register(owner, { name: 'Two', slug: 'two--hyphens' })).status).toBe(422)
    await expectEvents(t, await owner.fetch('DELETE', `/api/tunnels/${tunnel.id}`), 'tunnel.deleted')
    expect((await register(stranger, { name: 'Two', slug })).status).toBe(409)
    await t.app.driver.query(`update tunnels set deleted_at = deleted_at - interval '8 days' where id = $1`, [
      tunnel.id,
    ])
    expect((await register(stranger, { name: 'Two', slug })).status).toBe(201)
  })

  test('keeps its former slug reserved after it is renamed', async () => {
    const slug = unique('old').slice(0, 30)
    const keeper = await person(t)
    const { tunnel } = (await register(keeper, { name: 'One', slug })).body
    const rename = (to: string) => keeper.fetch('PUT', `/api/tunnels/${tunnel.id}`, { slug: to })
    expect((await rename(`${slug.slice(0, 20)}-new`)).status).toBe(200)
    expect((await register(stranger, { name: 'Two', slug })).status).toBe(409)
    // Its owner may have it back.
    expect(statuses([await rename(slug), await rename(`${slug.slice(0, 20)}-new`)])).toEqual([200, 200])
    await t.app.driver.query(`update tunnel_former_slugs set left_at = left_at - interval '8 days' where slug = $1`, [
      slug,
    ])
    expect((await register(stranger, { name: 'Two', slug })).status).toBe(201)
  })

  test('is limited to ten for each user, even if they are created at once', async () => {
    const busy = await person(t)
    const answers = await Promise.all(times(12, () => register(busy)))
    expect(statuses(answers)).toEqual([...times(10, () => 201), 409, 409])
  })
})

describe('a connected machine', () => {
  let service: ReturnType<typeof Bun.serve>
  let tunnel: Tunnel
  let agent: TunnelAgent
  let running: Promise<string>
  const served: ServedRequest[] = []
  /** What a service says that is no web server. */
  let odd = ''
  const strange = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.write(odd) },
  })

  /** Registers, claims and connects a machine with these services. */
  async function connected(
    services: MachineConfig['services'],
    options: Partial<TunnelAgentOptions> = {},
    fields: object = {},
    who = owner,
  ) {
    const { nonce, tunnel: made } = (await register(who, { name: unique('Box'), ...fields })).body
    const { body } = await claim(nonce)
    const { tunnelId, ownerId, name, slug, token } = body
    const machine: MachineConfig = { server: t.url, tunnelId, ownerId, name, slug, token, services }
    const made2 = new TunnelAgent({ machine, retryMs: [5, 20], onServed: (one) => served.push(one), ...options })
    const ended = made2.run()
    await until(() => (t.app.tunnels.get(made.id)?.offer.services.length ?? -1) === Object.keys(services).length)
    return { agent: made2, ended, tunnel: made, machine }
  }

  beforeAll(async () => {
    service = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request, server) {
        const { pathname, search } = new URL(request.url)
        if (pathname === '/socket') {
          const protocol = request.headers.get('sec-websocket-protocol')
          const headers = protocol ? { 'sec-websocket-protocol': 'chat' } : undefined
          return server.upgrade(request, { headers, data: undefined }) ? undefined : new Response('no', { status: 400 })
        }
        if (pathname === '/echo')
          return new Response(request.body, {
            headers: { 'x-length': request.headers.get('content-length') ?? 'none' },
          })
        if (pathname === '/big') return new Response(new Uint8Array(3_000_000).fill(7))
        if (pathname === '/slow') return new Promise(() => undefined)
        if (pathname === '/events')
          return new Response(
            new ReadableStream({
              start: (c) => c.enqueue(new TextEncoder().encode('data: first\n\n')),
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          )
        const headers = new Headers({ 'x-seen': pathname + search, 'clear-site-data': '*' })
        headers.append('set-cookie', 'a=1; Path=/')
        headers.append('set-cookie', 'b=2; Domain=localhost; HttpOnly')
        return Response.json({ method: request.method, headers: Object.fromEntries(request.headers) }, { headers })
      },
      websocket: {
        message(socket, message) {
          if (message === 'bye') socket.close(4321, 'as asked')
          else socket.send(message)
        },
      },
    })
    const url = `http://127.0.0.1:${service.port}`
    ;({
      agent,
      ended: running,
      tunnel,
    } = await connected({
      web: { url },
      team: { url, who: ['members'] },
      open: { url, who: ['anyone'] },
      gone: { url: 'http://127.0.0.1:1' },
      odd: { url: `http://127.0.0.1:${strange.port}` },
    }))
  })
  afterAll(async () => {
    agent.stop()
    await running
    strange.stop(true)
    await service.stop(true)
  })

  const at = (name: string, path: string, init: RequestInit = {}, slug = tunnel.slug) => {
    const { listenerPort: listening } = t.app.tunnels
    const headers = { host: `${name}--${slug}.localhost:${listening}`, ...(init.headers as object) }
    return fetch(`http://127.0.0.1:${listening}${path}`, { redirect: 'manual', ...init, headers })
  }
  const by = (who: Person) => ({ 'tutti-authorization': `Bearer ${who.token}` })

  test('is online, with its services and their addresses', async () => {
    // The machine says what it offers right after it has connected.
    const seen = await until(async () => {
      const { body } = await owner.fetch<Tunnel>('GET', `/api/tunnels/${tunnel.id}`)
      return body.services.length > 0 && body
    })
    expect(seen.status).toBe('online')
    expect(seen.services.map(({ name, who }) => [name, who])).toContainEqual(['web', ['owner']])
    expect(seen.services[0]?.url).toBe(`http://web--${tunnel.slug}.localhost:${t.app.tunnels.listenerPort}`)
    const status = await until(async () => {
      const { body } = await owner.fetch<TunnelStatus>('GET', `/api/tunnels/${tunnel.id}/status`)
      return body.services.some(({ name, ok }) => name === 'web' && ok) && body
    })
    expect(status).toMatchObject({ status: 'online', generation: 1, instance: t.app.instanceId })
    expect(status.services.find(({ name }) => name === 'gone')?.ok).toBe(false)
  })

  test('receives requests unchanged, without our credentials and with the user', async () => {
    const response = await at('web', '/a%20b/c?x=1&x=2', {
      headers: {
        ...by(owner),
        cookie: 'own=1; tutti_access=secret; tutti_tunnel=secret',
        authorization: 'Basic abc',
        'x-forwarded-for': '9.9.9.9',
        'tutti-user': 'forged',
      },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-seen')).toBe('/a%20b/c?x=1&x=2')
    expect(response.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2; HttpOnly'])
    const { headers } = (await response.json()) as { headers: Record<string, string> }
    expect(headers).toMatchObject({
      cookie: 'own=1',
      authorization: 'Basic abc',
      'tutti-user': owner.userId,
      'tutti-email': owner.email,
      'x-forwarded-for': '127.0.0.1',
    })
    expect(headers['tutti-authorization']).toBeUndefined()
    expect(served.at(-1)).toMatchObject({ service: 'web', method: 'GET', status: 200, user: owner.email })
  })

  test('passes bodies both ways, large ones too, and events as they arrive', async () => {
    const body = new Uint8Array(2_500_000).map((_, i) => i % 251)
    const echoed = await at('web', '/echo', { method: 'POST', body, headers: by(owner) })
    expect(echoed.headers.get('x-length')).toBe('2500000')
    expect(Buffer.from(await echoed.arrayBuffer()).equals(body)).toBe(true)
    expect((await (await at('web', '/big', { headers: by(owner) })).arrayBuffer()).byteLength).toBe(3_000_000)
    expect((await at('web', '/big', { method: 'HEAD', headers: by(owner) })).headers.get('content-length')).toBe(
      '3000000',
    )
    const controller = new AbortController()
    const events = await at('web', '/events', { headers: by(owner), signal: controller.signal })
    const first = await events.body?.getReader().read()
    expect(new TextDecoder().decode(first?.value)).toBe('data: first\n\n')
    controller.abort()
    await until(() => t.app.tunnels.get(tunnel.id)?.session.streams === 0)
  })

  test('is reached by users whom both server and machine allow', async () => {
    const tries = async (name: string) =>
      Promise.all(
        [owner, colleague, viewer, stranger, undefined].map(
          async (who) => (await at(name, '/', { headers: who ? by(who) : {} })).status,
        ),
      )
    expect(await tries('web')).toEqual([200, 403, 403, 404, 401])
    await owner.fetch('PUT', `/api/tunnels/${tunnel.id}`, { access: 'organization' })
    await until(() => t.app.tunnels.get(tunnel.id)?.facts.access === 'organization')
    expect(await tries('web')).toEqual([200, 403, 403, 404, 401])
    expect(await tries('team')).toEqual([200, 200, 403, 404, 401])
    await owner.fetch('PUT', `/api/tunnels/${tunnel.id}`, { access: 'public' })
    await until(() => t.app.tunnels.get(tunnel.id)?.facts.access === 'public')
    expect(await tries('open')).toEqual([200, 200, 200, 200, 200])
    expect(await tries('web')).toEqual([200, 403, 403, 403, 403])
    await owner.fetch('PUT', `/api/tunnels/${tunnel.id}`, { access: 'private', paused: true })
    await until(() => t.app.tunnels.get(tunnel.id)?.facts.paused)
    expect((await at('web', '/', { headers: by(owner) })).status).toBe(503)
    await owner.fetch('PUT', `/api/tunnels/${tunnel.id}`, { paused: false })
    await until(() => t.app.tunnels.get(tunnel.id)?.facts.paused === false)
    const narrow = await apiKey(t, owner, ['tasks:write'])
    expect((await at('web', '/', { headers: { 'tutti-authorization': `Bearer ${narrow}` } })).status).toBe(403)
    const token = await mcpToken(t, owner)
    expect((await at('web', '/', { headers: { 'tutti-authorization': `Bearer ${token}` } })).status).toBe(200)
  })

  test('gives an error for missing and failing services, and never hangs', async () => {
    expect((await at('nothing', '/', { headers: by(owner) })).status).toBe(404)
    expect((await at('gone', '/', { headers: by(owner) })).status).toBe(502)
    expect((await at('web', '/', { headers: by(owner) }, 'no-such')).status).toBe(404)
    const two = { host: `web--${tunnel.slug}.localhost:1, other.localhost`, ...by(owner) }
    expect((await fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}/`, { headers: two })).status).toBe(400)
    const lost = await connected({ web: { url: `http://127.0.0.1:${service.port}` } })
    const waiting = at('web', '/slow', { headers: by(owner) }, lost.tunnel.slug)
    await until(() => t.app.tunnels.get(lost.tunnel.id)?.session.streams === 1)
    lost.agent.stop()
    expect((await waiting).status).toBe(502)
    expect(await lost.ended).toBe('stopped')
    expect((await at('web', '/', { headers: by(owner) }, lost.tunnel.slug)).status).toBe(502)
    await until(
      async () => (await owner.fetch<Tunnel>('GET', `/api/tunnels/${lost.tunnel.id}`)).body.status === 'offline',
    )
  })

  test('stays connected whatever a client requests or a service responds', async () => {
    const say = async (method: string, target: string, more: Record<string, string> = {}): Promise<string> => {
      const headers = { host: `web--${tunnel.slug}.localhost:${t.app.tunnels.listenerPort}`, ...by(owner), ...more }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      let said = ''
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: t.app.tunnels.listenerPort as number,
        socket: {
          data: (_, bytes) => {
            said += bytes.toString('latin1')
          },
        },
      })
      socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)
      await until(() => said.includes('\r\n\r\n'))
      socket.terminate()
      return said.slice('HTTP/1.1 '.length, 12)
    }
    const many = Object.fromEntries(times(196, (i) => [`x-${i}`, 'y']))
    const { generation } = t.app.tunnels.get(tunnel.id) ?? {}
    expect(await say('GET', '/', many)).toBe('400')
    expect(await say('GET', '/', { x: 'y'.repeat(15_000) })).toBe('200')
    for (const method of ['M-SEARCH', 'PROPFIND', 'CONNECT', 'TRACE']) expect(await say(method, '/')).toMatch(/^[45]/)
    for (const target of ['/\xe9?\xe9', `/${'y'.repeat(14_000)}`, '/a/%2e%2e/..//b\\c?"<>', '*', '//x', '/?\x01'])
      expect(await say('GET', target)).toMatch(/^[2345]/)
    // It says that a body follows, and Bun drops the body of a GET.
    expect(await say('GET', '/', { 'content-length': '0' })).toBe('200')
    // Services that say what the wire does not carry.
    for (const response of [
      'HTTP/1.1 999 No\r\n\r\n',
      `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(300)}\r\n`,
      'no HTTP at all\r\n\r\n',
    ]) {
      odd = response
      expect((await at('odd', '/', { headers: by(owner) })).status).toBeGreaterThan(400)
    }
    expect(t.app.tunnels.get(tunnel.id)?.generation).toBe(generation as number)
    expect((await at('web', '/', { headers: by(owner) })).status).toBe(200)
  })

  test('receives nothing of a request with two Host headers', async () => {
    const port = t.app.tunnels.listenerPort as number
    const listener = { ...t, server: { ...t.server, port } }
    const mine = `Host: web--${tunnel.slug}.localhost:${port}`
    const credential = `Tutti-Authorization: ${by(owner)['tutti-authorization']}`
    const ask = async (...hosts: string[]) =>
      (await sendRaw(listener, wireRequest(t, 'GET /', [...hosts, credential])))[0]
    for (const hosts of [
      [mine, 'Host: other.localhost'],
      ['Host: other.localhost', mine],
      [mine, mine],
    ]) {
      const answer = await ask(...hosts)
      expect([400, 404]).toContain(answer?.status as number)
      expect([hosts, answer?.headers.get('x-seen')]).toEqual([hosts, null])
    }
    expect((await ask(mine))?.status).toBe(200)
  })

  test('serves pages by path in a sandbox, and stores nothing for the origin', async () => {
    const response = await fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}/t/${tunnel.slug}/web/x?y=1`, {
      headers: by(owner),
    })
    expect(response.headers.get('x-seen')).toBe('/x?y=1')
    expect(response.headers.get('content-security-policy')).toStartWith('sandbox ')
    expect(response.headers.get('content-security-policy')).not.toContain('allow-same-origin')
    expect(response.headers.getSetCookie()).toEqual([])
    expect(response.headers.get('clear-site-data')).toBeNull()
    // A browser cannot sign in there, and is told what to do instead.
    const page = await fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}/t/${tunnel.slug}/web/`, {
      headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' },
    })
    expect([page.status, page.headers.get('set-cookie')]).toEqual([401, null])
    expect(page.headers.get('content-security-policy')).toContain('sandbox')
    const text = await page.text()
    expect(text).toContain(`tutti tunnel open ${tunnel.slug}/web`)
    expect(text).toContain(`http://web--${tunnel.slug}.localhost:${t.app.tunnels.listenerPort}/`)
    // The API's own port knows nothing of it.
    expect((await fetch(`${t.url}/t/${tunnel.slug}/web/`, { headers: by(owner) })).status).toBe(404)
  })

  test('passes WebSockets with their subprotocol, message kinds and close codes', async () => {
    const { listenerPort: listening } = t.app.tunnels
    const socket = new WebSocket(`ws://127.0.0.1:${listening}/t/${tunnel.slug}/web/socket`, {
      headers: by(owner),
      protocols: ['chat'],
    })
    socket.binaryType = 'arraybuffer'
    const got: unknown[] = []
    const closed = Promise.withResolvers<[number, string]>()
    socket.onmessage = ({ data }) => got.push(typeof data === 'string' ? data : new Uint8Array(data).length)
    socket.onclose = ({ code, reason }) => closed.resolve([code, reason])
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    expect(socket.protocol).toBe('chat')
    socket.send('hello')
    socket.send(new Uint8Array(300_000))
    socket.send('')
    await until(() => got.length === 3)
    expect(got).toEqual(['hello', 300_000, ''])
    socket.send('bye')
    expect(await closed.promise).toEqual([4321, 'as asked'])
    await until(() => t.app.tunnels.get(tunnel.id)?.session.streams === 0)
  })

  test('is reached by a WebSocket on the API itself, with a ticket', async () => {
    const address = (more: string) =>
      `${t.url.replace('http', 'ws')}/api/tunnels/${tunnel.slug}/ws?path=/socket&${more}`
    const { ticket } = (await owner.fetch<{ ticket: string }>('POST', '/api/ws/ticket')).body
    const socket = new WebSocket(address(`service=web&ticket=${ticket}`))
    const [got, closed] = [Promise.withResolvers<unknown>(), Promise.withResolvers<number>()]
    socket.onmessage = ({ data }) => got.resolve(data)
    socket.onclose = ({ code }) => closed.resolve(code)
    socket.onopen = () => socket.send('hello')
    expect(await got.promise).toBe('hello')
    socket.send('bye')
    expect(await closed.promise).toBe(4321)
    const upgrade = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' }
    const tried = async (who: Person, service: string, headers: Record<string, string> = upgrade) =>
      (await who.fetch('GET', `/api/tunnels/${tunnel.id}/ws?service=${service}`, undefined, headers)).status
    expect(await tried(owner, 'web', {})).toBe(426)
    expect(await tried(owner, 'gone')).toBe(502)
    expect(await tried(owner, 'nothing')).toBe(403)
    expect(await tried(colleague, 'web')).toBe(403)
    expect(await tried(viewer, 'web')).toBe(403)
    expect(await tried(stranger, 'web')).toBe(404)
    await until(() => t.app.tunnels.get(tunnel.id)?.session.streams === 0)
  })

  test('is reached by a browser that signs in on the dashboard and gets a cookie for this one host', async () => {
    const host = `web--${tunnel.slug}.localhost:${t.app.tunnels.listenerPort}`
    const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const sent = await at('web', '/deep?x=1', { headers: page })
    expect(sent.status).toBe(302)
    const to = new URL(sent.headers.get('location') as string)
    expect(to.origin + to.pathname).toBe(`${t.app.url}/tunnels/enter`)
    expect(to.searchParams.get('to')).toBe(`http://${host}/deep?x=1`)
    const entered = (who: Person) =>
      who.fetch<{ location: string }>('POST', '/api/tunnels/enter', { to: to.searchParams.get('to') })
    await expectRefusal(t, await entered(colleague), 403, 'forbidden')
    await expectRefusal(t, await entered(stranger), 404, 'not_found')
    const elsewhere = await owner.fetch('POST', '/api/tunnels/enter', { to: 'https://evil.example.com/' })
    expect(elsewhere.status).toBe(422)
    const location = new URL((await entered(owner)).body.location)
    const path = location.pathname + location.search
    expect((await at('team', path)).status).toBe(401)
    const path2 = new URL((await entered(owner)).body.location)
    const set = await at('web', path2.pathname + path2.search)
    expect([set.status, set.headers.get('location')]).toEqual([303, '/deep?x=1'])
    const cookie = (set.headers.get('set-cookie') as string).split(';')[0] as string
    expect(set.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax/)
    expect((await at('web', path2.pathname + path2.search)).status).toBe(401)
    const opens = async (name: string, value: string) =>
      (await at(name, '/', { headers: { cookie: value, 'sec-fetch-site': 'none' } })).status
    expect(await opens('web', cookie)).toBe(200)
    expect(await opens('team', cookie)).toBe(401)
    expect(await opens('web', `${cookie}x`)).toBe(401)
    // A page of another tunnel is of the same site, and sends the cookie along.
    const forgeries: Record<string, string>[] = [
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
      { origin: 'http://team--x.localhost' },
    ]
    for (const forged of forgeries)
      expect((await at('web', '/', { method: 'POST', headers: { cookie, ...forged } })).status).toBe(401)
  })

  test('cuts off a user who is suspended or leaves the team, with their requests', async () => {
    const url = `http://127.0.0.1:${service.port}`
    const admin = await person(t, { admin: true })
    const ways: ((who: Person) => Promise<{ status: number }>)[] = [
      ({ userId }) => admin.fetch('PATCH', `/api/admin/users/${userId}/suspend`, {}),
      ({ userId }) => owner.fetch('DELETE', `/api/teams/${owner.organizationId}/members/${userId}`),
    ]
    for (const way of ways) {
      const leaver = await member(t, owner, 'member')
      const theirs = await connected({ web: { url } }, {}, {}, leaver)
      const open = at('web', '/slow', { headers: by(leaver) }, theirs.tunnel.slug)
      await until(() => t.app.tunnels.get(theirs.tunnel.id)?.session.streams === 1)
      expect((await way(leaver)).status).toBe(200)
      // Refused if the request is ended first, failed if the machine is.
      expect([403, 502]).toContain((await open).status)
      expect(await theirs.ended).toBe('refused')
      expect(t.app.tunnels.get(theirs.tunnel.id)).toBeUndefined()
      expect((await beat(theirs.machine.token)).status).toBe(401)
    }
  })

  test('is disconnected by a new claim', async () => {
    const first = await connected({ web: { url: `http://127.0.0.1:${service.port}` } })
    const { nonce } = (await register(owner, { tunnelId: first.tunnel.id })).body
    expect(t.app.tunnels.get(first.tunnel.id)).toBeDefined()
    expect((await claim(nonce)).status).toBe(200)
    expect(await first.ended).toBe('refused')
    expect((await beat(first.machine.token)).status).toBe(401)
  })

  test('is replaced by a later connection, and disconnected when it loses the right', async () => {
    const url = `http://127.0.0.1:${service.port}`
    const first = await connected({ web: { url } })
    const second = new TunnelAgent({ machine: first.machine, retryMs: [5, 20] })
    const ended = second.run()
    await until(() => (t.app.tunnels.get(first.tunnel.id)?.generation ?? 0) > 1)
    first.agent.stop()
    await first.ended
    expect((await beat(first.machine.token, { generation: 1, services: [] })).status).toBe(409)
    await until(async () => (await at('web', '/', { headers: by(owner) }, first.tunnel.slug)).status === 200)
    await owner.fetch('DELETE', `/api/tunnels/${first.tunnel.id}`)
    expect(await ended).toBe('refused')
    expect(t.app.tunnels.get(first.tunnel.id)).toBeUndefined()
  })
})
