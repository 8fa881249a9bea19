import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DbError } from '../../src/db/driver.ts'
import { type EmbeddedDriver, openEmbedded } from '../../src/db/embedded/index.ts'
import { sendGroup } from '../../src/db/embedded/wire/group.ts'
import type { Reply } from '../../src/db/embedded/wire/reader.ts'
import { makeTrip, type Trip } from '../../src/db/embedded/wire/trip.ts'

/** Transactions without queries are sent whole, and those that wait for the disk at the same time share its fsync. */
setDefaultTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'tutti-groups-'))
let db: EmbeddedDriver

beforeAll(async () => {
  db = await openEmbedded({ dir: folder, minFreeBytes: 0 })
  await db.exec('create table things (id int primary key, word text not null); create table log (thing int, word text)')
})
beforeEach(() => db.exec('truncate things, log'))
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

const fsyncs = () => db.status().detail.fsyncs as number
const rowsOf = async (table: string) => (await db.query(`select * from ${table} order by 1`)).rows

/** A thing and its entry in the log, in one transaction. */
async function write(id: number, { word = 'x' as string | null, logged = 'thing' } = {}): Promise<void> {
  const tx = await db.begin()
  tx.defer({ text: 'insert into things values ($1, $2)', params: [id, word] })
  await tx.commit([{ text: `insert into log (${logged}) values ($1)`, params: [id] }])
}

const outcomes = async (writes: Promise<unknown>[]) =>
  (await Promise.allSettled(writes)).map((o) => (o.status === 'fulfilled' ? 'stored' : (o.reason as DbError).code))

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

test('among 16 concurrent grouped writes, each failure is separate and has its own error', async () => {
  await write(7)
  const before = fsyncs()
  const writes = numbers(16).map((i) => {
    if (i === 3) return write(i, { word: null })
    return write(i, { logged: i === 11 ? 'nothing' : 'thing' })
  })
  const expected = numbers(16).map((i) => ({ 3: '23502', 7: '23505', 11: '42703' })[i] ?? 'stored')
  expect(await outcomes(writes)).toEqual(expected)
  // The first is sent alone, because nothing else waits; the others share.
  expect(fsyncs() - before).toBeLessThan(8)
  const there = numbers(16).filter((i) => i !== 3 && i !== 11)
  expect((await rowsOf('things')).map(([id]) => id)).toEqual(there)
  expect((await rowsOf('log')).map(([id]) => id)).toEqual(there)
})

test('a grouped write whose statements must be prepared again is stored', async () => {
  await Promise.all(numbers(4).map((i) => write(i)))
  await db.exec('alter table things alter column word type varchar(50)')
  expect(await outcomes(numbers(8).map((i) => write(i + 4)))).toEqual(Array(8).fill('stored'))
  expect(await rowsOf('things')).toHaveLength(12)
})

test('no grouped write is confirmed before a later fsync', async () => {
  for (let round = 0; round < 20; round++) {
    const before = fsyncs()
    const seen = await Promise.all(numbers(9).map((i) => write(round * 9 + i).then(fsyncs)))
    expect(seen[0]).toBeGreaterThan(before)
    for (const count of seen.slice(1)) expect(count).toBeGreaterThan(before + 1)
  }
})

test('an ordinary transaction takes its turn between grouped writes', async () => {
  const first = numbers(5).map((i) => write(i))
  // Lets them be sent.
  await db.query('select 1')
  const tx = await db.begin()
  const counted = tx.query('select count(*)::int from things')
  const later = numbers(5).map((i) => write(i + 5))
  expect((await counted).rows).toEqual([[5]])
  await tx.query(`insert into things values (100, 'held')`)
  expect((await tx.query('select count(*)::int from things')).rows).toEqual([[6]])
  await tx.rollback()
  expect(await outcomes([...first, ...later])).toEqual(Array(10).fill('stored'))
  expect(await rowsOf('things')).toHaveLength(10)
})

test('a deferred statement runs before the next query, and its failure rejects that query', async () => {
  const tx = await db.begin()
  tx.defer({ text: `insert into things values (1, 'a')`, params: [] })
  expect((await tx.query('select id from things')).rows).toEqual([[1]])
  tx.defer({ text: `insert into things values (1, 'b')`, params: [] })
  expect((await tx.query('select 1').catch((error: DbError) => error)) as DbError).toMatchObject({ code: '23505' })
  await tx.rollback()
  expect(await rowsOf('things')).toEqual([])
})

test('grouped writes that had not begun when the worker ended run on the next worker', async () => {
  const restarts = db.restarts
  const slow = db.query('select pg_sleep(600)', [], { timeout: 200 }).catch((error: DbError) => error.code)
  expect(await outcomes(numbers(6).map((i) => write(i)))).toEqual(Array(6).fill('stored'))
  expect(await slow).toBe('timeout')
  expect(db.restarts).toBe(restarts + 1)
  expect(await rowsOf('things')).toHaveLength(6)
})

test('a grouped write has an unknown outcome if the worker ends between commit and flush', async () => {
  const sent: Trip[] = []
  const units = numbers(3).map(() => makeTrip({ statements: [], timeout: 0, repeatable: true, commits: true }))
  const reported = outcomes(
    units.map(async ({ reply }) => {
      const { error } = await reply
      if (error) throw error
    }),
  )
  let ended = 0
  sendGroup(
    { send: (trip) => void sent.push(trip) },
    units.map(({ trip }) => trip),
    () => ended++,
  )
  const [, first, second, third, flush] = sent
  const reply: Reply = { state: 'idle', tag: '', completed: 0, parsed: 0, broken: false }
  first?.resolve(reply)
  second?.resolve({ ...reply, error: new DbError('23505', 'there already') })
  third?.reject(new DbError('unknown', 'stopped while committing'))
  flush?.reject(new DbError('unavailable', 'stopped'))
  expect(await reported).toEqual(['unknown', '23505', 'unknown'])
  expect(ended).toBe(1)
})
