import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import type { MemoryCreate, MemoryHits, MemoryStored } from '../../src/features/memory/schema.ts'
import * as memory from '../../src/features/memory/service.ts'
import { searchHybrid } from '../../src/features/search/hybrid.ts'
import { catchUp } from '../../src/features/search/indexing/indexing.ts'
import { type EmbeddedPassage, putPassages, putVectors } from '../../src/features/search/indexing/passages.ts'
import { apiKey, type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { thorough } from '../support/thorough.ts'
import { ctxOf, ownApp, TestClock, times } from './support.ts'

/** Without a model: who tests what the built-in one can do is test/retrieval. Vectors are given where they matter. */
const clock = new TestClock()
let t: TestApp
let ada: Person
let mallory: Person
beforeAll(async () => {
  t = await ownApp(clock.now, {
    EMBEDDINGS_URL: 'http://127.0.0.1:9/v1',
    EMBEDDINGS_MODEL: 'none',
    EMBEDDINGS_DIMENSIONS: '8',
  })
  ada = await person(t)
  mallory = await person(t)
  await follow()
})
afterAll(() => t.close())

const follow = async () => {
  while ((await catchUp(systemCtx(t), {})) === 'waiting') await Bun.sleep(5)
}
const projectOf = async (who: Person, extra = {}) =>
  (await who.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: unique('P'), ...extra })).body
