import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/db/columns.ts'
import { searchHybrid } from '../../src/features/search/hybrid.ts'
import { forgetIndexes, nearestIndexed, nearestStatement } from '../../src/features/search/indexing/vector-index.ts'
import { checkIndexes, indexLargeOwners, markLargeOwners } from '../../src/features/search/large-owners.ts'
import { type Person, person, systemCtx, type TestApp, testApp } from '../support/app.ts'

/** A team with so many passages that its vectors have an index, with a threshold that a test can reach. */
const PASSAGES = 3000
const limits = { above: 2000, queries: 20 }
let t: TestApp
let ada: Person
const model = () => t.app.embedder.id
const one = async (text: string, params: unknown[] = []) => (await t.app.driver.query(text, params)).rows[0] ?? []

/** Stores passages whose vectors lie on a circle, at these degrees; returns their ids. */
async function put(degrees: readonly number[], height = 0.1): Promise<string[]> {
  const ids = degrees.map(() => newId())
  await t.app.driver.query(
    `with made as (
      select id, ('[' || cos(radians(d)) || ',' || sin(radians(d)) || ',${height}]')::vector as vector
      from unnest($1::uuid[], $2::float8[]) m (id, d)),
    fresh as (
      insert into passages (id, kind, record_id, organization_id, chunk, title, content, tags, importance, at)
      select id, 'memory', id, $3::uuid, 0, '', 'text', '{}', 0.5, now() from made),
    kept as (insert into passage_vectors (passage_id, model, vector) select id, $4, vector from made)
    insert into passage_signs (passage_id, model, owner, signs) select id, $4, $3::uuid, binary_quantize(vector) from made`,
    [`{${ids.join(',')}}`, `{${degrees.join(',')}}`, ada.organizationId, model()],
  )
  return ids
}
const at = (degrees: number, height = 0.1): Float32Array => {
  const angle = (degrees * Math.PI) / 180
  return Float32Array.of(Math.cos(angle), Math.sin(angle), height)
}
const indexed = (degrees: number, height?: number) =>
  nearestIndexed(t.app, ada.organizationId, { model: model(), values: at(degrees, height) }, 50)
const state = () =>
  one('select state, ef_search, marked_seq, recall from vector_indexes where owner = $1', [ada.organizationId])
const indexNames = async () =>
  (await t.app.driver.query(`select indexname from pg_indexes where indexname like 'passage_vectors_near_%'`)).rows

beforeAll(async () => {
  t = await testApp()
  ada = await person(t)
  for (let from = 0; from < PASSAGES; from += 1000)
    await put(Array.from({ length: 1000 }, (_, i) => ((from + i) * 360) / PASSAGES))
})
afterAll(() => t.close())

if (process.env.TEST_DB === 'postgres') {
  test('an index is built, checked, and used by searches', async () => {
    const [exact] = await put([90.01])
    expect(await indexed(90)).toBeUndefined()
    await indexLargeOwners(systemCtx(t), limits)
    const [now, ef, , recall] = await state()
    expect([now, ef]).toEqual(['ready', 100])
    expect(Number(recall)).toBeGreaterThanOrEqual(0.95)
    expect(await indexed(90)).toContain(exact as string)
    const [index] = (await t.app.driver.query('select * from vector_indexes where owner = $1', [ada.organizationId]))
      .rows
    expect(index).toBeDefined()
    const tx = await t.app.driver.begin({ readOnly: true })
    await tx.query(`select set_config('enable_sort', 'off', true)`)
    const [name] = (await indexNames())[0] as [string]
    const facts = { owner: ada.organizationId, model: model(), name, dimensions: 3, efSearch: 100, markedSeq: 0 }
    const { rows } = await tx.query(`explain ${nearestStatement(facts, 10).replaceAll('$1', "'[1,0,0]'")}`)
    await tx.rollback()
    expect(rows.join('\n')).toContain(name)
    const hits = await searchHybrid(await ada.ctx(), { text: '', limit: 3 }, { model: model(), values: at(90) })
    expect(hits.map(({ recordId }) => recordId)).toContain(exact as string)
  })

  test('passages that are too new for the index are found, and deleted ones are not', async () => {
    const [fresh] = (await put([200.01], -0.1)) as [string]
    expect(await indexed(200, -0.1)).toContain(fresh)
    const before = Number((await state())[2])
    await markLargeOwners(systemCtx(t), {})
    expect(Number((await state())[2])).toBeGreaterThan(before)
    expect(await one('select owner from passage_vectors where passage_id = $1', [fresh])).toEqual([ada.organizationId])
    forgetIndexes(t.app)
    expect(await indexed(200, -0.1)).toContain(fresh)
    await t.app.driver.query('delete from passages where id = $1', [fresh])
    expect(await indexed(200, -0.1)).not.toContain(fresh)
  })

  test('an index with too low a recall searches further, and is then dropped', async () => {
    await checkIndexes(systemCtx(t), { queries: 3, recall: 2 })
    expect((await state()).slice(0, 2)).toEqual(['refused', 400])
    expect(await indexed(90)).toBeUndefined()
    await indexLargeOwners(systemCtx(t), limits)
    expect((await state())[0]).toBe('refused')
    expect(await indexNames()).toEqual([])
  })

  test('the index of an owner who is no longer large is dropped by the next run', async () => {
    await t.app.driver.query('delete from vector_indexes')
    await indexLargeOwners(systemCtx(t), limits)
    expect((await state())[0]).toBe('ready')
    await indexLargeOwners(systemCtx(t), { ...limits, above: 10 * PASSAGES })
    expect(await state()).toEqual([])
    expect(await indexNames()).toHaveLength(1)
    await indexLargeOwners(systemCtx(t), { ...limits, above: 10 * PASSAGES })
    expect(await indexNames()).toEqual([])
  })
} else
  test('the embedded database has no such indexes, and searches as before', async () => {
    const [exact] = await put([90.01])
    await indexLargeOwners(systemCtx(t), limits)
    expect(await indexNames()).toEqual([])
    expect(await indexed(90)).toBeUndefined()
    const hits = await searchHybrid(await ada.ctx(), { text: '', limit: 3 }, { model: model(), values: at(90) })
    expect(hits.map(({ recordId }) => recordId)).toContain(exact as string)
  })
