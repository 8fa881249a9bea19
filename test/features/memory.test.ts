import { beforeAll, describe, expect, test } from 'bun:test'
import type { Memory, MemoryCleared, MemoryCreate, MemoryPage, MemoryStored } from '../../src/features/memory/schema.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, testApp, unique } from '../support/app.ts'
import { ctxOf, expectEvent, expectRefusal, ids, TestClock, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let mallory: Person
let project: { id: string; slug: string }
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  mallory = await person(t, { name: 'Mallory' })
  project = (await ada.fetch<typeof project>('POST', '/api/projects', { name: unique('P') })).body
})

const post = (who: Person, input: Partial<MemoryCreate> = {}) =>
  who.fetch<MemoryStored>('POST', '/api/memories', { content: unique('Remember'), scopeId: project.id, ...input })
const store = async (input: Partial<MemoryCreate> = {}, who = ada): Promise<MemoryStored> => {
  const { status, body } = await post(who, input)
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const list = async (query = '', who = ada) => (await who.fetch<MemoryPage>('GET', `/api/memories?${query}`)).body

describe('a memory', () => {
  test('is stored for a project with its author, read, changed and deleted, with an event each', async () => {
    const made = await post(ada, { title: 'Backups', tags: ['ops'], importance: 0.9, source: 'the runbook' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/memories/${made.body.id}`)
    expect(made.body).toMatchObject({
      scope: 'project',
      scopeId: project.id,
      projectId: project.id,
      title: 'Backups',
      tags: ['ops'],
      importance: expect.closeTo(0.9, 5),
      author: { type: 'user', id: ada.userId },
      version: 1,
    })
    await expectEvent(t, made, 'memory.stored')
    const got = await ada.fetch<Memory>('GET', `/api/memories/${made.body.id}`)
    const { similar: _, embeddingModel: __, ...stored } = made.body
    expect(got.body).toMatchObject(stored)
    const changed = await ada.fetch<Memory>(
      'PATCH',
      `/api/memories/${made.body.id}`,
      { content: 'Other.' },
      { 'if-match': '"1"' },
    )
    expect(changed.body).toMatchObject({ content: 'Other.', version: 2 })
    expect((await expectEvent(t, changed, 'memory.updated')).data).toMatchObject({ fields: ['content'] })
    await expectRefusal(
      t,
      await ada.fetch('PATCH', `/api/memories/${made.body.id}`, { content: 'x' }, { 'if-match': '"1"' }),
      412,
      'version_mismatch',
    )
    const gone = await ada.fetch('DELETE', `/api/memories/${made.body.id}`)
    expect(gone.body).toEqual({ id: made.body.id, deleted: true })
    await expectEvent(t, gone, 'memory.deleted')
    await expectRefusal(t, await ada.fetch('GET', `/api/memories/${made.body.id}`), 404, 'not_found')
  })

  test('is named in events and logs without its content', async () => {
    const made = await post(ada, { content: `the-secret-${unique('x')}` })
    expect(JSON.stringify(await expectEvent(t, made, 'memory.stored'))).not.toContain('the-secret')
  })

  test('is refused if it is empty, too long or without a subject', async () => {
    await expectRefusal(t, await post(ada, { content: '' }), 422, 'invalid')
    await expectRefusal(t, await post(ada, { content: 'ü'.repeat(20_000) }), 422, 'invalid')
    await expectRefusal(t, await post(ada, { scopeId: undefined }), 422, 'invalid')
    await expectRefusal(t, await post(ada, { scope: 'session', scopeId: crypto.randomUUID() }), 404, 'not_found')
    await expectRefusal(t, await post(ada, { tags: ['a', 'a'] }), 422, 'invalid')
    await expectRefusal(t, await post(ada, { importance: 2 }), 422, 'invalid')
  })
})

describe('GET /api/memories', () => {
  test('filters by tag, scope and time; since is inclusive, until is exclusive', async () => {
    const clock = new TestClock()
    const own = await testApp({ background: 'off' }, clock.now)
    const who = await person(own)
    const home = (await who.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })).body
    const at = async (tags: string[]) => {
      clock.forward({ minutes: 1 })
      return (await who.fetch<Memory>('POST', '/api/memories', { content: unique('m'), scopeId: home.id, tags })).body
    }
    const [a, b, c] = [await at(['x']), await at(['x', 'y']), await at(['y'])] as [Memory, Memory, Memory]
    const get = async (query: string) => ids((await who.fetch<MemoryPage>('GET', `/api/memories?${query}`)).body)
    expect(await get('tag=x')).toEqual([a.id, b.id].sort())
    expect(await get(`since=${b.updatedAt}`)).toEqual([b.id, c.id].sort())
    expect(await get(`until=${b.updatedAt}`)).toEqual([a.id])
    expect(await get(`since=${b.updatedAt}&until=${c.updatedAt}`)).toEqual([b.id])
    expect(await get(`scope=project&scopeId=${home.id}`)).toHaveLength(3)
    expect(await get('scope=agent')).toEqual([])
    await own.close()
  })

  test('is paged, newest first, without contents and outdated memories', async () => {
    const home = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })).body
    const stored: MemoryStored[] = []
    for (let i = 0; i < 3; i++) stored.push(await store({ scopeId: home.id, content: 'long '.repeat(100) }))
    const past = await store({ scopeId: home.id, expiresAt: '2020-01-01T00:00:00.000Z' })
    const replaced = await store({ scopeId: home.id })
    const by = await store({ scopeId: home.id, supersedes: replaced.id })
    const first = await list(`projectId=${home.id}&limit=2&total=true`)
    expect(first.total).toBe(4)
    const rest = await list(`projectId=${home.id}&limit=2&cursor=${first.nextCursor}`)
    expect([...first.items, ...rest.items].map((m) => m.id)).toEqual([by, ...stored.toReversed()].map((m) => m.id))
    expect(first.items[1]).not.toHaveProperty('content')
    expect(first.items[1]?.excerpt.length).toBeLessThanOrEqual(160)
    expect(ids(await list(`projectId=${home.id}&old=true`))).toContain(past.id)
    expect(ids(await list(`projectId=${home.id}&old=true`))).toContain(replaced.id)
  })
})

describe('superseding a memory', () => {
  test('links the new and the old memory with each other', async () => {
    const old = await store()
    const fresh = await store({ supersedes: old.id })
    expect(fresh.supersedes).toBe(old.id)
    expect((await ada.fetch<Memory>('GET', `/api/memories/${old.id}`)).body.supersededById).toBe(fresh.id)
  })

  test('is limited to memories of one’s own team', async () => {
    const theirs = (await mallory.fetch<{ id: string }>('POST', '/api/projects', { name: unique('M') })).body
    const foreign = await store({ scopeId: theirs.id }, mallory)
    await expectRefusal(t, await post(ada, { supersedes: foreign.id }), 404, 'not_found')
  })
})

describe('clearing memories', () => {
  const clear = (body: object, who = ada) => who.fetch<MemoryCleared>('POST', '/api/memories/clear', body)

  test('returns their number first, then deletes exactly these and no other scopes', async () => {
    const home = (await ada.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: unique('P') })).body
    const scope = { scope: 'project', scopeId: home.slug }
    const mine = [await store({ scopeId: home.id }), await store({ scopeId: home.id })]
    const other = await store()
    expect((await clear(scope)).body).toEqual({ count: 2, removed: false })
    expect((await clear({ ...scope, confirm: 1 })).body).toEqual({ count: 2, removed: false })
    const done = await clear({ ...scope, confirm: 2 })
    expect(done.body).toEqual({ count: 2, removed: true })
    expect((await expectEvent(t, done, 'memory.cleared')).data).toMatchObject({ scope: 'project', count: 2 })
    for (const { id } of mine) expect((await ada.fetch('GET', `/api/memories/${id}`)).status).toBe(404)
    expect((await ada.fetch('GET', `/api/memories/${other.id}`)).status).toBe(200)
    expect((await clear({ ...scope, confirm: 2 })).body).toEqual({ count: 0, removed: false })
  })

  test('twice at once deletes them once', async () => {
    const home = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })).body
    await store({ scopeId: home.id })
    const answers = await Promise.all(times(3, () => clear({ scope: 'project', scopeId: home.id, confirm: 1 })))
    expect(answers.filter((a) => a.body.removed)).toHaveLength(1)
  })

  test('of one’s own session is refused if its project is no longer visible', async () => {
    const grace = await member(t, ada, 'member')
    const home = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })).body
    const session = (await grace.fetch<{ id: string }>('POST', '/api/sessions', { projectId: home.id })).body
    const about = { scope: 'session' as const, scopeId: session.id }
    const { id } = await store(about, grace)
    expect((await ada.fetch('POST', `/api/projects/${home.id}/share`, { visibility: 'private' })).status).toBe(200)
    for (const confirm of [undefined, 1])
      await expectRefusal(t, await clear({ ...about, confirm }, grace), 404, 'not_found')
    expect((await ada.fetch('GET', `/api/memories/${id}`)).status).toBe(200)
  })
})

test('an MCP token stores a memory for its team and finds it by words at once', async () => {
  const token = await mcpToken(t, ada)
  const { store: put, search } = await import('../../src/features/memory/service.ts')
  const ctx = await ctxOf(t, token)
  const word = unique('word').replaceAll('-', '')
  const made = await put(ctx, { content: `The ${word} is here.`, scopeId: project.id })
  expect((await search(ctx, { query: word })).items[0]?.id).toBe(made.id)
})
