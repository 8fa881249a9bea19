import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { TunnelAction } from '../../src/features/tunnels/actions/action-schema.ts'
import { handoverKey, handoverPath } from '../../src/features/tunnels/dialers.ts'
import { streamShares } from '../../src/features/tunnels/traffic/shares.ts'
import { uploadLimits } from '../../src/tunnel/actions/upload.ts'
import type { ConnectedTunnel } from '../../src/tunnel/connected-tunnels.ts'
import type { RequestHead } from '../../src/tunnel/frames.ts'
import { HANDOVER_HEADER, signHandover } from '../../src/tunnel/handover.ts'
import { openRemoteStream } from '../../src/tunnel/instance-dial.ts'
import { call, mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import { times } from './support.ts'
import { type ConnectedMachine, connectMachine } from './tunnel-support.ts'

/** Two instances on one database: a machine is connected to one, and requests land on the other. */
describe.skipIf(process.env.TEST_DB !== 'postgres')('with two instances on one Postgres', () => {
  let one: TestApp
  let two: TestApp
  let owner: Person
  let colleague: Person
  let machine: ConnectedMachine
  let service: ReturnType<typeof Bun.serve>
  const held: (() => void)[] = []
  const folder = mkdtempSync(join(tmpdir(), 'tutti-instances-'))

  async function instance(): Promise<TestApp> {
    const port = String(freePort())
    return testApp({
      PORT: port,
      TUNNEL_PORT: '0',
      TUNNEL_RATE: '1000000',
      INSTANCE_URL: `http://127.0.0.1:${port}`,
      INSTANCE_NETWORK: 'private',
      TUNNEL_PUBLIC: 'on',
      TRUSTED_PROXIES: '127.0.0.1',
    })
  }

  beforeAll(async () => {
    ;[one, two] = [await instance(), await instance()]
    owner = await person(one)
    colleague = await member(one, owner, 'member')
    service = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      async fetch(request, server) {
        const { pathname } = new URL(request.url)
        if (pathname === '/socket') return server.upgrade(request, { data: undefined }) ? undefined : new Response('no')
        if (pathname === '/echo') return new Response(request.body, { status: 201 })
        if (pathname === '/held') {
          await new Promise<void>((resolve) => held.push(resolve))
          return new Response('at last')
        }
        if (pathname === '/length') return new Response(String((await request.text()).length))
        if (pathname === '/headers') return Response.json(Object.fromEntries(request.headers))
        return Response.json({ path: pathname, user: request.headers.get('tutti-user') })
      },
      websocket: {
        message(socket, message) {
          if (message === 'bye') socket.close(4321, 'as asked')
          else socket.send(message)
        },
      },
    })
    const url = `http://127.0.0.1:${service.port}`
    machine = await connectMachine(one, owner, {
      services: { web: { url }, team: { url, who: ['members'] } },
      commands: { later: { argv: ['sh', '-c', 'until [ -e go ]; do sleep 0.02; done; echo one; echo two'], folder } },
      mcp: { local: { argv: [process.execPath, join(import.meta.dir, '../tunnel/mcp-server.ts')] } },
    })
  })
  afterAll(async () => {
    await machine.stop()
    await Promise.all([one.close(), two.close()])
    await service.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })

  test('actions requested on the other instance run, and their output arrives there', async () => {
    const askTwo = <T>(method: string, path: string, body?: object) =>
      call<T>(two, method, path, body, { authorization: `Bearer ${owner.token}` })
    const path = `/api/tunnels/${machine.tunnel.id}/actions`
    const body = { type: 'run_command', params: { command: 'later' } }
    const asked = await until(async () => {
      const { status, body: action } = await askTwo<TunnelAction>('POST', path, body)
      return status === 201 && action
    })
    const { ticket } = (await askTwo<{ ticket: string }>('POST', '/api/ws/ticket')).body
    const socket = new WebSocket(`${two.url.replace('http', 'ws')}/api/ws?ticket=${ticket}`)
    const heard: { op?: string; line?: string; n?: number }[] = []
    socket.onmessage = ({ data }) => heard.push(JSON.parse(String(data)))
    await until(() => heard.some(({ op }) => op === 'hello'))
    socket.send(JSON.stringify({ op: 'subscribe', topics: [`record:${asked.id}`] }))
    await until(() => heard.some(({ op }) => op === 'subscribed'))
    writeFileSync(join(folder, 'go'), '')
    await until(() => heard.filter(({ op }) => op === 'output').length === 2)
    expect(heard.filter(({ op }) => op === 'output').map(({ n, line }) => [n, line])).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
    socket.close()
    const ping = await askTwo<TunnelAction>('POST', `${path}?wait=25`, { type: 'ping' })
    expect(ping.body.state).toBe('succeeded')
  })

  const at = (t: TestApp, path: string, init: RequestInit & { who?: Person; name?: string } = {}) =>
    fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}/t/${machine.tunnel.slug}/${init.name ?? 'web'}${path}`, {
      ...init,
      headers: { 'tutti-authorization': `Bearer ${(init.who ?? owner).token}` },
    })

  test('a request on the other instance reaches the machine, with its body and its user', async () => {
    expect(two.app.tunnels.get(machine.tunnel.id)).toBeUndefined()
    const asked = await at(two, '/a?b=1')
    expect([asked.status, await asked.json()]).toEqual([200, { path: '/a', user: owner.userId }])
    const body = new Uint8Array(2_500_000).map((_, i) => i % 251)
    const echoed = await at(two, '/echo', { method: 'POST', body })
    expect(echoed.status).toBe(201)
    expect(Buffer.from(await echoed.arrayBuffer()).equals(body)).toBe(true)
    // Both sides decide here as well.
    expect((await at(two, '/', { who: colleague })).status).toBe(403)
    expect((await at(two, '/', { name: 'nothing' })).status).toBe(404)
    const traffic = one.app.tunnels.get(machine.tunnel.id)?.traffic
    expect(traffic?.requests).toBeGreaterThan(0)
  })

  test('WebSockets and MCP servers of the machine work through the other instance', async () => {
    const address = `ws://127.0.0.1:${two.app.tunnels.listenerPort}/t/${machine.tunnel.slug}/web/socket`
    const socket = new WebSocket(address, { headers: { 'tutti-authorization': `Bearer ${owner.token}` } })
    const got: unknown[] = []
    const closed = Promise.withResolvers<[number, string]>()
    socket.onmessage = ({ data }) => got.push(data)
    socket.onclose = ({ code, reason }) => closed.resolve([code, reason])
    await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }))
    socket.send('hello')
    await until(() => got.length === 1)
    socket.send('bye')
    expect([got, await closed.promise]).toEqual([['hello'], [4321, 'as asked']])

    const client = new Client({ name: 'test', version: '1' })
    const token = await mcpToken(two, owner)
    const url = new URL(`${two.url}/mcp/tunnels/${machine.tunnel.slug}/local`)
    const headers = { authorization: `Bearer ${token}` }
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }), { timeout: 300_000 })
    expect((await client.listTools(undefined, { timeout: 300_000 })).tools).toHaveLength(5)
    await client.close()
    // The machine hears that the client has left, also from a stream on which nothing was said.
    await until(() => one.app.tunnels.get(machine.tunnel.id)?.session.streams === 0)
  })

  test('forged, repeated, outdated and unauthorized requests between instances are refused', async () => {
    const { generation = 0 } = one.app.tunnels.get(machine.tunnel.id) ?? {}
    const role = 'owner' as const
    const user = { id: owner.userId, email: owner.email, role }
    const head: RequestHead = {
      kind: 'http',
      service: 'web',
      method: 'GET',
      target: '/a',
      headers: [['host', 'x']],
      user,
    }
    const now = Date.now()
    const key = handoverKey(one.app)
    const { id } = machine.tunnel
    const path = `${one.url}${handoverPath(id)}`
    const signed = (more: Partial<RequestHead> = {}, at = now, by: Uint8Array = key, of = generation) =>
      signHandover(by, id, of, { ...head, ...more }, at)
    const outcome = async (signature: string, sent = head) => {
      const opened = await openRemoteStream(path, signature, sent, false).catch(() => 'refused')
      if (typeof opened === 'string') return opened
      return opened.response().then(
        ({ status }) => status,
        () => 'ended',
      )
    }
    const good = signed()
    expect(await outcome(good)).toBe(200)
    expect(await outcome(good)).toBe('refused')
    expect(await outcome(signed({}, now, new Uint8Array(32)))).toBe('refused')
    expect(await outcome(signed({}, now - 31_000))).toBe('refused')
    expect(await outcome(signed({}, now, key, generation + 1))).toBe('refused')
    // Signed for another request than the one that is sent.
    expect(await outcome(signed({ target: '/b' }))).toBe('ended')
    // The other instance says that they are the owner, but this one reads the rights itself.
    const other = { ...head, user: { ...user, id: colleague.userId } }
    expect(await outcome(signed(other), other)).toBe('refused')
    const nobody = { ...head, user: null }
    expect(await outcome(signed(nobody), nobody)).toBe('refused')
    const plain = await fetch(path, { headers: { [HANDOVER_HEADER]: signed() } })
    expect(plain.status).toBe(426)
    expect((await fetch(path)).status).toBe(404)
  })

  test('cookies of the server and headers that look like ours do not reach the service', async () => {
    const headers = {
      'tutti-authorization': `Bearer ${owner.token}`,
      cookie: 'own=1; tutti_link=2; __Host-tutti_oauth=3',
      Tutti_Email: 'forged@example.com',
      X_Forwarded_For: '198.51.100.1',
    }
    const url = `http://127.0.0.1:${two.app.tunnels.listenerPort}/t/${machine.tunnel.slug}/web/headers`
    const seen = (await (await fetch(url, { headers })).json()) as Record<string, string>
    expect(seen).toMatchObject({ cookie: 'own=1', 'tutti-email': owner.email, 'x-forwarded-for': '127.0.0.1' })
    expect(Object.keys(seen).filter((name) => name.includes('_'))).toEqual([])
  })

  test('a network has one share of a machine’s streams, and stalled bodies end, across both instances', async () => {
    const open = { url: `http://127.0.0.1:${service.port}`, who: ['anyone'] }
    const shared = await connectMachine(one, owner, { services: { open }, access: 'public' })
    const { session } = one.app.tunnels.get(shared.tunnel.id) as ConnectedTunnel
    const path = `/t/${shared.tunnel.slug}/open/length`
    const clients = times(40, (i) => {
      const port = (i % 2 ? one : two).app.tunnels.listenerPort as number
      const client = { socket: connect({ host: '127.0.0.1', port }), said: '' }
      client.socket
        .on('error', () => undefined)
        .on('data', (bytes) => {
          client.said += bytes.toString('latin1')
        })
      const head = ['Host: localhost', 'X-Forwarded-For: 198.51.100.7', 'Content-Length: 1000']
      client.socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\nx`)
      return client
    })
    const statusesOf = () => clients.map(({ said }) => said.split(' ')[1]).filter(Boolean)
    await until(() => statusesOf().length === 40 - streamShares.network)
    expect(new Set(statusesOf())).toEqual(new Set(['429']))
    expect(session.streams).toBe(streamShares.network)
    const ask = (t: TestApp, address: string) =>
      fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}${path}`, { headers: { 'x-forwarded-for': address } })
    const refused = await ask(two, '198.51.100.7')
    expect([refused.status, await refused.json()]).toMatchObject([429, { status: 429 }])
    expect((await ask(two, '198.51.100.8')).status).toBe(200)
    const { idle } = uploadLimits
    uploadLimits.idle = 1
    await until(() => session.streams === 0 && statusesOf().length === 40)
    uploadLimits.idle = idle
    expect(statusesOf().filter((status) => status === '408')).toHaveLength(streamShares.network)
    for (const { socket } of clients) socket.destroy()
    await shared.stop()
  })

  test('a user who loses a right on one instance is disconnected and refused on the other', async () => {
    const team = { url: `http://127.0.0.1:${service.port}`, who: ['members'] }
    const shared = await connectMachine(one, owner, { services: { team }, access: 'organization' })
    const { id, slug } = shared.tunnel
    const admin = await person(one, { admin: true })
    const address = `127.0.0.1:${two.app.tunnels.listenerPort}/t/${slug}/team`
    const headers = (token: string) => ({ 'tutti-authorization': `Bearer ${token}` })
    const openSocket = async (token: string) => {
      const socket = new WebSocket(`ws://${address}/socket`, { headers: headers(token) })
      const closed = Promise.withResolvers<void>()
      socket.onclose = () => closed.resolve()
      await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }))
      return closed
    }
    const of = ({ userId }: Person) => `/api/teams/${owner.organizationId}/members/${userId}`
    const tunnel = `/api/tunnels/${id}`
    const ways: [(who: Person) => Promise<{ status: number }>, number][] = [
      [({ userId }) => admin.fetch('PATCH', `/api/admin/users/${userId}/suspend`, {}), 401],
      [(who) => owner.fetch('DELETE', of(who)), 404],
      [(who) => owner.fetch('PATCH', of(who), { role: 'viewer' }), 403],
      [(who) => who.fetch('POST', '/api/auth/logout'), 401],
      [() => owner.fetch('PUT', tunnel, { access: 'private' }), 403],
      [() => owner.fetch('PUT', tunnel, { access: 'organization', paused: true }), 503],
    ]
    for (const [way, expected] of ways) {
      const who = await member(one, owner, 'member')
      const closed = await openSocket(who.token)
      expect((await way(who)).status).toBe(200)
      await closed.promise
      expect((await fetch(`http://${address}/a`, { headers: headers(who.token) })).status).toBe(expected)
      await owner.fetch('PUT', tunnel, { access: 'organization', paused: false })
      await until(async () => (await fetch(`http://${address}/a`, { headers: headers(owner.token) })).status === 200)
    }
    await until(() => one.app.tunnels.get(id)?.session.streams === 0)
    await shared.stop()
  })

  test('a rolling restart loses only requests that were in flight', async () => {
    const failed: unknown[] = []
    let isOver = false
    let done = 0
    /** Instances that a load balancer would send requests to. */
    let ready = [one, two]
    const loops = times(4, async (n) => {
      while (!isOver) {
        const to = ready[(done + n) % ready.length] as TestApp
        const { status } = await at(to, '/a').catch((error: Error) => ({ status: error.message }))
        if (status !== 200) failed.push(status)
        done++
      }
    })
    const some = async () => {
      const target = done + 50
      await until(() => done >= target)
    }
    await some()
    const inFlight = at(one, '/held')
    await until(() => held.length === 1)
    // The load balancer knows that one stops. Its machine connects to the other first.
    machine.machine.server = two.url
    ready = [two]
    const stopped = one.server.stop(10_000)
    await until(() => two.app.tunnels.get(machine.tunnel.id))
    await some()
    held.pop()?.()
    expect(await (await inFlight).text()).toBe('at last')
    await stopped
    await one.app.close()
    await some()

    one = await instance()
    ready = [one, two]
    await some()
    machine.machine.server = one.url
    ready = [one]
    await two.server.stop(10_000)
    await some()
    isOver = true
    await Promise.all(loops)
    expect(failed).toEqual([])
  }, 300_000)
})
