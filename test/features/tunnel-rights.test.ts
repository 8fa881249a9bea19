import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import { apiKey, call, member, PASSWORD, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import { type ConnectedMachine, connectMachine } from './tunnel-support.ts'

let t: TestApp
let owner: Person
let admin: Person
let machine: ConnectedMachine
let service: ReturnType<typeof Bun.serve>

beforeAll(async () => {
  t = await testApp({ TUNNEL_PORT: '0', TUNNEL_RATE: '1000000', TRUSTED_PROXIES: '127.0.0.1' })
  owner = await person(t)
  admin = await person(t, { admin: true })
  service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, server) {
      if (server.upgrade(request, { data: undefined })) return undefined
      if (!request.url.endsWith('/events')) return new Response(request.headers.get('x-forwarded-for'))
      const body = new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('data: 1\n\n')) })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
    websocket: { message: (socket, message) => void socket.send(message) },
  })
  const web = { url: `http://127.0.0.1:${service.port}`, who: ['members'] }
  machine = await connectMachine(t, owner, { services: { web }, access: 'organization' })
})
afterAll(async () => {
  await machine.stop()
  await t.close()
  await service.stop(true)
})

const path = () => `127.0.0.1:${t.app.tunnels.listenerPort}/t/${machine.tunnel.slug}/web`
const by = (token: string) => ({ 'tutti-authorization': `Bearer ${token}` })
const get = (token: string, at = '/') => fetch(`http://${path()}${at}`, { headers: by(token) })

