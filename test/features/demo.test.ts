import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { demoSettings, prepareDemo } from '../../cli/operating/demo.ts'
import { openDemo, visitor } from '../../seeds/index.ts'
import { contextOf } from '../../src/action.ts'
import { tools } from '../../src/all-features.ts'
import { oneTimeSecrets } from '../../src/auth/table.ts'
import { printLink, withdrawLinks } from '../../src/features/codes/service.ts'
import { announcements } from '../../src/features/notifications/table.ts'
import { toolSuccess } from '../../src/mcp/result.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { kindInfo, recordNames } from '../../src/records/names.ts'
import { statuses } from '../../src/records/task-states.ts'
import { call, person, systemCtx, type TestApp } from '../support/app.ts'
import { failure, ownApp } from './support.ts'

/** A demo begins with an installation without users, so it gets one of its own. Its clock stands still, as with --at. */
const now = new Date('2026-11-17T16:12:00.000Z')
let t: TestApp
let link: string
let token: string

const open = () => openDemo(systemCtx(t), {})
const follow = (path: string) =>
  call<{ token: string; user: { email: string; role: string } }>(t, 'POST', '/api/auth/magic-link/verify', {
    token: path.split('#')[1],
  })

type Row = Record<string, unknown>
/** Reads what the visitor sees in a list. */
async function list<T = Row>(path: string): Promise<T[]> {
  const { status, body } = await call<{ items: T[] }>(t, 'GET', `/api${path}`, undefined, {
    authorization: `Bearer ${token}`,
  })
  expect([path, status]).toEqual([path, 200])
  return body.items
}
const values = (rows: readonly Row[], field: string) => new Set(rows.map((row) => row[field]))

beforeAll(async () => {
  t = await ownApp(() => now)
  link = await open()
  token = (await follow(link)).body.token
}, 300_000)
afterAll(() => t.close())

