import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { decodeCursor, encodeCursor } from '../../src/events/position.ts'
import { suspend } from '../../src/features/admin/user-actions.ts'
import { Listener } from '../../src/live/listener.ts'
import { SseClient } from '../../src/live/sse.ts'
import {
  call,
  logged,
  mcpToken,
  member,
  type Person,
  person,
  systemCtx,
  type TestApp,
  testApp,
} from '../support/app.ts'
import { LiveClient } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let project: { id: string }

beforeAll(async () => {
  t = await testApp()
  ada = await person(t)
  grace = await member(t, ada, 'member')
  project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Hub', visibility: 'team' })).body
})
afterAll(() => t.close())

const connect = (who: Person, query?: string) => LiveClient.open(t, who.token, query)
async function note(who: Person, title: string, projectId: string | null = project.id): Promise<{ id: string }> {
  const body = { title, content: 'x', ...(projectId && { projectId }) }
  const answer = await who.fetch<{ id: string }>('POST', '/api/notes', body)
  expect(answer.status).toBe(201)
  return answer.body
}

describe('a connection', () => {
  test('receives hello, and after subscribing the events of its topics only', async () => {
    const client = await connect(grace)
    expect(client.got[0]).toMatchObject({ op: 'hello', userId: grace.userId, epoch: expect.any(String) })
    const answer = await client.subscribe([`project:${project.id}`, `project:${crypto.randomUUID()}`, 'nonsense'], {
      ref: 7,
    })
    expect(answer).toMatchObject({ ref: 7, topics: [`project:${project.id}`] })
    expect((answer.refused as { code: string }[]).map(({ code }) => code)).toEqual(['not_found', 'invalid'])
    const stranger = await person(t)
    await note(stranger, 'elsewhere', null)
    const { id } = await note(ada, 'here')
    expect(await client.until('note.created')).toMatchObject({
      kind: 'note',
      subjectId: id,
      projectId: project.id,
      organizationId: ada.organizationId,
      actor: { type: 'user', id: ada.userId },
      description: 'created note here',
      data: { title: 'here' },
    })
    expect(client.events.map(({ type }) => type)).toEqual(['note.created'])
    await client.close()
  })

  test('with a cursor receives the missed events, then ready', async () => {
    const client = await connect(grace)
    await client.subscribe([`project:${project.id}`])
    await note(ada, 'one')
    const { cursor } = await client.until('note.created')
    await client.close()
    await note(ada, 'two')
    await note(ada, 'three')
    const again = await connect(grace)
    await again.subscribe([`project:${project.id}`], { cursor })
    await again.until('ready')
    expect(again.events.map(({ data }) => (data as { title: string }).title)).toEqual(['two', 'three'])
    await note(ada, 'four')
    await again.until('note.created', 3)
    expect(again.names).toEqual(['hello', 'subscribed', 'note.created', 'note.created', 'ready', 'note.created'])
    await again.close()
  })

  test('can send its cursor again if the events could not be read', async () => {
    const client = await connect(grace)
    const { cursor } = await client.until('hello')
    const catchUp = spyOn(t.app.bus, 'catchUp').mockResolvedValueOnce(false)
    client.send({ op: 'subscribe', topics: [`project:${project.id}`], cursor })
    expect(await client.until('error')).toMatchObject({ code: 'unavailable' })
    catchUp.mockRestore()
    await client.subscribe([`project:${project.id}`], { cursor })
    await client.until('ready')
    await client.close()
  })

  test('that reads again in the middle of a batch receives each event once', async () => {
    const { actor } = await ada.ctx()
    const open = async (onEvent: (count: number) => void = () => undefined) => {
      const got: string[] = []
      const event = (json: string): boolean => {
        onEvent(got.push((JSON.parse(json) as { id: string }).id))
        return outlet.bufferedBytes === 0
      }
      const outlet = { sendEvent: event, sendNotice: () => undefined, bufferedBytes: 0, close: () => undefined }
      t.app.live.reserve(actor)
      const listener = await t.app.live.open(actor, outlet)
      await t.app.live.subscribe(listener, [`project:${project.id}`])
      return { got, outlet, listener }
    }
    const others = await Promise.all([open(), open(), open()])
    const slow = await open((count) => {
      if (count === 3) {
        slow.outlet.bufferedBytes = 1 << 20
        setImmediate(() => {
          slow.outlet.bufferedBytes = 0
          t.app.live.onDrain(slow.listener)
        })
      }
    })
    const { id } = await note(ada, 'many')
    const { rows } = await t.app.driver.query(`select string_agg(quote_ident(attname), ',') from pg_attribute
      where attrelid = 'events'::regclass and attnum > 0 and not attisdropped and attname not in ('id', 'seq')`)
    const columns = String(rows[0]?.[0])
    await t.app.driver.query(
      `insert into events (id, ${columns}) select gen_random_uuid(), ${columns}
        from events, generate_series(1, 450) where subject_id = $1 and type = 'note.created'`,
      [id],
    )
    await t.app.bus.catchUp()
    const all = [slow, ...others]
    while (all.some(({ got }) => new Set(got).size < 451)) await new Promise(setImmediate)
    for (const { got, listener } of all) {
      while (listener.state !== 'live') await new Promise(setImmediate)
      expect(got).toHaveLength(451)
      t.app.live.onDisconnect(listener)
    }
  })

  test('receives an event whose project is looked up again while others receive theirs', async () => {
    const got: string[] = []
    const open = async (who: Person) => {
      const { actor } = await who.ctx()
      const event = (json: string): boolean => {
        got.push(`${who.userId} ${(JSON.parse(json) as { subjectId: string }).subjectId}`)
        // As an event that changes who sees the project does, at any moment.
        t.app.live.audience.projects.clear()
        return true
      }
      t.app.live.reserve(actor)
      const listener = await t.app.live.open(actor, {
        sendEvent: event,
        sendNotice: () => undefined,
        bufferedBytes: 0,
        close: () => undefined,
      })
      await t.app.live.subscribe(listener, [`project:${project.id}`])
      return listener
    }
    const listeners = [await open(ada), await open(grace)]
    const { id } = await note(ada, 'for both')
    await t.app.bus.catchUp()
    expect(got).toEqual([`${ada.userId} ${id}`, `${grace.userId} ${id}`])
    for (const listener of listeners) t.app.live.onDisconnect(listener)
  })

  test('with a cursor of another history, or of the future, is reset', async () => {
    const client = await connect(grace)
    const known = decodeCursor((client.got[0] as { cursor: string }).cursor) as NonNullable<
      ReturnType<typeof decodeCursor>
    >
    await client.subscribe([], { cursor: encodeCursor(crypto.randomUUID(), known.position) })
    expect(await client.until('reset')).toMatchObject({ reason: 'epoch' })
    await client.until('ready')
    await client.close()
    const ahead = await connect(grace)
    await ahead.subscribe([], {
      cursor: encodeCursor(known.epoch, { high: known.position.high + 1_000_000, holes: [] }),
    })
    expect(await ahead.until('reset')).toMatchObject({ reason: 'epoch' })
    await ahead.close()
  })

  test('receives the events of `me` without subscribing', async () => {
    const client = await connect(grace)
    await client.subscribe([])
    const watcher = await connect(ada)
    await watcher.subscribe([`organization:${ada.organizationId}`])
    await grace.fetch('POST', '/api/notes', { title: 'mine', content: 'x', scope: 'personal' })
    expect(await client.until('note.created')).toMatchObject({ data: { title: 'mine' }, organizationId: null })
    await note(ada, 'theirs')
    await watcher.until('note.created')
    expect(watcher.events.map(({ data }) => (data as { title: string }).title)).toEqual(['theirs'])
    await Promise.all([client.close(), watcher.close()])
  })

  test('receives the current record with `records: true`', async () => {
    const client = await connect(grace)
    await client.subscribe([`project:${project.id}`], { records: true })
    const { id } = await note(ada, 'whole')
    expect(await client.until('note.created')).toMatchObject({
      record: { kind: 'note', id, title: 'whole', version: 1 },
    })
    await client.close()
  })

  test('receives records as in lists, without reader-specific fields, and leases with claim events', async () => {
    const client = await connect(grace)
    await client.subscribe([`project:${project.id}`], { records: true })
    const made = await ada.fetch<{ id: string }>('POST', `/api/projects/${project.id}/tasks`, {
      title: 'Item',
      assignee: 'me',
      labels: ['x'],
    })
    const { record } = await client.until('task.created')
    const page = await ada.fetch<{ items: { id: string }[] }>('GET', `/api/tasks?projectId=${project.id}`)
    const { blockedBy: _, lease: __, ...item } = page.body.items.find(({ id }) => id === made.body.id) as Item
    expect(record).toMatchObject(item)
    await ada.fetch('POST', `/api/tasks/${made.body.id}/claim`, {})
    const claimed = await client.until('task.claimed')
    expect(claimed.data).toMatchObject({ lease: { holder: { id: ada.userId }, lastSeenAt: expect.any(String) } })
    await ada.fetch('POST', `/api/tasks/${made.body.id}/release`, {})
    expect((await client.until('task.released')).data).toMatchObject({ lease: null })
    const { body } = await ada.fetch<Item>('POST', '/api/decisions', {
      title: 'D',
      decision: 'So',
      projectId: project.id,
    })
    const decided = await client.until('decision.logged')
    const { status, tags, supersedes } = body
    expect(decided.record).toMatchObject({ kind: 'decision', status, tags, supersedes, projectId: project.id })
    await client.close()
  })
})

