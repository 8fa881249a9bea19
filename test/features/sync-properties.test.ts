import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { diffArrays } from 'diff'
import fc from 'fast-check'
import { createBackup } from '../../src/features/backups/service.ts'
import { mergeField, mergeLines } from '../../src/features/sync/merge.ts'
import { type Edit, editsBetween } from '../../src/text/line-edits.ts'
import {
  apiKey,
  call,
  member,
  type Person,
  person,
  restored,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
} from '../support/app.ts'
import { Line } from '../support/line.ts'
import { SyncClient } from '../support/sync-client.ts'
import { stepOf, World } from '../support/sync-world.ts'
import { isShort, thorough } from '../support/thorough.ts'

/**
 * Histories with lost answers, cut pushes, changed rights, moves, deletes, wrong clocks, and restores of the server in
 * between. On Postgres the devices take turns with two instances. `./test/run --soak` runs more of them.
 */
const HISTORIES = process.env.SOAK ? Number(process.env.HISTORIES ?? 300) : isShort ? 1 : 2
/** Without SOAK, every run plays the same histories. */
if (!process.env.SOAK) fc.configureGlobal({ seed: 14 })
const folder = mkdtempSync(join(tmpdir(), 'tutti-sync-'))
const t = await sharedApp()
let servers: TestApp[]
let people: [Person, Person]
beforeAll(async () => {
  const ada = await person(t)
  const grace = await member(t, ada, 'member')
  // Keys outlive long runs; sessions have to be renewed.
  people = [
    { ...ada, token: await apiKey(t, ada) },
    { ...grace, token: await apiKey(t, grace) },
  ]
  servers = t.app.driver.kind === 'postgres' ? [t, await testApp()] : [t]
})
afterAll(async () => {
  for (const server of servers.slice(1)) await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Random times: clocks of devices mean nothing. */
const clocks = fc
  .infiniteStream(fc.date({ noInvalidDate: true }))
  .map((dates) => () => dates.next().value.toISOString())

test('devices converge, lose no edit and overwrite nothing unseen, in any order of events', async () => {
  const history = fc.array(stepOf(['restore']), { minLength: 15, maxLength: 30, size: 'max' })
  await fc.assert(
    fc.asyncProperty(history, clocks, async (steps, clock) => {
      const world = await World.create(servers, people, clock)
      try {
        for (const one of steps) await world.run(one)
        await world.expectConverged()
      } finally {
        await world.close()
      }
    }),
    { numRuns: HISTORIES, endOnFailure: true },
  )
})

thorough(
  'devices converge with a server restored from its backup, including all unsent changes',
  async () => {
    const history = fc.array(stepOf([]), { minLength: 6, maxLength: 9, size: 'max' })
    await fc.assert(
      fc.asyncProperty(history, history, history, clocks, async (before, lost, after, clock) => {
        const world = await World.create(servers, people, clock)
        const file = join(folder, `${Bun.randomUUIDv7()}.backup`)
        for (const one of before) await world.run(one)
        await createBackup(systemCtx(t), { path: file })
        for (const one of lost) await world.run(one)
        const other = await restored(t, file)
        await world.moveTo(other)
        for (const one of after) await world.run(one)
        await world.expectConverged()
        await world.close()
        await other.close()
      }),
      { numRuns: process.env.SOAK ? 5 : 1, endOnFailure: true },
    )
  },
  600_000,
)

test('merging with an unchanged version returns the other version', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (b, x) => {
      for (const kind of ['value', 'text'] as const) {
        expect(mergeField(kind, b, x, b)).toEqual({ value: x, how: 'unchanged' })
        expect(mergeField(kind, b, x, x)).toEqual({ value: x, how: 'unchanged' })
        expect(mergeField(kind, b, b, x)).toMatchObject({ value: x })
      }
    }),
  )
  const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'))
  fc.assert(
    fc.property(tags, tags, tags, (b, x, y) => {
      const [one, two] = [mergeField('set', b, x, y), mergeField('set', b, y, x)]
      if (one === 'conflict' || two === 'conflict') throw new Error('sets never conflict')
      expect([...(one.value as string[])].sort()).toEqual([...(two.value as string[])].sort())
    }),
  )
})

test('large sets are merged in linear time', () => {
  const many = (name: string) => Array.from({ length: 100_000 }, (_, i) => `${name}${i}`)
  const result = mergeField('set', many('a'), ['kept'], many('b'))
  expect(result === 'conflict' ? [] : result.value).toHaveLength(100_001)
})

test('lines that both sides changed conflict, other lines are merged, and large texts are refused', () => {
  expect(mergeLines('a\nb\nc', 'A\nb\nc', 'a\nb\nC')).toBe('A\nb\nC')
  expect(mergeLines('a\nb\nc', 'A\nb\nc', 'X\nb\nc')).toBeUndefined()
  expect(mergeLines('a\nb\nc', 'a\nc', 'a\nb\nc\nd')).toBe('a\nc\nd')
  expect(mergeLines('a', 'a\nx', 'a\ny')).toBeUndefined()
  const long = Array.from({ length: 20_001 }, (_, i) => i).join('\n')
  expect(mergeLines(long, `x\n${long}`, `${long}\ny`)).toBeUndefined()
  const other = Array.from({ length: 3000 }, (_, i) => `x${i}`).join('\n')
  expect(mergeLines('a', other, 'b')).toBeUndefined()
})