const store = async (
  who: Person,
  input: Partial<MemoryCreate> & { content: string; scopeId: string },
): Promise<MemoryStored> => {
  const { status, body } = await who.fetch<MemoryStored>('POST', '/api/memories', input)
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const search = async (who: Person, input: object) => {
  const { status, body } = await who.fetch<MemoryHits>('POST', '/api/memories/search', input)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const idsOf = (hits: MemoryHits) => hits.items.map((hit) => hit.id)
/** Unit vectors that lie as near to the first axis as told. */
const at = (cosine: number, axis = 1): number[] =>
  Object.assign(new Array(8).fill(0), { 0: cosine, [axis]: Math.sqrt(1 - cosine ** 2) })
const near = (cosine: number) => ({ model: 'http:none:8', values: Float32Array.from(at(cosine)) })
const queryVector = near(1)

describe('a memory found by search', () => {
  test('has its score, its age and its source', async () => {
    const home = await projectOf(ada)
    const { id } = await store(ada, {
      content: 'The kestrel nests on the roof.',
      scopeId: home.id,
      title: 'Kestrel',
      tags: ['birds'],
    })
    clock.forward({ minutes: 5 })
    const { items, mode } = await search(ada, { query: 'kestrel' })
    expect(mode).toBe('words')
    expect(items).toEqual([
      {
        kind: 'memory',
        id,
        key: null,
        status: null,
        title: 'Kestrel',
        content: 'The kestrel nests on the roof.',
        tags: ['birds'],
        score: 1,
        meaning: null,
        at: expect.any(String),
        age: '5 minutes',
        origin: `project ${home.slug}, by Ada Lovelace`,
        projectId: home.id,
        createdById: ada.userId,
      },
    ])
  })

  test('matches by word stems and by any of the words; rarer words weigh more', async () => {
    const home = await projectOf(ada)
    const put = (content: string) => store(ada, { content, scopeId: home.id })
    const rare = await put('The server logs mention osprey.')
    for (const i of [1, 2, 3, 4]) await put(`The server logs mention nothing ${i}.`)
    const found = idsOf(await search(ada, { query: 'logging ospreys server', scope: 'project', scopeId: home.id }))
    expect(found[0]).toBe(rare.id)
    expect(found).toHaveLength(5)
  })

  test('matches all given tags and the scope', async () => {
    const [a, b] = [await projectOf(ada), await projectOf(ada)]
    const both = await store(ada, { content: 'A heron.', scopeId: a.id, tags: ['x', 'y "q" \\'] })
    const one = await store(ada, { content: 'Another heron.', scopeId: b.id, tags: ['x'] })
    expect(idsOf(await search(ada, { query: 'heron', tags: ['x'] })).sort()).toEqual([both.id, one.id].sort())
    expect(idsOf(await search(ada, { query: 'heron', tags: ['x', 'y "q" \\'] }))).toEqual([both.id])
    expect(idsOf(await search(ada, { query: 'heron', scope: 'project', scopeId: b.slug }))).toEqual([one.id])
    expect(idsOf(await search(ada, { query: 'heron', tags: ['z'] }))).toEqual([])
  })

  test('has neither expired nor been superseded, unless requested', async () => {
    const home = await projectOf(ada)
    const soon = new Date(clock.now().getTime() + 60_000).toISOString()
    const brief = await store(ada, { content: 'The plover for now.', scopeId: home.id, expiresAt: soon })
    const old = await store(ada, { content: 'The plover of old.', scopeId: home.id })
    const fresh = await store(ada, { content: 'The plover of today.', scopeId: home.id, supersedes: old.id })
    expect(idsOf(await search(ada, { query: 'plover' })).sort()).toEqual([brief.id, fresh.id].sort())
    clock.forward({ minutes: 2 })
    expect(idsOf(await search(ada, { query: 'plover' }))).toEqual([fresh.id])
    expect(idsOf(await search(ada, { query: 'plover', old: true })).sort()).toEqual([brief.id, old.id, fresh.id].sort())
  })

  test('changes with the memory', async () => {
    const home = await projectOf(ada)
    const { id } = await store(ada, { content: 'A swift.', scopeId: home.id })
    await ada.fetch('PATCH', `/api/memories/${id}`, { content: 'A lapwing.' })
    expect(idsOf(await search(ada, { query: 'swift' }))).toEqual([])
    expect(idsOf(await search(ada, { query: 'lapwing' }))).toEqual([id])
    await ada.fetch('DELETE', `/api/memories/${id}`)
    expect(idsOf(await search(ada, { query: 'lapwing' }))).toEqual([])
  })

  test('fits the token budget: fewer hits, or the beginning of the best one', async () => {
    const home = await projectOf(ada)
    for (const i of times(4, (n) => n))
      await store(ada, { content: `Gannet ${i} ${'colony '.repeat(100)}`, scopeId: home.id })
    const whole = await search(ada, { query: 'gannet' })
    expect(whole).toMatchObject({ items: { length: 4 } })
    expect(whole.truncated).toBeUndefined()
    const some = await search(ada, { query: 'gannet', budgetTokens: 600 })
    expect(some.truncated).toBe(true)
    expect(some.items.length).toBeLessThan(4)
    expect(JSON.stringify(some.items).length).toBeLessThanOrEqual(2400 + 10)
    const least = await search(ada, { query: 'gannet', budgetTokens: 150 })
    expect(least.items).toHaveLength(1)
    expect(least.items[0]?.content.endsWith('…')).toBe(true)
    expect(JSON.stringify(least.items[0]).length).toBeLessThanOrEqual(600)
  })

  test('has the same place every time, even among equal scores', async () => {
    const home = await projectOf(ada)
    for (let i = 0; i < 8; i++) await store(ada, { content: 'The same dunlin.', scopeId: home.id })
    const first = idsOf(await search(ada, { query: 'dunlin' }))
    expect(first).toEqual(first.toSorted())
    expect(idsOf(await search(ada, { query: 'dunlin' }))).toEqual(first)
    expect(idsOf(await search(ada, { query: 'dunlin', limit: 3 }))).toEqual(first.slice(0, 3))
  })
})

describe('a query', () => {
  test.each([
    ['stop words only', 'the of and'],
    ['punctuation only', `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`],
    ['a broken query', `foo & | ! ( :* <-> 'bar" --`],
    ['an injection', `'); drop table passages; -- ' | 'x':*`],
    ['quotes and backslashes', `\\'\\\\''"'`],
    ['Chinese', '备份在迁移之前运行'],
    ['emoji', '🦊🦊 🏳️‍🌈'],
    ['a broken surrogate', 'a \ud800 b'],
    ['a wall of paths', '/~'.repeat(490)],
  ])('of %s is accepted', async (_, query) => {
    expect((await search(ada, { query })).items).toBeArray()
  })

  test('of ten thousand characters is cut, and still finds memories', async () => {
    const home = await projectOf(ada)
    const { id } = await store(ada, { content: 'The bittern booms.', scopeId: home.id })
    const text = `bittern ${times(1500, (i) => `filler${i}`).join(' ')}`
    expect(text.length).toBeGreaterThan(10_000)
    const hits = await searchHybrid(await ada.ctx(), { text, limit: 3 }, undefined)
    expect(hits.every((hit) => hit.recordId === id)).toBe(true)
    expect((await ada.fetch('POST', '/api/memories/search', { query: text })).status).toBe(422)
  })

  test('in other scripts finds words as they are written', async () => {
    const home = await projectOf(ada)
    const { id } = await store(ada, { content: 'Das Gerät heißt 备份 и работает.', scopeId: home.id })
    for (const query of ['备份', 'работает', 'heißt']) expect(idsOf(await search(ada, { query }))).toEqual([id])
  })
})

describe('search for memories', () => {
  test('is not influenced by nearer vectors and better words of another team', async () => {
    const [home, theirs] = [await projectOf(ada), await projectOf(mallory)]
    for (let i = 0; i < 30; i++)
      await store(mallory, { content: 'avocet avocet avocet', scopeId: theirs.id, embedding: at(1 - i * 0.001) })
    const mine = await store(ada, { content: 'One avocet among others.', scopeId: home.id, embedding: at(0.4) })
    const hits = await searchHybrid(await ada.ctx(), { text: 'avocet', limit: 10 }, queryVector)
    expect(hits.map((hit) => hit.recordId)).toEqual([mine.id])
    expect(hits[0]?.meaning).toBeCloseTo(0.4, 4)
  })

  test('finds a near meaning without a common word, and no far one', async () => {
    const home = await projectOf(ada)
    const place = { projectId: home.id, limit: 10 }
    const close = await store(ada, { content: 'Alpha.', scopeId: home.id, embedding: at(0.8) })
    await store(ada, { content: 'Beta.', scopeId: home.id, embedding: at(0.05) })
    const worded = await store(ada, { content: 'Gamma curlew.', scopeId: home.id, embedding: at(0.05, 2) })
    const found = async (text: string) =>
      (await searchHybrid(await ada.ctx(), { text, ...place }, queryVector)).map((hit) => hit.recordId)
    expect(await found('something else')).toEqual([close.id])
    expect(await found('curlew')).toEqual([close.id, worded.id])
  })

  test('finds only kinds that the credential can read', async () => {
    await ada.fetch('POST', '/api/notes', { title: 'Cormorant', scope: 'team' })
    await follow()
    const kinds = { query: 'cormorant', kinds: ['note', 'memory'] as ('note' | 'memory')[] }
    const narrow = await ctxOf(t, await apiKey(t, ada, ['memories:read']))
    const wide = await ctxOf(t, await apiKey(t, ada, ['memories:read', 'notes:read']))
    expect((await memory.search(wide, kinds)).items.map((hit) => hit.kind)).toEqual(['note'])
    expect((await memory.search(narrow, kinds)).items).toEqual([])
    expect((await memory.search(wide, { query: 'cormorant' })).items).toEqual([])
  })

  test('does not show a memory that was deleted a moment ago, though its passages still exist', async () => {
    const note = (await ada.fetch<{ id: string }>('POST', '/api/notes', { title: 'Guillemot', scope: 'team' })).body
    await follow()
    expect(idsOf(await search(ada, { query: 'guillemot', kinds: ['note'] }))).toEqual([note.id])
    await ada.fetch('DELETE', `/api/notes/${note.id}`)
    expect(idsOf(await search(ada, { query: 'guillemot', kinds: ['note'] }))).toEqual([])
  })
})

describe('search in many memories', () => {
  const MANY = 2400
  const fill = write(
    'test.fill',
    machine,
    async (ctx, { home, organizationId }: { home: string; organizationId: string }): Promise<void> => {
      const ids = await putPassages(
        ctx,
        'memory',
        times(MANY, (i) => ({
          kind: 'memory' as const,
          recordId: Bun.randomUUIDv7(),
          organizationId,
          userId: null,
          projectId: home,
          title: '',
          text: i === 1234 ? 'the needle in it' : `common words ${i}`,
          at: ctx.now,
        })),
      )
      const made: EmbeddedPassage[] = ids.map((id, i) => ({
        id,
        // The nearest has the signs of the query, as near ones have.
        vector: Float32Array.from(
          i === 777 ? [0.99, -0.1411, 0, 0, 0, 0, 0, 0] : at(0.3 + (i % 100) / 1000, 1 + (i % 7)),
        ),
      }))
      for (let from = 0; from < made.length; from += 200) await putVectors(ctx, made.slice(from, from + 200))
    },
  )

  thorough('finds the nearest vector and the rarest word among the first, and strangers find nothing', async () => {
    const home = await projectOf(ada)
    await fill(systemCtx(t), { home: home.id, organizationId: ada.organizationId })
    const ctx = await ada.ctx()
    const first = (await searchHybrid(ctx, { text: 'nothing', projectId: home.id, limit: 1 }, queryVector))[0]
    expect(first?.meaning).toBeCloseTo(0.99, 4)
    const worded = await searchHybrid(ctx, { text: 'common needle', projectId: home.id, limit: 3 }, undefined)
    expect(worded[0]?.content).toBe('the needle in it')
    const both = await searchHybrid(ctx, { text: 'needle', projectId: home.id, limit: 2 }, queryVector)
    expect(both.map((hit) => hit.content)).toContain('the needle in it')
    expect(await searchHybrid(await mallory.ctx(), { text: 'needle', limit: 5 }, queryVector)).not.toContainEqual(
      expect.objectContaining({ content: 'the needle in it' }),
    )
  })
})
