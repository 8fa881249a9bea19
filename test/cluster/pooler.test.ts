import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import type { DbError, Driver } from '../../src/db/driver.ts'
import { openPostgres, type PostgresOptions } from '../../src/db/postgres/database.ts'
import { checkConnections } from '../../src/features/upkeep/doctor-database.ts'
import { StreamClient } from '../live/support.ts'
import { apiKeyFor, freePort, json } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'
import { allowing } from '../support/timing.ts'
import { until } from '../support/until.ts'
import { Instance, settings } from './instances.ts'
import { startPooler } from './pooler.ts'
import { Programs } from './programs.ts'

/** PgBouncer in transaction mode, as operators set it up, and what we say if it lacks something. */
let programs: Programs
let database: Awaited<ReturnType<typeof freshDatabase>>
const opened: Driver[] = []
const logged: string[] = []

beforeAll(async () => {
  programs = await Programs.create()
  database = await freshDatabase()
}, 600_000)
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver.close()
  logged.length = 0
})
afterAll(async () => {
  await programs.stop()
  await database.drop()
})

const pooler = (...settings: string[]) => startPooler(programs, database.url, ...settings)

async function open(options: Omit<PostgresOptions, 'log'>): Promise<Driver> {
  const driver = await openPostgres({ ...options, log: (level, message) => void logged.push(`${level}: ${message}`) })
  opened.push(driver)
  return driver
}
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: DbError) => error.code,
  )

const IGNORING = 'ignore_startup_parameters = jit,statement_timeout,idle_in_transaction_session_timeout'

test('timeouts apply to reads, writes and scripts, and none stays on a connection', async () => {
  for (const settings of [[], [IGNORING]]) {
    const url = await pooler('max_prepared_statements = 200', ...settings)
    const driver = await open({ url, listenUrl: database.url, statementTimeout: 1000 })
    const sleep = 'select pg_sleep(10)'
    expect(await codeOf(driver.query(sleep))).toBe('timeout')
    const tx = await driver.begin()
    expect(await codeOf(tx.query(sleep))).toBe('timeout')
    await tx.rollback()
    expect(await codeOf(driver.query('select pg_sleep(1.5)', [], { timeout: 0 }))).toBe('done')
    await driver.exec('begin; select pg_sleep(1.5); commit')
    const numbers = Array.from({ length: 30 }, (_, n) => n)
    const answers = numbers.map(
      async (n) => (await driver.query('select $1::int', [n], { timeout: 60_000 })).rows[0]?.[0],
    )
    expect(await Promise.all(answers)).toEqual(numbers)
    // Whoever gets the connection next does not have our limits.
    const other = new SQL(url, { max: 1 })
    for (let i = 0; i < 5; i++) expect(await other.unsafe('show statement_timeout').simple().values()).toEqual([['0']])
    await other.close()
    expect(logged).toContain('warn: a pooler is in front of Postgres; time limits are set in every transaction')
    logged.length = 0
  }
}, 300_000)

test('limits already set on the database apply and are not set again, unless they differ from ours', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await using admin = new SQL(database.url, { max: 1 })
  // A limit of the transaction's own has another source.
  const source = `select source from pg_settings where name = 'statement_timeout'`
  try {
    for (const limit of ['statement_timeout = 1000', 'idle_in_transaction_session_timeout = 30000', 'jit = off'])
      await admin.unsafe(`alter database "${name}" set ${limit}`)
    for (const settings of [[], [IGNORING]]) {
      const url = await pooler('max_prepared_statements = 200', ...settings)
      const driver = await open({ url, listenUrl: database.url, statementTimeout: 1000 })
      const tx = await driver.begin()
      expect((await tx.query(source)).rows).toEqual([['database']])
      expect(await codeOf(tx.query('select pg_sleep(10)'))).toBe('timeout')
      await tx.rollback()
      expect(await codeOf(driver.query('select pg_sleep(10)'))).toBe('timeout')
      expect(logged.filter((line) => line.includes('every transaction'))).toEqual([])
      const said = (await checkConnections(driver)).map(({ what, warning }) => [what, warning])
      expect(said).toContainEqual(['pooler', undefined])
      const other = await open({ url, listenUrl: database.url, statementTimeout: 2000 })
      const begun = await other.begin()
      expect((await begun.query(source)).rows).toEqual([['session']])
      await begun.rollback()
      const found = await checkConnections(other)
      expect(found.find(({ what }) => what === 'pooler')?.advice).toContain(
        'alter role postgres set statement_timeout = 2000. Then',
      )
      logged.length = 0
    }
  } finally {
    await admin.unsafe(`alter database "${name}" reset all`)
  }
}, 300_000)

test('notifications arrive through LISTEN_URL; without it the start log and doctor warn', async () => {
  const url = await pooler('max_prepared_statements = 200')
  const heard: string[] = []
  const deaf = await open({ url })
  await deaf.listen('news', (payload) => void heard.push(payload))
  expect(deaf.isListening).toBe(false)
  expect(logged.filter((line) => line.includes('polling every second'))).toHaveLength(1)
  const findings = await checkConnections(deaf)
  expect(findings.map(({ what, warning }) => [what, warning])).toEqual([
    ['listening', true],
    ['pooler', true],
  ])
  expect(findings[0]?.advice).toContain('LISTEN_URL')
  const driver = await open({ url, listenUrl: database.url })
  await driver.listen('news', (payload) => void heard.push(payload))
  await until(async () => {
    await driver.notify('news', 'it works')
    return heard.includes('it works')
  })
  await until(async () => (await checkConnections(driver))[0]?.said === 'notifications arrive')
}, 300_000)

test('instances behind a pooler receive notifications from each other through LISTEN_URL', async () => {
  const url = await pooler('max_prepared_statements = 200')
  const env = { ...settings(0, 'http://localhost'), DATABASE_URL: url, LISTEN_URL: database.url }
  const instances = [freePort(), freePort(), freePort()].map((port) => new Instance(port, env)) as [
    Instance,
    ...Instance[],
  ]
  await Promise.all(instances.map((instance) => instance.start()))
  const [writer, ...readers] = instances
  const key = await apiKeyFor({ ...writer.server, url: writer.url })
  const team = await fetch(`${writer.url}/api/team`, { headers: { authorization: `Bearer ${key}` } })
  const topic = `organization:${((await team.json()) as { id: string }).id}`
  const streams = await Promise.all(readers.map((instance) => StreamClient.open(instance, key, [topic])))
  for (let n = 1; n <= 3; n++) {
    // Other users receive no event about a personal note.
    const note = json('POST', { title: `note ${n}`, content: 'heard', scope: 'team' }, key)
    const written = performance.now()
    expect((await fetch(`${writer.url}/api/notes`, note)).status).toBe(201)
    for (const stream of streams) await stream.until('note.created', n)
    expect(performance.now() - written).toBeLessThan(allowing(1000))
  }
  for (const stream of streams) await stream.close()
  await Promise.all(instances.map((instance) => instance.kill()))
}, 300_000)

test('the start log names a pooler that loses prepared statements', async () => {
  const url = await pooler('max_prepared_statements = 0')
  const refused = await open({ url }).then(
    () => undefined,
    (error: DbError) => error.message,
  )
  expect(refused).toContain('max_prepared_statements')
}, 300_000)
