import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DbError } from '../../src/db/driver.ts'
import { type EmbeddedDriver, openEmbedded } from '../../src/db/embedded/index.ts'
import { allowing } from '../support/timing.ts'

setDefaultTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'tutti-embedded-'))
const dir = join(folder, 'not', 'yet', 'there')
let db: EmbeddedDriver

beforeAll(async () => {
  db = await openEmbedded({ dir, minFreeBytes: 0 })
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The DbError a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<DbError> {
  const error = await promise.then(
    () => expect.unreachable('it should have failed'),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(DbError)
  return error
}

const one = async (text: string, params: unknown[] = []) => (await db.query(text, params)).rows[0]?.[0]

test('the time limit ends only the runaway statement', async () => {
  await db.query('create table kept (id int)')
  await db.query('insert into kept values (1)')
  const restarts = db.restarts
  let ticks = 0
  const timer = setInterval(() => ticks++, 10)
  const started = performance.now()
  const runaway = failure(db.query('select count(*) from generate_series(1, 1e10)', [], { timeout: 500 }))
  const queued = db.query('insert into kept values (2) returning id')
  expect((await runaway).code).toBe('timeout')
  const elapsed = performance.now() - started
  clearInterval(timer)
  expect(elapsed).toBeWithin(495, allowing(4000))
  expect(ticks).toBeGreaterThan(elapsed / allowing(30))
  expect((await queued).rows).toEqual([[2]])
  expect((await db.query('select id from kept order by id')).rows).toEqual([[1], [2]])
  expect(db.restarts).toBe(restarts + 1)
  expect(db.status().ok).toBe(true)
})

test.skipIf(process.platform !== 'linux')('a replaced worker leaves no open files', async () => {
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  for (let i = 0; i < 3; i++) {
    expect((await failure(db.query('select count(*) from generate_series(1, 1e10)', [], { timeout: 100 }))).code).toBe(
      'timeout',
    )
    await db.query('select 1')
  }
  // The files of a worker that was ended are closed a moment later.
  for (let tries = 0; open() - before >= 20 && tries < 200; tries++) await Bun.sleep(50)
  expect(open() - before).toBeLessThan(20)
})

test('a transaction that the time limit ends is rolled back', async () => {
  const tx = await db.begin()
  await tx.query('insert into kept values (3)')
  expect((await failure(tx.query('select count(*) from generate_series(1, 1e10)', [], { timeout: 200 }))).code).toBe(
    'timeout',
  )
  expect((await failure(tx.query('select 1'))).code).toBe('unavailable')
  await tx.rollback()
  expect(await one('select count(*)::int from kept')).toBe(2)
})

test('a transaction left open is rolled back, and others continue', async () => {
  const short = await openEmbedded({ dir: join(folder, 'left-open'), minFreeBytes: 0, transactionTimeout: 1000 })
  await short.exec('create table t (id int)')
  const left = await short.begin()
  await left.query('insert into t values (1)')
  const waiting = short.query('select count(*)::int from t')
  expect((await waiting).rows).toEqual([[0]])
  expect((await failure(left.query('select 1'))).code).toBe('timeout')
  expect((await failure(left.commit())).code).toBe('timeout')
  const slow = await short.begin()
  await slow.query('select pg_sleep(1.3)', [], { timeout: 0 })
  await slow.query('insert into t values (2)')
  await slow.commit()
  expect((await short.query('select id from t')).rows).toEqual([[2]])
  expect(short.restarts).toBe(0)
  await short.close()
})

test('NOTIFY reaches listeners', async () => {
  const heard: string[] = []
  await db.listen('a', (payload) => void heard.push(payload))
  await db.listen('a', () => {
    throw new Error('a bad listener')
  })
  await db.notify('b', 'not this')
  await db.notify('a', 'this')
  await db.query('select 1')
  expect(heard).toEqual(['this'])
})

test('only the owner can read the files of the embedded database', async () => {
  await db.exec('create table fresh (id int); checkpoint')
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  expect(entries.length).toBeGreaterThan(300)
  // A file may be gone by now.
  const modeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  const open = entries.filter((entry) => (modeOf(join(entry.parentPath, entry.name)) & 0o077) !== 0)
  expect(open.map((entry) => entry.name)).toEqual([])
})

test('a snapshot can be opened and contains all data', async () => {
  const copy = join(folder, 'copy')
  await db.query('create table photographed (id int)')
  const writes = Promise.all(
    Array.from({ length: 50 }, (_, i) => db.query('insert into photographed values ($1)', [i])),
  )
  const snapshot = db.snapshot(join(copy, 'db'))
  await Promise.all([writes, snapshot])
  await db.query('insert into photographed values (1000)')
  const other = await openEmbedded({ dir: copy, minFreeBytes: 0 })
  expect((await other.query('select count(*)::int, max(id) from photographed')).rows).toEqual([[50, 49]])
  await other.close()
})

test('with relaxed durability, writes reach the disk soon afterwards', async () => {
  const relaxed = await openEmbedded({ dir: join(folder, 'relaxed'), durability: 'relaxed', minFreeBytes: 0 })
  const fsyncs = () => Number(relaxed.status().detail.fsyncs)
  const flushed = async () =>
    (await relaxed.query('select pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()')).rows[0]?.[0]
  await relaxed.exec('create table quick (id int); checkpoint')
  const before = fsyncs()
  const started = performance.now()
  for (let i = 0; i < 50; i++) await relaxed.query('insert into quick values ($1)', [i])
  // Not one for each commit, only some every 200 ms.
  expect(fsyncs() - before).toBeLessThan(25 + (performance.now() - started) / 20)
  const deadline = performance.now() + 60_000
  while (!(await flushed()) && performance.now() < deadline) await Bun.sleep(20)
  expect(await flushed()).toBe(true)
  expect(fsyncs()).toBeGreaterThan(before)
  await relaxed.close()
})

test('close refuses new statements, finishes running ones and can be repeated', async () => {
  const other = await openEmbedded({ dir: join(folder, 'closing'), minFreeBytes: 0 })
  await other.exec('create table last (id int)')
  const running = Array.from({ length: 100 }, (_, i) => other.query('insert into last values ($1)', [i]))
  const closing = other.close()
  expect((await failure(other.query('select 1'))).code).toBe('unavailable')
  expect((await failure(other.begin())).code).toBe('unavailable')
  await Promise.all([...running, closing, other.close()])
  expect((await failure(other.query('select 1'))).code).toBe('unavailable')
  const control = await Bun.file(join(folder, 'closing/db/global/pg_control')).bytes()
  expect(new DataView(control.buffer).getUint32(16, true)).toBe(1) // DB_SHUTDOWNED: no recovery at the next start
  const again = await openEmbedded({ dir: join(folder, 'closing'), minFreeBytes: 0 })
  expect((await again.query('select count(*)::int from last')).rows).toEqual([[100]])
  await again.close()
})
