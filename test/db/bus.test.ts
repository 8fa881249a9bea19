import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { migrations } from '../../migrations/index.ts'
import { contextOf, write } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import { machine } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver, Transaction } from '../../src/db/driver.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { Bus } from '../../src/events/bus.ts'
import { define, text } from '../../src/events/catalogue.ts'
import { type AppEvent, insertEvent } from '../../src/events/event.ts'
import { events } from '../../src/events/table.ts'
import { createLog } from '../../src/log.ts'
import { failure, times } from '../features/support.ts'
import { mcpToken, person, sharedApp, testApp } from '../support/app.ts'
import { freshDatabase } from '../support/postgres.ts'

const onPostgres = process.env.TEST_DB === 'postgres'
const quiet = createLog('debug', () => undefined, false)

/** What a listener heard, and a way to wait for it. */
class Ear {
  readonly heard: AppEvent[] = []
  #waiting: { type: string; go: () => void }[] = []
  readonly listen = (event: AppEvent): void => {
    this.heard.push(event)
    for (const { go } of this.#waiting.filter((w) => w.type === event.type)) go()
  }
  get types(): string[] {
    return this.heard.map((e) => e.type)
  }
  until(type: string): Promise<void> {
    if (this.types.includes(type)) return Promise.resolve()
    return new Promise((go) => void this.#waiting.push({ type, go }))
  }
}

const happened = (origin: string, type: string, data: Record<string, unknown> = {}): AppEvent => ({
  id: newId(),
  at: new Date().toISOString(),
  type,
  action: 'test',
  actor: { kind: 'system', id: null, name: 'system' },
  credentialId: null,
  organizationId: null,
  projectId: null,
  userId: null,
  subjectId: null,
  data,
  requestId: newId(),
  ip: null,
  origin,
})

describe('on one instance', () => {
  const bus = () => new Bus({ kind: 'pglite' } as Driver, newId(), quiet)

  test('every listener hears every event, in order, until it unsubscribes', () => {
    const b = bus()
    const [one, two] = [new Ear(), new Ear()]
    b.subscribe(one.listen)
    const leave = b.subscribe(two.listen)
    b.deliver([happened('x', 'a'), happened('x', 'b')])
    leave()
    b.deliver([happened('x', 'c')])
    expect(one.types).toEqual(['a', 'b', 'c'])
    expect(two.types).toEqual(['a', 'b'])
  })

  test('a listener that throws does not stop the others, and is written down', () => {
    const lines: string[] = []
    const b = new Bus(
      { kind: 'pglite' } as Driver,
      newId(),
      createLog('debug', (line) => void lines.push(line), false),
    )
    const ear = new Ear()
    b.subscribe(() => {
      throw new Error('broken listener')
    })
    b.subscribe(ear.listen)
    expect(() => b.deliver([happened('x', 'a'), happened('x', 'b')])).not.toThrow()
    expect(ear.types).toEqual(['a', 'b'])
    expect(lines.filter((l) => l.includes('broken listener'))).toHaveLength(2)
  })

  test('a listener may leave, or another join, while an event is delivered', () => {
    const b = bus()
    const late = new Ear()
    const once: string[] = []
    const leave = b.subscribe((e) => {
      once.push(e.type)
      leave()
      b.subscribe(late.listen)
    })
    b.deliver([happened('x', 'a')])
    b.deliver([happened('x', 'b')])
    expect(once).toEqual(['a'])
    expect(late.types).toContain('b')
  })

  test('nothing is heard after the end', async () => {
    const b = bus()
    const ear = new Ear()
    b.subscribe(ear.listen)
    await b.start()
    b.stop()
    b.deliver([happened('x', 'a')])
    expect(ear.types).toEqual([])
  })
})

describe('what a write says', () => {
  const probe = { kind: 'probe', description: 'It was tried', data: { said: text } }
  const says = write(
    'probe.says',
    machine,
    async (ctx, { types, meanwhile }: { types: string[]; meanwhile?: () => Promise<void> }) => {
      for (const type of types) ctx.emit(define(type, probe), { data: { said: type } })
      await meanwhile?.()
      return 'done'
    },
  )
  const rows = async (requestId: string) => {
    const { app } = await sharedApp()
    return (await app.db.select({ type: events.type, action: events.action, data: events.data }).from(events).where(eq(events.requestId, requestId)).orderBy(events.seq))
  } // biome-ignore format: one query
  const call = async () => {
    const { app } = await sharedApp()
    const ear = new Ear()
    const ctx = contextOf(app, system)
    const leave = app.bus.subscribe((e) => {
      if (e.requestId === ctx.requestId) ear.listen(e)
    })
    return { ctx, ear, leave }
  }

  test('is heard after the commit, in the order it was said, and stored', async () => {
    const { ctx, ear, leave } = await call()
    const before: string[][] = []
    await says(ctx, {
      types: ['probe.a', 'probe.b', 'probe.a'],
      meanwhile: async () => void before.push(ear.types.slice()),
    })
    leave()
    expect(before).toEqual([[]])
    expect(ear.types).toEqual(['probe.a', 'probe.b', 'probe.a'])
    expect(await rows(ctx.requestId)).toEqual(
      ['probe.a', 'probe.b', 'probe.a'].map((type) => ({ type, action: 'probe.says', data: { said: type } })),
    )
  })

  test('is never heard or stored when the write fails, at whatever point', async () => {
    const inWork = async () => {
      throw new Error('changed my mind')
    }
    for (const [types, meanwhile] of [
      [['probe.a'], inWork],
      // A type that cannot be stored makes the last trip, with the COMMIT, fail.
      [['probe.a', 'nul\0'], undefined],
    ] as const) {
      const { ctx, ear, leave } = await call()
      await failure(says(ctx, { types: [...types], meanwhile }))
      leave()
      expect(ear.types).toEqual([])
      expect(await rows(ctx.requestId)).toEqual([])
    }
  })

  test('outside a write cannot be said', async () => {
    const { ctx, leave } = await call()
    leave()
    expect(() => ctx.emit(define('probe.a', { kind: 'probe', description: 'It was tried' }), {})).toThrow(
      'outside a write',
    )
  })

  test('one that says nothing leaves a trace all the same', async () => {
    const { ctx, ear, leave } = await call()
    await says(ctx, { types: [] })
    leave()
    expect(ear.types).toEqual(['probe.says'])
    expect(await rows(ctx.requestId)).toEqual([{ type: 'probe.says', action: 'probe.says', data: {} }])
  })
})

/** A process of its own in all but name: its own pool, bus and id. */
interface Instance {
  id: string
  driver: Driver
  bus: Bus
  ear: Ear
  /** As an action does it: stored with the commit, delivered after it. */
  commit(...types: string[]): Promise<void>
  open(type: string): Promise<{ tx: Transaction; commit(): Promise<void> }>
}

describe.skipIf(!onPostgres)('on two instances of one Postgres', () => {
  let url = ''
  let drop: () => Promise<void>
  const running: Instance[] = []

  beforeAll(async () => {
    ;({ url, drop } = await freshDatabase())
    const driver = await openPostgres({ url })
    await migrate(driver, migrations)
    await driver.close()
  })
  afterEach(async () => {
    for (const { bus, driver } of running.splice(0)) {
      bus.stop()
      await driver.close()
    }
  })
  afterAll(() => drop())

  /**
   * Waits until no transaction on the server is older than the stored events. Other test processes use the same server,
   * and a new instance takes what is younger than the oldest running transaction for news.
   */
  async function settled(driver: Driver): Promise<void> {
    const older = `select count(*) = 0 from events where xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
    while ((await driver.query(older)).rows[0]?.[0] !== true) await Bun.sleep(10)
  }

  async function instance(): Promise<Instance> {
    const id = newId()
    const driver = await openPostgres({ url, poolSize: 4 })
    if (running.length === 0) await settled(driver)
    const bus = new Bus(driver, id, quiet)
    const ear = new Ear()
    bus.subscribe(ear.listen)
    await bus.start()
    const made: Instance = {
      id,
      driver,
      bus,
      ear,
      async commit(...types) {
        const said = types.map((type) => happened(id, type, { n: type }))
        const tx = await driver.begin()
        await tx.commit(said.map(insertEvent))
        bus.deliver(said)
      },
      async open(type) {
        const said = happened(id, type)
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

  test('each hears the other’s events exactly once, whole, and in the order of their commits', async () => {
    const [a, b] = [await instance(), await instance()]
    for (const type of numbered('a', 30)) await a.commit(type)
    for (const type of numbered('b', 30)) await b.commit(type)
    await a.commit('end of a')
    await b.commit('end of b')
    await Promise.all([a.ear.until('end of b'), b.ear.until('end of a')])
    // Once more, to see that a second look repeats nothing.
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
    const sent = a.ear.heard.find((e) => e.type === 'a.7') as AppEvent
    expect(b.ear.heard.find((e) => e.type === 'a.7')).toEqual(sent)
  }, 30_000)

  test('events of one transaction stay together and in order', async () => {
    const [a, b] = [await instance(), await instance()]
    await Promise.all(times(10, (i) => a.commit(...numbered(`t${i}`, 5))))
    await a.commit('end')
    await b.ear.until('end')
    const groups = b.ear.types.slice(0, -1).map((type) => type.split('.') as [string, string])
    expect(groups).toHaveLength(50)
    for (let i = 0; i < 50; i += 5) {
      const group = groups.slice(i, i + 5)
      expect(group.map(([, n]) => n)).toEqual(['0', '1', '2', '3', '4'])
      expect(new Set(group.map(([t]) => t)).size).toBe(1)
    }
  }, 30_000)

  test('a transaction that commits late is not skipped, and everybody gets the same order: that of the first writes', async () => {
    const [a, b, c] = [await instance(), await instance(), await instance()]
    const late = await a.open('late')
    await b.commit('early.0')
    await a.commit('early.1')
    const other = await b.open('other')
    await c.commit('early.2')
    await late.commit()
    await other.commit()
    // Written after all those, so it can only come after them.
    const d = await instance()
    await d.commit('z')
    await Promise.all([a, b, c].map(({ ear }) => ear.until('z')))
    for (const { ear } of [a, b, c])
      expect(ear.types.toSorted()).toEqual(['early.0', 'early.1', 'early.2', 'late', 'other', 'z'])
    // Of those that came from elsewhere; the own ones are heard at the commit.
    const foreign = (i: Instance) => i.ear.heard.filter((e) => e.origin !== i.id).map((e) => e.type)
    const order = ['late', 'early.0', 'early.1', 'other', 'early.2', 'z']
    for (const i of [a, b, c]) expect(foreign(i)).toEqual(order.filter((type) => foreign(i).includes(type)))
    expect([a, b, c].map((i) => foreign(i).length)).toEqual([4, 4, 5])
    // All of that was history when the fourth one started.
    expect(d.ear.types).toEqual(['z'])
  }, 30_000)

  test('what is rolled back is never heard of', async () => {
    const [a, b] = [await instance(), await instance()]
    const undone = await a.open('undone')
    await a.commit('before')
    await undone.tx.rollback()
    const failing = await a.driver.begin()
    const event = happened(a.id, 'failing')
    await failure(failing.commit([insertEvent(event), { text: 'select 1 / 0', params: [] }]))
    await failing.rollback()
    await a.commit('after')
    await b.ear.until('after')
    expect(b.ear.types).toEqual(['before', 'after'])
    expect(a.ear.types).toEqual(['before', 'after'])
  }, 30_000)

  test('a notification that got lost is made up for by the next', async () => {
    const [a, b] = [await instance(), await instance()]
    const silent = happened(a.id, 'silent')
    await a.driver.query(insertEvent(silent).text, insertEvent(silent).params)
    await a.commit('loud')
    await b.ear.until('loud')
    expect(b.ear.types).toEqual(['silent', 'loud'])
  }, 30_000)

  test('what happened before an instance started is not news to it', async () => {
    const a = await instance()
    await a.commit('history')
    await settled(a.driver)
    const b = await instance()
    await a.commit('news')
    await b.ear.until('news')
    expect(b.ear.types).toEqual(['news'])
  }, 30_000)

  test('a listener that throws stops neither the others nor what comes after', async () => {
    const [a, b] = [await instance(), await instance()]
    const second = new Ear()
    b.bus.subscribe(() => {
      throw new Error('broken listener')
    })
    b.bus.subscribe(second.listen)
    await a.commit('one', 'two')
    await a.commit('three')
    await second.until('three')
    expect(second.types).toEqual(['one', 'two', 'three'])
    expect(b.ear.types).toEqual(['one', 'two', 'three'])
  }, 30_000)

  test('more at once than one look takes', async () => {
    const [a, b] = [await instance(), await instance()]
    await a.commit(...numbered('many', 1100))
    await a.commit('end')
    await b.ear.until('end')
    expect(b.ear.types).toEqual([...numbered('many', 1100), 'end'])
  }, 30_000)

  test('an instance that has ended hears nothing more', async () => {
    const [a, b, c] = [await instance(), await instance(), await instance()]
    b.bus.stop()
    await a.commit('late')
    await c.ear.until('late')
    expect(b.ear.types).toEqual([])
  }, 30_000)
})

test.skipIf(!onPostgres)(
  'rights taken away on one instance are gone on the others as soon as they hear of it',
  async () => {
    const [a, b] = [await testApp(), await testApp()]
    try {
      const ada = await person(a)
      const token = await mcpToken(a, ada)
      // Both know the two credentials now.
      for (const { app } of [a, b])
        for (const secret of [ada.token, token]) expect((await app.auth.authenticate(secret)).userId).toBe(ada.userId)
      const ear = new Ear()
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
  30_000,
)
