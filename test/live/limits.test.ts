import { afterAll, afterEach, beforeAll, expect, setSystemTime, spyOn, test } from 'bun:test'
import { once } from 'node:events'
import { connect } from 'node:net'
import { decodeCursor, encodeCursor, type Position } from '../../src/events/position.ts'
import { hubLimits } from '../../src/live/limits.ts'
import type { Listener } from '../../src/live/listener.ts'
import { apiKey, call, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { frame, LiveClient } from './support.ts'

/** The hub at its limits: many clients that reconnect at once, clients that do not read, long absences. */
let t: TestApp
let ada: Person
let topic: string
/** All columns of events but those that each row has of its own. */
let columns: string
beforeAll(async () => {
  t = await testApp()
  ada = await person(t)
  topic = `organization:${ada.organizationId}`
  const { rows } = await t.app.driver.query(`select string_agg(quote_ident(attname), ',') from pg_attribute
    where attrelid = 'events'::regclass and attnum > 0 and not attisdropped
      and attname not in ('id', 'seq', 'at', 'data')`)
  columns = String(rows[0]?.[0])
  await ada.fetch('POST', '/api/notes', { title: 'first', content: 'x', scope: 'team' })
})
afterEach(() => void setSystemTime())
afterAll(() => t.close())

/** Repeats the event of Ada's first note; other files have notes in the same database. Returns the new ones, in order. */
async function repeatEvent(
  times: number,
  { title = 'x', at = new Date() } = {},
): Promise<{ id: string; seq: number }[]> {
  const { rows } = await t.app.driver.query(
    `insert into events (id, at, data, ${columns})
      select gen_random_uuid(), $2::timestamptz, jsonb_build_object('title', $3::text), ${columns}
      from (select * from events where type = 'note.created' and organization_id = $4::uuid order by seq limit 1) e,
        generate_series(1, $1::int)
      returning id, seq`,
    [times, at.toISOString(), title, ada.organizationId],
  )
  return rows.map(([id, seq]) => ({ id: String(id), seq: Number(seq) })).sort((a, b) => a.seq - b.seq)
}

/** The cursor of a client that has received everything. */
async function now(): Promise<{ epoch: string; position: Position }> {
  const client = await LiveClient.open(t, ada.token)
  await client.close()
  return decodeCursor(String(client.got[0]?.cursor)) as NonNullable<ReturnType<typeof decodeCursor>>
}

/** A connection without a socket. */
async function listen(who: Person, cursor: string): Promise<{ got: string[]; listener: Listener }> {
  const { actor } = await who.ctx()
  const got: string[] = []
  const event = (json: string) => got.push((JSON.parse(json) as { id: string }).id) > 0
  t.app.live.reserve(actor)
  const outlet = { sendEvent: event, sendNotice: () => undefined, bufferedBytes: 0, close: () => undefined }
  const listener = await t.app.live.open(actor, outlet)
  await t.app.live.subscribe(listener, [topic], { cursor })
  return { got, listener }
}

test('clients that resume at different cursors get what each missed, and share reads', async () => {
  const { epoch, position } = await now()
  const events = await repeatEvent(1100)
  const high = (seen: number) => events[seen - 1]?.seq ?? position.high
  const query = spyOn(t.app.driver, 'query')
  const starts = [...Array(18).keys()].map((i) => (i < 9 ? i * 110 : 1000 + i * 5))
  const all = await Promise.all(starts.map((seen) => listen(ada, encodeCursor(epoch, { high: high(seen), holes: [] }))))
  await until(() => all.every(({ listener }) => listener.state === 'live'))
  const reads = query.mock.calls.filter(([text]) => /^select .*"data".* from "events"/s.test(text)).length
  query.mockRestore()
  for (const { listener } of all) t.app.live.onDisconnect(listener)
  expect(all.map(({ got }) => got)).toEqual(starts.map((seen) => events.slice(seen).map(({ id }) => id)))
  // Pages of 500 events, and of the last ones from one of every 100 on, where 18 clients would take 30 reads.
  expect(reads).toBeLessThan(15)
})

test('a client that missed over 10,000 events or 24 hours gets a reset', async () => {
  const { epoch } = await now()
  const reasonAt = async (high = 0) => {
    const client = await LiveClient.open(t, ada.token)
    await client.subscribe([], { cursor: encodeCursor(epoch, { high, holes: [] }) })
    await client.until('ready')
    await client.close()
    return client.got.find(({ op }) => op === 'reset')?.reason
  }
  const [old = { seq: 0 }] = await repeatEvent(1, { at: new Date(Date.now() - 25 * 3_600_000) })
  expect([await reasonAt(old.seq - 1), await reasonAt(old.seq)]).toEqual(['age', undefined])
  const { replayEvents } = hubLimits
  expect(replayEvents).toBe(10_000)
  Object.assign(hubLimits, { replayEvents: 20 })
  const many = await repeatEvent(21)
  const reasons = [await reasonAt(old.seq), await reasonAt(many[10]?.seq)]
  Object.assign(hubLimits, { replayEvents })
  expect(reasons).toEqual(['count', undefined])
})

test('a client that does not read costs little memory, and receives everything once it reads', async () => {
  const open = spyOn(t.app.live, 'open')
  const socket = connect(Number(new URL(t.url).port), '127.0.0.1')
  socket.write(
    `GET /api/ws HTTP/1.1\r\nHost: ${new URL(t.url).host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
      `Authorization: Bearer ${ada.token}\r\n\r\n`,
  )
  await once(socket, 'data')
  const listener = (await open.mock.results[0]?.value) as Listener
  open.mockRestore()
  socket.write(frame(0x81, Buffer.from(JSON.stringify({ op: 'subscribe', topics: [topic] }))))
  await until(() => listener.state === 'live')
  socket.pause()
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
  socket.pause()
  const ids: string[] = []
  // The operating system buffers some megabytes before the server has to wait.
  while (listener.state === 'live') {
    ids.push(...(await repeatEvent(60, { title: 'x'.repeat(40_000) })).map(({ id }) => id))
    await t.app.bus.catchUp()
  }
  expect(listener.transport.bufferedBytes).toBeGreaterThan(256 << 10)
  expect(listener.transport.bufferedBytes).toBeLessThan(400 << 10)
  socket.resume()
  await until(() => Buffer.concat(chunks.slice(-200)).includes(ids.at(-1) as string) && listener.state === 'live')
  socket.destroy()
  const text = Buffer.concat(chunks).toString('latin1')
  expect([...text.matchAll(/"id":"([\da-f-]{36})","type":"note\.created"/g)].map(([, id]) => id)).toEqual(ids)
})

test('a client gets a tick after 25 quiet seconds, and is disconnected after 30 seconds without reading', async () => {
  const client = await LiveClient.open(t, ada.token)
  const subscribed = await client.subscribe([topic])
  const { actor } = await ada.ctx()
  const closed: string[] = []
  const outlet = {
    sendEvent: () => false,
    sendNotice: () => undefined,
    bufferedBytes: 1,
    close: (why: string) => void closed.push(why),
  }
  t.app.live.reserve(actor)
  const listener = await t.app.live.open(actor, outlet)
  await t.app.live.subscribe(listener, [topic])
  await until(() => listener.progress !== undefined)
  setSystemTime(new Date(Date.now() + 26_000))
  const { cursor } = await client.until('tick')
  const high = (of: string) => decodeCursor(of)?.position.high
  expect(high(cursor)).toBeGreaterThanOrEqual(high(subscribed.cursor) as number)
  expect(closed).toEqual([])
  setSystemTime(new Date(Date.now() + 6000))
  await until(() => closed.length > 0)
  expect(closed).toEqual(['slow'])
  await client.close()
})

test('a connection has at most 100 topics and 64 KiB messages, a credential 20 connections', async () => {
  const token = await apiKey(t, ada)
  const client = await LiveClient.open(t, token)
  const many = Array.from({ length: 101 }, () => `record:${crypto.randomUUID()}`)
  client.send({ op: 'subscribe', topics: many, ref: 1 })
  expect(await client.until('error')).toMatchObject({ ref: 1, code: 'invalid' })
  await client.subscribe(many.slice(1))
  client.send({ op: 'here', topic, state: { page: 'é'.repeat(512) }, ref: 2 })
  expect(await client.until('error', 2)).toMatchObject({ ref: 2, code: 'invalid' })
  const others = await Promise.all(Array.from({ length: 19 }, () => LiveClient.open(t, token)))
  expect(await call(t, 'GET', '/api/ws', undefined, { authorization: `Bearer ${token}` })).toMatchObject({
    status: 429,
  })
  // Bytes count, not letters.
  client.send(JSON.stringify({ op: 'unsubscribe', topics: [], ref: 'é'.repeat(40_000) }))
  expect(await client.end()).toMatchObject({ code: 1009 })
  await Promise.all(others.map((other) => other.close()))
})

test('a stopping server disconnects its clients and accepts no new ones', async () => {
  const client = await LiveClient.open(t, ada.token)
  t.app.live.stop()
  expect(await client.end()).toMatchObject({ code: 1001 })
  for (const path of ['/api/ws', '/api/events'])
    expect(await call(t, 'GET', path, undefined, { authorization: `Bearer ${ada.token}` })).toMatchObject({
      status: 503,
    })
})