test('after a failover to another event history, clients must reconnect and load everything again', async () => {
  const client = await connect(grace)
  await client.subscribe([`project:${project.id}`])
  await note(ada, 'before')
  const { cursor } = await client.until('note.created')
  await t.app.driver.query("update meta set value = $1 where key = 'epoch'", [Bun.randomUUIDv7()])
  expect(await client.end()).toMatchObject({ code: 1001 })
  const again = await connect(grace)
  await again.subscribe([`project:${project.id}`], { cursor: String(cursor) })
  expect(await again.until('reset')).toMatchObject({ reason: 'epoch' })
  await note(ada, 'after')
  expect(await again.until('note.created')).toMatchObject({ data: { title: 'after' } })
  await again.close()
})

type Item = Record<string, unknown> & { blockedBy?: unknown; lease?: unknown }

describe('lost access', () => {
  test('sends `revoked`, and no further events of the topic', async () => {
    const client = await connect(grace)
    const topics = [`project:${project.id}`, `organization:${ada.organizationId}`]
    await client.subscribe(topics)
    expect(await ada.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })).toMatchObject({
      status: 200,
    })
    await note(ada, 'secret')
    await note(ada, 'open', null)
    expect(await client.until('revoked')).toMatchObject({ topics: [`project:${project.id}`] })
    await client.until('note.created')
    expect(client.events.map(({ data }) => (data as { title: string }).title)).not.toContain('secret')
    await ada.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'team' })
    await client.close()
  })

  test('closes with 4401 for an ended session, and 4403 for a suspended account', async () => {
    const leaver = await member(t, ada, 'member')
    const client = await connect(leaver)
    await leaver.fetch('POST', '/api/auth/logout', { refreshToken: leaver.refreshToken })
    expect(await client.end()).toMatchObject({ code: 4401 })
    const bad = await member(t, ada, 'member')
    const other = await connect(bad)
    await suspend(systemCtx(t), { id: bad.userId })
    expect(await other.end()).toMatchObject({ code: 4403 })
  })
})

