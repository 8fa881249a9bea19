import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { serveLocally } from '../../cli/commands/tunnel/open.ts'
import { streamShares } from '../../src/features/tunnels/traffic/shares.ts'
import { uploadLimits } from '../../src/tunnel/actions/upload.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { times } from './support.ts'
import { type ConnectedMachine, connectMachine } from './tunnel-support.ts'

let t: TestApp
let owner: Person
let machine: ConnectedMachine
let service: ReturnType<typeof Bun.serve>
const ENTRIES = 25
const { idle } = uploadLimits
/** The headers of the last request, as the service got them. */
let seen: Record<string, string> = {}

beforeAll(async () => {
  t = await testApp({
    TUNNEL_PORT: '0',
    TUNNEL_PUBLIC: 'on',
    TUNNEL_RATE: '1000000',
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT_ANONYMOUS: String(ENTRIES),
  })
  owner = await person(t)
  service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request, server) {
      seen = Object.fromEntries(request.headers)
      if (server.upgrade(request, { data: undefined })) return undefined
      const headers = new Headers({ 'referrer-policy': 'no-referrer' })
      for (const cookie of [
        'theme=dark',
        'tutti_access=forged; Path=/',
        '__Secure-tutti_link=forged; Secure',
        '=tutti_x=1',
        'a=1',
      ])
        headers.append('set-cookie', cookie)
      return new Response(await request.text(), { headers })
    },
    websocket: { message: (socket, message) => void socket.send(message) },
  })
  const web = { url: `http://127.0.0.1:${service.port}`, who: ['anyone'] }
  machine = await connectMachine(t, owner, { services: { web }, access: 'public' })
})
afterEach(() => {
  uploadLimits.idle = idle
})
afterAll(async () => {
  await machine.stop()
  await t.close()
  await service.stop(true)
})

const hostOf = (name: string) => `${name}--${machine.tunnel.slug}.localhost:${t.app.tunnels.listenerPort}`
const at = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}${path}`, {
    redirect: 'manual',
    ...init,
    headers: { host: hostOf('web'), ...headers },
  })
const from = (address: string) => ({ 'x-forwarded-for': address })
const byOwner = () => ({ 'tutti-authorization': `Bearer ${owner.token}` })

interface RawClient {
  socket: Socket
  said: string
}

/** Opens a connection to the listener and sends these bytes. */
async function send(text: string): Promise<RawClient> {
  const socket = connect({ host: '127.0.0.1', port: t.app.tunnels.listenerPort as number })
  const client: RawClient = { socket, said: '' }
  socket.on('data', (bytes) => {
    client.said += bytes.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.write(text)
  return client
}
const statusOf = ({ said }: RawClient): number => Number(said.split(' ')[1] ?? 0)

const secrets = [
  'tutti_link=1',
  'tutti_oauth=2',
  '__Host-tutti_access=3',
  '__Secure-tutti_link=4',
  'TUTTI_refresh=5',
  'tutti_anything_new=6',
]
const forged = {
  Tutti_User: 'forged',
  tutti_email: 'forged@example.com',
  'Tutti.User': 'forged',
  X_Forwarded_For: '198.51.100.1',
  'x-forwarded_host': 'evil.example.com',
  Transfer_Encoding: 'chunked',
  Content_Length: '5',
}
const isForged = (name: string) => /^(tutti|x.forwarded|transfer|content.length)/.test(name) && /[_.]/.test(name)

describe('a service behind a tunnel', () => {
  const headers = { cookie: `own=1; ${secrets.join('; ')}; tuttifrutti=2`, ...forged, X_Custom: 'kept' }
  const expected = { cookie: 'own=1; tuttifrutti=2', x_custom: 'kept', 'x-forwarded-for': '203.0.113.9' }

  test('gets neither cookies of this server nor headers that CGI would read as ours, by HTTP', async () => {
    expect((await at('/', { ...headers, ...from('203.0.113.9'), ...byOwner() })).status).toBe(200)
    expect(seen).toMatchObject({ ...expected, 'tutti-user': owner.userId })
    expect(Object.keys(seen).filter(isForged)).toEqual([])
  })

  test('gets neither cookies of this server nor headers that CGI would read as ours, by WebSocket', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${t.app.tunnels.listenerPort}/socket`, {
      headers: { host: hostOf('web'), ...headers, ...from('203.0.113.9'), ...byOwner() },
    })
    await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }))
    socket.close()
    expect(seen).toMatchObject({ ...expected, 'tutti-user': owner.userId })
    expect(Object.keys(seen).filter(isForged)).toEqual([])
  })

  test('cannot set cookies of this server', async () => {
    expect((await at('/')).headers.getSetCookie()).toEqual(['theme=dark', 'a=1'])
  })
})

