import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '../../migrations/index.ts'
import { dumpDatabase } from '../../src/backup/dump.ts'
import type { BackupLine } from '../../src/backup/file.ts'
import { loadBackup } from '../../src/backup/load.ts'
import { newId } from '../../src/db/columns.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { applyMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { drizzleOver } from '../../src/db/session.ts'
import { listPartitions } from '../../src/db/table-partitions.ts'
import { insertEvent } from '../../src/events/event.ts'
import { isBlockedByDependents, partitionEvents } from '../../src/events/partitions.ts'
import { readPageAfter } from '../../src/events/reader.ts'
import { type EventBatch, EventTail } from '../../src/events/tail.ts'
import { checkEventParts } from '../../src/features/upkeep/doctor-database.ts'
import { divideEvents } from '../../src/features/upkeep/event-parts.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { replayRefusal } from '../../src/live/replay.ts'
import { ownApp, TestClock } from '../features/support.ts'
import { systemCtx, type TestApp } from '../support/app.ts'
import { freshDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { makeEvent, quietLog } from './events-support.ts'

const onPostgres = process.env.TEST_DB === 'postgres'
const origin = newId()
const opened: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of opened.reverse()) await close()
})

/** The name of a database with all tables, which is copied because creating them takes a second. */
let made: Promise<string> | undefined
async function template(): Promise<string> {
  const { url, drop } = await freshDatabase()
  const driver = await openPostgres({ url, poolSize: 2 })
  await applyMigrations(driver, migrations)
  await driver.close()
  opened.push(drop)
  return new URL(url).pathname.slice(1)
}
async function openDatabase(): Promise<Driver> {
  made ??= template()
  const { url, drop } = await freshDatabase(undefined, await made)
  const driver = await openPostgres({ url, poolSize: 8, statementTimeout: 60_000 })
  opened.push(() => driver.close().then(drop))
  return driver
}
const one = async (driver: Driver, text: string) => (await driver.query(text)).rows[0]?.[0]
const seqs = async (driver: Driver) => (await driver.query('select seq from events order by seq')).rows.map(Number)

/** Stores events in one transaction, `at` a time. */
async function write(driver: Driver, types: readonly string[], at?: string): Promise<void> {
  const tx = await driver.begin()
  await tx.commit(types.map((type) => insertEvent({ ...makeEvent(origin, type), ...(at && { at }) })))
}
/** Begins the next part, with limits that a test can reach. */
async function divide(driver: Driver): Promise<string | undefined> {
  await driver.exec('analyze events')
  return partitionEvents(driver, { rows: 1, ageMs: 0, now: new Date(Date.now() + 60_000) })
}
const partEnd = (next: string | undefined) => Number(next?.slice('events_'.length))
const lastIs = (driver: Driver, seq: number) => driver.query(`select setval('events_seq_seq', ${seq})`)

test.skipIf(onPostgres)('the embedded database keeps one table', async () => {
  const t = await ownApp()
  await write(t.app.driver, ['a'])
  await t.app.driver.exec('analyze events')
  await divideEvents(systemCtx(t), { rows: 1 })
  expect(await listPartitions(t.app.driver, 'events')).toBeUndefined()
  await t.close()
})

