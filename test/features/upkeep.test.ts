import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type AnyColumn, and, count, eq, inArray } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, contextOf } from '../../src/action.ts'
import { jobs } from '../../src/all-features.ts'
import { oneTimeSecrets } from '../../src/auth/table.ts'
import { counters } from '../../src/db/table.ts'
import { events, idempotencyKeys } from '../../src/events/table.ts'
import { purgeSite } from '../../src/features/admin/jobs.ts'
import { create as createLink } from '../../src/features/links/service.ts'
import { links } from '../../src/features/links/table.ts'
import { wipeStale } from '../../src/features/mail/service.ts'
import * as notes from '../../src/features/notes/service.ts'
import { notes as noteTable } from '../../src/features/notes/table.ts'
import * as organizations from '../../src/features/organizations/service.ts'
import { organizations as organizationTable } from '../../src/features/organizations/table.ts'
import { createPlan } from '../../src/features/planning/service.ts'
import { remove as removeProject } from '../../src/features/projects/deletion.ts'
import * as projects from '../../src/features/projects/service.ts'
import { projects as projectTable } from '../../src/features/projects/table.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { loginSessions, refreshTokens } from '../../src/features/users/table.ts'
import { buildWorld } from '../contract/world.ts'
import { call, type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { keptMail, linkSecretIn, mailRows } from '../support/mail.ts'
import { failure, ownApp, TestClock, times } from './support.ts'

/** Tables of the public site, which belongs to no team. */
const ofSite = ['site_texts', 'sponsors', 'contact_messages', 'community_posts']

/** Upkeep is about the whole database, so it gets one of its own. Time only moves forward here: each test starts with fresh things. */
const clock = new TestClock()
let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await ownApp(clock.now)
  ada = await person(t)
})
afterAll(() => t.close())

const run = () => purgeExpired(systemCtx(t), {})
/** Sessions end as the clock moves on; the machine can still act for her. */
const asAda = async (organizationId?: string) => {
  const actor = await t.app.auth.actorFor(ada.userId)
  return contextOf(t.app, organizationId ? { ...actor, organizationId } : actor)
}
const note = async (ctx: Ctx, title: string) => (await notes.create(ctx, { title })).id
const left = async (table: PgTable, column: AnyColumn, values: string[]) =>
  (await t.app.db.select({ n: count() }).from(table).where(inArray(column, values)))[0]?.n

