import { beforeAll, describe, expect, test } from 'bun:test'
import type { Mutation, Pushed } from '../../src/features/sync/schema.ts'
import { type Person, person, sharedApp, unique } from '../support/app.ts'
import { longestStretch, slowness } from '../support/cpu.ts'
import { SyncClient } from '../support/sync-client.ts'

const t = await sharedApp()
const SLOWNESS = slowness()

/** Lines of one letter in another order for each seed: comparing two of them takes as long as a limit allows. */
function scrambled(seed: number): string {
  let state = seed
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return state >> 8
  }
  return Array.from({ length: 1500 }, () => 'abcdefghij'[next() % 10]).join('\n')
}

let ada: Person
let client: SyncClient
let note: string
beforeAll(async () => {
  ada = await person(t)
  client = new SyncClient(ada, 'laptop')
  await client.register()
  const made = await ada.fetch<{ id: string }>('POST', '/api/notes', { title: unique('Long'), content: scrambled(1) })
  note = made.body.id
})

/** Changes whose three texts all differ, so that the server has to compare them. */
const edits = (count: number): Mutation[] =>
  Array.from({ length: count }, (_, i) => ({
    mutationId: Bun.randomUUIDv7(),
    entity: 'note',
    id: note,
    op: 'upsert',
    base: { content: scrambled(2 * i + 2) },
    fields: { content: scrambled(2 * i + 3) },
  }))
const push = (mutations: Mutation[]) =>
  ada.fetch<Pushed>('POST', '/api/sync/push', { deviceId: client.deviceId, mutations })

describe('POST /api/sync/push of changes that take long to merge', () => {
  test('decides on some of them without blocking the event loop, and on all when repeated', async () => {
    let open = edits(120)
    const pushes: { decided: number; held: number }[] = []
    while (open.length > 0) {
      let receipts: Pushed['receipts'] = []
      const held = await longestStretch(async () => {
        receipts = (await push(open)).body.receipts
      })
      pushes.push({ decided: receipts.length, held })
      expect(receipts.map(({ mutationId, status }) => [mutationId, status])).toEqual(
        open.slice(0, receipts.length).map(({ mutationId }) => [mutationId, 'conflict']),
      )
      open = open.slice(receipts.length)
    }
    expect(pushes.length).toBeGreaterThan(1)
    expect(Math.min(...pushes.map(({ decided }) => decided))).toBeGreaterThan(0)
    // Compilation and garbage collection come on top by chance.
    expect(Math.min(...pushes.map(({ held }) => held))).toBeLessThan(50 * SLOWNESS)
  }, 60_000)

  test('is applied before another push of the same user begins', async () => {
    const order: string[] = []
    const mutations = edits(20)
    const first = push(mutations).then(() => order.push('first'))
    const hasBegun = async () => {
      const { rows } = await t.app.driver.query('select 1 from sync_receipts where mutation_id = $1', [
        mutations[0]?.mutationId ?? '',
      ])
      return rows.length > 0
    }
    while (!(await hasBegun())) await Promise.resolve()
    const second = push(edits(1)).then(() => order.push('second'))
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'second'])
  }, 30_000)

  test('returns 429 to a user with several waiting pushes', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => push(edits(5))))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.headers.get('retry-after')).toBe('1')
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
  }, 30_000)
})