test('editsBetween finds the edits that diffArrays finds, and has the same limit', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 14 })
  const applied = (before: string[], edits: readonly Edit[]) =>
    edits.reduceRight((text, { from, to, lines: put }) => text.toSpliced(from, to - from, ...put), before)
  fc.assert(
    fc.property(lines, lines, fc.integer({ min: 0, max: 12 }), (before, after, most) => {
      const edits = editsBetween(before, after, most)
      const parts = diffArrays(before, after, { maxEditLength: most })
      if (!edits || !parts) return expect(edits).toBe(parts as undefined)
      expect(applied(before, edits)).toEqual(after)
      const size = edits.reduce((sum, edit) => sum + edit.to - edit.from + edit.lines.length, 0)
      expect(size).toBe(parts.reduce((sum, part) => sum + (part.added || part.removed ? part.value.length : 0), 0))
    }),
    { numRuns: 300 },
  )
})

test('random pushes are refused or decided on, and never break the server', async () => {
  const [ada] = people
  const client = new SyncClient(ada, 'fuzz')
  await client.register()
  const { deviceId } = client
  const uuid = fc.constantFrom(Bun.randomUUIDv7(), Bun.randomUUIDv7(), 'x', '')
  const entity = fc.constantFrom(...t.app.records.synced.map((one) => one.entity), 'user', '__proto__', 'constructor')
  const names = fc.constantFrom(
    'title',
    'projectId',
    'tags',
    'version',
    '__proto__',
    'fromId',
    'organizationId',
    'body',
  )
  const fields = fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
  const mutation = fc.record(
    {
      mutationId: fc.constant(0).map(() => Bun.randomUUIDv7()),
      entity,
      id: fc.constant(0).map(() => Bun.randomUUIDv7()),
      op: fc.constantFrom('upsert', 'delete'),
      fields,
      base: fc.oneof(fields, fc.constant(null)),
      at: fc.string({ maxLength: 10 }),
      via: uuid,
    },
    { requiredKeys: ['mutationId', 'entity', 'id', 'op'] },
  )
  const body = fc.oneof(
    { weight: 5, arbitrary: fc.array(mutation, { maxLength: 4 }).map((mutations) => ({ deviceId, mutations })) },
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  )
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const text = typeof sent === 'string' ? sent : JSON.stringify(sent)
      const { status, body: answer } = await ada.fetch('POST', '/api/sync/push', text, {
        'content-type': 'application/json',
      })
      if (status >= 500 || ![200, 400, 413, 415, 422].includes(status))
        throw new Error(`${status} ${JSON.stringify(answer)}`)
    }),
    { numRuns: 50 * HISTORIES },
  )
  await ada.fetch('DELETE', `/api/sync/devices/${deviceId}`)
})

test('a push is refused as a whole if it is too large or incomplete', async () => {
  const [ada] = people
  const client = new SyncClient(ada, 'large')
  await client.register()
  const { deviceId } = client
  const note = (content: string) => {
    const ids = { mutationId: Bun.randomUUIDv7(), id: Bun.randomUUIDv7() }
    return { ...ids, entity: 'note', op: 'upsert', fields: { title: ids.id, content } }
  }
  const stored = async (list: { id: string }[]) => {
    const found = await Promise.all(list.map(({ id }) => ada.fetch('GET', `/api/notes/${id}`)))
    return found.filter(({ status }) => status === 200).length
  }
  const many = Array.from({ length: 501 }, () => note('x'))
  expect((await ada.fetch('POST', '/api/sync/push', { deviceId, mutations: many })).status).toBe(422)
  const large = Array.from({ length: 9 }, () => note('x'.repeat(1_000_000)))
  const refused = await ada.fetch('POST', '/api/sync/push', { deviceId, mutations: large })
  expect(refused.status).toBe(413)
  const long = [note('x'.repeat(1 << 20)), note('x')]
  const answer = await ada.fetch<{ receipts: object[] }>('POST', '/api/sync/push', { deviceId, mutations: long })
  expect(answer.body.receipts).toMatchObject([{ status: 'rejected', code: 'too_large' }, { status: 'applied' }])
  const line = await Line.to(t.url)
  line.breakNext('request')
  const headers = { authorization: `Bearer ${ada.token}`, connection: 'close' }
  const half = [note('x'.repeat(100)), note('y'.repeat(100))]
  await expect(call(line, 'POST', '/api/sync/push', { deviceId, mutations: half }, headers)).rejects.toThrow()
  line.close()
  expect(await Promise.all([many, large, long, half].map((list) => stored(list.slice(0, 3))))).toEqual([0, 0, 1, 0])
})