describe('the upgrade to a WebSocket', () => {
  const get = (headers: Record<string, string>, path = '/api/ws') => call(t, 'GET', path, undefined, headers)
  test('is refused like any request', async () => {
    expect(await get({})).toMatchObject({ status: 401 })
    expect(await get({ authorization: `Bearer ${ada.token}` })).toMatchObject({ status: 426 })
    const token = await mcpToken(t, ada)
    expect(await get({ authorization: `Bearer ${token}` })).toMatchObject({ status: 403 })
    expect(await get({ authorization: `Bearer ${ada.token}`, origin: 'https://evil.example' })).toMatchObject({
      status: 403,
    })
  })

  test('accepts a ticket or token in the address, the ticket once, and logs neither', async () => {
    const { ticket } = (await ada.fetch<{ ticket: string }>('POST', '/api/ws/ticket')).body
    const client = await connect(ada, `?ticket=${ticket}`)
    expect(client.got[0]).toMatchObject({ userId: ada.userId })
    await client.close()
    expect(await get({}, `/api/ws?ticket=${ticket}`)).toMatchObject({ status: 401 })
    const second = await connect(ada, `?token=${ada.token}`)
    await second.close()
    expect(logged.filter((line) => line.includes(ticket) || line.includes(ada.token))).toEqual([])
  })
})