describe('deleted records', () => {
  test('are kept for 30 days and then deleted permanently; others stay', async () => {
    const ctx = await asAda()
    const old = await notes.create(ctx, { title: 'old' })
    const kept = await notes.create(ctx, { title: 'kept' })
    const project = await projects.create(ctx, { name: unique('gone') })
    const inProject = await notes.create(ctx, { title: 'inside', projectId: project.id })
    await notes.remove(ctx, { ref: old.id })
    await removeProject(ctx, { ref: project.id })

    clock.forward({ days: 29 })
    const young = await notes.create(await asAda(), { title: 'young' })
    await notes.remove(await asAda(), { ref: young.id })
    expect(await run()).toMatchObject({ notes: 0, projects: 0, organizations: 0 })
    expect(await left(noteTable, noteTable.id, [old.id, kept.id, inProject.id, young.id])).toBe(4)

    clock.forward({ days: 1 })
    // To the millisecond: what is exactly 30 days old may stay.
    expect(await run()).toMatchObject({ notes: 0, projects: 0 })
    clock.forward({ seconds: 1 })
    expect(await run()).toMatchObject({ notes: 2, projects: 1, organizations: 0 })
    expect(await left(noteTable, noteTable.id, [old.id, inProject.id])).toBe(0)
    expect(await left(projectTable, projectTable.id, [project.id])).toBe(0)
    expect(await left(noteTable, noteTable.id, [kept.id, young.id])).toBe(2)
    expect((await notes.get(await asAda(), { ref: kept.id })).title).toBe('kept')
    expect(await run()).toMatchObject({ notes: 0, projects: 0 })
  })

  test('are deleted after their dependents and in small steps, without an unbounded cascade', async () => {
    clock.forward({ days: 31 })
    await run()
    const team = await organizations.create(await asAda(), { name: unique('team') })
    const ctx = await asAda(team.id)
    const project = await projects.create(ctx, { name: 'Large' })
    const stories = [{ title: 'S', tasks: times(3, (i) => ({ title: `T${i}` })) }]
    await createPlan(ctx, { ref: project.id, epics: [{ title: 'E', stories }] })
    for (const title of ['a', 'b']) await notes.create(ctx, { title, projectId: project.id })
    await organizations.remove(ctx, { id: team.id })
    clock.forward({ days: 30, seconds: 1 })
    expect(await run()).toMatchObject({ tasks: 3, stories: 1, epics: 1, notes: 2, projects: 1, organizations: 1 })
  })

  test('take their links with them', async () => {
    const ctx = await asAda()
    const [gone, kept, other] = [await note(ctx, 'gone'), await note(ctx, 'kept'), await note(ctx, 'other')]
    const tie = (a: string, b: string) => createLink(ctx, { fromType: 'note', fromId: a, toType: 'note', toId: b })
    const [lost, also, stays] = [await tie(gone, kept), await tie(other, gone), await tie(kept, other)]
    await notes.remove(ctx, { ref: gone })
    clock.forward({ days: 29 })
    expect((await run()).links).toBe(0)
    clock.forward({ days: 1, seconds: 1 })
    expect((await run()).links).toBe(2)
    expect(await left(links, links.id, [lost.id, also.id])).toBe(0)
    expect(await left(links, links.id, [stays.id])).toBe(1)
  })

  test('of every kind are deleted, in every table that can hide a row or belongs to a team or project', async () => {
    const own = await ownApp(clock.now)
    try {
      const { owner } = await buildWorld(own)
      const query = async (text: string, params: unknown[] = []) => (await own.app.driver.query(text, params)).rows
      const counted = async (table: string) => Number((await query(`select count(*) from "${table}"`))[0]?.[0])
      const soft = (
        await query(
          `select table_name::text from information_schema.columns where column_name = 'deleted_at' and table_schema = 'public'`,
        )
      ).map(([name]) => String(name))
      expect(soft).toEqual(
        expect.arrayContaining([
          'tasks',
          'epics',
          'stories',
          'memories',
          'decisions',
          'specs',
          'notes',
          'features',
          'projects',
        ]),
      )
      // A row of each comes from test/contract/world.ts.
      for (const table of soft) expect([table, (await counted(table)) > 0]).toEqual([table, true])
      await owner.fetch('POST', '/api/links', {
        fromType: 'agent',
        fromId: (await query('select id from agents'))[0]?.[0],
        toType: 'skill',
        toId: (await query('select id from skills'))[0]?.[0],
      })
      for (const table of soft)
        await query(`update "${table}" set deleted_at = $1 where deleted_at is null`, [clock.now().toISOString()])
      clock.forward({ days: 30, seconds: 1 })
      const removed = await purgeExpired(systemCtx(own), {})
      for (const table of soft) expect([table, removed[table]]).not.toEqual([table, 0])
      await purgeSite(systemCtx(own), {})
      for (const table of ofSite) expect([table, await counted(table)]).toEqual([table, 0])
      const hanging = await query(`with recursive t as (select 'organizations'::regclass::oid as id
        union select f.conrelid from t join pg_constraint f on f.confrelid = t.id and f.contype = 'f' and f.confdeltype = 'c')
        select id::regclass::text from t`)
      expect(hanging.flat()).toEqual(
        expect.arrayContaining([
          ...soft.filter((table) => !ofSite.includes(table)),
          'sessions',
          'passages',
          'task_comments',
          'spec_versions',
        ]),
      )
      // A key or a picture may be a person's, and in no team.
      const ofTeams = (table: unknown) =>
        query(`select 1 from "${table}" t where coalesce(to_jsonb(t) -> 'organization_id', '0') <> 'null'`)
      for (const [table] of hanging) expect([table, await ofTeams(table)]).toEqual([table, []])
      expect(await counted('links')).toBe(0)
      expect(Object.values(await purgeExpired(systemCtx(own), {})).every((n) => n === 0)).toBe(true)
    } finally {
      await own.close()
    }
  })

  test('have an index on every foreign key that a cascade uses', async () => {
    const { rows } = await t.app.driver.query(
      `select f.conrelid::regclass::text, a.attname::text from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and a.attnum = f.conkey[1]
       where f.contype = 'f' and f.confdeltype = 'c' and exists (select 1 from pg_attribute where attrelid = f.confrelid and attname = 'deleted_at')
         and not exists (select 1 from pg_index i where i.indrelid = f.conrelid and i.indkey[0] = f.conkey[1] and i.indpred is null)`,
    )
    expect(rows).toEqual([])
  })

  test('include everything in a deleted organization', async () => {
    const team = await organizations.create(await asAda(), { name: unique('team') })
    const ctx = await asAda(team.id)
    const project = await projects.create(ctx, { name: 'In it' })
    const note = await notes.create(ctx, { title: 'In it', projectId: project.id })
    await organizations.remove(ctx, { id: team.id })
    clock.forward({ days: 30, seconds: 1 })
    expect((await run()).organizations).toBe(1)
    expect(await left(organizationTable, organizationTable.id, [team.id])).toBe(0)
    expect(await left(projectTable, projectTable.id, [project.id])).toBe(0)
    expect(await left(noteTable, noteTable.id, [note.id])).toBe(0)
    expect((await organizations.current(await asAda(), {})).id).toBe(ada.organizationId)
  })
})

