import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import type { Driver, Result } from '../../src/db/driver.ts'
import { addHealth } from '../../src/server/health.ts'
import { TestClock } from '../features/support.ts'
import { call, sharedApp } from '../support/app.ts'

/** Health checks while the database works, is busy, or does not respond. */
const t = await sharedApp()
const clock = new TestClock()
let asked = 0
/** Whether the database responds at once. Otherwise it does when `respond` is called. */
let atOnce = false
const nothing: Result = { columns: [], rows: [], count: 0 }
let responses: PromiseWithResolvers<Result>[] = []
const driver = new Proxy<Driver>(t.app.driver, {
  get: (target, name) => {
    if (name === 'query')
      return () => {
        asked++
        if (atOnce) return Promise.resolve(nothing)
        const response = Promise.withResolvers<Result>()
        responses.push(response)
        return response.promise
      }
    const value = Reflect.get(target, name, target) as unknown
    return typeof value === 'function' ? value.bind(target) : value
  },
})
let unready: 'stopping' | 'clock' | undefined
const server = new Elysia()
addHealth(server, { driver, clock: clock.now }, () => unready, 1)

type Health = { status: string; database: { ok: boolean; waitingMs?: number } }
async function probe(path = '/health'): Promise<[number, Health]> {
  const response = await server.handle(new Request(`http://localhost${path}`))
  return [response.status, (await response.json()) as Health]
}
const respond = async (alive = true) => {
  for (const { resolve, reject } of responses)
    if (alive) resolve(nothing)
    else reject(new Error('gone'))
  responses = []
  await Bun.sleep(0) // lets the ping end
}

test('a health check reports a busy database while a statement holds it, and pings only once', async () => {
  for (const path of ['/health', '/health/ready', '/health']) {
    const [status, { status: said, database }] = await probe(path)
    expect([status, said, database.ok, database.waitingMs]).toEqual([200, 'busy', true, 0])
  }
  expect(asked).toBe(1)
  await respond()
})

test('a health check reports a database as down after half a minute, and as ok once it responds', async () => {
  await probe()
  clock.forward({ seconds: 31 })
  const [status, { status: said }] = await probe()
  expect([status, said]).toEqual([503, 'down'])
  await respond()
  atOnce = true
  const [after, { status: then, database }] = await probe()
  atOnce = false
  expect([after, then, database.ok, database.waitingMs]).toEqual([200, 'ok', true, undefined])
})

test('a health check does not report ok while it waits for the ping after a failed one', async () => {
  await probe()
  await respond(false)
  const [status, { status: said }] = await probe()
  expect([status, said]).toEqual([503, 'down'])
  await respond()
})

test('a health check of a healthy server reports ok', async () => {
  const { status, body } = await call<Health>(t, 'GET', '/health')
  expect([status, body.database.ok]).toEqual([200, true])
})
