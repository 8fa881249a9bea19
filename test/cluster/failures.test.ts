import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { BINARY } from '../support/binary.ts'
import { allowing } from '../support/timing.ts'
import { until } from '../support/until.ts'
import { Cluster } from './cluster.ts'
import type { Node } from './database.ts'
import { type Load, lostAndDoubled, writeThrough } from './load.ts'

/** A lost primary is replaced after Patroni's `ttl`, and ten more seconds. */
const BACK_MS = 30_000
const LIMIT = 1_200_000

/** Rows of the failure matrix that take long, in order: each leaves the cluster as it found it. Only with `--soak`. */
describe.if(Boolean(process.env.SOAK))('failures of a replicated Postgres under load', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start({ canFail: true })
  }, LIMIT)
  afterAll(() => cluster.stop())

  interface Trouble {
    begin(primary: Node): Promise<void> | void
    /** Waits until the trouble had its effect. Default: another node has taken over. */
    shown?(load: Load): Promise<unknown>
    /** Default: nothing has to be mended. */
    end?(primary: Node): void
  }

  /** Makes trouble under load, ends it under load, and expects that every confirmed write is there once. */
  const survives = async (name: string, { begin, shown, end }: Trouble): Promise<void> => {
    const { database, proxy, key } = cluster
    const load = writeThrough(proxy.url, key)
    await load.until(40)
    const primary = await database.primary()
    await begin(primary)
    if (shown) await shown(load)
    else {
      await until(async () => (await database.primary()) !== primary)
      await load.until(40)
    }
    end?.(primary)
    await database.settled(3)
    await load.until(40)
    await load.stop()
    expect(await lostAndDoubled(proxy.url, key, load.confirmed)).toEqual({ lost: [], doubled: [] })
    const count = `${load.confirmed.length} writes, ${load.failures.length} repeated`
    console.log(`${name}: ${count}, none confirmed for ${(load.pause / 1000).toFixed(1)} s`)
    expect(load.pause).toBeLessThan(allowing(BACK_MS))
  }

  test(
    'switchover',
    () =>
      survives('switchover', {
        begin: async (primary) => {
          const { name: candidate } = await cluster.database.successor()
          await primary.control('switchover', 'tutti', '--leader', primary.name, '--candidate', candidate, '--force')
        },
      }),
    LIMIT,
  )

  test(
    'promotion by hand',
    () =>
      survives('promotion by hand', {
        begin: async (primary) => {
          const { name: candidate } = await cluster.database.successor()
          await primary.control('failover', 'tutti', '--candidate', candidate, '--force')
        },
      }),
    LIMIT,
  )

  test(
    'a network partition of the primary that heals',
    () => survives('partition', { begin: (node) => node.isolate(), end: (node) => node.rejoin() }),
    LIMIT,
  )

  test(
    'a primary that hangs and continues',
    () => survives('frozen primary', { begin: (node) => node.freeze(), end: (node) => node.thaw() }),
    LIMIT,
  )

  test(
    'a full disk of the primary: writes return 507 and reads work until there is space',
    () =>
      survives('full disk', {
        begin: (node) => node.fillDisk(),
        shown: async (load) => {
          await until(() => load.failures.length >= 20 && Bun.sleep(20).then(() => true))
          expect(new Set(load.failures)).toEqual(new Set(['507']))
          for (const { url } of cluster.instances) {
            expect((await cluster.ask('GET', '/api/notes?limit=1', undefined, cluster.key, url)).status).toBe(200)
            expect((await fetch(`${url}/health/ready`)).status).toBe(200)
          }
        },
        end: (node) => node.freeDisk(),
      }),
    LIMIT,
  )

  test(
    'an instance whose clock is 20 minutes ahead is not ready and takes no lease',
    async () => {
      const { instances, proxy, programs, key } = cluster
      const [right, , wrong] = instances
      await wrong.server.stop()
      // Inside the chroot, because its libfaketime may need a newer libc than that of this machine.
      const [library] = new Glob('usr/lib/*/faketime/libfaketime.so.1').scanSync({ cwd: programs.root })
      const fake = { LD_PRELOAD: `/${library}`, FAKETIME: '+20m', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
      const command = ['serve', '--port', String(wrong.port), '--data-dir', programs.makeFolder('wrong')]
      const program = programs.start('wrong-clock', [programs.adopt(BINARY), ...command], {
        env: { ...wrong.env, ...fake, DB_MIN_FREE_MB: '0', EMBEDDINGS: 'off' },
      })
      await program.until(() => program.output().includes('"ready"'))
      await proxy.ready(2)
      const health = await cluster.ask('GET', '/health/ready', undefined, key, wrong.url)
      expect([health.status, health.body.status]).toEqual([503, 'clock'])
      const { body: project } = await cluster.ask('POST', '/api/projects', { name: 'Clocks' }, key)
      const { body: task } = await cluster.ask('POST', `/api/projects/${project.slug}/tasks`, { title: 'One' }, key)
      const claim = (at: string) => cluster.ask('POST', `/api/tasks/${task.id}/claim`, {}, key, at)
      expect((await claim(right.url)).status).toBe(200)
      expect((await claim(wrong.url)).status).toBe(503)
      await program.kill()
      await wrong.start()
      await proxy.ready(3)
    },
    LIMIT,
  )
})
