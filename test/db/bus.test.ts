import { describe, expect, jest, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { contextOf, write } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import { machine } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver } from '../../src/db/driver.ts'
import { Bus } from '../../src/events/bus.ts'
import { define, text } from '../../src/events/catalogue.ts'
import { events } from '../../src/events/table.ts'
import { createLog } from '../../src/log.ts'
import { failure } from '../features/support.ts'
import { sharedApp } from '../support/app.ts'
import { Ear, happened, quiet } from './events-support.ts'

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

test('events of other instances are polled every second while a connection is open or notifications do not arrive, otherwise every five', async () => {
  let reads = 0
  let listening = true
  const driver = {
    kind: 'postgres',
    get isListening() {
      return listening
    },
    listen: async () => undefined,
    query: async (text: string) => {
      if (text.includes('order by')) reads++
      return { columns: ['high'], rows: text.includes('max(') ? [['0']] : [], count: 0 }
    },
  } as Partial<Driver> as Driver
  jest.useFakeTimers()
  try {
    const b = new Bus(driver, newId(), quiet)
    await b.start()
    let open = false
    b.pollWhile(() => open)
    const readsIn = async (seconds: number): Promise<number> => {
      const before = reads
      for (let i = 0; i < seconds; i++) {
        jest.advanceTimersByTime(1000)
        for (let turn = 0; turn < 50; turn++) await Promise.resolve()
      }
      return reads - before
    }
    expect(await readsIn(10)).toBe(2)
    open = true
    expect(await readsIn(10)).toBe(10)
    open = false
    expect(await readsIn(10)).toBe(2)
    listening = false
    expect(await readsIn(10)).toBe(10)
    listening = true
    expect(await readsIn(10)).toBe(2)
    b.stop()
    expect(await readsIn(10)).toBe(0)
  } finally {
    jest.useRealTimers()
  }
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