describe('tutti tunnel open', () => {
  test('gives a service no cookies of other programs on 127.0.0.1, and lets it set none there', async () => {
    const target = { base: `http://127.0.0.1:${t.app.tunnels.listenerPort}`, host: hostOf('web') }
    const opened = serveLocally({ token: async () => owner.token }, target, 0)
    const get = async (host: string, more: Record<string, string>) => {
      const cookie = `session=of-another-program; ${secrets.join('; ')}`
      const headers = { host: `${host}:${opened.port}`, cookie, ...forged, ...more }
      const response = await fetch(`http://127.0.0.1:${opened.port}/`, { headers })
      expect(response.status).toBe(200)
      expect(Object.keys(seen).filter(isForged)).toEqual([])
      return [seen.cookie, response.headers.getSetCookie()]
    }
    const browser = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }
    const own = `web--${machine.tunnel.slug}.localhost`
    expect(await get('127.0.0.1', browser)).toEqual([undefined, []])
    // Programs choose their cookies themselves, and the service's own host is shared with nobody.
    expect(await get('127.0.0.1', {})).toEqual(['session=of-another-program', ['theme=dark', 'a=1']])
    expect(await get(own, browser)).toEqual(['session=of-another-program', ['theme=dark', 'a=1']])
    const other = await fetch(`http://127.0.0.1:${opened.port}/`, {
      headers: { host: `other.localhost:${opened.port}` },
    })
    expect(other.status).toBe(403)
    await opened.stop(true)
  })
})

describe('POST /api/tunnels/enter', () => {
  const enter = (to: string) => owner.fetch<{ location: string }>('POST', '/api/tunnels/enter', { to })

  test('issues a code only for the scheme and port of the listener', async () => {
    const { listenerPort: listening } = t.app.tunnels
    const host = `web--${machine.tunnel.slug}.localhost`
    const wrong = [
      `http://${host}:23077/`,
      `http://${host}/`,
      `https://${host}:${listening}/`,
      `ftp://${host}:${listening}/`,
      `ws://${host}:${listening}/`,
      `javascript://${host}:${listening}/%0aalert(1)`,
      `http://${host}.evil.example:${listening}/`,
    ]
    for (const to of wrong) expect([to, (await enter(to)).status]).toEqual([to, 422])
    const { status, body } = await enter(`http://user:password@${host}:${listening}/deep`)
    expect(status).toBe(200)
    expect(body.location).toStartWith(`http://${host}:${listening}/.tutti/enter?code=`)
    const { pathname, search } = new URL(body.location)
    const redeem = async (hostname: string) => (await at(pathname + search, { host: hostname })).status
    expect(await redeem(`${host}:23077`)).toBe(401)
    // A code works once, also where it is wrong.
    expect(await redeem(`${host}:${listening}`)).toBe(401)
  })

  test('issues codes for TUNNEL_PROXY_PORT where a proxy serves the listener at another port', async () => {
    const proxied = await testApp({ TUNNEL_PORT: '0', TUNNEL_PROXY_PORT: '8080' })
    const address = `http://web--${machine.tunnel.slug}.localhost`
    const there = async (to: string) =>
      (
        await fetch(`${proxied.url}/api/tunnels/enter`, {
          method: 'POST',
          headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ to }),
        })
      ).status
    expect(await there(`${address}:8080/`)).toBe(200)
    expect(await there(`${address}:${proxied.app.tunnels.listenerPort}/`)).toBe(422)
    expect(proxied.app.tunnels.addressOf(machine.tunnel.slug, 'web')).toBe(`${address}:8080`)
    await proxied.close()
  })
})

test('GET /.tutti/enter is limited for each network', async () => {
  const tried = async (address: string) => (await at('/.tutti/enter?code=guess', from(address))).status
  const statuses = await Promise.all(times(ENTRIES + 2, () => tried('198.51.100.20')))
  expect(statuses.filter((status) => status === 401)).toHaveLength(ENTRIES)
  expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  expect(await tried('198.51.100.21')).toBe(401)
})

