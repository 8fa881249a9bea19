import { beforeAll, expect, test } from 'bun:test'
import { currentPosition } from '../../src/events/reader.ts'
import { readableBy } from '../../src/features/sync/containers.ts'
import { readFeed } from '../../src/features/sync/feed.ts'
import { Changes } from '../../src/features/sync/page.ts'
import type { ConflictPage, Page, Pushed, Status } from '../../src/features/sync/schema.ts'
import * as keys from '../../src/features/tokens/keys.ts'
import { apiKey, call, mcpToken, member, type Person, person, sharedApp, unique } from '../support/app.ts'
import { oneOfEach } from '../support/records.ts'
import { SyncClient } from '../support/sync-client.ts'

const t = await sharedApp()
let ada: Person
let grace: Person
let project: string
beforeAll(async () => {
  ada = await person(t)
  grace = await member(t, ada, 'member')
  const made = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Sync') })
  project = made.body.id
})

async function device(who: Person, only?: string[]): Promise<SyncClient> {
  const client = new SyncClient(who, unique('device'))
  await client.register(only)
  await client.pullAll()
  return client
}

const note = async (who: Person, body: object = {}) =>
  (
    await who.fetch<{ id: string; title: string }>('POST', '/api/notes', {
      title: unique('note'),
      content: 'one\ntwo\nthree\nfour\nfive',
      projectId: project,
      ...body,
    })
  ).body

const read = async (who: Person, id: string) =>
  (await who.fetch<Record<string, unknown>>('GET', `/api/notes/${id}`)).body

/** Both ends agree: the copy is what a new device gets, and its sums are those of the server. */
async function expectInSync(client: SyncClient): Promise<void> {
  const fresh = await device(client.person)
  expect(client.all()).toEqual(fresh.all())
  await client.person.fetch('DELETE', `/api/sync/devices/${fresh.deviceId}`)
  const { body } = await client.person.fetch<Status>('GET', `/api/sync/status?deviceId=${client.deviceId}`)
  expect(client.differing(body.containers)).toEqual([])
}

test('a first pull returns every entity with its own columns only', async () => {
  const who = await person(t)
  const made = await oneOfEach(who)
  const { body: comment } = await who.fetch<{ id: string }>('POST', `/api/tasks/${made.task.id}/comments`, {
    body: 'Hi',
  })
  await who.fetch('POST', `/api/decisions/${made.decision.id}/comments`, { body: 'Agreed' })
  await who.fetch('POST', `/api/projects/${made.project.id}/tasks`, { title: 'Later', blockedBy: [made.task.id] })
  const { body: link } = await who.fetch<{ id: string }>('POST', '/api/links', {
    fromType: 'note',
    fromId: made.note.id,
    toType: 'task',
    toId: made.task.id,
  })
  const client = await device(who)
  const entities = [...new Set(client.all().map(({ entity }) => entity))].sort()
  expect(entities).toEqual(t.app.records.synced.map(({ entity }) => entity).sort())
  for (const { entity, columns } of t.app.records.synced) {
    const copy = client.all().find((one) => one.entity === entity)
    expect(Object.keys(copy?.record ?? {}).sort()).toEqual([...new Set([...Object.keys(columns), 'version'])].sort())
  }
  expect(client.copy.get(`comment ${comment.id}`)?.container).toBe(`project:${made.project.id}`)
  expect(client.copy.get(`link ${link.id}`)?.containers).toEqual([`project:${made.project.id}`])
  await expectInSync(client)
})

test('an edit reaches the server and another device', async () => {
  const { id } = await note(ada)
  const [one, two] = [await device(ada), await device(grace)]
  one.edit('note', id, 'title', 'Changed offline')
  expect(await one.push()).toMatchObject([{ status: 'applied' }])
  expect(one.pending).toHaveLength(1)
  await one.pullAll()
  expect(one.pending).toHaveLength(0)
  expect((await read(ada, id)).title).toBe('Changed offline')
  await two.pullAll()
  expect(two.view(id)?.title).toBe('Changed offline')
  await expectInSync(one)
})