describe('/api/events', () => {
  const ask = (path: string, headers: Record<string, string> = { accept: 'application/json' }) =>
    ada.fetch<{ events: { cursor: string; data: { title: string } }[]; cursor: string }>(
      'GET',
      path,
      undefined,
      headers,
    )

  test('returns the events since a cursor as JSON', async () => {
    const first = await ask(`/api/events?topics=project:${project.id}`)
    expect(first.body).toMatchObject({ events: [], refused: [] })
    await note(ada, 'five')
    await note(ada, 'six')
    const next = await ask(`/api/events?topics=project:${project.id}&cursor=${first.body.cursor}`)
    expect(next.body.events.map(({ data }) => data.title)).toEqual(['five', 'six'])
    const half = await ask(`/api/events?topics=project:${project.id}&cursor=${next.body.events[0]?.cursor}`)
    expect(half.body.events.map(({ data }) => data.title)).toEqual(['six'])
    expect(await ask('/api/events?cursor=h1.x')).toMatchObject({ status: 400, body: { code: 'invalid.cursor' } })
  })

  test('ends a stream whose client reads nothing', async () => {
    const client = new SseClient(t.app.live)
    const { actor } = await grace.ctx()
    const listener = new Listener(actor, 0, client, { high: 0, holes: [] }, 0)
    client.listener = listener
    for (let n = 0; n < 300; n++) client.sendEvent('x'.repeat(1000), 'c')
    const now = Date.now()
    const stuck: boolean[] = []
    for (const seconds of [0, 16, 32, 48]) {
      client.keepAlive(now + seconds * 1000)
      stuck.push(listener.isStuck(now + seconds * 1000, 30_000))
      await new Promise(setImmediate)
    }
    expect(stuck).toEqual([false, false, true, true])
    await client.response.body?.getReader().read()
    await new Promise(setImmediate)
    expect(listener.isStuck(now + 64_000, 30_000)).toBe(false)
  })

  test('streams server-sent events, resumed by Last-Event-ID', async () => {
    const read = async (headers: Record<string, string>, ending: string) => {
      const abort = new AbortController()
      const response = await fetch(`${t.url}/api/events?topics=project:${project.id}`, {
        headers: { authorization: `Bearer ${grace.token}`, ...headers },
        signal: abort.signal,
      })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      const step = async () => {
        text += new TextDecoder().decode((await reader.read()).value)
      }
      while (!text.includes('event: subscribed')) await step()
      if (ending !== 'event: ready') await note(ada, 'streamed')
      while (!text.includes(ending)) await step()
      abort.abort()
      return text
    }
    const text = await read({}, 'created note streamed')
    const id = /^id: (.*)$/m.exec(text)?.[1] as string
    await note(ada, 'meanwhile')
    const later = await read({ 'last-event-id': id }, 'event: ready')
    expect(later).toContain('created note meanwhile')
    expect(later).not.toContain('created note streamed')
  })
})
