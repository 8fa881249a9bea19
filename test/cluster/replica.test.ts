import { afterEach, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { checkBackup, isRow, readBackup } from '../../src/backup/file.ts'
import { loadConfig } from '../../src/config.ts'
import { DbError, type Driver } from '../../src/db/driver.ts'
import type { ReplicaOptions } from '../../src/db/postgres/replica.ts'
import { createBackup } from '../../src/features/backups/service.ts'
import * as notes from '../../src/features/notes/service.ts'
import { getAnalytics } from '../../src/features/teams/analytics.ts'
import { exportLines } from '../../src/features/transfer/export.ts'
import { checkStandby as standbyFinding } from '../../src/features/upkeep/doctor-database.ts'
import { createLog } from '../../src/log.ts'
import type { App } from '../../src/services.ts'
import { member, person, systemCtx, type TestApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { startPooler } from './pooler.ts'
import { Programs } from './programs.ts'
import { type Server, startPair, startStandby } from './standby.ts'

/** A streaming standby from which exports, backups and analytics are read. */
let programs: Programs
let primary: Server
let standby: Server
let logged: string[]
let now = 0
const apps: App[] = []

beforeAll(async () => {
  programs = await Programs.create()
  const pair = await startPair(programs)
  primary = pair.primary
  standby = pair.standby
}, 600_000)
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

const configOf = (readUrl = standby.url, url = primary.url) =>
  loadConfig({
    env: {
      DATA_DIR: mkdtempSync(join(tmpdir(), 'tutti-test-')),
      DATABASE_URL: url,
      DATABASE_READ_URL: readUrl,
      TUTTI_SECRET: 'a secret that all of these instances have in common',
      DB_STATEMENT_TIMEOUT_MS: '60000',
      DB_POOL_SIZE: '4',
      EMBEDDINGS: 'off',
    },
  })

/** `mostBehindMs`: long where a test reads old data on purpose, short where it waits for fresh data. */
async function start(replica: Pick<ReplicaOptions, 'mostBehindMs'>, readUrl?: string, url?: string): Promise<TestApp> {
  logged = []
  const log = createLog('info', (line) => void logged.push(line), false)
  const clock = () => new Date(Date.now() + now)
  const app = await createApp(configOf(readUrl, url), { log, clock, replica: { everyMs: 20, ...replica } })
  apps.push(app)
  return { app } as Pick<TestApp, 'app'> as TestApp
}

const FOREVER = { mostBehindMs: 3_600_000 }
const isRead = 'are read from a standby'
const isNotRead = 'the standby is not read'
/** What was said of the standby, in order. */
const said = () =>
  logged.flatMap((line) => (line.includes(isRead) ? ['read'] : line.includes(isNotRead) ? ['not read'] : []))
const caughtUp = async (...apps: TestApp[]) => {
  const [[position] = []] = await primary.run('select pg_current_wal_flush_lsn()::text')
  await until(async () => (await standby.run(`select pg_last_wal_replay_lsn() >= '${position}'`))[0]?.[0])
  for (const { app } of apps) await until(() => app.reads.isStandbyRead)
}

test('analytics and exports read the standby, except for a credential that has just written', async () => {
  const [t, other] = [await start(FOREVER), await start(FOREVER)]
  const ada = await person(t)
  const grace = await member(t, ada, 'member')
  now += 11_000
  await caughtUp(t, other)
  await standby.run('select pg_wal_replay_pause()')
  const ctx = async (who: typeof ada, { app } = t) => {
    const own = await who.ctx()
    return { ...own, app, db: app.db, actor: { ...own.actor, organizationId: ada.organizationId } }
  }
  const counted = async (who: typeof ada, on = t) =>
    (await getAnalytics(await ctx(who, on), { id: ada.organizationId })).notes
  const exported = async (who: typeof ada) => {
    const { pages, end } = await exportLines(await ctx(who), {})
    const lines: object[] = []
    for await (const page of pages) lines.push(...page)
    end()
    return lines.filter((line) => 'entity' in line && line.entity === 'note').length
  }
  try {
    await notes.create(await ctx(ada), { title: 'new', content: '' })
    expect([await counted(ada), await exported(ada)]).toEqual([1, 1])
    expect([await counted(grace), await exported(grace)]).toEqual([0, 0])
    // Another instance knows of the write by its event.
    await until(async () => (await counted(ada, other)) === 1)
    expect(await counted(grace, other)).toBe(0)
    // Ten seconds later the standby is assumed to have it.
    now += 11_000
    expect([await counted(ada), await counted(ada, other)]).toEqual([0, 0])
  } finally {
    await standby.run('select pg_wal_replay_resume()')
  }
  await until(async () => (await counted(grace)) === 1)
}, 300_000)

/** Makes a backup, and returns whether a user is in it. */
async function isSaved(t: TestApp, { email }: { email: string }): Promise<boolean> {
  const path = join(mkdtempSync(join(tmpdir(), 'tutti-test-')), 'backup')
  await createBackup(systemCtx(t), { path })
  const { sha256 } = await checkBackup(path)
  for await (const line of readBackup(path, sha256)) if (isRow(line) && line.includes(email)) return true
  return false
}

test('a backup waits until the standby has caught up, and reads the primary if it does not', async () => {
  const patient = await start(FOREVER)
  expect(await isSaved(patient, await person(patient))).toBe(true)
  expect(standby.wasAsked('declare backup')).toBe(true)
  const used: Driver[] = []
  const cancelled = async (driver: Driver) => {
    used.push(driver)
    if (driver !== patient.app.driver) throw new DbError('40001', 'canceling statement due to conflict with recovery')
  }
  await patient.app.reads.whole(cancelled, () => undefined)
  expect(used.map((driver) => driver === patient.app.driver)).toEqual([false, true])
  const hasty = await start({ mostBehindMs: 200 })
  await standby.run('select pg_wal_replay_pause()')
  try {
    expect(await isSaved(hasty, await person(hasty))).toBe(true)
  } finally {
    await standby.run('select pg_wal_replay_resume()')
  }
}, 300_000)

test('a standby that lags or is down is logged once, causes no errors, and is used again later', async () => {
  const t = await start({ mostBehindMs: 500 })
  const ada = await person(t)
  const notesOf = async () => (await getAnalytics(await ada.ctx(), { id: ada.organizationId })).notes
  const becomes = (what: string) => until(() => said().at(-1) === what)
  await becomes('read')
  await standby.run('select pg_wal_replay_pause()')
  try {
    await notes.create(await ada.ctx(), { title: 'unseen', content: '' })
    await becomes('not read')
    now += 11_000
    expect(await notesOf()).toBe(1)
  } finally {
    await standby.run('select pg_wal_replay_resume()')
  }
  await becomes('read')
  await standby.kill()
  for (let i = 0; i < 20; i++) expect(await notesOf()).toBe(1)
  await becomes('not read')
  const [finding] = await standbyFinding(t.app.config, t.app.driver)
  expect(finding).toMatchObject({ what: 'standby', ok: true, warning: true })
  await standby.start()
  await becomes('read')
  expect(said().filter((what, i, all) => what === all[i - 1])).toEqual([])
  expect(logged.join()).not.toContain('the database is unreachable')
  await until(async () => (await standbyFinding(t.app.config, t.app.driver))[0]?.said.includes('caught up within'))
}, 300_000)

test('a database that is not a standby of the primary is not read, and the start log says why', async () => {
  const t = await start(FOREVER, primary.url)
  expect(logged.find((line) => line.includes(isNotRead))).toContain('it is not a standby')
  const ada = await person(t)
  expect((await getAnalytics(await ada.ctx(), { id: ada.organizationId })).notes).toBe(0)
  const [finding] = await standbyFinding(t.app.config, t.app.driver)
  expect(finding?.said).toContain('it is not a standby')
}, 300_000)

/** Otherwise PgBouncer lets a query wait for two minutes for a server that is away. */
const QUICK = ['query_wait_timeout = 1', 'server_login_retry = 1']

test('a standby is read through PgBouncer, and counts as down while PgBouncer has no backend', async () => {
  const t = await start({ mostBehindMs: 60_000 }, await startPooler(programs, standby.url, ...QUICK))
  const ada = await person(t)
  now += 11_000
  await caughtUp(t)
  expect(await isSaved(t, ada)).toBe(true)
  expect((await getAnalytics(await ada.ctx(), { id: ada.organizationId })).notes).toBe(0)
  await standby.kill()
  expect((await getAnalytics(await ada.ctx(), { id: ada.organizationId })).notes).toBe(0)
  await until(() => said().at(-1) === 'not read')
  await standby.start()
  await until(() => said().at(-1) === 'read')
}, 300_000)

test('after a failover, a standby of the new primary is read and one of the old primary is not', async () => {
  const other = await startStandby(programs, primary, 'other')
  const follow = (port: number | undefined) =>
    other.run(`alter system set primary_conninfo = '${port ? `host=127.0.0.1 port=${port} user=postgres` : ''}'`)
  await follow(undefined)
  await other.run('select pg_reload_conf()')
  await until(async () => (await other.run('select count(*)::int from pg_stat_wal_receiver'))[0]?.[0] === 0)
  await caughtUp()
  await standby.run('select pg_promote()')
  await follow(standby.port)
  await other.run('select pg_reload_conf()')
  const t = await start(FOREVER, other.url, standby.url)
  await until(() => t.app.reads.isStandbyRead)
  // The old primary keeps running alone, and its standby advances further than the new primary.
  const stray = await startStandby(programs, primary, 'stray')
  await primary.run(`select pg_logical_emit_message(false, 'test', repeat('x', 16000000))`)
  const [[ahead] = []] = await standby.run('select pg_current_wal_flush_lsn()::text')
  await until(async () => (await stray.run(`select pg_last_wal_replay_lsn() > '${ahead}'`))[0]?.[0])
  const lost = await start(FOREVER, stray.url, standby.url)
  expect(lost.app.reads.isStandbyRead).toBe(false)
  expect(logged.find((line) => line.includes(isNotRead))).toContain('another timeline')
}, 300_000)

test('the standby needs an external Postgres', () => {
  expect(() => loadConfig({ env: { DATABASE_READ_URL: 'postgres://127.0.0.1/tutti' } })).toThrow(
    'DATABASE_READ_URL is set, so DATABASE_URL must be set too',
  )
})