test('a record keeps the id that the device chose, and gets its key from the server', async () => {
  const client = await device(ada)
  const id = client.create('task', { projectId: project, title: 'Made offline', status: 'done', labels: ['x'] })
  const [receipt] = await client.push()
  expect(receipt?.key).toMatch(/^[A-Z]+-\d+$/)
  await client.pullAll()
  expect(client.view(id)).toMatchObject({ title: 'Made offline', status: 'done', labels: ['x'] })
  await expectInSync(client)
})

test('changes of one record are merged: other fields, sets, and other lines of a text', async () => {
  const { id } = await note(ada, { tags: ['a', 'b'] })
  const client = await device(ada)
  await grace.fetch('PUT', `/api/notes/${id}`, {
    pinned: true,
    tags: ['b', 'c'],
    content: 'ONE\ntwo\nthree\nfour\nfive',
  })
  client.edit('note', id, 'title', 'Mine')
  client.edit('note', id, 'tags', ['a', 'd'])
  client.edit('note', id, 'content', 'one\ntwo\nthree\nfour\nFIVE')
  expect(await client.push()).toMatchObject([{ status: 'merged' }])
  expect(await read(ada, id)).toMatchObject({
    title: 'Mine',
    pinned: true,
    tags: ['c', 'd'],
    content: 'ONE\ntwo\nthree\nfour\nFIVE',
  })
  await client.pullAll()
  await expectInSync(client)
})

test('a field that both sides changed is a conflict: the stored value stays, the other is kept', async () => {
  const { id } = await note(ada)
  const client = await device(ada)
  await grace.fetch('PUT', `/api/notes/${id}`, { title: 'Theirs' })
  client.edit('note', id, 'title', 'Mine')
  client.edit('note', id, 'pinned', true)
  const [receipt] = await client.push()
  expect(receipt?.status).toBe('conflict')
  expect(await read(ada, id)).toMatchObject({ title: 'Theirs', pinned: true })
  const [conflictId] = receipt?.conflicts ?? []
  for (const who of [ada, grace]) {
    const { body } = await who.fetch<ConflictPage>('GET', `/api/sync/conflicts?recordId=${id}`)
    expect(body.items).toMatchObject([
      { id: conflictId, kind: 'field', field: 'title', mine: 'Mine', server: 'Theirs', title: 'Theirs' },
    ])
  }
  const stranger = await person(t)
  expect((await stranger.fetch('POST', `/api/sync/conflicts/${conflictId}/resolve`, { choice: 'mine' })).status).toBe(
    404,
  )
  const { body: notices } = await ada.fetch<{ items: { reason: string }[] }>('GET', '/api/notifications')
  expect(notices.items[0]?.reason).toBe('sync')
  expect((await ada.fetch('POST', `/api/sync/conflicts/${conflictId}/resolve`, { choice: 'mine' })).status).toBe(200)
  expect((await read(ada, id)).title).toBe('Mine')
  expect((await ada.fetch('POST', `/api/sync/conflicts/${conflictId}/resolve`, { choice: 'mine' })).status).toBe(409)
})

const noteFields = Object.keys(t.app.records.synced.find(({ entity }) => entity === 'note')?.fields ?? {})

test('deleting a changed record and changing a deleted one are conflicts', async () => {
  const [one, two] = [await note(ada), await note(ada)]
  const client = await device(ada)
  await grace.fetch('PUT', `/api/notes/${one.id}`, { content: 'Changed since' })
  await grace.fetch('DELETE', `/api/notes/${two.id}`)
  client.remove('note', one.id, noteFields)
  client.edit('note', two.id, 'title', 'Still needed')
  const [first, second] = await client.push()
  expect([first?.status, second?.status]).toEqual(['conflict', 'conflict'])
  expect((await ada.fetch('GET', `/api/notes/${one.id}`)).status).toBe(200)
  const restore = `/api/sync/conflicts/${second?.conflicts?.[0]}/resolve`
  expect((await ada.fetch('POST', restore, { choice: 'mine' })).status).toBe(200)
  expect((await read(ada, two.id)).title).toBe('Still needed')
  await client.pullAll()
  await expectInSync(client)
})

