import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ServerWebSocket } from 'bun'
import { type ServedRequest, TunnelAgent } from '../../src/tunnel/agent.ts'
import { encodeFrame, encodeJson, frameTypes, type RequestHead, resetCodes } from '../../src/tunnel/frames.ts'
import { isAllowed, machineProblems } from '../../src/tunnel/machine-config.ts'
import { TunnelSession } from '../../src/tunnel/session.ts'
import type { Stream, StreamReset } from '../../src/tunnel/stream.ts'
import { until } from '../support/until.ts'

/** An agent and a server that requests more than the machine allows. */
const owner = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
const other = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a11'
const user = (id: string, role: 'viewer' | 'member' = 'member') => ({ id, email: 'ada@example.com', role })

let service: ReturnType<typeof Bun.serve>
let hostile: ReturnType<typeof Bun.serve>
let agent: TunnelAgent
let running: Promise<string>
const seen: string[] = []
const served: ServedRequest[] = []
const sessions: { session: TunnelSession; socket: ServerWebSocket<unknown> }[] = []
let beats: string[] = []

const current = () => until(() => sessions.findLast(({ session }) => !session.isClosed)?.session)

beforeAll(async () => {
  service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      seen.push(`${request.method} ${new URL(request.url).pathname}`)
      return new Response('secret of the machine')
    },
  })
  hostile = Bun.serve<{ session?: TunnelSession }>({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, server) {
      if (request.url.endsWith('/api/tunnels/reverse') && server.upgrade(request, { data: {} })) return undefined
      beats.push(request.headers.get('authorization') ?? '')
      return Response.json({ leaseUntil: '2026-11-15T09:30:00.000Z', drain: false })
    },
    websocket: {
      open(socket) {
        const session = new TunnelSession(
          'server',
          { send: (bytes) => socket.send(bytes) !== 0, close: (code, reason) => socket.close(code, reason) },
          {},
        )
        socket.data.session = session
        sessions.push({ session, socket })
        session.settings({ generation: 1, tunnelId: owner, ownerId: other, slug: 'box' })
      },
      message: (socket, message) => socket.data.session?.receive(message as Buffer),
      close: (socket) => socket.data.session?.onConnectionLost(),
    },
  })
  const url = `http://127.0.0.1:${service.port}`
  agent = new TunnelAgent({
    machine: {
      server: `http://127.0.0.1:${hostile.port}`,
      tunnelId: owner,
      ownerId: owner,
      name: 'Box',
      slug: 'box',
      token: 'svc_tun_x',
      services: { web: { url }, team: { url, who: ['members'] } },
    },
    retryMs: [1, 5],
    onServed: (one) => served.push(one),
  })
  running = agent.run()
  await current()
})
afterAll(async () => {
  agent.stop()
  await running
  await Promise.all([service.stop(true), hostile.stop(true)])
})

const host: [string, string] = ['host', 'web--box.localhost']
const head = (more: Partial<RequestHead> = {}): RequestHead => ({
  kind: 'http',
  service: 'web',
  method: 'GET',
  target: '/',
  headers: [host],
  user: user(owner),
  ...more,
})
const outcome = async (stream: Stream): Promise<number> =>
  stream.response().then(
    ({ status }) => status,
    (error: StreamReset) => -error.code,
  )
const ask = async (more: Partial<RequestHead>): Promise<number> => outcome((await current()).open(head(more), false))

describe('a hostile server', () => {
  test('reaches only what the machine allows', async () => {
    expect(await ask({})).toBe(200)
    expect(await ask({ service: 'team', user: user(other) })).toBe(200)
    seen.length = 0
    const refused = -resetCodes.refused
    expect(await ask({ service: 'nothing' })).toBe(refused)
    for (const service of ['constructor', '__proto__', 'toString']) expect(await ask({ service })).toBe(refused)
    // The server named another owner; the machine knows the real one.
    expect(await ask({ user: user(other) })).toBe(refused)
    expect(await ask({ user: null })).toBe(refused)
    expect(await ask({ service: 'team', user: user(other, 'viewer') })).toBe(refused)
    expect(await ask({ service: 'team', user: null })).toBe(refused)
    expect(await ask({ kind: 'ws', service: 'nothing' })).toBe(refused)
    expect(await ask({ kind: 'mcp' })).toBe(refused)
    for (const method of ['CONNECT', 'TRACE']) expect(await ask({ method })).toBe(refused)
    expect(seen).toEqual([])
    expect(served.filter(({ status }) => status === 'refused').length).toBeGreaterThan(8)
  })

  test('cannot smuggle a second request into a header', async () => {
    seen.length = 0
    const smuggled = 'x\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x'
    expect(await ask({ headers: [host, ['x-a', smuggled]] })).toBe(-resetCodes.protocol)
    expect(await ask({ headers: [host, [smuggled, 'x']] })).toBe(-resetCodes.protocol)
    expect(
      await ask({
        headers: [host, ['upgrade', 'h2c'], ['connection', 'upgrade'], ['expect', '100-continue']],
      }),
    ).toBe(200)
    expect(seen).toEqual(['GET /'])
  })

  test('that breaks the protocol is disconnected, and the agent reconnects', async () => {
    const bad = [
      { ...head(), target: 'http://elsewhere.example.com/' },
      { ...head(), target: '/a b' },
      { ...head(), surprise: 1 },
    ]
    for (const payload of bad) {
      const session = await current()
      const { socket } = sessions.find((one) => one.session === session) as (typeof sessions)[0]
      socket.send(encodeFrame({ type: frameTypes.headers, flags: 1, stream: 1_000_000, payload: encodeJson(payload) }))
      await until(() => session.isClosed)
    }
    expect(await ask({})).toBe(200)
  })

  test('at another address does not get the credential', async () => {
    await until(() => beats.length > 0)
    expect(new Set(beats)).toEqual(new Set(['Bearer svc_tun_x']))
    beats = []
  })
})

describe('tunnel.json', () => {
  const machine = {
    server: 'https://tutti.example.com',
    tunnelId: owner,
    ownerId: owner,
    name: 'Box',
    slug: 'box',
    token: 'svc_tun_x',
    services: {},
  }
  test('accepts only local addresses', () => {
    const problems = (url: string) => machineProblems({ ...machine, services: { web: { url } } }).length > 0
    for (const url of ['http://127.0.0.1:3000', 'http://localhost:1', 'http://[::1]:80', 'unix:/run/x.sock'])
      expect([url, problems(url)]).toEqual([url, false])
    for (const url of [
      'http://169.254.169.254:80',
      'http://10.0.0.1:80',
      'https://127.0.0.1:1',
      'http://127.0.0.1:1/x',
      'http://localhost:1@evil:2',
      'file:///etc',
    ])
      expect([url, problems(url)]).toEqual([url, true])
    expect(machineProblems({ ...machine, surprise: 1 })).not.toEqual([])
  })

  test('allows only the owner by default', () => {
    expect(isAllowed(undefined, user(owner), owner)).toBe(true)
    expect(isAllowed(undefined, user(other), owner)).toBe(false)
    expect(isAllowed([], user(owner), owner)).toBe(false)
    expect(isAllowed([other], user(other, 'viewer'), owner)).toBe(true)
    expect(isAllowed(['anyone'], null, owner)).toBe(true)
    expect(isAllowed(['members', 'owner'], null, owner)).toBe(false)
  })
})
