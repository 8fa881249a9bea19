import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { apiKeyFor, BINARY, bareEnv, folder, json, type Served, serve } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

/** How one instance stops while others keep running. */
describe.skipIf(!process.env.TEST_DATABASE_URL)('on an external Postgres', () => {
  let env: Record<string, string>
  let drop: () => Promise<void>
  beforeAll(async () => {
    const database = await freshDatabase()
    drop = database.drop
    env = { DATABASE_URL: database.url, TUTTI_SECRET: 'quiet-otter-42-lantern-birch-8-meadow' }
  })
  afterAll(() => drop())

  /** Like a load balancer: polls readiness, and repeats on another instance only requests that were never sent. */
  class Balancer {
    readonly #ready = new Set<string>()
    readonly failed: unknown[] = []
    sent = 0
    isOver = false

    constructor(private readonly servers: readonly (() => string)[]) {}

    async watch(): Promise<void> {
      while (!this.isOver) {
        for (const server of this.servers) {
          const status = await fetch(`${server()}/health/ready`).then(
            (response) => response.status,
            () => 0,
          )
          if (status === 200) this.#ready.add(server())
          else this.#ready.delete(server())
        }
        await Bun.sleep(100)
      }
    }

    async load(key: string, n: number): Promise<void> {
      for (let i = 0; !this.isOver; i++) {
        const there = [...this.#ready]
        const to = there[i % there.length]
        if (!to) await Bun.sleep(20)
        else await this.#send(to, key, `${n}.${i}`)
      }
    }

    async #send(to: string, key: string, title: string): Promise<void> {
      try {
        const response = await fetch(`${to}/api/notes`, json('POST', { title }, key))
        await response.json()
        this.sent++
        if (response.status !== 201) this.failed.push(response.status)
      } catch (error) {
        if ((error as { code?: string }).code === 'ECONNREFUSED') this.#ready.delete(to)
        else this.failed.push(error)
      }
    }
  }

  test('a rolling restart under load fails no request, and every instance exits with 0', async () => {
    const running: Served[] = [await serve({ env }), await serve({ env })]
    const key = await apiKeyFor(running[0] as Served, env)
    const balancer = new Balancer(running.map((_, i) => () => (running[i] as Served).url))
    const work = Promise.all([balancer.watch(), ...[1, 2, 3, 4].map((n) => balancer.load(key, n))])
    for (const i of [0, 1]) {
      const before = balancer.sent
      await until(() => balancer.sent > before + 50)
      expect(await (running[i] as Served).stop()).toBe(0)
      running[i] = await serve({ env })
      await until(async () => (await fetch(`${running[i]?.url}/health/ready`)).status === 200)
    }
    const before = balancer.sent
    await until(() => balancer.sent > before + 50)
    balancer.isOver = true
    await work
    expect(balancer.failed).toEqual([])
    // On Ctrl-C the server does not wait for load balancers.
    for (const server of running) server.signal('SIGINT')
    expect(await Promise.all(running.map((server) => server.exited))).toEqual([0, 0])
  }, 300_000)

  test('a hanging start ends on SIGTERM', async () => {
    const { url, drop: dropOwn } = await freshDatabase()
    const other = await openPostgres({ url, poolSize: 1 })
    const lock = await other.begin()
    // The lock of migrations, for which a start waits.
    await lock.query('select pg_advisory_xact_lock(7866914)')
    const child = Bun.spawn([BINARY, 'serve', '--port', '0', '--data-dir', folder()], {
      cwd: tmpdir(),
      env: { ...bareEnv, DATABASE_URL: url, EMBEDDINGS: 'off' },
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await until(
      async () =>
        (
          await lock.query(`select 1 from pg_locks where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`)
        ).rows.length > 0,
    )
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    await lock.rollback()
    await other.close()
    await dropOwn()
  }, 300_000)
})
