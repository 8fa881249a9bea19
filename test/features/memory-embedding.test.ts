import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { system } from '../../src/auth/actor.ts'
import { loadConfig } from '../../src/config.ts'
import type { Driver } from '../../src/db/driver.ts'
import * as memory from '../../src/features/memory/service.ts'
import { vectorPatience } from '../../src/features/memory/similar.ts'
import { burstOf } from '../../src/features/search/indexing/burst.ts'
import { askForVectors, embedMissing } from '../../src/features/search/indexing/embed.ts'
import { passageSigns, passages, passageVectors } from '../../src/features/search/table.ts'
import { jobs } from '../../src/jobs/table.ts'
import { createLog } from '../../src/log.ts'
import type { App } from '../../src/services.ts'
import { type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { EmbeddingServer } from '../support/embedding-server.ts'
import { allowing } from '../support/timing.ts'
import { failure, ownApp } from './support.ts'

/** Topics instead of meanings: what speaks of pets lies in one direction, of money in another, whatever the words. */
const directions: Record<string, string[]> = {
  pets: ['dog', 'puppy', 'hound'],
  money: ['invoice', 'bill', 'payment'],
  sea: ['ship', 'vessel'],
}
const meaning = (text: string, size: number): number[] => {
  const vector = Array.from({ length: size }, (_, i) => 0.01 * (i + 1))
  for (const [i, words] of Object.values(directions).entries())
    if (words.some((word) => text.includes(word))) vector[i] = 1
  return vector
}

const PATIENCE_MS = vectorPatience.ms
/** A busy machine may need longer for a vector that comes at once. */
const LONG_MS = 60_000

let server: EmbeddingServer
let t: TestApp
let ada: Person
let projectId: string
beforeAll(async () => {
  vectorPatience.ms = LONG_MS
  server = new EmbeddingServer()
  server.vectors = (text) => meaning(text, 5)
  t = await ownApp(undefined, { EMBEDDINGS_URL: server.url, EMBEDDINGS_MODEL: 'small', EMBEDDINGS_DIMENSIONS: '5' })
  ada = await person(t)
  projectId = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })).body.id
})
afterAll(async () => {
  vectorPatience.ms = PATIENCE_MS
  await t.close()
  await server.stop()
})

const modelsOf = async (recordId: string, app: App = t.app) =>
  (
    await app.db
      .select({ model: passageVectors.model })
      .from(passageVectors)
      .innerJoin(passages, eq(passages.id, passageVectors.passageId))
      .where(eq(passages.recordId, recordId))
      .orderBy(passageVectors.model)
  ).map((row) => row.model)
const store = async (content: string, extra = {}) => {
  const { status, body } = await ada.fetch<{
    id: string
    similar: { id: string; similarity: number }[]
    embeddingModel: string | null
  }>('POST', '/api/memories', { content, scopeId: projectId, ...extra })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const found = async (query: string, app: App = t.app) => {
  const ctx = { ...(await ada.ctx()), app }
  const { items, mode } = await memory.search(ctx, { query, scopeId: projectId, limit: 20 })
  return { ids: items.map((item) => item.id), mode }
}
const hanging = () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  server.answer = () => promise
  vectorPatience.ms = PATIENCE_MS
  return () => {
    vectorPatience.ms = LONG_MS
    server.answer = undefined
    resolve(new Response('late', { status: 500 }))
  }
}

test('the model waits while many records are being changed', async () => {
  const memory = await store('stored in the midst of many others')
  await t.app.db.delete(passageVectors)
  const burst = burstOf(t.app)
  for (let i = 0; i < 20; i++) burst.noteChange()
  const { vectors } = server
  const seen: boolean[] = []
  server.vectors = (...asked) => {
    seen.push(burst.isOn)
    return vectors(...asked)
  }
  await embedMissing(systemCtx(t), {})
  server.vectors = vectors
  expect(new Set(seen)).toEqual(new Set([false]))
  expect(await modelsOf(memory.id)).toHaveLength(1)
})