test('deleting an unchanged record also deletes everything below it', async () => {
  const client = await device(ada)
  const task = client.create('task', { projectId: project, title: 'Short-lived' })
  client.create('comment', { taskId: task, body: 'Hello' })
  const { id } = await note(ada)
  client.create('link', { fromType: 'task', fromId: task, toType: 'note', toId: id })
  expect((await client.push()).map(({ status }) => status)).toEqual(['applied', 'applied', 'applied'])
  await client.pullAll()
  const other = await device(grace)
  expect(other.ids('comment').length).toBeGreaterThan(0)
  await ada.fetch('DELETE', `/api/tasks/${task}`)
  for (const one of [client, other]) {
    await one.pullAll()
    await expectInSync(one)
  }
  await ada.fetch('POST', `/api/tasks/${task}/restore`)
  for (const one of [client, other]) {
    await one.pullAll()
    await expectInSync(one)
  }
})

test('dependencies, comments on decisions and completion notes are synced both ways, across projects', async () => {
  const who = await person(t)
  const [one, two] = [await oneOfEach(who), await oneOfEach(who, { kinds: ['project', 'task'] })]
  const [client, other] = [await device(who), await device(who, [`project:${one.project.id}`])]
  const blocks = client.create('dependency', { taskId: one.task.id, blockedById: two.task.id })
  client.create('dependency', { taskId: two.task.id, blockedById: one.task.id, kind: 'relates' })
  client.create('dependency', { taskId: two.task.id, blockedById: one.task.id })
  client.create('discussion', { decisionId: one.decision.id, body: 'What about macOS?' })
  const receipts = await client.push()
  // Two tasks cannot wait for each other.
  expect(receipts.map(({ status, code }) => code ?? status)).toEqual([
    'applied',
    'applied',
    'conflict.cycle',
    'applied',
  ])
  const detail = async () => (await who.fetch<Record<string, object[]>>('GET', `/api/tasks/${one.task.id}`)).body
  expect((await detail()).waitsFor).toMatchObject([{ id: two.task.id, kind: 'blocks' }])
  for (const copy of [client, other]) await copy.pullAll()
  expect(client.copy.get(`dependency ${blocks}`)?.containers?.toSorted()).toEqual(
    [`project:${one.project.id}`, `project:${two.project.id}`].sort(),
  )
  // A device that holds one of the two projects gets no dependency between them.
  expect([other.ids('dependency'), other.ids('discussion').length]).toEqual([[], 1])
  await expectInSync(client)
  client.edit('task', two.task.id, 'status', 'done')
  client.edit('task', two.task.id, 'completionNotes', 'Only on Linux')
  client.edit('task', one.task.id, 'completionNotes', 'Not done')
  expect((await client.push()).map(({ status }) => status)).toEqual(['applied', 'rejected'])
  expect((await who.fetch('GET', `/api/tasks/${two.task.id}`)).body).toMatchObject({
    status: 'done',
    completionNotes: 'Only on Linux',
  })
  await client.pullAll()
  client.remove('dependency', blocks, [])
  expect((await client.push()).map(({ status }) => status)).toEqual(['applied'])
  const { waitsFor, related } = await detail()
  expect([waitsFor, related]).toMatchObject([[], [{ id: two.task.id, kind: 'relates' }]])
  await client.pullAll()
  await expectInSync(client)
  await who.fetch('DELETE', `/api/tasks/${one.task.id}`)
  await client.pullAll()
  expect(client.ids('dependency')).toEqual([])
  await expectInSync(client)
})

test('a rejected mutation does not stop others, and every mutation is applied once', async () => {
  const { id } = await note(ada)
  const client = await device(ada)
  client.create('task', { projectId: Bun.randomUUIDv7(), title: 'Nowhere' })
  client.create('nonsense', { title: 'x' })
  client.edit('note', id, 'title', '')
  client.create('note', { projectId: project, title: 'Arrives', slug: 'mine' })
  const noted = client.create('note', { projectId: project, title: 'Arrives' })
  const codes = (await client.push({})).map(({ status, code }) => [status, code])
  expect(codes).toEqual([
    ['rejected', 'not_found'],
    ['rejected', 'not_found'],
    ['rejected', 'invalid'],
    ['rejected', 'invalid'],
    ['applied', undefined],
  ])
  await ada.fetch('PUT', `/api/notes/${noted}`, { title: 'Changed since' })
  expect((await client.push()).at(-1)).toMatchObject({ status: 'applied' })
  expect((await read(ada, noted)).title).toBe('Changed since')
  await client.pullAll()
  expect(client.pending).toEqual([])
  expect(client.rejected).toHaveLength(4)
})