/** Opens a WebSocket and resolves once an echo came back. */
async function socket(address: string, headers: Record<string, string>): Promise<{ closed: Promise<number> }> {
  const made = Reflect.construct(WebSocket, [address, { headers }]) as WebSocket
  const [opened, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
  made.onopen = () => made.send('hello')
  made.onmessage = () => opened.resolve()
  made.onclose = ({ code }) => {
    closed.resolve(code)
    opened.reject(new Error(`closed with ${code}`))
  }
  await opened.promise
  return { closed: closed.promise }
}
const onListener = (token: string) => socket(`ws://${path()}/socket`, by(token))
const onApi = (token: string) =>
  socket(`${t.url.replace('http', 'ws')}/api/tunnels/${machine.tunnel.id}/ws?service=web`, {
    authorization: `Bearer ${token}`,
  })
/** Opens a stream of events and resolves with what its end will be. */
async function events(token: string): Promise<{ ended: Promise<unknown> }> {
  const reader = (await get(token, '/events')).body?.getReader()
  await reader?.read()
  return { ended: (async () => reader?.read())().catch((error: unknown) => error) }
}

test('a user who is suspended or loses team, role or key is disconnected; others stay connected', async () => {
  const kept = await onListener(owner.token)
  let isKept = true
  void kept.closed.then(() => {
    isKept = false
  })
  const of = (who: Person) => `/api/teams/${owner.organizationId}/members/${who.userId}`
  const ways: ((who: Person) => Promise<{ status: number }>)[] = [
    ({ userId }) => admin.fetch('PATCH', `/api/admin/users/${userId}/suspend`, {}),
    (who) => owner.fetch('DELETE', of(who)),
    (who) => owner.fetch('PATCH', of(who), { role: 'viewer' }),
    (who) => who.fetch('POST', '/api/auth/logout'),
  ]
  for (const way of ways) {
    const who = await member(t, owner, 'member')
    const open = [await onListener(who.token), await onApi(who.token)]
    const stream = await events(who.token)
    expect((await way(who)).status).toBe(200)
    await Promise.all([...open.map(({ closed }) => closed), stream.ended])
  }
  const who = await member(t, owner, 'member')
  const key = await apiKey(t, who)
  const open = await onListener(key)
  const { items } = (await who.fetch<{ items: { id: string }[] }>('GET', '/api/settings/api-keys')).body
  expect((await who.fetch('DELETE', `/api/settings/api-keys/${items[0]?.id}`)).status).toBe(200)
  await open.closed
  expect(isKept).toBe(true)
})

test('pausing a tunnel or making it private ends the open connections of others', async () => {
  const who = await member(t, owner, 'member')
  const change = (body: object) => owner.fetch('PUT', `/api/tunnels/${machine.tunnel.id}`, body)
  const [mine, theirs] = [await onListener(owner.token), await onApi(who.token)]
  expect((await change({ access: 'private' })).status).toBe(200)
  await theirs.closed
  expect((await get(owner.token)).status).toBe(200)
  expect((await change({ paused: true })).status).toBe(200)
  await mine.closed
  expect((await change({ paused: false, access: 'organization' })).status).toBe(200)
  await until(async () => (await get(who.token)).status === 200)
})

test('a request that the machine cannot read is refused, and its connection stays open', async () => {
  const { generation } = t.app.tunnels.get(machine.tunnel.id) ?? {}
  const long = { ...by(owner.token), [`x-${'a'.repeat(300)}`]: '1' }
  expect((await fetch(`http://${path()}/`, { headers: long })).status).toBe(400)
  expect((await fetch(`http://${path()}/`, { method: 'M-SEARCH', headers: by(owner.token) })).status).toBe(400)
  expect((await get(owner.token)).status).toBe(200)
  expect(t.app.tunnels.get(machine.tunnel.id)?.generation).toBe(generation as number)
})

test('behind an operator’s proxy, the service and the limits use the client’s own address', async () => {
  const headers = { ...by(owner.token), 'x-forwarded-for': '198.51.100.7, 203.0.113.9' }
  expect(await (await fetch(`http://${path()}/`, { headers })).text()).toBe('203.0.113.9')
})

test('an impersonator can neither open a socket to a machine nor create a credential for one', async () => {
  const started = await admin.fetch<{ token: string }>('POST', `/api/admin/users/${owner.userId}/impersonate`, {
    reason: 'ticket 42',
  })
  const headers = { authorization: `Bearer ${started.body.token}` }
  const asked = (method: string, at: string, body?: object) => call(t, method, at, body, headers)
  expect((await asked('GET', `/api/tunnels/${machine.tunnel.id}/ws?service=web`)).status).toBe(403)
  expect((await asked('POST', '/api/tunnels/register', { name: unique('Box') })).status).toBe(403)
  expect((await asked('POST', '/api/tunnels/register', { tunnelId: machine.tunnel.id })).status).toBe(403)
})

test('a nonce ends with the credentials of its creator', async () => {
  const eve = await person(t)
  const { nonce } = (await eve.fetch<TunnelRegistered>('POST', '/api/tunnels/register', { name: unique('Box') })).body
  const change = { currentPassword: PASSWORD, newPassword: 'seven quiet lamps at dusk' }
  expect((await eve.fetch('POST', '/api/auth/change-password', change)).status).toBe(200)
  const about = { hostname: 'build-1', os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }
  expect((await call(t, 'POST', '/api/tunnels/claim', { nonce, ...about })).status).toBe(401)
})

test('where browsers use TLS, a code is never sent without it, whatever the link says', async () => {
  const own = await testApp({
    APP_URL: 'https://tutti.example.com',
    TUNNEL_PORT: String(freePort()),
    TUNNEL_DOMAIN: 'tunnels.example.com',
  })
  const who = await person(own)
  const name = unique('box').slice(0, 30)
  const { tunnel } = (await who.fetch<TunnelRegistered>('POST', '/api/tunnels/register', { name })).body
  for (const scheme of ['http', 'https']) {
    const to = `${scheme}://web--${tunnel.slug}.tunnels.example.com/deep`
    const { status, body } = await who.fetch<{ location: string }>('POST', '/api/tunnels/enter', { to })
    expect([status, new URL(body.location).origin]).toEqual([200, `https://web--${tunnel.slug}.tunnels.example.com`])
  }
  await own.close()
})
