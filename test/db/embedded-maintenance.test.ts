import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedDriver, openEmbedded } from '../../src/db/embedded/index.ts'
import { Maintenance } from '../../src/db/embedded/maintenance.ts'

setDefaultTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'tutti-maintenance-'))
const HOUR = 3_600_000
let db: EmbeddedDriver
let maintenance: Maintenance
let changes = 0
let quiet = true

beforeAll(async () => {
  db = await openEmbedded({ dir: folder, minFreeBytes: 0 })
  const { query, exec } = db
  maintenance = new Maintenance(
    { isReady: () => true, isQuiet: () => quiet, changes: () => changes, query: query.bind(db), run: exec.bind(db) },
    () => expect.unreachable('maintenance should not fail'),
  )
})
afterAll(async () => {
  maintenance.stop()
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

const one = async (text: string) => (await db.query(text)).rows[0]?.[0]
const checkpoint = () => one('select checkpoint_lsn from pg_control_checkpoint()')
const dead = () => one(`select n_dead_tup::int from pg_stat_user_tables where relname = 'busy'`)

async function runChange(sql: string) {
  await db.query(sql)
  await db.query('select pg_stat_force_next_flush()')
  changes++
}

test('upkeep vacuums dead rows when the database is quiet, or has been busy for long', async () => {
  await db.exec('create table busy (id int, v text)')
  await runChange(`insert into busy select g, 'a' from generate_series(1, 5000) g`)
  await runChange(`update busy set v = 'b'`)
  expect(await dead()).toBe(5000)
  quiet = false
  const now = performance.now()
  await maintenance.vacuumIfDue(now + HOUR)
  expect(await dead()).toBe(5000)
  quiet = true
  await maintenance.vacuumIfDue(now + HOUR + 1000)
  expect(await dead()).toBe(0)
  await runChange(`update busy set v = 'c'`)
  quiet = false
  await maintenance.vacuumIfDue(now + 2 * HOUR)
  expect(await dead()).toBe(5000)
  await maintenance.vacuumIfDue(now + 3 * HOUR)
  expect(await dead()).toBe(0)
})

test('upkeep analyzes a table that has tripled in size, however busy the database is', async () => {
  quiet = false
  const known = () => one(`select reltuples::int from pg_class where relname = 'grown'`)
  const grow = async (rows: number) => {
    await runChange(`insert into grown select g from generate_series(1, ${rows}) g`)
    await maintenance.analyzeIfDue()
  }
  await db.exec('create table grown (id int)')
  await grow(100)
  expect(await known()).toBe(-1)
  await grow(100)
  expect(await known()).toBe(200)
  await grow(400)
  expect(await known()).toBe(200)
  await grow(600)
  expect(await known()).toBe(1200)
  // A row that is updated repeatedly is no growth.
  for (let i = 0; i < 5; i++) await runChange('update grown set id = id')
  await maintenance.analyzeIfDue()
  expect(await known()).toBe(1200)
})

test('upkeep keeps prepared statements', async () => {
  const prepared = () => db.status().detail.prepared as number
  await db.query('select id from grown')
  const before = prepared()
  for (const sql of ['CHECKPOINT', 'ANALYZE grown', 'VACUUM (ANALYZE) grown']) await db.exec(sql)
  expect(prepared()).toBe(before)
  await db.exec('alter table grown add column v text')
  expect(prepared()).toBe(0)
})

test('upkeep makes a checkpoint after some time with changes', async () => {
  const now = performance.now()
  const first = await checkpoint()
  await runChange(`insert into busy values (0, 'x')`)
  await maintenance.checkpointIfDue(now + HOUR)
  const second = await checkpoint()
  expect(second).not.toBe(first)
  await maintenance.checkpointIfDue(now + 2 * HOUR)
  expect(await checkpoint()).toBe(second)
  await runChange(`insert into busy values (0, 'y')`)
  await maintenance.checkpointIfDue(now + HOUR + 1000)
  expect(await checkpoint()).toBe(second)
})

test('upkeep makes a checkpoint after an amount of WAL', async () => {
  const now = performance.now()
  const before = await checkpoint()
  for (let i = 0; i < 9; i++) await db.query(`select pg_logical_emit_message(true, 'test', repeat('x', 8000000))`)
  changes++
  await maintenance.checkpointIfDue(now)
  expect(await checkpoint()).not.toBe(before)
})