test('audit and activity are kept for 365 days', async () => {
  const note = await notes.create(await asAda(), { title: 'long ago' })
  const traces = async () =>
    (await t.app.db.select().from(events).where(eq(events.subjectId, note.id))).map((e) => e.type)
  clock.forward({ days: 364 })
  await notes.update(await asAda(), { ref: note.id, pinned: true })
  await run()
  expect(await traces()).toEqual(['note.created', 'note.updated'])
  clock.forward({ days: 1, seconds: 1 })
  expect((await run()).events).toBeGreaterThanOrEqual(1)
  expect(await traces()).toEqual(['note.updated'])
  expect((await notes.get(await asAda(), { ref: note.id })).title).toBe('long ago')
})

test('idempotency keys are kept for 24 hours, counters and refresh tokens as long as they count', async () => {
  const grace = await person(t)
  const key = unique('key')
  await grace.fetch('POST', '/api/notes', { title: 'once' }, { 'idempotency-key': key })
  const wrong = `login:${unique('x')}`
  const hour = (n: number) => new Date(clock.now().getTime() + n * 3_600_000).toISOString()
  await t.app.db.insert(counters).values([
    { key: `${wrong}-1`, count: 3, expiresAt: hour(1) },
    { key: `${wrong}-2`, count: 3, expiresAt: hour(48) },
  ])
  const keys = async () => (await t.app.db.select().from(idempotencyKeys).where(eq(idempotencyKeys.key, key))).length
  const [session] = await t.app.db.select().from(loginSessions).where(eq(loginSessions.userId, grace.userId))
  const tokens = async () =>
    (
      await t.app.db
        .select()
        .from(refreshTokens)
        .where(eq(refreshTokens.sessionId, session?.id as string))
    ).length

  clock.forward({ minutes: 23 * 60 + 59 })
  await run()
  expect([await keys(), await tokens(), await left(counters, counters.key, [`${wrong}-1`, `${wrong}-2`])]).toEqual([
    1, 1, 1,
  ])
  clock.forward({ minutes: 1, seconds: 1 })
  expect((await run()).idempotencyKeys).toBe(1)
  expect([await keys(), await tokens(), await left(counters, counters.key, [`${wrong}-2`])]).toEqual([0, 1, 1])
  clock.forward({ days: 29 })
  expect(await run()).toMatchObject({ counters: 1, refreshTokens: 1 })
  expect([await tokens(), await left(counters, counters.key, [`${wrong}-2`])]).toEqual([0, 0])
})

test('codes and links are deleted when they expire, used or not, with the text of their mails', async () => {
  const grace = await person(t)
  const secrets = (purpose: 'reset' | 'verify_email') =>
    t.app.db.$count(oneTimeSecrets, and(eq(oneTimeSecrets.purpose, purpose), eq(oneTimeSecrets.userId, grace.userId)))
  const told = async () =>
    (await mailRows(t, grace.email)).filter((mail) => mail.sealed !== null).map((mail) => mail.kind)
  await call(t, 'POST', '/api/auth/forgot-password', { email: grace.email })
  expect([await secrets('reset'), await secrets('verify_email')]).toEqual([1, 1])
  expect(await told()).toEqual(['reset', 'verify_email'])
  const link = linkSecretIn(await keptMail(t, grace.email, 'reset'))
  clock.forward({ minutes: 29 })
  await run()
  expect(await secrets('reset')).toBe(1)
  clock.forward({ minutes: 2 })
  expect(
    (await call(t, 'POST', '/api/auth/reset-password', { token: link, password: 'seven quiet lamps at dusk' })).status,
  ).toBe(410)
  await wipeStale(systemCtx(t), {})
  expect(await told()).toEqual(['verify_email'])
  expect((await run()).oneTimeSecrets).toBeGreaterThanOrEqual(1)
  expect([await secrets('reset'), await secrets('verify_email')]).toEqual([0, 1])

  // A used one tells a second use from a made-up one only as long as it would have lived. It is used although the
  // server asks who created the account.
  await call(t, 'POST', '/api/auth/forgot-password', { email: grace.email })
  const used = linkSecretIn(await keptMail(t, grace.email, 'reset'))
  expect(
    (await call(t, 'POST', '/api/auth/reset-password', { token: used, password: 'seven quiet lamps at dusk' })).status,
  ).toBe(409)
  expect(await secrets('reset')).toBe(1)
  clock.forward({ minutes: 31 })
  await run()
  expect(await secrets('reset')).toBe(0)
})

test('the upkeep runs every hour as a job, and for the machine only', async () => {
  const job = jobs.find((j) => j.name === 'upkeep.purge')
  expect(job?.every).toBe('17 * * * *')
  expect(await failure(purgeExpired(await asAda(), {}))).toMatchObject({ code: 'forbidden' })
  const note = await notes.create(await asAda(), { title: 'gone' })
  await notes.remove(await asAda(), { ref: note.id })
  clock.forward({ days: 31 })
  await job?.run(t.app, {} as never, new AbortController().signal)
  expect(await left(noteTable, noteTable.id, [note.id])).toBe(0)
})
