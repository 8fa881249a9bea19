import { describe, expect, jest, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { contextOf, write } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import { machine } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver } from '../../src/db/driver.ts'
import { Bus } from '../../src/events/bus.ts'
import { defineEvent, text } from '../../src/events/catalogue.ts'
import { events } from '../../src/events/table.ts'
import { createLog } from '../../src/log.ts'
import { failure } from '../features/support.ts'
import { sharedApp } from '../support/app.ts'
import { EventRecorder, makeEvent, quietLog } from './events-support.ts'

describe('the bus of one instance', () => {
  const bus = () => new Bus({ kind: 'pglite' } as Driver, newId(), quietLog)

  test('delivers every event to every listener, in order, until the listener unsubscribes', () => {
    const b = bus()
    const [one, two] = [new EventRecorder(), new EventRecorder()]
    b.subscribe(one.listen)
    const leave = b.subscribe(two.listen)
    b.deliver([makeEvent('x', 'a'), makeEvent('x', 'b')])
    leave()
    b.deliver([makeEvent('x', 'c')])
    expect(one.types).toEqual(['a', 'b', 'c'])
    expect(two.types).toEqual(['a', 'b'])
  })

  test('logs a listener that throws, and continues with the others', () => {
    const lines: string[] = []
    const b = new Bus(
      { kind: 'pglite' } as Driver,
      newId(),
      createLog('debug', (line) => void lines.push(line), false),
    )
    const ear = new EventRecorder()
    b.subscribe(() => {
      throw new Error('broken listener')
    })
    b.subscribe(ear.listen)
    expect(() => b.deliver([makeEvent('x', 'a'), makeEvent('x', 'b')])).not.toThrow()
    expect(ear.types).toEqual(['a', 'b'])
    expect(lines.filter((l) => l.includes('broken listener'))).toHaveLength(2)
  })

  test('lets listeners join and leave while it delivers an event', () => {
    const b = bus()
    const late = new EventRecorder()
    const once: string[] = []
    const leave = b.subscribe((e) => {
      once.push(e.type)
      leave()
      b.subscribe(late.listen)
    })
    b.deliver([makeEvent('x', 'a')])
    b.deliver([makeEvent('x', 'b')])
    expect(once).toEqual(['a'])
    expect(late.types).toContain('b')
  })

  test('delivers nothing after it is closed', async () => {
    const b = bus()
    const ear = new EventRecorder()
    b.subscribe(ear.listen)
    await b.start()
    b.stop()
    b.deliver([makeEvent('x', 'a')])
    expect(ear.types).toEqual([])
  })
})

test('the bus polls events of other instances every second while a connection is open or notifications fail, otherwise every five', async () => {
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
    const b = new Bus(driver, newId(), quietLog)
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

describe('an event of a write', () => {
  const probe = { kind: 'probe', description: 'It was tried', data: { said: text } }
  const says = write(
    'probe.says',
    machine,
    async (ctx, { types, meanwhile }: { types: string[]; meanwhile?: () => Promise<void> }) => {
      for (const type of types) ctx.emit(defineEvent(type, probe), { data: { said: type } })
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
    const ear = new EventRecorder()
    const ctx = contextOf(app, system)
    const leave = app.bus.subscribe((e) => {
      if (e.requestId === ctx.requestId) ear.listen(e)
    })
    return { ctx, ear, leave }
  }

  test('is stored, and delivered after the commit in the order of emission', async () => {
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

  test('is neither stored nor delivered if the write fails at any point', async () => {
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

  test('cannot be emitted outside a write', async () => {
    const { ctx, leave } = await call()
    leave()
    expect(() => ctx.emit(defineEvent('probe.a', { kind: 'probe', description: 'It was tried' }), {})).toThrow(
      'outside a write',
    )
  })

  test('is written for the audit log even if the write emits none', async () => {
    const { ctx, ear, leave } = await call()
    await says(ctx, { types: [] })
    leave()
    expect(ear.types).toEqual(['probe.says'])
    expect(await rows(ctx.requestId)).toEqual([{ type: 'probe.says', action: 'probe.says', data: {} }])
  })
})
