import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openRaw } from '../mcp/support.ts'
import { PASSWORD } from '../support/binary.ts'
import { allowing } from '../support/timing.ts'
import { until } from '../support/until.ts'
import { Cluster } from './cluster.ts'
import type { Instance } from './instances.ts'
import { lostAndDoubled, writeThrough } from './load.ts'

/** Rows of the failure matrix, in order: each leaves the cluster as it found it. Soak takes the full counts. */
const rounds = (short: number, full: number): number => (process.env.SOAK ? full : short)
const LIMIT = 1_200_000

let cluster: Cluster
/** An MCP token of the administrator. */
let token: string

beforeAll(async () => {
  cluster = await Cluster.start()
  const { session } = cluster
  const { items } = (await cluster.ask('GET', '/api/teams', undefined, session)).body as { items: { id: string }[] }
  const made = await cluster.ask('POST', '/api/mcp-tokens', { name: 'agent', organizationId: items[0]?.id }, session)
  token = String(made.body.token)
}, LIMIT)
afterAll(() => cluster.stop())

test(
  'the health checks of HAProxy, which send no Host header, find all instances ready',
  async () => {
    await cluster.proxy.ready(3)
    expect((await cluster.ask('GET', '/health/ready')).status).toBe(200)
    expect((await fetch(`${cluster.proxy.url}/internal/mcp/messages`)).status).toBe(404)
  },
  LIMIT,
)

test(
  'every HTTP+SSE message reaches its stream, whichever instance receives it',
  async () => {
    const stream = await openRaw(cluster.proxy.url, token)
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
    const [one, two, three] = cluster.instances.map(({ url }) => url) as [string, string, string]
    const account = { email: 'bob@example.com', password: PASSWORD, name: 'Bob' }
    const bob = await cluster.ask('POST', '/api/auth/register', account)
    const secret = String(bob.body.token)
    const { body: me } = await cluster.ask('GET', '/api/auth/me', undefined, secret)
    const stream = await listen(two, secret)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect((await cluster.ask('GET', '/api/notes', undefined, secret, three)).status).toBe(200)
    await cluster.inDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`select pg_current_xact_id()`
        const suspended = performance.now()
        const { status } = await cluster.ask(
          'PATCH',
          `/api/admin/users/${me.id}/suspend`,
          { reason: 'test' },
          cluster.session,
          one,
        )
        expect(status).toBe(200)
        await stream.text().catch(() => undefined)
        await until(async () => (await cluster.ask('GET', '/api/notes', undefined, secret, three)).status === 401)
        expect(performance.now() - suspended).toBeLessThan(allowing(1000))
      }),
    )
  },
  LIMIT,
)

test(
  'killing instances under load loses and repeats no confirmed write',
  async () => {
    const load = writeThrough(cluster.proxy.url, cluster.key)
    for (let round = 0; round < rounds(2, 7); round++) {
      await load.until(40)
      const instance = cluster.instances[round % 3] as Instance
      await instance.server.kill()
      await load.until(40)
      await instance.start()
    }
    await load.stop()
    await cluster.proxy.ready(3)
    expect(await lostAndDoubled(cluster.proxy.url, cluster.key, load.confirmed)).toEqual({ lost: [], doubled: [] })
  },
  LIMIT,
)

test(
  'a rolling restart under load fails no request',
  async () => {
    const load = writeThrough(cluster.proxy.url, cluster.key, { repeat: false })
    for (let round = 0; round < rounds(1, 3); round++)
      for (const instance of cluster.instances) {
        await load.until(20)
        expect(await instance.server.stop()).toBe(0)
        await instance.start()
        await cluster.proxy.ready(3)
      }
    await load.stop()
    expect(load.failures).toEqual([])
    expect(await lostAndDoubled(cluster.proxy.url, cluster.key, load.confirmed)).toEqual({ lost: [], doubled: [] })
  },
  LIMIT,
)

test(
  'if the primary is lost under load, a standby takes over and no confirmed write is lost',
  async () => {
    for (let round = 0; round < rounds(1, 3); round++) {
      const load = writeThrough(cluster.proxy.url, cluster.key)
      await load.until(40)
      const primary = await cluster.database.primary()
      await primary.kill()
      await load.until(40)
      expect((await cluster.database.primary()).name).not.toBe(primary.name)
      await load.stop()
      expect(await lostAndDoubled(cluster.proxy.url, cluster.key, load.confirmed)).toEqual({ lost: [], doubled: [] })
      primary.start()
      await cluster.database.settled(3)
    }
  },
  LIMIT,
)

test(
  'without a synchronous standby, writes return 503 and reads work; later each write exists once',
  async () => {
    const standbys = await cluster.database.standbys()
    await Promise.all(standbys.map((node) => node.kill()))
    // More writers than an instance has connections.
    const load = writeThrough(cluster.proxy.url, cluster.key, { writers: 24 })
    await until(() => load.failures.length > 0 && Bun.sleep(20).then(() => true))
    for (const { url } of cluster.instances) {
      expect((await cluster.ask('GET', '/api/notes?limit=1', undefined, cluster.key, url)).status).toBe(200)
      expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    }
    expect(new Set(load.failures)).toEqual(new Set(['503']))
    for (const node of standbys) node.start()
    await load.until(24)
    await load.stop()
    await cluster.database.settled(3)
    expect(await lostAndDoubled(cluster.proxy.url, cluster.key, load.confirmed)).toEqual({ lost: [], doubled: [] })
  },
  LIMIT,
)

const listen = (url: string, as: string) =>
  fetch(`${url}/api/events?topics=me`, { headers: { authorization: `Bearer ${as}`, accept: 'text/event-stream' } })