describe('storing a memory', () => {
  test('takes a vector of any length, and search finds the same meaning in other words', async () => {
    const first = await store('The dog sleeps in the kitchen.')
    expect(first.embeddingModel).toBe('http:small:5')
    const read = await ada.fetch<typeof first>('GET', `/api/memories/${first.id}`)
    expect(read.body.embeddingModel).toBe('http:small:5')
    const listed = await ada.fetch<{ items: (typeof first)[] }>('GET', `/api/memories?scopeId=${projectId}`)
    expect(listed.body.items.find(({ id }) => id === first.id)?.embeddingModel).toBe('http:small:5')
    const second = await store('A hound rests where we cook.')
    expect(second.similar.map((s) => s.id)).toEqual([first.id])
    expect((await store('The invoice is late.')).similar).toEqual([])
    expect((await found('where is the puppy?')).ids.slice(0, 2).sort()).toEqual([first.id, second.id].sort())
  })

  test('does not wait for a model that hangs, and still reports the same words as similar', async () => {
    const first = await store('Backups run at two in the morning on the old machine.')
    const go = hanging()
    const started = performance.now()
    const second = await store('Backups run at three in the morning on the old machine.')
    const took = performance.now() - started
    go()
    expect(second.embeddingModel).toBeNull()
    expect(second.similar.map((s) => s.id)).toEqual([first.id])
    // One patience, and room for a busy machine; a model that hangs is waited for 30 seconds elsewhere.
    expect(took).toBeLessThan(PATIENCE_MS + allowing(3000))
    expect(took).toBeGreaterThanOrEqual(PATIENCE_MS - 5)
    await embedMissing(systemCtx(t), {})
    expect(await modelsOf(second.id)).toEqual(['http:small:5'])
  })

  test('again with the same idempotency key returns the same memory, with or without a vector', async () => {
    const body = { content: 'Only once.', scopeId: projectId }
    const key = { 'idempotency-key': unique('key') }
    const first = await ada.fetch<{ id: string }>('POST', '/api/memories', body, key)
    const go = hanging()
    const again = await ada.fetch<{ id: string }>('POST', '/api/memories', body, key)
    go()
    expect(again.body.id).toBe(first.body.id)
  })

  test('scales a vector of the client to unit length, and refuses one of another length', async () => {
    const go = hanging()
    const mine = await store('Nothing about animals here.', { embedding: [0, 0, 250, 0, 0] })
    go()
    expect(mine.embeddingModel).toBe('http:small:5')
    expect((await found('the vessel')).ids[0]).toBe(mine.id)
    for (const embedding of [
      [1, 2],
      [0, 0, 0, 0, 0],
      [1e308, 1e308, 1e308, 1e308, 1e308],
    ]) {
      const { status, body } = await ada.fetch<{ errors: { pointer: string }[] }>('POST', '/api/memories', {
        content: 'x',
        scopeId: projectId,
        embedding,
      })
      expect({ status, pointer: body.errors[0]?.pointer }).toEqual({ status: 422, pointer: '/embedding' })
    }
  })
})

describe('a model that cannot be reached', () => {
  test('leaves search by words, which the answer says, until the job’s next attempt', async () => {
    const go = hanging()
    const { id } = await store('The zeppelin hangs in hall four.')
    go()
    server.answer = () => new Response('away', { status: 503 })
    await failure(embedMissing(systemCtx(t), {}))
    expect(await found('zeppelin')).toEqual({ ids: [id], mode: 'words' })
    server.answer = undefined
    await embedMissing(systemCtx(t), {})
    expect((await found('zeppelin')).mode).toBe('hybrid')
    expect(await modelsOf(id)).toEqual(['http:small:5'])
  })

  test('that refuses a text does not stop the others; the text is cut until it fits', async () => {
    const go = hanging()
    const long = await store('longword '.repeat(60))
    const short = await store('fits')
    const never = await store('poison')
    go()
    server.answer = ({ body: { input, model } }) =>
      input.some((text) => text.length > 200 || text.includes('poison'))
        ? new Response('too long', { status: 400 })
        : Response.json({ data: input.map((text, index) => ({ index, embedding: server.vectors(text, model) })) })
    await embedMissing(systemCtx(t), {})
    server.answer = undefined
    expect(await modelsOf(long.id)).toHaveLength(1)
    expect(await modelsOf(short.id)).toHaveLength(1)
    expect(await modelsOf(never.id)).toEqual([])
    expect((await found('poison')).ids).toContain(never.id)
  })
})

