import { afterAll, beforeAll, expect, test } from 'bun:test'
import { TunnelAgent } from '../../src/tunnel/agent.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { times } from './support.ts'
import { type ConnectedMachine, connectMachine } from './tunnel-support.ts'

const isSoak = process.env.SOAK === '1'
const MEGABYTES = isSoak ? 300 : 12
const CALLS = isSoak ? 1000 : 100

let t: TestApp
let owner: Person
let machine: ConnectedMachine
let service: ReturnType<typeof Bun.serve>
let events: ReadableStreamDefaultController<Uint8Array> | undefined
let hung = 0

beforeAll(async () => {
  t = await testApp({ TUNNEL_PORT: '0', TUNNEL_RATE: '1000000' })
  owner = await person(t)
  const block = new Uint8Array(1 << 20).map((_, i) => i % 251)
  service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/echo') return new Response(request.body)
      if (pathname === '/hangs') {
        hung++
        return new Promise(() => undefined)
      }
      if (pathname === '/events') {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            events = controller
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      }
      let left = MEGABYTES
      return new Response(new ReadableStream<Uint8Array>({ pull: (c) => (left-- > 0 ? c.enqueue(block) : c.close()) }))
    },
  })
  machine = await connectMachine(t, owner, { services: { web: { url: `http://127.0.0.1:${service.port}` } } })
})
afterAll(async () => {
  await machine.stop()
  await t.close()
  await service.stop(true)
})

const at = (path: string, init: RequestInit = {}, slug = machine.tunnel.slug) =>
  fetch(`http://127.0.0.1:${t.app.tunnels.listenerPort}/t/${slug}/web${path}`, {
    ...init,
    headers: { 'tutti-authorization': `Bearer ${owner.token}` },
  })

test('each server-sent event arrives before the next is sent', async () => {
  const abort = new AbortController()
  const reading = at('/events', { signal: abort.signal })
  // Bun sends the head of a response with its first bytes.
  await until(() => events)
  events?.enqueue(new TextEncoder().encode('data: 0\n\n'))
  const reader = (await reading).body?.getReader()
  const decoder = new TextDecoder()
  for (let i = 0; i < 50; i++) {
    expect(decoder.decode((await reader?.read())?.value)).toBe(`data: ${i}\n\n`)
    events?.enqueue(new TextEncoder().encode(`data: ${i + 1}\n\n`))
  }
  abort.abort()
  await until(() => t.app.tunnels.get(machine.tunnel.id)?.session.streams === 0)
})

test('a slow reader of a large body delays no other request, and no bytes are mixed up', async () => {
  const reader = (await at('/large')).body?.getReader()
  let read = 0
  let isWhole = true
  const take = async () => {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done || !value) return false
    for (let i = 0; i < value.length; i += 997) isWhole &&= value[i] === ((read + i) % (1 << 20)) % 251
    read += value.length
    return true
  }
  await take()
  // Nobody reads the rest until all small calls are done.
  for (let done = 0; done < CALLS; done += 20) {
    const said = await Promise.all(
      times(20, async (i) => (await at('/echo', { method: 'POST', body: `call ${done + i} `.repeat(500) })).text()),
    )
    expect(said).toEqual(times(20, (i) => `call ${done + i} `.repeat(500)))
  }
  while (await take()) if (isSoak) await Bun.sleep(30)
  expect([read, isWhole]).toEqual([MEGABYTES << 20, true])
}, 600_000)

test('a machine whose connection froze is replaced by its next one, and waiting requests end', async () => {
  let isFrozen = false
  const proxy = freezable(Number(new URL(t.url).port), () => isFrozen)
  const frozen = await connectMachine(t, owner, {
    services: { web: { url: `http://127.0.0.1:${service.port}` } },
    server: `http://127.0.0.1:${proxy.port}`,
    options: { heartbeatMs: 3_600_000 },
  })
  const { slug, id } = frozen.tunnel
  const waiting = times(5, () => at('/hangs', {}, slug))
  await until(() => hung === 5)
  // No FIN, no RST: nothing passes any more.
  isFrozen = true
  const late = at('/echo', { method: 'POST', body: 'lost' }, slug)
  await until(() => t.app.tunnels.get(id)?.session.streams === 6)
  const again = new TunnelAgent({ machine: { ...frozen.machine, server: t.url }, retryMs: [5, 20] })
  const ended = again.run()
  for (const { status } of await Promise.all([...waiting, late])) expect(status).toBe(502)
  expect(await (await at('/echo', { method: 'POST', body: 'works' }, slug)).text()).toBe('works')
  again.stop()
  frozen.agent.stop()
  proxy.stop()
  expect(await Promise.all([ended, frozen.ended])).toEqual(['stopped', 'stopped'])
})

interface Ends {
  other?: Bun.Socket<Ends>
  early: Uint8Array[]
}

/** Passes connections on to a port, until it is frozen: then bytes are lost, and nobody is told. */
function freezable(port: number, isFrozen: () => boolean) {
  const server = Bun.listen<Ends>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      async open(client) {
        client.data = { early: [] }
        const other = await Bun.connect<Ends>({
          hostname: '127.0.0.1',
          port,
          socket: {
            open: (socket) => {
              socket.data = { early: [] }
            },
            data: (_, bytes) => void (isFrozen() || client.write(bytes)),
            close: () => void (isFrozen() || client.end()),
          },
        })
        for (const bytes of client.data.early) other.write(bytes)
        client.data.other = other
      },
      data(client, bytes) {
        if (isFrozen()) return
        if (client.data.other) client.data.other.write(bytes)
        else client.data.early.push(bytes.slice())
      },
      close: ({ data }) => void (isFrozen() || data.other?.end()),
    },
  })
  return { port: server.port, stop: () => server.stop(true) }
}