test('the id of a record that the user cannot see is refused as taken, without more details', async () => {
  const stranger = await person(t)
  const { id } = await note(stranger, { projectId: undefined })
  const { deviceId } = await device(ada)
  const pushed = async (mutation: object) => {
    const mutations = [{ mutationId: Bun.randomUUIDv7(), entity: 'note', id, op: 'upsert', ...mutation }]
    return (await ada.fetch<Pushed>('POST', '/api/sync/push', { deviceId, mutations })).body.receipts
  }
  const created = await pushed({ fields: { title: 'Mine', content: 'x' } })
  expect(created).toMatchObject([{ status: 'rejected', code: 'conflict.id' }])
  const changed = await pushed({ fields: { title: 'Mine' }, base: { title: 'x' } })
  expect(changed).toMatchObject([{ status: 'rejected', code: 'not_found' }])
  expect((await read(stranger, id)).title).not.toBe('Mine')
})

test('one event names the receipts of a push, and the next push those of an interrupted one', async () => {
  const client = await device(ada)
  for (const title of ['One', 'Two', 'Three']) client.create('note', { projectId: project, title })
  const named = async () => {
    const { rows } = await t.app.driver.query(
      `select jsonb_array_length(data -> 'mutations') from events
        where type = 'sync_device.applied' and subject_id = $1 order by seq`,
      [client.deviceId],
    )
    return rows.flat().map(Number)
  }
  await client.push({})
  expect(await named()).toEqual([3])
  // As if the server had ended before it was written.
  await t.app.driver.query(`delete from events where type = 'sync_device.applied' and subject_id = $1`, [
    client.deviceId,
  ])
  await client.pullAll()
  expect(client.pending).toHaveLength(3)
  await client.push()
  expect(await named()).toEqual([3])
  await client.pullAll()
  expect(client.pending).toEqual([])
})

test('a moved record leaves one container and arrives in the other', async () => {
  const made = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Other') })
  const { id } = await note(ada)
  const partial = await device(ada, [`project:${project}`])
  const other = await device(ada, [`project:${made.body.id}`])
  const whole = await device(ada)
  await ada.fetch('PUT', `/api/notes/${id}`, { projectId: made.body.id })
  for (const one of [partial, other, whole]) await one.pullAll()
  expect(partial.view(id)).toBeUndefined()
  expect(other.view(id)).toBeDefined()
  await expectInSync(whole)
  await ada.fetch('PUT', `/api/notes/${id}`, { projectId: null, scope: 'personal' })
  for (const one of [other, whole]) await one.pullAll()
  expect(other.view(id)).toBeUndefined()
  await expectInSync(whole)
})

test('after a lost right the next pull forgets the records, after a new one it returns all of them', async () => {
  const made = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Mine') })
  const { id } = await note(ada, { projectId: made.body.id })
  const client = await device(grace)
  expect(client.view(id)).toBeDefined()
  client.edit('note', id, 'title', 'Too late')
  await ada.fetch('POST', `/api/projects/${made.body.id}/share`, { visibility: 'private' })
  expect(await client.push()).toMatchObject([{ status: 'rejected', code: 'not_found' }])
  await client.pullAll()
  expect(client.all().filter(({ container }) => container === `project:${made.body.id}`)).toEqual([])
  await ada.fetch('POST', `/api/projects/${made.body.id}/share`, { visibility: 'team' })
  await client.pullAll()
  expect(client.view(id)).toBeDefined()
  await expectInSync(client)
})

