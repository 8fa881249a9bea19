import { afterAll, beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { type AppEvent, insertEvent } from '../../src/events/event.ts'
import { makeEvent } from '../db/events-support.ts'
import { apiKey, call, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'
import { frame, LiveClient, type Message, StreamClient } from './support.ts'

/** With SOAK=1 many more, and different ones each time (`HISTORIES` sets the number). */
const runs = (few: number, many: number) =>
  process.env.SOAK
    ? { numRuns: Number(process.env.HISTORIES ?? many) }
    : { numRuns: isShort ? Math.ceil(few / 2) : few, seed: 14 }

let apps: TestApp[]
let ada: Person
let grace: Person
let project: string
beforeAll(async () => {
  // Two instances see each other's events only on Postgres; the embedded database has one process.
  apps = process.env.TEST_DB === 'postgres' ? [await testApp(), await testApp()] : [await testApp()]
  const t = server(0)
  ada = await person(t)
  grace = await member(t, ada, 'member')
  project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Shared' })).body.id
  // Keys outlive long runs; sessions have to be renewed.
  for (const who of [ada, grace]) who.token = await apiKey(t, who)
})
afterAll(async () => {
  for (const app of apps) await app.close()
})

const server = (i: number) => apps[i % apps.length] as TestApp

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      on: fc.nat(1),
      inProject: fc.boolean(),
      commits: fc.boolean(),
      events: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('cut' as const),
      on: fc.nat(1),
      how: fc.constantFrom<'close' | 'cut'>('close', 'cut'),
      next: fc.constantFrom<'socket' | 'stream'>('socket', 'stream'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rights' as const), on: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), on: fc.nat(1) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Written {
  id: string
  inProject: boolean
  /** The number of the step that wrote it. */
  at: number
}

/** Waits until an instance knows the new history, which ends its earlier connections. */
async function waitForEpoch(t: TestApp, epoch: string): Promise<void> {
  for (;;) {
    const client = await LiveClient.open(t, grace.token)
    if (client.got[0]?.epoch === epoch) return client.close()
    await client.end()
  }
}

/** A member subscribes to their team and to one of its projects, loses access to it and gets it back. */
class History {
  readonly written: Written[] = []
  readonly heard: { id: string; at: number }[] = []
  /** The numbers of steps that removed or restored access, in turn. */
  readonly #turns: number[] = []
  /** Up to this step, everything had been received. */
  #settled = 0
  readonly #settledAt: number[] = []
  #now = 0
  /** The step that restored the database; earlier events may be gone, and the client must reload. */
  #restoredAt = 0
  #cursor = ''
  #client!: LiveClient | StreamClient
  readonly #topics = [`organization:${ada.organizationId}`, `project:${project}`]

  async run(step: Step): Promise<void> {
    this.#now++
    if (step.do === 'write') await this.#write(step)
    else if (step.do === 'cut') await this.#reconnect(step)
    else if (step.do === 'rights') await this.#toggle(server(step.on))
    else await this.settle()
    this.#settledAt[this.#now] = this.#settled
  }

  async start(): Promise<void> {
    const client = await LiveClient.open(server(0), grace.token)
    this.#cursor = (await client.subscribe(this.#topics)).cursor
    this.#hearFrom(client)
  }

  get isTaken(): boolean {
    return this.#turns.length % 2 === 1
  }

  #hearFrom(client: LiveClient | StreamClient): void {
    const hear = (message: Message) => {
      if (message.op === undefined && message.type === 'note.created')
        this.heard.push({ id: String(message.id), at: this.#now })
    }
    for (const message of client.got) hear(message)
    client.onMessage = hear
    this.#client = client
  }

  #keepCursor(): void {
    const { got } = this.#client
    this.#cursor =
      got.findLast(({ op, cursor }) => cursor && op !== 'hello' && op !== 'subscribed')?.cursor ?? this.#cursor
  }

  async #reconnect({ on, how, next }: Step & { do: 'cut' }): Promise<void> {
    await this.stop(how)
    this.#keepCursor()
    if (next === 'stream') {
      const client = await StreamClient.open(server(on), grace.token, this.#topics, this.#cursor)
      return this.#hearFrom(client)
    }
    const client = await LiveClient.open(server(on), grace.token)
    // Before the answer comes, so that nothing is missed.
    this.#hearFrom(client)
    await client.subscribe(this.#topics, { cursor: this.#cursor })
  }

  /** Restores an earlier end of the log, so that numbers repeat. The client gets a reset. */
  async restore(to: number, on: number): Promise<void> {
    this.#now++
    const epoch = Bun.randomUUIDv7()
    await server(0).app.driver.exec(`begin; delete from events where seq > ${to};
      select setval(pg_get_serial_sequence('events', 'seq'), ${to}); update meta set value = '${epoch}' where key = 'epoch'; commit`)
    await this.#client.end()
    this.#keepCursor()
    this.#restoredAt = this.#now
    for (const app of apps) await waitForEpoch(app, epoch)
    const client = await LiveClient.open(server(on), grace.token)
    this.#hearFrom(client)
    await client.subscribe(this.#topics, { cursor: this.#cursor })
    expect(await client.until('reset')).toMatchObject({ reason: 'epoch' })
    this.#settledAt[this.#now] = this.#settled
  }

  stop = (how: 'close' | 'cut'): Promise<void> => this.#client[how]()

  async #toggle(t: TestApp): Promise<void> {
    const by = { authorization: `Bearer ${ada.token}` }
    const share = `/api/projects/${project}/share`
    const isTaken = this.isTaken
    this.#turns.push(this.#now)
    const answer = await call(t, 'POST', share, { visibility: isTaken ? 'team' : 'private' }, by)
    expect(answer.status).toBe(200)
  }

  async #write({ on, inProject, commits, events }: Step & { do: 'write' }): Promise<void> {
    const { app } = server(on)
    const rows = Array.from(
      { length: events },
      (): AppEvent => ({
        ...makeEvent(app.instanceId, 'note.created', { title: 'x' }),
        organizationId: ada.organizationId,
        projectId: inProject ? project : null,
      }),
    )
    const tx = await app.driver.begin()
    if (commits) {
      await tx.commit(rows.map((event) => insertEvent(event)))
      app.bus.deliver(rows)
      this.written.push(...rows.map(({ id }) => ({ id, inProject, at: this.#now })))
    } else {
      for (const { text, params } of rows.map((event) => insertEvent(event))) await tx.query(text, params)
      await tx.rollback()
    }
  }

  /** Waits until the client has received an event after all others. */
  async settle(): Promise<void> {
    await this.#write({ do: 'write', on: 0, inProject: false, commits: true, events: 1 })
    const { id } = this.written.at(-1) as Written
    await this.#client.when(() => this.heard.some((one) => one.id === id))
    this.#settled = this.#now
  }

  expectTrue(): void {
    const ids = this.heard.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const since = this.written.filter(({ at }) => at > this.#restoredAt)
    const team = new Set(since.flatMap(({ id, inProject }) => (inProject ? [] : id)))
    expect(ids.filter((id) => team.has(id))).toEqual([...team])
    for (const { id, inProject, at } of this.written) {
      const heardAt = this.heard.find((one) => one.id === id)?.at
      const turns = this.#turns.filter((turn) => turn < at).length
      const next = this.#turns.find((turn) => turn > at) ?? Number.POSITIVE_INFINITY
      if (!inProject) continue
      // Written without access: not received before access was restored.
      if (turns % 2 === 1) expect(heardAt ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(next)
      else if (at <= this.#restoredAt) continue
      // Written with access: received, unless access was removed before delivery.
      else if (next === Number.POSITIVE_INFINITY || (this.#settledAt[next - 1] ?? 0) >= at)
        expect(heardAt).toBeDefined()
    }
  }
}

test('every event arrives once, and none after access to it was lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 20 }), async (steps) => {
      const history = new History()
      await history.start()
      for (const one of steps) await history.run(one)
      await history.run({ do: 'cut', on: 0, how: 'close', next: 'socket' })
      await history.run({ do: 'wait', on: 0 })
      await history.stop('close')
      if (history.isTaken) await history.run({ do: 'rights', on: 0 })
      history.expectTrue()
    }),
    runs(10, 400),
  )
})

test('every event arrives once after a restore, whose log reuses numbers', async () => {
  const some = fc.array(step, { minLength: 3, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(some, some, some, fc.nat(1), async (before, lost, after, on) => {
      const history = new History()
      await history.start()
      for (const one of before) await history.run(one)
      const { rows } = await server(0).app.driver.query('select max(seq)::int from events')
      for (const one of lost) await history.run(one)
      await history.restore(Number(rows[0]?.[0]), on)
      for (const one of after) await history.run(one)
      await history.run({ do: 'cut', on: 0, how: 'close', next: 'socket' })
      await history.run({ do: 'wait', on: 0 })
      await history.stop('close')
      if (history.isTaken) await history.run({ do: 'rights', on: 0 })
      history.expectTrue()
    }),
    { ...runs(2, 60), endOnFailure: true },
  )
})

test('every client message gets a response, an error or a closed connection', async () => {
  const t = server(0)
  const first = await LiveClient.open(t, ada.token)
  const { cursor } = await first.until('hello')
  await first.close()
  const wrongCursor = fc
    .tuple(fc.nat(cursor.length - 1), fc.string({ maxLength: 3 }), fc.nat(4))
    .map(([at, text, less]) => cursor.slice(0, at) + text + cursor.slice(at + less))
  const wrong = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.json(),
    fc.record({
      op: fc.constantFrom('subscribe', 'unsubscribe', 'here', 'away', 'toString', 'x'),
      topics: fc.jsonValue(),
    }),
    fc.record({
      op: fc.constant('subscribe'),
      topics: fc.array(fc.string()),
      cursor: fc.oneof(fc.string(), wrongCursor),
    }),
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
    runs(10, 500),
  )
})

test('broken frames, half frames and floods do not affect other clients', async () => {
  const t = server(0)
  const topics = [`organization:${ada.organizationId}`]
  const text = (message: unknown) => Buffer.from(JSON.stringify(message))
  const payload = fc.uint8Array({ maxLength: 200 })
  const valid = text({ op: 'subscribe', topics })
  const bytes = fc.oneof(
    payload.map((some) => Buffer.from(some)),
    fc.tuple(fc.nat(255), payload).map(([first, some]) => frame(first, some)),
    // Half a frame, and one that claims to be longer than anything.
    payload.map((some) => frame(0x81, some, some.length + 500)),
    fc.bigInt(1n << 20n, (1n << 62n) - 1n).map((claims) => frame(0x81, valid, Number(claims))),
    // Without a mask, without an end, and a ping that is too long.
    fc.constant(frame(0x81, valid, valid.length, false)),
    fc.constant(frame(0x01, valid)),
    fc.constant(frame(0x89, Buffer.alloc(500))),
    fc.constant(frame(0x81, Buffer.alloc(2 << 20, 0x20))),
    // A flood, of pings and of messages.
    fc.constant(Buffer.concat(Array.from({ length: 300 }, () => frame(0x89, Buffer.of())))),
    fc.constant(Buffer.concat(Array.from({ length: 300 }, () => frame(0x81, valid)))),
  )
  const other = await LiveClient.open(t, grace.token)
  await other.subscribe(topics)
  const open = t.app.live.size
  const titles: string[] = []
  await fc.assert(
    fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 6 }), fc.boolean(), async (list, politely) => {
      const socket = connect(Number(new URL(t.url).port), '127.0.0.1').on('error', () => undefined)
      const closed = once(socket, 'close')
      socket.write(
        `GET /api/ws HTTP/1.1\r\nHost: ${new URL(t.url).host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
          `Authorization: Bearer ${ada.token}\r\n\r\n`,
      )
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString('latin1')).toStartWith('HTTP/1.1 101')
      socket.resume()
      for (const some of list) socket.write(some)
      if (politely) socket.end()
      else socket.destroySoon()
      await closed
      const title = Bun.randomUUIDv7()
      titles.push(title)
      expect((await ada.fetch('POST', '/api/notes', { title, content: 'x' })).status).toBe(201)
    }),
    runs(15, 1000),
  )
  await other.until('note.created', titles.length)
  expect(other.events.map(({ data }) => (data as { title: string }).title)).toEqual(titles)
  while (t.app.live.size > open) await new Promise(setImmediate)
  await other.close()
})

test('each kind of misuse has its close code', async () => {
  const t = server(0)
  const end = async (misbehave: (client: LiveClient) => void) => {
    const client = await LiveClient.open(t, ada.token)
    misbehave(client)
    return (await client.end()).code
  }
  const times = (n: number, message: string) => (client: LiveClient) => {
    for (let i = 0; i < n; i++) client.send(message)
  }
  expect(await end(times(10, 'no JSON'))).toBe(4400)
  expect(await end(times(10, '{"op":"x"}'))).toBe(4400)
  expect(await end(times(1, 'x'.repeat((64 << 10) + 1)))).toBe(1009)
  expect(await end(times(200, '{"op":"unsubscribe","topics":[]}'))).toBe(4429)
})
