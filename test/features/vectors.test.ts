import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId, vectorText } from '../../src/db/columns.ts'
import { VectorCodes } from '../../src/embeddings/codes.ts'
import { type HybridQuery, searchHybrid } from '../../src/features/search/hybrid.ts'
import { VectorCache, whenVectorsLoaded } from '../../src/features/search/vector-cache.ts'
import { type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'

/** More than are all compared, so that candidates have to be chosen. */
const MANY = 2100
const DIMENSIONS = 32
const BEST = 10
const MODEL = 'made up'

/** Mulberry32: the same numbers in every run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
const random = randomFrom(5)
const bell = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const direction = (): Float32Array => Float32Array.from({ length: DIMENSIONS }, bell)
function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  return sum
}
function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector))
  return vector.map((value) => value / length)
}
const [sea, land] = [direction(), direction()] as [Float32Array, Float32Array]
const near = (topic: Float32Array, noise = 0.5): Float32Array =>
  unit(direction().map((value, i) => noise * value + (topic[i] as number)))

let t: TestApp
let ada: Person
let projectId: string
/** All that Ada's team has, by the id of the record. */
const stored = new Map<string, { vector: Float32Array; projectId: string | null }>()

async function store(who: Person, vectors: readonly Float32Array[], inProject: string | null): Promise<string[]> {
  const ids = vectors.map(() => newId())
  await t.app.driver.query(
    `with made as (select id, vector::vector from unnest($1::uuid[], $2::text[]) m (id, vector)),
    fresh as (insert into passages (id, kind, record_id, organization_id, project_id, chunk, title, content, tags, importance, at)
      select id, 'memory', id, $3::uuid, $4::uuid, 0, '', '', '{}', 0.5, now() from made),
    kept as (insert into passage_vectors select id, $5, vector from made)
    insert into passage_signs (passage_id, model, owner, signs) select id, $5, $3::uuid, binary_quantize(vector) from made`,
    [
      `{${ids.join(',')}}`,
      `{${vectors.map((v) => `"${vectorText(v)}"`).join(',')}}`,
      who.organizationId,
      inProject,
      MODEL,
    ],
    { timeout: 0 },
  )
  for (const [i, id] of ids.entries()) stored.set(id, { vector: vectors[i] as Float32Array, projectId: inProject })
  return ids
}

const ask = async (who: Person, values: Float32Array, filter: Partial<HybridQuery> = {}): Promise<string[]> =>
  (
    await searchHybrid(
      await who.ctx(),
      { text: '', kinds: ['memory'], limit: BEST, ...filter },
      { model: MODEL, values },
    )
  ).map((hit) => hit.recordId)

/** The right ones, by comparing all. */
const exact = (values: Float32Array, counts: (of: { projectId: string | null }) => boolean = () => true): string[] =>
  [...stored]
    .flatMap(([id, of]) => (counts(of) ? { id, score: dot(of.vector, values) } : []))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, BEST)
    .map(({ id }) => id)

async function recall(runs: number): Promise<number> {
  let same = 0
  for (let run = 0; run < runs; run++) {
    const values = near(run % 2 ? sea : land)
    const right = new Set(exact(values))
    same += (await ask(ada, values)).filter((id) => right.has(id)).length
  }
  return same / (runs * BEST)
}

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  projectId = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Land') })).body.id
  for (const [topic, place] of [
    [sea, null],
    [land, projectId],
  ] as const)
    for (let from = 0; from < MANY; from += 700)
      await store(
        ada,
        Array.from({ length: 700 }, () => near(topic)),
        place,
      )
  // As maintenance does: without statistics the planner compares everything with everything.
  await t.app.driver.exec('analyze passages; analyze passage_vectors; analyze passage_signs')
})
/** Other files find no vectors of a model that there is not. */
afterAll(() =>
  t.app.driver.query(
    `with signs as (delete from passage_signs where model = $1),
    gone as (delete from passage_vectors where model = $1 returning passage_id)
    delete from passages using gone where id = passage_id`,
    [MODEL],
  ),
)

test('many passages are found by meaning as if all were compared, even before their vectors are loaded', async () => {
  const values = near(sea)
  expect((await ask(ada, values))[0]).toBe(exact(values)[0] as string)
  await whenVectorsLoaded(t.app)
  expect(await recall(6)).toBe(1)
})