/** The same database, with another model in its settings. */
async function changed(EMBEDDINGS_MODEL: string, EMBEDDINGS_DIMENSIONS: string, url = server.url): Promise<App> {
  const driver = new Proxy(t.app.driver, {
    get: (target, name) => {
      if (name === 'close') return async () => undefined
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as Driver
  const { DATA_DIR } = t.app.config
  const config = loadConfig({
    env: { DATA_DIR, PORT: '0', DB_MIN_FREE_MB: '0', EMBEDDINGS_URL: url, EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS },
  })
  return createApp(config, { driver, background: false, log: createLog('error', () => undefined, false) })
}

describe('a change of model', () => {
  test('runs in the background: search uses the old vectors until all new ones are stored', async () => {
    await embedMissing(systemCtx(t), {})
    const dog = await store('Our dog is called Rex.')
    const app = await changed('large', '9')
    server.vectors = (text, model) => meaning(text, model === 'large' ? 9 : 5)
    expect((await found('puppy', app)).ids).toContain(dog.id)
    expect(server.last().body.model).toBe('small')
    const stop = new AbortController()
    let batches = 0
    server.answer = ({ body: { input, model } }) => {
      if (++batches === 1) stop.abort()
      return Response.json({ data: input.map((text, index) => ({ index, embedding: server.vectors(text, model) })) })
    }
    await embedMissing(contextOf(app, system), { signal: stop.signal }).catch(() => undefined)
    server.answer = undefined
    expect(await found('puppy', app)).toMatchObject({ mode: 'hybrid' })
    expect((await found('puppy', app)).ids).toContain(dog.id)
    expect(server.last().body.model).toBe('small')
    await embedMissing(contextOf(app, system), {})
    expect(await modelsOf(dog.id)).toEqual(['http:large:9'])
    expect(await app.db.selectDistinct({ model: passageSigns.model }).from(passageSigns)).toEqual([
      { model: 'http:large:9' },
    ])
    expect((await found('puppy', app)).ids).toContain(dog.id)
    expect(server.last().body.model).toBe('large')
    await app.close()
  })

  test('to another server without the old model lets search use the new vectors so far, and words', async () => {
    const other = new EmbeddingServer()
    other.vectors = (text) => meaning(text, 4)
    other.answer = ({ body: { input, model } }) =>
      model === 'third'
        ? Response.json({ data: input.map((text, index) => ({ index, embedding: meaning(text, 4) })) })
        : new Response('unknown', { status: 404 })
    const app = await changed('third', '4', other.url)
    const { ids, mode } = await found('zeppelin', app)
    expect({ first: ids.length > 0, mode }).toEqual({ first: true, mode: 'hybrid' })
    await embedMissing(contextOf(app, system), {})
    expect((await found('puppy', app)).ids.length).toBeGreaterThan(0)
    await app.close()
    await other.stop()
  })
})

describe('EMBEDDINGS=off', () => {
  test('finds everything by its words and calls no model', async () => {
    const words = await ownApp(undefined, {
      EMBEDDINGS: 'off',
      EMBEDDINGS_URL: server.url,
      EMBEDDINGS_MODEL: 'm',
      EMBEDDINGS_DIMENSIONS: '5',
    })
    const bob = await person(words)
    const scopeId = (await bob.fetch<{ id: string }>('POST', '/api/projects', { name: unique('P') })).body.id
    const asked = server.requests.length
    const { body: stored } = await bob.fetch('POST', '/api/memories', {
      content: 'The hound sleeps in the kitchen.',
      scopeId,
    })
    expect(stored).toMatchObject({ embeddingModel: null })
    const search = async (query: string) =>
      (await bob.fetch<{ items: { id: string }[]; mode: string }>('POST', '/api/memories/search', { query })).body
    expect(await search('kitchen')).toMatchObject({ mode: 'words', items: [{ id: stored.id }] })
    expect((await search('puppy')).items).toEqual([])
    const given = await bob.fetch('POST', '/api/memories', { content: 'Another.', scopeId, embedding: [1, 0, 0, 0, 0] })
    expect([given.status, given.body.detail]).toEqual([422, expect.stringContaining('EMBEDDINGS is off')])
    expect(await embedMissing(systemCtx(words), {})).toBe(0)
    expect(server.requests.length).toBe(asked)
    await words.close()
  })
})

test('the five-minute check for missing vectors does not move the next attempt of a failed job', async () => {
  const runAt = new Date(Date.now() + 3_600_000).toISOString()
  const row = { id: unique('job'), name: 'search.embed', key: 'all', state: 'waiting', attempt: 3, runAt }
  const isEmbedding = eq(jobs.name, row.name)
  await t.app.db.delete(jobs).where(isEmbedding)
  await t.app.db.insert(jobs).values({ ...row, data: {}, createdAt: runAt })
  await askForVectors(systemCtx(t), {})
  expect(await t.app.db.select().from(jobs).where(isEmbedding)).toMatchObject([row])
  await t.app.db.delete(jobs).where(isEmbedding)
})
