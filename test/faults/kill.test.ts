import { expect, test } from 'bun:test'
import { apiKeyFor, folder, serve } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'
import { allowing } from '../support/timing.ts'
import { amcheck } from './check.ts'
import { missing, rounds, writeLoad } from './load.ts'

const databases = ['pglite', ...(process.env.TEST_DATABASE_URL ? ['postgres'] : [])]

for (const kind of databases) {
  const count = kind === 'pglite' ? rounds(4, 50) : rounds(2, 10)
  test(
    `${count} × kill -9 under load on ${kind}: every answered write is there`,
    async () => {
      const postgres = kind === 'postgres' ? await freshDatabase() : undefined
      const env: Record<string, string> = postgres ? { DATABASE_URL: postgres.url } : {}
      const dir = folder()
      let server = await serve({ dir, env })
      const key = await apiKeyFor(server, env)
      const acked: string[] = []
      for (let round = 0; round < count; round++) {
        const load = writeLoad(server, key)
        // A random number of writes rather than a random time, so that the kill lands in the middle of work on any machine.
        await load.until(1 + Math.floor(Math.random() * 400))
        await server.kill()
        await load.stop()
        acked.push(...load.acked)
        server = await serve({ dir, env })
        expect(await missing(server, key, acked)).toEqual([])
      }
      expect(acked.length).toBeGreaterThan(count)
      expect(await server.stop()).toBe(0)
      if (postgres) await postgres.drop()
      else expect(await amcheck(dir)).toBeGreaterThan(20)
      console.log(`${kind}: ${count} kills, ${acked.length} answered writes, 0 lost`)
    },
    { timeout: 900_000 },
  )
}

test('SIGTERM under load: open requests are answered, the exit code is 0, and no write is lost', async () => {
  const dir = folder()
  let server = await serve({ dir })
  const key = await apiKeyFor(server)
  const load = writeLoad(server, key)
  await load.until(100)
  expect(await server.stop()).toBe(0)
  await load.stop()
  server = await serve({ dir })
  expect(await missing(server, key, load.acked)).toEqual([])
  await server.stop()
}, 300_000)

test('a second process on the same folder is refused at once and does not disturb the first', async () => {
  const first = await serve()
  const started = performance.now()
  const second = await serve({ dir: first.dir }).then(
    () => 'started',
    (error: Error) => error.message,
  )
  expect(second).toContain('in use')
  expect(performance.now() - started).toBeLessThan(allowing(3000))
  expect((await fetch(`${first.url}/health`)).status).toBe(200)
  await first.kill()
  const third = await serve({ dir: first.dir })
  expect(await third.stop()).toBe(0)
}, 300_000)