test('pages of any size add up to the same copy', async () => {
  const whole = await device(ada)
  const small = new SyncClient(ada, 'small')
  await small.register()
  small.limit = 2
  await small.pullAll()
  expect(small.all()).toEqual(whole.all())
  await small.pullAll()
  const response = await fetch(`${t.url}/api/sync/pull?deviceId=${small.deviceId}&limit=3`, {
    headers: { authorization: `Bearer ${ada.token}`, accept: 'application/x-ndjson' },
  })
  const lines = (await response.text()).trim().split('\n')
  const streamed = new SyncClient(ada, 'streamed')
  for (const line of lines) streamed.apply(JSON.parse(line) as Page)
  expect(streamed.all()).toEqual(whole.all())
})

test('a user who cannot change a record causes no conflict, and an invalid text stops no other change', async () => {
  const { id } = await note(ada)
  const viewer = await member(t, ada, 'viewer')
  const client = await device(viewer)
  const push = async (token: string, deviceId: string, mutations: object[]) => {
    const sent = mutations.map((one) => ({ mutationId: Bun.randomUUIDv7(), entity: 'note', id, op: 'upsert', ...one }))
    const answer = await call<Pushed>(t, 'POST', '/api/sync/push', { deviceId, mutations: sent }, bearer(token))
    expect(answer.status).toBe(200)
    return answer.body.receipts.map(({ status, code }) => [status, code])
  }
  const clash = { fields: { title: 'Other' }, base: { title: 'Never was' } }
  const forbidden = ['rejected', 'forbidden']
  const changes = [clash, { op: 'delete', base: {} }]
  expect(await push(viewer.token, client.deviceId, changes)).toEqual([forbidden, forbidden])
  const own = await device(ada)
  expect(await push(await apiKey(t, ada, ['notes:read']), own.deviceId, changes)).toEqual([forbidden, forbidden])
  const invalid = ['rejected', 'invalid']
  const texts = ['a\u0000b', 'a\ud800b'].map((text) => ({ fields: { title: 'Mine' }, base: { title: text } }))
  const good = { fields: { pinned: true }, base: { pinned: false } }
  expect(await push(ada.token, own.deviceId, [...texts, good])).toEqual([invalid, invalid, ['applied', undefined]])
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('conflicts are visible where the records are, and limited in number for each user', async () => {
  const who = await person(t)
  const { body: diary } = await who.fetch<{ id: string }>('POST', '/api/notes', {
    title: 'Diary',
    content: 'x',
    scope: 'personal',
  })
  const client = await device(who)
  await who.fetch('PUT', `/api/notes/${diary.id}`, { title: 'Changed' })
  client.edit('note', diary.id, 'title', 'Secret')
  expect((await client.push())[0]?.status).toBe('conflict')
  const ctx = await who.ctx()
  const actor = { ...ctx.actor, session: ctx.actor.session && { ...ctx.actor.session, authenticatedAt: ctx.now } }
  const bound = { name: 'bound', scopes: ['read'], organizationId: who.organizationId }
  const { token } = await keys.createKey({ ...ctx, actor }, bound)
  const seen = async (key: string) => {
    const { body } = await call<ConflictPage>(t, 'GET', '/api/sync/conflicts', undefined, bearer(key))
    const status = await call<Status>(t, 'GET', '/api/sync/status', undefined, bearer(key))
    return [body.items.length, status.body.openConflicts]
  }
  expect(await seen(who.token)).toEqual([1, 1])
  expect(await seen(String(token))).toEqual([0, 0])
  expect(await seen(await apiKey(t, who, ['tasks:read']))).toEqual([0, 0])
  const columns = 'created_at, user_id, device_id, device_name, mutation_id, entity, record_id, container, kind, values'
  await t.app.driver.query(
    `insert into sync_conflicts (id, ${columns.replace('values', '"values"')})
      select gen_random_uuid(), ${columns.replace('values', '"values"')}
      from sync_conflicts, generate_series(2, 1000) where user_id = $1`,
    [who.userId],
  )
  client.edit('note', diary.id, 'title', 'Another')
  expect((await client.push()).at(-1)).toMatchObject({ status: 'rejected', code: 'conflict' })
})

test('a change between two scans of one pull is not lost', async () => {
  const { id } = await note(ada)
  const other = await person(t)
  const ctx = await ada.ctx()
  const from = await currentPosition(ctx.db)
  await ada.fetch('PUT', `/api/notes/${id}`, { title: 'Second' })
  const { body: filler } = await other.fetch<{ id: string }>('POST', '/api/notes', { title: 'x', content: 'x' })
  const { rows } = await t.app.driver.query(`select string_agg(quote_ident(attname), ',') from pg_attribute
    where attrelid = 'events'::regclass and attnum > 0 and not attisdropped and attname not in ('id', 'seq')`)
  await t.app.driver.query(
    `insert into events (id, ${rows[0]?.[0]}) select gen_random_uuid(), ${rows[0]?.[0]}
      from events, generate_series(1, 2100) where subject_id = $1 and type = 'note.created'`,
    [filler.id],
  )
  let reads = 0
  const db = new Proxy(ctx.db, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== 'execute') return typeof value === 'function' ? value.bind(target) : value
      return async (query: Parameters<typeof ctx.db.execute>[0]) => {
        if (++reads === 2) await ada.fetch('PUT', `/api/notes/${id}`, { title: 'Third' })
        return target.execute(query)
      }
    },
  })
  const held = { containers: new Set([`project:${project}` as const]), entities: readableBy(ctx), deviceId: filler.id }
  const [first, second] = [new Changes(500), new Changes(500)]
  const { position } = await readFeed({ ...ctx, db }, from, held, 500, first)
  await readFeed(ctx, position, held, 500, second)
  const titles = [first, second].flatMap(({ list }) =>
    list.filter((one) => one.id === id).map(({ record }) => record?.title),
  )
  expect(titles.at(-1)).toBe('Third')
})

