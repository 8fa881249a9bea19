import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/config.ts'
import { createEmbedder } from '../../src/embeddings/create.ts'
import { TextRefused } from '../../src/embeddings/embedder.ts'
import { failure } from '../features/support.ts'
import { EmbeddingServer } from '../support/embedding-server.ts'

let server: EmbeddingServer
beforeAll(() => {
  server = new EmbeddingServer()
})
afterAll(() => server.stop())

const embedder = (dimensions = 3, key?: string) =>
  createEmbedder(
    loadConfig({
      env: {
        EMBEDDINGS_URL: server.url,
        EMBEDDINGS_MODEL: 'small',
        EMBEDDINGS_DIMENSIONS: String(dimensions),
        ...(key && { EMBEDDINGS_KEY: key }),
      },
    }),
  )
const reason = async (work: Promise<unknown>) => ((await failure(work)) as Error).message

describe('an embeddings server (/v1/embeddings)', () => {
  test('receives model and key, and its vectors are normalised', async () => {
    server.vectors = () => [3, 4, 0]
    const [vector] = await embedder(3, 'sk-test').embed(['hello'])
    expect([...(vector as Float32Array)].map((value) => value.toFixed(5))).toEqual(['0.60000', '0.80000', '0.00000'])
    const { body, headers, path } = server.last()
    expect({ path, body, authorization: headers.get('authorization') }).toEqual({
      path: '/v1/embeddings',
      body: { model: 'small', input: ['hello'], encoding_format: 'float' },
      authorization: 'Bearer sk-test',
    })
    expect(embedder(3).id).toBe('http:small:3')
  })

  test('can return vectors in any order, by their index', async () => {
    server.vectors = (text) => (text === 'a' ? [1, 0, 0] : [0, 1, 0])
    server.change = (data) => data.toReversed()
    const [a, b] = await embedder().embed(['a', 'b'])
    expect([[...(a as Float32Array)], [...(b as Float32Array)]]).toEqual([
      [1, 0, 0],
      [0, 1, 0],
    ])
    server.change = undefined
  })

  test('receives many texts in several requests', async () => {
    server.vectors = (text) => [Number(text) + 1, 1, 0]
    const before = server.requests.length
    const vectors = await embedder().embed(Array.from({ length: 130 }, (_, i) => String(i)))
    expect(server.requests.length - before).toBe(3)
    expect(vectors).toHaveLength(130)
    expect(vectors[129]?.[0] as number).toBeGreaterThan(vectors[0]?.[0] as number)
  })

  test.each([
    ['too few dimensions', () => [{ index: 0, embedding: [1, 2] }], '2 dimensions; EMBEDDINGS_DIMENSIONS says 3'],
    ['no data', () => undefined, 'returned no data'],
    ['too few vectors', () => [], '0 vectors for 1 texts'],
    ['the same index twice', () => [{ index: 1, embedding: [1, 2, 3] }], 'belong to no text'],
    ['zeros', () => [{ index: 0, embedding: [0, 0, 0] }], 'of length zero'],
    ['texts instead of numbers', () => [{ index: 0, embedding: ['a', 'b', 'c'] }], 'of length zero'],
    ['a text instead of a vector', () => [{ index: 0, embedding: 'AAAA' }], 'no dimensions'],
    ['an empty entry', () => [null], 'no dimensions'],
  ])('is refused when it returns %s', async (_, data, says) => {
    server.vectors = () => [1, 2, 3]
    server.change = data as never
    expect(await reason(embedder().embed(['x']))).toContain(says)
    server.change = undefined
  })

  test('is refused when it returns no JSON, or a redirect', async () => {
    server.answer = () => new Response('<html>busy</html>')
    expect(await reason(embedder().embed(['x']))).toContain('did not return JSON')
    server.answer = () => new Response(null, { status: 307, headers: { location: `${server.url}/elsewhere` } })
    await failure(embedder().embed(['x']))
    expect(server.last().path).toBe('/v1/embeddings')
    server.answer = undefined
  })

  test.each([429, 500, 401])('that fails with %d causes an error of the server, not of the text', async (status) => {
    server.answer = () => new Response('no more today', { status })
    const error = await failure(embedder().embed(['x']))
    expect(error).not.toBeInstanceOf(TextRefused)
    expect((error as Error).message).toBe(`the embedding server returned status ${status}: no more today`)
    server.answer = undefined
  })

  test.each([400, 413, 422])('that refuses a text with %d causes an error of the text', async (status) => {
    server.answer = () => new Response('too long', { status })
    expect(await failure(embedder().embed(['x']))).toBeInstanceOf(TextRefused)
    server.answer = undefined
  })

  test('that hangs is aborted with its caller', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    server.answer = () => promise
    const limit = new AbortController()
    const asked = embedder().embed(['x'], { signal: limit.signal })
    limit.abort(new Error('enough'))
    expect(await reason(asked)).toContain('enough')
    resolve(new Response())
    server.answer = undefined
  })

  test('that returns an endless body is cut off', async () => {
    const chunk = new Uint8Array(1 << 20).fill(32)
    server.answer = () => new Response(new ReadableStream({ pull: (c) => c.enqueue(chunk) }))
    expect(await reason(embedder().embed(['x']))).toContain('too much data')
    server.answer = undefined
  })

  test('can still offer its previous model; the built-in one always exists', () => {
    const now = embedder()
    expect(now.earlier('http:other:7')).toMatchObject({ id: 'http:other:7', dimensions: 7 })
    expect(now.earlier('local:all-MiniLM-L6-v2:u8:1')?.dimensions).toBe(384)
    expect(now.earlier('who knows')).toBeUndefined()
    now.close()
  })
})