describe("a tunnel's cookie on plain HTTP, where browsers send no Sec-Fetch-Site", () => {
  let cookie: string
  beforeAll(async () => {
    await owner.fetch('PUT', `/api/tunnels/${machine.tunnel.id}`, { access: 'private' })
    await until(() => t.app.tunnels.get(machine.tunnel.id)?.facts.access === 'private')
    const to = `http://${hostOf('web')}/`
    const { location } = (await owner.fetch<{ location: string }>('POST', '/api/tunnels/enter', { to })).body
    const { pathname, search } = new URL(location)
    cookie = ((await at(pathname + search)).headers.get('set-cookie') as string).split(';')[0] as string
  })
  afterAll(async () => {
    await owner.fetch('PUT', `/api/tunnels/${machine.tunnel.id}`, { access: 'public' })
    await until(() => t.app.tunnels.get(machine.tunnel.id)?.facts.access === 'public')
  })

  test('is ignored in a request that a page of another tunnel may have sent', async () => {
    // <img src> with a policy that hides the page, and without.
    const other = `http://web--other.localhost:${t.app.tunnels.listenerPort}/`
    const tries: Record<string, string>[] = [{}, { referer: other }, { origin: 'null' }, { referer: 'no address' }]
    for (const headers of tries)
      expect((await at('/delete?id=1', { cookie, accept: 'image/*', ...headers })).status).toBe(401)
    expect((await at('/', { cookie, 'upgrade-insecure-requests': '1' }, { method: 'POST' })).status).toBe(401)
  })

  test("counts in navigations and in requests of the host's own pages", async () => {
    const own = `http://${hostOf('web')}`
    const tries: Record<string, string>[] = [
      { 'upgrade-insecure-requests': '1' },
      { referer: `${own}/page` },
      { origin: own },
    ]
    for (const headers of tries) expect((await at('/', { cookie, ...headers })).status).toBe(200)
    const page = await at('/', { cookie, 'upgrade-insecure-requests': '1' })
    expect(page.headers.get('referrer-policy')).toBe('same-origin')
    const safe = await at('/', { cookie, 'sec-fetch-site': 'same-origin' })
    expect(safe.headers.get('referrer-policy')).toBe('no-referrer')
  })
})

describe('the host of a request to the listener', () => {
  test('must be given once', async () => {
    const two = await at('/', { host: `${hostOf('web')}, other.localhost` })
    expect(two.status).toBe(400)
  })

  test('must be the same in Host and in an absolute target, as far as Bun shows it', () => {
    const request = new Request('http://web--other.localhost/', { headers: { host: 'web--box.localhost' } })
    expect(t.app.tunnels.tunnelAddressOf(request)).toBe('ambiguous')
  })

  // Bun drops the host of an absolute target before a handler sees it (oven-sh/bun#33002). Once it no longer does, this
  // fails, and the response is 400.
  test('is taken from Host, whatever an absolute target says', async () => {
    const lines = [`Host: ${hostOf('web')}`, `Tutti-Authorization: Bearer ${owner.token}`, 'Connection: close']
    const client = await send(`GET http://web--other.localhost/ HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    await until(() => statusOf(client) > 0)
    expect([statusOf(client), seen.host]).toEqual([200, hostOf('web')])
  })
})

describe('clients that send a body too slowly', () => {
  const lines = (address: string) => [`Host: ${hostOf('web')}`, `X-Forwarded-For: ${address}`, 'Content-Length: 1000']
  const slow = (address: string) => send(`POST / HTTP/1.1\r\n${lines(address).join('\r\n')}\r\n\r\nx`)
  const connection = () => t.app.tunnels.get(machine.tunnel.id)
  /** Opens so many slow requests, and returns how many were refused. */
  async function refusedOf(count: number, addresses: string[]): Promise<number> {
    const before = connection()?.session.streams ?? 0
    const clients = await Promise.all(times(count, (i) => slow(addresses[i % addresses.length] as string)))
    const refused = () => clients.filter(({ said }) => said.includes('\r\n\r\n'))
    await until(() => refused().length + (connection()?.session.streams ?? 0) - before === count)
    expect(new Set(refused().map(statusOf)).difference(new Set([429])).size).toBe(0)
    all.push(...clients)
    return refused().length
  }
  const all: RawClient[] = []
  afterAll(() => {
    for (const { socket } of all) socket.destroy()
  })

  test('take only a share of a machine’s streams, so that others still reach it', async () => {
    const { network, visitors } = streamShares
    expect(await refusedOf(140, ['198.51.100.1'])).toBe(140 - network)
    expect((await at('/', from('198.51.100.1'))).status).toBe(429)
    expect((await at('/', { ...from('198.51.100.1'), connection: 'upgrade', upgrade: 'websocket' })).status).toBe(429)
    expect((await at('/', from('198.51.100.2'))).status).toBe(200)
    // Two addresses of one IPv6 network.
    expect(await refusedOf(40, ['2001:db8:1:2::1', '2001:db8:1:2::2'])).toBe(40 - network)
    expect(await refusedOf(40, ['198.51.100.3'])).toBe(40 - network)
    expect(connection()?.session.streams).toBe(visitors)
    expect((await at('/', from('198.51.100.4'))).status).toBe(429)
    expect((await at('/', { ...from('198.51.100.1'), ...byOwner() })).status).toBe(200)
  })

  test('get 408 when no more bytes arrive, and their streams become free', async () => {
    expect(connection()?.session.streams).toBe(streamShares.visitors)
    uploadLimits.idle = 1
    await until(() => connection()?.session.streams === 0)
    await until(() => all.every(({ said }) => said !== ''))
    expect(all.filter((client) => statusOf(client) === 408)).toHaveLength(streamShares.visitors)
    expect((await at('/', from('198.51.100.1'))).status).toBe(200)
  })
})
