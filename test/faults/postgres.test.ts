import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { $ } from 'bun'
import { apiKeyFor, json, serve } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'
import { allowing } from '../support/timing.ts'
import { missing, rounds, writeLoad } from './load.ts'

/** A server of its own: other tests, which run at the same time, use the first one. */
const postgres = (command: 'up' | 'restart' | 'down') =>
  $`${join(import.meta.dir, '../support/postgres.sh')} ${command}`
    .env({ ...process.env, CLUSTER: 'faults', PORT: '5599' })
    .quiet()
    .text()
let url: string
beforeAll(async () => {
  url = (await postgres('up')).trim()
}, 300_000)
afterAll(() => postgres('down'))

test('a Postgres restart under load returns 503 with Retry-After, recovers within 5 s, and loses or repeats no write', async () => {
  const database = await freshDatabase(url)
  const env = { DATABASE_URL: database.url }
  const server = await serve({ env })
  const key = await apiKeyFor(server, env)
  for (let round = 0; round < rounds(2, 10); round++) {
    const load = writeLoad(server, key)
    await load.until(100)
    await postgres('restart')
    const restarted = performance.now()
    await load.until(20)
    expect(performance.now() - restarted).toBeLessThan(allowing(5000))
    await load.stop()
    expect([...load.statuses.keys()].filter((status) => status !== 201 && status !== 503)).toEqual([])
    expect(await missing(server, key, load.acked)).toEqual([])
  }
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  expect(await server.stop()).toBe(0)
  await database.drop()
}, 300_000)

test('a request with an unknown outcome, repeated with its Idempotency-Key, creates one record', async () => {
  const database = await freshDatabase(url)
  const env = { DATABASE_URL: database.url }
  const server = await serve({ env })
  const key = await apiKeyFor(server, env)
  const total = 60
  const write = async (n: number) => {
    const request = json('POST', { title: `once ${n}` }, key)
    const headers = { ...(request.headers as Record<string, string>), 'idempotency-key': `once-${n}` }
    for (;;) {
      const response = await fetch(`${server.url}/api/notes`, { ...request, headers }).catch(() => undefined)
      if (response?.status === 201) return ((await response.json()) as { id: string }).id
      await Bun.sleep(20)
    }
  }
  const writing = Promise.all(Array.from({ length: total }, (_, n) => write(n)))
  await postgres('restart')
  const ids = await writing
  const listed = await fetch(`${server.url}/api/notes?limit=200&total=true`, {
    headers: { authorization: `Bearer ${key}` },
  })
  expect(((await listed.json()) as { total: number }).total).toBe(total)
  expect(new Set(ids).size).toBe(total)
  await server.stop()
  await database.drop()
}, 300_000)