describe.skipIf(!onPostgres)('partitioned events', () => {
  test('are counted by doctor, which warns of very many events in one table', async () => {
    const driver = await openDatabase()
    await write(driver, ['a', 'b'])
    await driver.exec('analyze events')
    expect(await checkEventParts(driver)).toEqual([])
    expect(await checkEventParts(driver, 1)).toMatchObject([{ ok: true, warning: true, said: 'about 2 in one table' }])
    await divide(driver)
    expect(await checkEventParts(driver, 1)).toEqual([{ what: 'events', ok: true, said: 'in 2 parts' }])
  })

  test('are read once each while the table is partitioned under writers and a reader', async () => {
    const driver = await openDatabase()
    await write(driver, ['first'])
    const batches: EventBatch[] = []
    const tail = new EventTail(drizzleOver(driver), async (batch) => void batches.push(batch), quietLog)
    await tail.start()
    const ended = new AbortController()
    const writer = async (n: number) => {
      for (let i = 0; !ended.signal.aborted; i++) {
        const tx = await driver.begin()
        await tx.query(
          insertEvent(makeEvent(origin, `w${n}.${i}`)).text,
          insertEvent(makeEvent(origin, `w${n}.${i}`)).params,
        )
        await (i % 5 === 4 ? tx.rollback() : tx.commit())
      }
    }
    const reader = async () => {
      while (!ended.signal.aborted) await tail.read()
    }
    const running = [writer(1), writer(2), writer(3), reader()]
    const grows = async () => {
      const before = Number(await one(driver, 'select last_value from events_seq_seq'))
      await until(async () => Number(await one(driver, 'select last_value from events_seq_seq')) > before + 20)
    }
    try {
      for (let n = 1; n <= 2; n++) {
        await grows()
        const next = await divide(driver)
        await grows()
        await lastIs(driver, partEnd(next) - 10)
        await grows()
      }
    } finally {
      ended.abort()
      await Promise.all(running)
    }
    await tail.read()
    const parts = (await listPartitions(driver, 'events')) ?? []
    expect(parts.length).toBe(3)
    for (const { name } of parts) expect(Number(await one(driver, `select count(*) from "${name}"`))).toBeGreaterThan(5)
    const read = batches.flatMap(({ rows }) => rows.map(({ seq }) => seq))
    expect(new Set(read).size).toBe(read.length)
    expect(read.toSorted((a, b) => a - b)).toEqual((await seqs(driver)).slice(1))
    for (const { rows } of batches)
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq).toSorted((a, b) => a - b))
  })

  test('keep the definition of the table and its indexes', async () => {
    const driver = await openDatabase()
    // Roles belong to the whole server, which other tests use at the same time.
    const role = `tutti_test_${newId().replaceAll('-', '')}`
    await driver.exec(`create role ${role}; grant select on events to ${role}; grant insert on events to public`)
    opened.push(() => driver.exec(`drop owned by ${role}; drop role ${role}`))
    await write(driver, ['a', 'b'])
    const looks = async () => [
      ...(
        await driver.query(`select attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid)
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid = 'events'::regclass and attnum > 0 and not attisdropped order by attnum`)
      ).rows,
      ...(
        await driver.query(`select replace(indexdef, ' ON ONLY ', ' ON ') from pg_indexes where tablename = 'events'
        order by indexname`)
      ).rows,
      ...(
        await driver.query(`select grantee::regrole::text, privilege_type from pg_class, aclexplode(relacl)
        where oid = 'events'::regclass order by 1, 2`)
      ).rows,
      await one(driver, `select pg_get_serial_sequence('events', 'seq')`),
    ]
    const files = async (table: string) =>
      (
        await driver.query(`select pg_relation_filenode(indexrelid) from pg_index where indrelid = '${table}'::regclass
        order by 1`)
      ).rows
    const [before, built] = [await looks(), await files('events')]
    await divide(driver)
    expect(await looks()).toEqual(before)
    expect(await files('events_0')).toEqual(built)
    expect(await one(driver, `select bool_and(indisvalid) from pg_index where indrelid = 'events'::regclass`)).toBe(
      true,
    )
    expect(await one(driver, `select count(*) from pg_constraint where conname = 'events_end'`)).toBe('0')
  })

  test('continue an interrupted partitioning, and move a bound that came too near', async () => {
    const driver = await openDatabase()
    for (let step = 0, parts = 1; step <= 4; step++) {
      await write(driver, ['a'])
      let left = step
      const failing = new Proxy(driver, {
        get: (target, name) => {
          if (name === 'exec' && left-- === 0) return () => Promise.reject(new Error('killed'))
          const value = Reflect.get(target, name, target) as unknown
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      const begun = await divide(failing).catch(() => undefined)
      await write(driver, ['b'])
      const waiting = await one(
        driver,
        `select pg_get_constraintdef(oid) from pg_constraint where conname = 'events_end'`,
      )
      if (step === 3) await lastIs(driver, Number(/seq < '?(\d+)/.exec(String(waiting))?.[1]) - 1000)
      const next = begun ?? (await divide(driver))
      if (waiting) expect(String(waiting).includes(String(partEnd(next)))).toBe(step !== 3)
      expect((await listPartitions(driver, 'events'))?.length).toBe(++parts)
      await lastIs(driver, partEnd(next))
    }
    expect((await seqs(driver)).length).toBe(10)
  })

  test('keep a small or new partition, and a table with a view, as they are', async () => {
    const driver = await openDatabase()
    await write(driver, ['a'])
    await driver.exec('analyze events')
    const now = new Date(Date.now() + 60_000)
    expect(await partitionEvents(driver, { now })).toBeUndefined()
    await driver.exec('create view of_mine as select seq from events')
    expect(isBlockedByDependents(await divide(driver).catch((error: unknown) => error))).toBe(true)
    expect(await listPartitions(driver, 'events')).toBeUndefined()
    await driver.exec('drop view of_mine')
    const next = await divide(driver)
    await lastIs(driver, partEnd(next))
    await write(driver, ['b'])
    await driver.exec('analyze events')
    expect(await partitionEvents(driver, { rows: 1, now })).toBeUndefined()
  })

  test('get an index on each partition while writes continue, also after an interruption', async () => {
    const driver = await openDatabase()
    await write(driver, ['a'])
    await divide(driver)
    await driver.exec(`create index "events_of_test" on only events (ip);
      create index "events_0_of_test" on events_0 (origin)`)
    await driver.exec(`update pg_index set indisvalid = false where indexrelid = 'events_0_of_test'::regclass`)
    const sql = '-- concurrent\nCREATE INDEX CONCURRENTLY "events_of_test" ON "events" USING btree ("ip");\n'
    await applyMigrations(driver, [...migrations, { id: '9999_test', sql }])
    const { rows } =
      await driver.query(`select i.indexrelid::regclass::text, i.indisvalid, pg_get_indexdef(i.indexrelid)
      from pg_index i where i.indexrelid::regclass::text like 'events%of_test' order by 1`)
    expect(rows.map(([name, valid]) => [name, valid]).length).toBe(3)
    for (const [, valid, definition] of rows) expect([valid, String(definition).endsWith('(ip)')]).toEqual([true, true])
  })
})

describe.skipIf(!onPostgres)('old partitioned events', () => {
  const clock = new TestClock()
  let t: TestApp
  beforeAll(async () => {
    t = await ownApp(clock.now)
  })
  afterAll(() => t?.close())
  const ago = (days: number) => new Date(clock.now().getTime() - days * 86_400_000).toISOString()
  const types = async () =>
    (await t.app.driver.query(`select type from events where action = 'test' order by seq`)).rows

  test('are deleted one by one only if no partition can be dropped', async () => {
    const { driver } = t.app
    await driver.query('delete from events')
    await write(driver, ['ancient', 'old', 'c'], ago(500))
    await driver.query(`update events set at = $1 where type = 'old'`, [ago(400)])
    await driver.query(`update events set at = $1 where type = 'c'`, [ago(300)])
    await lastIs(driver, partEnd(await divide(driver)))
    // In the same places as those of the first part.
    await write(driver, ['d', 'e', 'f'], ago(1))
    await purgeExpired(systemCtx(t), {})
    await divideEvents(systemCtx(t), {})
    expect((await types()).flat()).toEqual(['old', 'c', 'd', 'e', 'f'])
  })

  test('are dropped with their partition, which clients cannot tell from deleting them', async () => {
    const { driver } = t.app
    const all = await seqs(driver)
    const to = { high: all.at(-1) as number, holes: [] }
    const answers = () =>
      Promise.all(
        [0, ...all, 50_000].map(async (high) => {
          const from = { high, holes: high > 3 ? [{ from: high - 2, to: high - 1 }] : [] }
          const { rows } = await readPageAfter(t.app.db, from, 100)
          return [await replayRefusal(t.app, from, to), rows.filter(({ seq }) => seq <= to.high)]
        }),
      )
    clock.forward({ days: 66 })
    await driver.query('delete from events_0')
    const deleted = await answers()
    await divideEvents(systemCtx(t), {})
    expect((await listPartitions(driver, 'events'))?.length).toBe(1)
    expect(await answers()).toEqual(deleted)
    expect((await types()).flat()).toEqual(['d', 'e', 'f'])
    expect(await one(driver, `select count(*) from events where action = 'upkeep.dropPart'`)).toBe('1')
  })
})

describe.skipIf(!onPostgres)('a backup of partitioned events', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tutti-test-'))
  opened.push(async () => rmSync(folder, { recursive: true, force: true }))
  const linesOf = async (driver: Driver): Promise<BackupLine[]> => Array.fromAsync(dumpDatabase(driver, { at: 'now' }))
  const ends = (lines: BackupLine[]) => lines.filter((line) => !Array.isArray(line) && 'end' in line)
  const into = async (driver: Driver, lines: BackupLine[]) => {
    async function* given() {
      yield* lines
    }
    await loadBackup(driver, given, { identity: 'one', replace: true })
    expect(ends(await linesOf(driver))).toEqual(ends(lines))
    await write(driver, ['after'])
    const [before, last] = (await seqs(driver)).slice(-2)
    expect(last).toBeGreaterThan(before as number)
  }

  test('can be restored into one table, and the other way round', async () => {
    const [parts, plain] = [await openDatabase(), await openDatabase()]
    for (const driver of [parts, plain]) await write(driver, ['a', 'b'])
    await lastIs(parts, partEnd(await divide(parts)))
    await write(parts, ['c'])
    const [inParts, inOne] = [await linesOf(parts), await linesOf(plain)]
    expect(ends(inParts).some((line) => 'end' in line && line.end === 'events' && line.rows === 3)).toBe(true)
    expect(ends(inParts).length).toBe(ends(inOne).length)
    await into(plain, inParts)
    // Numbers of a part that was dropped have no place, so the tables are made anew.
    await parts.exec('drop table events_0')
    await into(parts, inOne)
    const embedded = await openEmbedded({ dir: join(folder, 'db'), durability: 'relaxed', minFreeBytes: 0 })
    opened.push(() => embedded.close())
    await into(embedded, inParts)
    await divide(plain)
    expect((await listPartitions(plain, 'events'))?.length).toBe(2)
  })
})