describe('the printed link of the demo', () => {
  test('signs in as the visitor, once, in any browser', async () => {
    expect(link).toMatch(/^\/magic#svc_/)
    const me = await call(t, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${token}` })
    expect(me.body).toMatchObject({ email: visitor.email, role: 'admin' })
    expect(await follow(link)).toMatchObject({ status: 410, body: { code: 'gone' } })
  })

  test('is replaced by the next one, and ends with the server', async () => {
    const [first, second] = [await open(), await open()]
    expect((await follow(first)).status).toBe(410)
    await withdrawLinks(systemCtx(t), {})
    expect((await follow(second)).status).toBe(410)
  })

  test('does not work in the next server if its own server ended without a stop', async () => {
    const left = await open()
    expect(await prepareDemo(systemCtx(t))).toBeUndefined()
    expect((await follow(left)).status).toBe(410)
    expect(await prepareDemo(systemCtx(t), true)).toMatch(/^\/magic#svc_/)
  })

  test('is stored only as a hash, and created only by the machine', async () => {
    const secret = (await open()).split('#')[1] as string
    const rows = await t.app.db.select().from(oneTimeSecrets).where(eq(oneTimeSecrets.purpose, 'printed_link'))
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(secret)
    const boss = await person(t, { admin: true })
    expect(await failure(printLink(await boss.ctx(), { email: visitor.email }))).toMatchObject({ code: 'forbidden' })
    expect(await failure(withdrawLinks(await boss.ctx(), {}))).toMatchObject({ code: 'forbidden' })
  })
})

describe('the visitor of the demo sees', () => {
  test('records of every kind', async () => {
    const [epic] = await list<{ id: string }>('/projects/lantern/epics')
    const paths = {
      epic: '/projects/lantern/epics',
      story: `/projects/lantern/epics/${epic?.id}/stories`,
      feature: '/projects/lantern/features',
    }
    for (const name of recordNames) {
      const path = paths[name as keyof typeof paths] ?? (kindInfo(name).path as string)
      expect([name, (await list(path)).length > 0]).toEqual([name, true])
    }
  })

  test('tasks in every state, some of them held right now', async () => {
    const tasks = await list<Row & { key: string; lease: { holder: { type: string }; lastSeenAt: string } | null }>(
      '/tasks?limit=200',
    )
    expect(tasks.length).toBeGreaterThan(70)
    expect(values(tasks, 'status')).toEqual(new Set(statuses))
    expect(values(tasks, 'priority').size).toBe(4)
    const held = tasks.filter(({ lease }) => lease?.holder.type === 'agent')
    expect(held.map(({ key }) => key).sort()).toEqual(['LAN-39', 'LAN-42', 'LAN-45'])
    for (const { lease } of held) expect(now.getTime() - Date.parse(lease?.lastSeenAt ?? '')).toBeLessThan(60_000)
    const { body } = await call(t, 'GET', '/api/tasks/LAN-42', undefined, { authorization: `Bearer ${token}` })
    expect(body).toMatchObject({
      title: 'Read a book with no network, from the first page',
      acceptance: [{ done: true }, { done: true }, { done: false }, { done: false }],
      waitsFor: [{ key: 'LAN-33' }, { key: 'LAN-36' }],
      frees: [{ key: 'LAN-52' }, { key: 'LAN-57' }],
    })
  })

  test('features at every stage, with evidence of every level', async () => {
    const features = [
      ...(await list<Row & { id: string }>('/projects/lantern/features')),
      ...(await list<Row & { id: string }>('/projects/harbour/features')),
    ]
    expect(values(features, 'status')).toEqual(
      new Set(['todo', 'in_progress', 'in_testing', 'in_docs', 'in_review', 'needs_edits', 'done']),
    )
    const show = async (name: string) => {
      const path = `/api/features/${features.find(({ title }) => title === name)?.id}`
      const headers = { authorization: `Bearer ${token}` }
      return (await call<{ status: string; evidence: Row[]; reviews: Row[] }>(t, 'GET', path, undefined, headers)).body
    }
    const body = await show('Offline reading')
    expect(values(body.evidence, 'level')).toEqual(new Set(['reported', 'observed', 'verified']))
    expect(await show('Shared shelves')).toMatchObject({
      status: 'in_progress',
      evidence: [{ level: 'missing', missing: [{ item: '4c19e7d', reason: 'not_found' }] }],
    })
    expect(body.reviews).toMatchObject([{ verdict: 'changes_requested', actor: { name: 'Ben Okafor' } }])
  })

  test('decisions, specs, sessions, memories and repositories in every state', async () => {
    expect(values(await list('/decisions'), 'status')).toEqual(
      new Set(['proposed', 'accepted', 'rejected', 'superseded']),
    )
    expect((await list('/specs/block-store/versions')).length).toBeGreaterThan(3)
    expect(values(await list('/sessions'), 'status')).toEqual(new Set(['active', 'paused', 'ended']))
    expect(values(await list('/memories?old=true&limit=100'), 'scope')).toEqual(
      new Set(['agent', 'project', 'session']),
    )
    expect(values(await list('/repos'), 'status')).toEqual(new Set(['ready']))
    expect(values(await list('/notes?limit=100'), 'scope')).toEqual(new Set(['personal', 'team', 'public']))
    expect(values(await list('/projects'), 'visibility')).toEqual(new Set(['team', 'public']))
    expect((await list('/mcp-tokens')).length).toBeGreaterThan(2)
    expect((await list('/issues')).length).toBe(0)
    expect((await list('/admin/issues')).length).toBeGreaterThan(1)
  })

  test('their inbox with open notices', async () => {
    const unread = await list('/notifications?unread=true')
    for (const reason of ['review', 'mention', 'assignment', 'invite', 'question', 'decision'])
      expect(values(unread, 'reason')).toContain(reason)
  })
})

describe('the settings of the demo', () => {
  const real = {
    DATA_DIR: '/srv/tutti',
    DATABASE_URL: 'postgres://tutti@127.0.0.1/tutti',
    DB_CONNECTION: 'pgsql',
    BACKUP_DIR: '/srv/backups',
  }
  const before = Object.keys(real).map((name) => [name, process.env[name]] as const)
  afterEach(() => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  })

  test('ignore a real installation’s data folder and database in the environment and in files', () => {
    const own = { DATA_DIR: resolve('tutti-demo'), DB_CONNECTION: 'pglite' as const }
    const file = join(t.app.config.DATA_DIR, 'real.env')
    writeFileSync(
      file,
      Object.entries(real)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    expect(demoSettings({ config: file })).toMatchObject(own)
    Object.assign(process.env, real)
    const config = demoSettings({})
    expect(config).toMatchObject(own)
    expect([config.DATABASE_URL, config.BACKUP_DIR, config.SMTP_URL]).toEqual([undefined, undefined, undefined])
    expect(demoSettings({ dataDir: '/tmp/demo' }).DATA_DIR).toBe('/tmp/demo')
  })
})

test('an agent gets a brief of the demo project in at most 1,000 tokens, with what to do first', async () => {
  const ctx = contextOf(t.app, await t.app.auth.authenticate(token))
  for (const [name, input] of [
    ['get_context', { project: 'lantern' }],
    ['get_context', { project: 'harbour' }],
    ['create_session', { project: 'lantern', goals: ['Finish the reader'] }],
    ['resume_session', {}],
  ] as const) {
    const tool = tools.find((one) => one.name === name) as Tool
    const { text, json, facts } = toolSuccess((await tool.run(ctx, input as never)).shown, tool)
    for (const read of [text, json]) expect([name, countTokens(read) <= 1000]).toEqual([name, true])
    expect(countTokens(text)).toBeGreaterThan(300)
    const titles = (facts.brief as string[]).filter((line) => line.startsWith('## '))
    expect(titles[0]).toMatch(/^## (Your task: |Ready tasks in |Where you left off)/)
    expect([-1, titles.length - 1]).toContain(titles.findIndex((line) => line.startsWith('## What changed')))
  }
})

test('the history of the demo covers a month, in order, and ends now', async () => {
  const { rows } = await t.app.driver.query(
    `select count(*)::text, min(at)::text, bool_and(at >= before)::text, bool_and(at <= $1)::text
     from (select at, coalesce(lag(at) over (order by seq), at) as before from events where at < $1) e`,
    [now.toISOString()],
  )
  const [count, first, ...inOrder] = rows[0] as [string, string, string, string]
  expect(Number(count)).toBeGreaterThan(300)
  expect(now.getTime() - Date.parse(first)).toBeGreaterThan(30 * 86_400_000)
  expect(inOrder).toEqual(['true', 'true'])
})

test('a second start of the demo changes only the link; after an interrupted start it is refused', async () => {
  const tables = await t.app.db.execute<{ name: string }>(
    sql`select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const counts = async () => {
    const found: Record<string, number> = {}
    for (const { name } of tables.rows) found[name] = await t.app.db.$count(sql.identifier(name))
    return found
  }
  const before = await counts()
  await open()
  // The event that says who asked for a link.
  expect(await counts()).toEqual({ ...before, events: (before.events as number) + 1 })

  await t.app.db.delete(announcements)
  expect(await failure(open())).toMatchObject({ code: 'conflict' })
})