test('a filter that excludes the nearest passages still finds the best of the rest', async () => {
  const values = near(sea, 0.2)
  expect(await ask(ada, values, { projectId })).toEqual(exact(values, (of) => of.projectId === projectId))
  expect(await ask(ada, values)).toEqual(exact(values, (of) => of.projectId === null))
})

test('a stored passage is found at once, and a deleted one no more', async () => {
  const values = near(land, 0.1)
  await ask(ada, values)
  await whenVectorsLoaded(t.app)
  const [fresh] = await store(ada, [values], null)
  expect((await ask(ada, values))[0]).toBe(fresh as string)
  await t.app.driver.query('delete from passages where id = $1::uuid', [fresh])
  stored.delete(fresh as string)
  expect(await ask(ada, values)).toEqual(exact(values))
})

test('passages are found by their owner only, and move with their project', async () => {
  const values = near(sea, 0.1)
  const bob = await person(t, { name: 'Bob' })
  expect(await ask(bob, values)).toEqual([])
  const theirs = await ada.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Second') })
  const moving = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Moving') })).body.id
  const [one] = await store(ada, [values], moving)
  expect((await ask(ada, values))[0]).toBe(one as string)
  await whenVectorsLoaded(t.app)
  // Whoever keeps the vectors of the second team in memory reads on from the last number.
  const highest = async (which = '') =>
    Number((await t.app.driver.query(`select max(seq) from passage_signs ${which}`)).rows[0]?.[0])
  const last = await highest()
  const moved = await ada.fetch('PATCH', `/api/projects/${moving}`, { organizationId: theirs.body.id })
  expect(moved.status).toBe(200)
  expect(await highest(`where owner = '${theirs.body.id}'`)).toBeGreaterThan(last)
  const asked = await ask(ada, values)
  await whenVectorsLoaded(t.app)
  expect([asked[0], (await ask(ada, values))[0]]).toEqual([one, one])
  expect(await ask(bob, values)).toEqual([])
})

test('vectors use memory only for owners with many, while they are used and while they fit', async () => {
  const values = near(sea)
  const bob = await person(t, { name: 'Bob' })
  const few = await store(bob, [values, near(land)], null)
  for (const id of few) stored.delete(id)
  let now = 0
  const keeper = new VectorCache(t.app, 128 << 20, () => now)
  const ask = (keeping: VectorCache, who: Person) => keeping.findNearest([who.organizationId], { model: MODEL, values })
  expect(await ask(keeper, bob)).toEqual(few)
  expect(keeper.bytes).toBe(0)
  expect(await ask(keeper, ada)).toBeUndefined()
  await keeper.whenLoaded()
  expect((await ask(keeper, ada))?.length).toBeGreaterThanOrEqual(400)
  // Whole pages of 64 KB, and the ids.
  expect(keeper.bytes).toBeGreaterThan(stored.size * (DIMENSIONS + 150))
  const tight = new VectorCache(t.app, keeper.bytes, () => now)
  await ask(tight, ada)
  await tight.whenLoaded()
  expect(tight.bytes).toBe(keeper.bytes)
  const [more] = await store(ada, [values], null)
  expect(await ask(tight, ada)).toBeUndefined()
  expect(tight.bytes).toBe(0)
  await t.app.driver.query('delete from passages where id = $1::uuid', [more])
  stored.delete(more as string)
  now = 11 * 60_000
  await ask(keeper, bob)
  expect(keeper.bytes).toBe(0)
})

test('codes of any length keep the order, and existing ids are not added again', () => {
  for (const dimensions of [3, 5, 64, 1000]) {
    const codes = new VectorCodes(dimensions)
    expect(codes.nearest(new Float32Array(dimensions).fill(1), 3)).toEqual([])
    const vectors = Array.from({ length: 203 }, () => unit(Float32Array.from({ length: dimensions }, bell)))
    for (const [i, vector] of vectors.entries()) codes.add(String(i), vector)
    codes.add('0', vectors[1] as Float32Array)
    expect(codes.size).toBe(203)
    for (const asked of vectors.slice(0, 5)) {
      const order = [...vectors.keys()].toSorted(
        (a, b) => dot(vectors[b] as Float32Array, asked) - dot(vectors[a] as Float32Array, asked),
      )
      const found = new Set(codes.nearest(asked, 40))
      expect(order.slice(0, BEST).filter((i) => !found.has(String(i)))).toEqual([])
      expect(found.size).toBeLessThan(60)
    }
  }
})
