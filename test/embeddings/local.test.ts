import { afterAll, expect, test } from 'bun:test'
import { LocalEmbedder } from '../../src/embeddings/local.ts'

const embedder = new LocalEmbedder()
afterAll(() => embedder.close())

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0)

test('the built-in model computes the recorded vectors, bit for bit', async () => {
  const [a, b] = (await embedder.embed(['This is an example sentence', 'database pool ran out of connections'])) as [
    Float32Array,
    Float32Array,
  ]
  expect(Bun.hash(new Uint8Array(Float32Array.from([...a, ...b]).buffer)).toString(16)).toMatchInlineSnapshot(
    `"824c979d004b8f81"`,
  )
})

test('vectors of an earlier kernel are comparable with those of this one', async () => {
  const [vector] = (await embedder.embed(['This is an example sentence'])) as [Float32Array]
  // Made by the first kernel, whose products were f32.
  const before = [
    0.05293, 0.05084, 0.04794, 0.05398, 0.00941, 0.00259, 0.03328, 0.02004, 0.05319, 0.03756, 0.06399, -0.06265,
  ]
  for (const [i, value] of before.entries()) expect(vector[i]).toBeCloseTo(value, 3)
})

test('texts of similar meaning have near vectors of unit length', async () => {
  const [query, same, other] = (await embedder.embed([
    'database pool ran out of connections',
    'PostgreSQL refuses new clients: too many sessions',
    'the cat sleeps on the sofa',
  ])) as [Float32Array, Float32Array, Float32Array]
  expect(dot(query, same)).toBeGreaterThan(dot(query, other) + 0.2)
  for (const vector of [query, same, other]) expect(dot(vector, vector)).toBeCloseTo(1, 5)
})

test('every text has a vector: empty, emoji, one long word, a book, broken surrogates', async () => {
  const texts = ['', ' ', '🦊🦊', 'x'.repeat(500), 'word '.repeat(20_000), '\ud800', '数据库', '[CLS] [SEP]', '\u0000']
  for (const vector of await embedder.embed(texts)) {
    expect(vector.length).toBe(embedder.dimensions)
    expect(dot(vector, vector)).toBeCloseTo(1, 5)
  }
})

test('a vector does not depend on the other texts of its batch', async () => {
  const texts = ['one', 'two words', 'three words here']
  const together = await embedder.embed(texts)
  const alone = await Promise.all(
    texts.toReversed().map(async (text) => (await embedder.embed([text]))[0] as Float32Array),
  )
  expect(alone.toReversed()).toEqual(together)
})

test('queries run before background texts, and aborted ones do not run', async () => {
  const order: string[] = []
  const given = new AbortController()
  const patient = Array.from({ length: 4 }, (_, i) =>
    embedder.embed([`patient ${i}`]).then(() => order.push(`patient ${i}`)),
  )
  const never = embedder.embed(['never'], { signal: given.signal }).catch((error: Error) => error.message)
  given.abort(new Error('given up'))
  const urgent = embedder.embed(['urgent'], { urgent: true }).then(() => order.push('urgent'))
  await Promise.all([...patient, urgent])
  expect(order).toEqual(['patient 0', 'urgent', 'patient 1', 'patient 2', 'patient 3'])
  expect(await never).toBe('given up')
})

test('the model is unloaded when idle and loaded on demand', async () => {
  const brief = new LocalEmbedder(1)
  const [first] = await brief.embed(['wake'])
  while (brief.loaded) await Bun.sleep(1)
  expect((await brief.embed(['wake']))[0]).toEqual(first as Float32Array)
  brief.close()
  expect(brief.loaded).toBe(false)
})