test('a device keeps its latest cursors', async () => {
  const client = await device(ada)
  const columns = 'device_id, created_at, position, held, entities'
  await t.app.driver.query(
    `insert into sync_cursors (id, ${columns}) select gen_random_uuid(), ${columns}
      from sync_cursors, generate_series(1, 300) where id = $1`,
    [client.cursor?.slice(3)],
  )
  await client.pullAll()
  const { rows } = await t.app.driver.query('select count(*)::int from sync_cursors where device_id = $1', [
    client.deviceId,
  ])
  expect(Number(rows[0]?.[0])).toBeLessThanOrEqual(202)
})

test('a device belongs to one user, and gives no right that its credential does not have', async () => {
  const client = await device(ada)
  const theirs = `deviceId=${client.deviceId}`
  expect((await grace.fetch('GET', `/api/sync/pull?${theirs}`)).status).toBe(404)
  expect((await grace.fetch('DELETE', `/api/sync/devices/${client.deviceId}`)).status).toBe(404)
  const other = await device(ada)
  const wrong = (cursor: string) => ada.fetch('GET', `/api/sync/pull?${theirs}&cursor=${cursor}`)
  expect((await wrong(other.cursor ?? '')).status).toBe(400)
  expect((await wrong('nonsense')).status).toBe(400)
  expect((await wrong(`s1.${Bun.randomUUIDv7()}`)).status).toBe(410)
  const token = await mcpToken(t, ada)
  const refused = await call(t, 'GET', `/api/sync/pull?${theirs}`, undefined, { authorization: `Bearer ${token}` })
  expect(refused.status).toBe(403)
  const key = await apiKey(t, ada, ['notes:read'])
  const byKey = await call<Page>(t, 'GET', `/api/sync/pull?${theirs}`, undefined, { authorization: `Bearer ${key}` })
  expect([...new Set(byKey.body.changes.map(({ entity }) => entity))]).toEqual(['note'])
  const mutation = { mutationId: Bun.randomUUIDv7(), entity: 'note', id: Bun.randomUUIDv7(), op: 'upsert' }
  const pushed = await call<Pushed>(
    t,
    'POST',
    '/api/sync/push',
    { deviceId: client.deviceId, mutations: [{ ...mutation, fields: { title: 'x' } }] },
    { authorization: `Bearer ${key}` },
  )
  expect(pushed.body.receipts).toMatchObject([{ status: 'rejected', code: 'forbidden' }])
  expect((await ada.fetch('DELETE', `/api/sync/devices/${client.deviceId}`)).status).toBe(200)
  expect((await ada.fetch('GET', `/api/sync/pull?${theirs}`)).status).toBe(404)
})
