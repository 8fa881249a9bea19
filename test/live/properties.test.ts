import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { insertEvent } from '../../src/events/event.ts'
import { happened } from '../db/events-support.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { LiveClient } from './support.ts'

/** More with SOAK=1, for long runs. */
const runs = (few: number, many: number): number => (process.env.SOAK ? many : few)

let apps: TestApp[]
let ada: Person
beforeAll(async () => {
  apps = [await testApp(), await testApp()]
  ada = await person(apps[0] as TestApp)
})
afterAll(async () => {
  for (const app of apps) await app.close()
})

/** Two instances see each other's events only on Postgres; the embedded database has one process. */
const instances = (): TestApp[] => (process.env.TEST_DB === 'postgres' ? apps : apps.slice(0, 1))

const step = fc.oneof(
  fc.record({
    do: fc.constant('write' as const),
    on: fc.nat(1),
    commits: fc.boolean(),
    events: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant('cut' as const), on: fc.nat(1) }),
)

test('no event is missed and none comes twice, whatever is rolled back and however often the connection is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const on = (i: number) => instances()[i % instances().length] as TestApp
      const topics = [`organization:${ada.organizationId}`]
      const got: string[] = []
      let client = await LiveClient.open(on(0), ada.token)
      let { cursor } = await client.subscribe(topics)
      const written: string[] = []
      const cut = async (i: number) => {
        await client.close()
        got.push(...client.events.map(({ id }) => String(id)))
        cursor = client.events.at(-1)?.cursor ?? cursor
        client = await LiveClient.open(on(i), ada.token)
        await client.subscribe(topics, { cursor })
      }
      for (const { do: what, on: i, ...more } of steps) {
        if (what === 'cut') {
          await cut(i)
          continue
        }
        const { commits, events } = more as { commits: boolean; events: number }
        const { app } = on(i)
        const rows = Array.from({ length: events }, () => ({
          ...happened(app.instanceId, 'note.created', { title: 'x' }),
          organizationId: ada.organizationId,
        }))
        const tx = await app.driver.begin()
        if (commits) {
          await tx.commit(rows.map((event) => insertEvent(event)))
          app.bus.deliver(rows)
          written.push(...rows.map(({ id }) => id))
        } else {
          for (const { text, params } of rows.map((event) => insertEvent(event))) await tx.query(text, params)
          await tx.rollback()
        }
      }
      await cut(0)
      await client.until('ready')
      await client.close()
      got.push(...client.events.map(({ id }) => String(id)))
      expect(got).toEqual(written)
    }),
    { numRuns: runs(8, 300), seed: 14 },
  )
})

test('no message of a client breaks the server: it is answered with an error, or the connection is closed', async () => {
  const [t] = apps as [TestApp]
  const wrong = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.json(),
    fc.record({
      op: fc.constantFrom('subscribe', 'unsubscribe', 'here', 'away', 'toString', 'x'),
      topics: fc.jsonValue(),
    }),
    fc.record({ op: fc.constant('subscribe'), topics: fc.array(fc.string()), cursor: fc.string() }),
    fc.uint8Array({ maxLength: 300 }),
    fc.constant('x'.repeat(70_000)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(wrong, { minLength: 1, maxLength: 80 }), async (messages) => {
      const client = await LiveClient.open(t, ada.token)
      for (const message of messages)
        client.socket.send(
          typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message),
        )
      client.send({ op: 'unsubscribe', topics: [], ref: 'last' })
      await client.until('unsubscribed').catch(() => undefined)
      if (client.closed) expect([1006, 1009, 4400, 4429]).toContain(client.closed.code)
      else await client.close()
      expect(client.got.filter(({ op }) => op === 'error').every(({ detail }) => typeof detail === 'string')).toBe(true)
    }),
    { numRuns: runs(10, 500), seed: 14 },
  )
  const healthy = await LiveClient.open(t, ada.token)
  await healthy.close()
})
