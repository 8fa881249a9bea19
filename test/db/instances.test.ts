import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { migrations } from '../../migrations/index.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver, Transaction } from '../../src/db/driver.ts'
import { applyMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { drizzleOver } from '../../src/db/session.ts'
import { Bus } from '../../src/events/bus.ts'
import { readEpoch } from '../../src/events/epoch.ts'
import { type AppEvent, insertEvent } from '../../src/events/event.ts'
import { advancePosition, encodeCursor, type Position } from '../../src/events/position.ts'
import { currentPosition, parseCursor, readEvents, readPageAfter, resolveHoles } from '../../src/events/reader.ts'
import { EventTail } from '../../src/events/tail.ts'
import { failure, times } from '../features/support.ts'
import { openRaw } from '../mcp/support.ts'
import { mcpToken, person, testApp } from '../support/app.ts'
import { freshDatabase } from '../support/postgres.ts'
import { EventRecorder, makeEvent, quietLog } from './events-support.ts'

const onPostgres = process.env.TEST_DB === 'postgres'

/** Acts as a separate process: with its own pool, bus and id. */
interface Instance {
  id: string
  driver: Driver
  bus: Bus
  ear: EventRecorder
  /** As an action does it: stored with the commit, delivered after it. */
  commit(...types: string[]): Promise<void>
  open(type: string): Promise<{ tx: Transaction; commit(): Promise<void> }>
}

describe.skipIf(!onPostgres)('two instances on one Postgres', () => {
  let url = ''
  let drop: () => Promise<void>
  const running: Instance[] = []

  beforeAll(async () => {
    ;({ url, drop } = await freshDatabase())
    const driver = await openPostgres({ url })
    await applyMigrations(driver, migrations)
    await driver.close()
  })
  afterEach(async () => {
    for (const { bus, driver } of running.splice(0)) {
      bus.stop()
      await driver.close()
    }
  })
  afterAll(() => drop())

  async function instance(): Promise<Instance> {
    const id = newId()
    const driver = await openPostgres({ url, poolSize: 8 })
    const bus = new Bus(driver, id, quietLog)
    const ear = new EventRecorder()
    bus.subscribe(ear.listen)
    await bus.start()
    const made: Instance = {
      id,
      driver,
      bus,
      ear,
      async commit(...types) {
        const said = types.map((type) => makeEvent(id, type, { n: type }))
        const tx = await driver.begin()
        await tx.commit(said.map((event) => insertEvent(event)))
        bus.deliver(said)
      },
      async open(type) {
        const said = makeEvent(id, type)
        const tx = await driver.begin()
        const { text, params } = insertEvent(said)
        await tx.query(text, params)
        return {
          tx,
          commit: async () => {
            await tx.commit()
            bus.deliver([said])
          },
        }
      },
    }
    running.push(made)
    return made
  }
  const numbered = (name: string, n: number) => times(n, (i) => `${name}.${i}`)

  test("receive each other's events exactly once, complete and in order", async () => {
    const [a, b] = [await instance(), await instance()]
    for (const type of numbered('a', 30)) await a.commit(type)
    for (const type of numbered('b', 30)) await b.commit(type)
    await a.commit('end of a')
    await b.commit('end of b')
    await Promise.all([a.ear.until('end of b'), b.ear.until('end of a')])
    // A second read repeats nothing.
    await a.commit('very end of a')
    await b.commit('very end of b')
    await Promise.all([a.ear.until('very end of b'), b.ear.until('very end of a')])
    const fromA = [...numbered('a', 30), 'end of a', 'very end of a']
    const fromB = [...numbered('b', 30), 'end of b', 'very end of b']
    for (const { ear } of [a, b]) {
      expect(ear.types.filter((type) => fromA.includes(type))).toEqual(fromA)
      expect(ear.types.filter((type) => fromB.includes(type))).toEqual(fromB)
      expect(ear.types).toHaveLength(64)
    }
    const sent = a.ear.received.find((e) => e.type === 'a.7') as AppEvent
    expect(b.ear.received.find((e) => e.type === 'a.7')).toEqual(sent)
  }, 300_000)

  test('receive the events of one transaction in order, even beside concurrent ones', async () => {
    const [a, b] = [await instance(), await instance()]
    await Promise.all(times(10, (i) => a.commit(...numbered(`t${i}`, 5))))
    await a.commit('end')
    await b.ear.until('end')
    expect(b.ear.types).toHaveLength(51)
    for (const name of times(10, (i) => `t${i}`))
      expect(b.ear.types.filter((type) => type.startsWith(`${name}.`))).toEqual(numbered(name, 5))
  }, 300_000)

  test('do not skip a transaction that commits late, and do not wait for it', async () => {
    const [a, b, c] = [await instance(), await instance(), await instance()]
    const late = await a.open('late')
    await b.commit('early.0')
    await a.commit('early.1')
    const other = await b.open('other')
    await c.commit('early.2')
    await Promise.all([a, b, c].map(({ ear }) => ear.until('early.2')))
    // It begins while two numbers below the highest are still missing.
    const d = await instance()
    await late.commit()
    await Promise.all([a, b, c, d].map(({ ear }) => ear.until('late')))
    await other.commit()
    await d.commit('z')
    await Promise.all([a, b, c, d].flatMap(({ ear }) => [ear.until('z'), ear.until('other')]))
    for (const { ear } of [a, b, c])
      expect(ear.types.toSorted()).toEqual(['early.0', 'early.1', 'early.2', 'late', 'other', 'z'])
    expect(d.ear.types.toSorted()).toEqual(['late', 'other', 'z'])
  }, 300_000)

  test('wait for a lower number of a transaction that began later', async () => {
    const { driver, id, open } = await instance()
    const db = drizzleOver(driver)
    let position = await currentPosition(db)
    const heard: string[] = []
    // Looks by itself, because a notification takes a transaction number of its own.
    const look = async () => {
      const rows = await readEvents(db, position, 100)
      heard.push(...rows.map(({ type }) => type))
      position = advancePosition(
        position,
        rows.map(({ seq }) => seq),
        true,
      )
      position = await resolveHoles(db, position)
    }
    // Several times, because other databases of the server take transaction numbers in between.
    for (let i = 0; i < 20; i++) {
      // Transactions are numbered when they first write, events when they are inserted: here in the opposite order.
      const first = await driver.begin()
      await first.query('select pg_current_xact_id()::text')
      const { tx: second } = await open(`late.${i}`)
      await first.commit([insertEvent(makeEvent(id, `early.${i}`))])
      for (const _ of times(3, Number)) await look()
      await second.commit()
      await look()
    }
    expect(heard).toEqual(times(20, (i) => [`early.${i}`, `late.${i}`]).flat())
    expect(position.holes).toEqual([])
  }, 300_000)

  test("resume a client's cursor without missing or repeating an event", async () => {
    const { driver, commit, open } = await instance()
    const db = drizzleOver(driver)
    const epoch = await readEpoch(driver)
    let cursor = encodeCursor(epoch, await currentPosition(db))
    const heard: string[] = []
    const pull = async (limit = 100) => {
      const page = await readPageAfter(db, parseCursor(epoch, cursor) as Position, limit)
      heard.push(...page.rows.map(({ type }) => type))
      cursor = encodeCursor(epoch, page.position)
      return page
    }
    const late = await open('late')
    const never = await open('never')
    await commit('early')
    await pull()
    await commit('next.0', 'next.1')
    expect(await pull(1)).toMatchObject({ complete: false })
    await late.commit()
    await pull()
    expect(heard).toEqual(['early', 'next.0', 'late', 'next.1'])
    await never.tx.rollback()
    expect((await pull()).position.holes).toEqual([])
    expect(heard).toHaveLength(4)
    expect(parseCursor(crypto.randomUUID(), cursor)).toBe('foreign')
    expect(parseCursor(epoch, `${cursor}!`)).toBe('malformed')
  }, 300_000)

  test('deliver events during long transactions, in this or another database of the server', async () => {
    const [a, b] = [await instance(), await instance()]
    const elsewhere = await freshDatabase()
    const stranger = await openPostgres({ url: elsewhere.url })
    const open = await Promise.all([stranger, a.driver].map((driver) => driver.begin()))
    for (const tx of open) await tx.query('select pg_current_xact_id()::text')
    const late = await a.open('late')
    for (const type of numbered('meanwhile', 5)) {
      await a.commit(type)
      await b.ear.until(type)
    }
    await late.tx.rollback()
    await a.commit('end')
    await b.ear.until('end')
    expect(b.ear.types).toEqual([...numbered('meanwhile', 5), 'end'])
    for (const tx of open) await tx.rollback()
    await stranger.close()
    await elsewhere.drop()
  }, 300_000)

  test('deliver every event once, whatever the order of commits and roll-backs', async () => {
    const [a, b, c] = [await instance(), await instance(), await instance()]
    const expected: string[] = []
    const open: { type: string; event: Awaited<ReturnType<Instance['open']>> }[] = []
    for (let i = 0; i < 150; i++) {
      // Any repeatable order will do: at most three are open on each instance, and one in four is rolled back.
      const on = i % 2 === 0 ? a : b
      open.push({ type: `t.${i}`, event: await on.open(`t.${i}`) })
      if (open.length < 5) continue
      const [{ type, event }] = open.splice((i * 7) % open.length, 1) as [(typeof open)[number]]
      if (i % 4 === 0) await event.tx.rollback()
      else {
        await event.commit()
        expected.push(type)
      }
    }
    for (const { type, event } of open) {
      await event.commit()
      expected.push(type)
    }
    await a.commit('end of a')
    await b.commit('end of b')
    for (const { ear } of [a, b, c]) {
      await Promise.all([...expected, 'end of a', 'end of b'].map((type) => ear.until(type)))
      expect(ear.types.toSorted()).toEqual([...expected, 'end of a', 'end of b'].toSorted())
    }
  }, 300_000)

  test('never deliver events that were rolled back', async () => {
    const [a, b] = [await instance(), await instance()]
    const undone = await a.open('undone')
    await a.commit('before')
    await undone.tx.rollback()
    const failing = await a.driver.begin()
    const event = makeEvent(a.id, 'failing')
    await failure(failing.commit([insertEvent(event), { text: 'select 1 / 0', params: [] }]))
    await failing.rollback()
    await a.commit('after')
    await b.ear.until('after')
    expect(b.ear.types).toEqual(['before', 'after'])
    expect(a.ear.types).toEqual(['before', 'after'])
  }, 300_000)

  test('wait for a rolled-back number no longer than for its transaction', async () => {
    const { driver, open, commit } = await instance()
    const tail = new EventTail(drizzleOver(driver), async () => undefined, quietLog)
    await tail.start()
    const undone = await open('undone')
    await commit('beside')
    for (let look = 0; look < 3; look++) await tail.read()
    expect(tail.position?.holes).toHaveLength(1)
    await undone.tx.rollback()
    for (let look = 0; look < 3; look++) await tail.read()
    expect(tail.position?.holes).toEqual([])
  }, 300_000)

  test('catch up after a lost notification with the next one', async () => {
    const [a, b] = [await instance(), await instance()]
    const silent = makeEvent(a.id, 'silent')
    await a.driver.query(insertEvent(silent).text, insertEvent(silent).params)
    await a.commit('loud')
    await b.ear.until('loud')
    expect(b.ear.types).toEqual(['silent', 'loud'])
  }, 300_000)

  test('do not deliver events from before their start', async () => {
    const a = await instance()
    await a.commit('history')
    const b = await instance()
    await a.commit('news')
    await b.ear.until('news')
    expect(b.ear.types).toEqual(['news'])
  }, 300_000)

  test('continue after a listener that throws', async () => {
    const [a, b] = [await instance(), await instance()]
    const second = new EventRecorder()
    b.bus.subscribe(() => {
      throw new Error('broken listener')
    })
    b.bus.subscribe(second.listen)
    await a.commit('one', 'two')
    await a.commit('three')
    await second.until('three')
    expect(second.types).toEqual(['one', 'two', 'three'])
    expect(b.ear.types).toEqual(['one', 'two', 'three'])
  }, 300_000)

  test('deliver more events than one read returns', async () => {
    const [a, b] = [await instance(), await instance()]
    await a.commit(...numbered('many', 1100))
    await a.commit('end')
    await b.ear.until('end')
    expect(b.ear.types).toEqual([...numbered('many', 1100), 'end'])
  }, 300_000)

  test('deliver nothing after they are closed', async () => {
    const [a, b, c] = [await instance(), await instance(), await instance()]
    b.bus.stop()
    await a.commit('late')
    await c.ear.until('late')
    expect(b.ear.types).toEqual([])
  }, 300_000)
})

test.skipIf(!onPostgres)(
  'rights removed on one instance end on the others as soon as they receive the event',
  async () => {
    const [a, b] = [await testApp(), await testApp()]
    try {
      const ada = await person(a)
      const token = await mcpToken(a, ada)
      // Both know the two credentials now.
      for (const { app } of [a, b])
        for (const secret of [ada.token, token]) expect((await app.auth.authenticate(secret)).userId).toBe(ada.userId)
      const ear = new EventRecorder()
      b.app.bus.subscribe((e) => {
        if (e.userId === ada.userId) ear.listen(e)
      })
      const { body } = await ada.fetch<{ items: { id: string }[] }>('GET', '/api/mcp-tokens')
      await ada.fetch('DELETE', `/api/mcp-tokens/${body.items[0]?.id}`)
      await ear.until('mcp_token.revoked')
      expect(await failure(b.app.auth.authenticate(token))).toMatchObject({ code: 'unauthenticated' })
      await ada.fetch('POST', '/api/auth/logout')
      await ear.until('session.revoked')
      expect(await failure(b.app.auth.authenticate(ada.token))).toMatchObject({ code: 'unauthenticated' })
    } finally {
      await Promise.all([a.close(), b.close()])
    }
  },
  300_000,
)

test.skipIf(!onPostgres)(
  'open streams on another instance end with their credential or account, even during long transactions',
  async () => {
    const [a, b] = [await testApp(), await testApp()]
    const elsewhere = await freshDatabase()
    const stranger = await openPostgres({ url: elsewhere.url })
    const open = await Promise.all([stranger, a.app.driver].map((driver) => driver.begin()))
    for (const tx of open) await tx.query('select pg_current_xact_id()::text')
    try {
      const [admin, ada, grace] = [await person(a, { admin: true }), await person(a), await person(a)]
      const streams = await Promise.all([ada, grace].map(async (who) => openRaw(b.url, await mcpToken(a, who))))
      const { body } = await ada.fetch<{ items: { id: string }[] }>('GET', '/api/mcp-tokens')
      await ada.fetch('DELETE', `/api/mcp-tokens/${body.items[0]?.id}`)
      await streams[0]?.ended
      const { status } = await admin.fetch('PATCH', `/api/admin/users/${grace.userId}/suspend`, {})
      expect(status).toBe(200)
      await streams[1]?.ended
    } finally {
      for (const tx of open) await tx.rollback()
      await stranger.close()
      await Promise.all([a.close(), b.close(), elsewhere.drop()])
    }
  },
  300_000,
)
