import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openRaw } from '../mcp/support.ts'
import { apiKeyFor, EMAIL, json, PASSWORD } from '../support/binary.ts'
import { freePort } from '../support/port.ts'
import { allowing } from '../support/timing.ts'
import { until } from '../support/until.ts'
import { Database } from './database.ts'
import { Instance, settings } from './instances.ts'
import { lostAndDoubled, writeThrough } from './load.ts'
import { Programs } from './programs.ts'
import { type Entrance, startProxy } from './proxy.ts'

/** Rows of the failure matrix, in order: each leaves the cluster as it found it. Soak takes the full counts. */
const rounds = (short: number, full: number): number => (process.env.SOAK ? full : short)
const LIMIT = 1_200_000

let programs: Programs
let database: Database
let proxy: Entrance
let instances: Instance[]
/** An API key, a login session and an MCP token of the administrator. */
let key: string
let session: string
let token: string

beforeAll(async () => {
  programs = await Programs.create()
  database = await Database.start(programs)
  const ports = [freePort(), freePort(), freePort()]
  proxy = await startProxy(programs, { instances: ports, nodes: database.nodes, balance: 'roundrobin' })
  await inDatabase((sql) => sql.unsafe('create database tutti'))
  const env = settings(proxy.postgres, proxy.url)
  instances = ports.map((port) => new Instance(port, env))
  // All at once: one makes the tables, the others wait for it.
  await Promise.all(instances.map((instance) => instance.start()))
  const [first] = instances as [Instance]
  key = await apiKeyFor(first.server, env)
  const login = await ask('POST', '/api/auth/login', { email: EMAIL, password: PASSWORD })
  session = String(login.body.token)
  const { items } = (await ask('GET', '/api/teams', undefined, session)).body as { items: { id: string }[] }
  const made = await ask('POST', '/api/mcp-tokens', { name: 'agent', organizationId: items[0]?.id }, session)
  token = String(made.body.token)
}, LIMIT)
afterAll(() => programs.stop())

/** Runs statements on the primary, in the database that belongs to nobody. */
async function inDatabase<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
  const sql = new SQL(`postgres://postgres@127.0.0.1:${proxy.postgres}/postgres`, { max: 1 })
  try {
    return await work(sql)
  } finally {
    await sql.close()
  }
}

interface Reply {
  status: number
  body: { [name: string]: unknown }
}

async function ask(method: string, path: string, body?: unknown, as?: string, at = proxy.url): Promise<Reply> {
  const request = body === undefined ? { headers: { authorization: `Bearer ${as}` } } : json(method, body, as)
  const response = await fetch(at + path, { ...request, method })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test(
  'HAProxy asks without a Host whether an instance is ready, and all of them are',
  async () => {
    await proxy.ready(3)
    expect((await ask('GET', '/health/ready')).status).toBe(200)
    expect((await fetch(`${proxy.url}/internal/mcp/messages`)).status).toBe(404)
  },
  LIMIT,
)

test(
  'HTTP+SSE by turns: every message reaches its stream',
  async () => {
    const stream = await openRaw(proxy.url, token)
    for (let id = 1; id <= 9; id++) {
      expect([id, (await stream.post({ jsonrpc: '2.0', id, method: 'ping' })).status]).toEqual([id, 202])
      await stream.wait(id)
    }
    stream.abort()
  },
  LIMIT,
)

test(
  'a suspension reaches every instance, also while a foreign transaction stays open',
  async () => {
    const [one, two, three] = instances.map(({ server }) => server.url) as [string, string, string]
    const account = { email: 'bob@example.com', password: PASSWORD, name: 'Bob' }
    const bob = await ask('POST', '/api/auth/register', account)
    const secret = String(bob.body.token)
    const { body: me } = await ask('GET', '/api/auth/me', undefined, secret)
    const stream = await listen(two, secret)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect((await ask('GET', '/api/notes', undefined, secret, three)).status).toBe(200)
    await inDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`select pg_current_xact_id()`
        const suspended = performance.now()
        const { status } = await ask('PATCH', `/api/admin/users/${me.id}/suspend`, { reason: 'test' }, session, one)
        expect(status).toBe(200)
        await stream.text().catch(() => undefined)
        await until(async () => (await ask('GET', '/api/notes', undefined, secret, three)).status === 401)
        expect(performance.now() - suspended).toBeLessThan(allowing(1000))
      }),
    )
  },
  LIMIT,
)

test(
  'instances killed under load: no confirmed write is lost, none is there twice',
  async () => {
    const load = writeThrough(proxy.url, key)
    for (let round = 0; round < rounds(2, 7); round++) {
      await load.until(40)
      const instance = instances[round % instances.length] as Instance
      await instance.server.kill()
      await load.until(40)
      await instance.start()
    }
    await load.stop()
    await proxy.ready(3)
    expect(await lostAndDoubled(proxy.url, key, load.confirmed)).toEqual({ lost: [], doubled: [] })
  },
  LIMIT,
)

test(
  'a rolling restart under load fails no request',
  async () => {
    const load = writeThrough(proxy.url, key, { repeat: false })
    for (let round = 0; round < rounds(1, 3); round++)
      for (const instance of instances) {
        await load.until(20)
        expect(await instance.server.stop()).toBe(0)
        await instance.start()
        await proxy.ready(3)
      }
    await load.stop()
    expect(load.failures).toEqual([])
    expect(await lostAndDoubled(proxy.url, key, load.confirmed)).toEqual({ lost: [], doubled: [] })
  },
  LIMIT,
)

test(
  'the machine of the primary is lost under load: a standby takes over, and nothing that was confirmed is lost',
  async () => {
    for (let round = 0; round < rounds(1, 3); round++) {
      const load = writeThrough(proxy.url, key)
      await load.until(40)
      const primary = await database.primary()
      await primary.kill()
      await load.until(40)
      expect((await database.primary()).name).not.toBe(primary.name)
      await load.stop()
      expect(await lostAndDoubled(proxy.url, key, load.confirmed)).toEqual({ lost: [], doubled: [] })
      primary.start()
      await database.settled(3)
    }
  },
  LIMIT,
)

test(
  'without a synchronous standby writes get 503 and reads go on; afterwards each write is there once',
  async () => {
    const standbys = await database.standbys()
    await Promise.all(standbys.map((node) => node.kill()))
    // More writers than an instance has connections.
    const load = writeThrough(proxy.url, key, { writers: 24 })
    await until(() => load.failures.length > 0 && Bun.sleep(20).then(() => true))
    for (const { server } of instances) {
      expect((await ask('GET', '/api/notes?limit=1', undefined, key, server.url)).status).toBe(200)
      expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
    }
    expect(new Set(load.failures)).toEqual(new Set(['503']))
    for (const node of standbys) node.start()
    await load.until(24)
    await load.stop()
    await database.settled(3)
    expect(await lostAndDoubled(proxy.url, key, load.confirmed)).toEqual({ lost: [], doubled: [] })
  },
  LIMIT,
)

const listen = (url: string, as: string) =>
  fetch(`${url}/api/events?topics=me`, { headers: { authorization: `Bearer ${as}`, accept: 'text/event-stream' } })
