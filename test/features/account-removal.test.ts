import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { newId } from '../../src/db/columns.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import { notes } from '../../src/features/notes/table.ts'
import { organizations as organizationTable } from '../../src/features/organizations/table.ts'
import { skills } from '../../src/features/skills/table.ts'
import { uploads } from '../../src/features/uploads/table.ts'
import { features } from '../../src/features/workflow/table.ts'
import { buildWorld } from '../contract/world.ts'
import {
  type Answer,
  apiKey,
  call,
  mcpToken,
  member,
  PASSWORD,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { keptMail, mailRows } from '../support/mail.ts'
import {
  addIdentity,
  addPasskey,
  allClosed,
  deviceSession,
  everyCredential,
  impersonation,
  login,
  me,
  post,
  provedPerson,
  resetLink,
  statusOf,
  userRow,
} from './accounts-support.ts'
import { expectEvents, expectRefusal, inside, ownApp, statuses, TestClock, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

const remove = (who: Pick<Person, 'fetch' | 'email'>, confirm = who.email): Promise<Answer> =>
  who.fetch('DELETE', '/api/auth/account', { confirm })
const newTeam = async (who: Person) =>
  (await who.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Team') })).body.id
const join = (id: string, { userId }: Person, role: 'owner' | 'member' | 'viewer') =>
  addMember(systemCtx(t), { id, userId, role })
const exists = async (id: string) => (await t.app.db.$count(organizationTable, eq(organizationTable.id, id))) === 1

/** Every place in the database that names this id: `table.column`. */
async function places(at: TestApp, id: string): Promise<string[]> {
  const { rows } = await at.app.driver.query(
    `select table_name::text, column_name::text from information_schema.columns where table_schema = 'public' and data_type = 'uuid' order by 1, 2`,
  )
  const found: string[] = []
  for (const [table, column] of rows as [string, string][]) {
    const hit = await at.app.driver.query(`select 1 from "${table}" where "${column}" = $1 limit 1`, [id])
    if (hit.rows.length > 0) found.push(`${table}.${column}`)
  }
  return found
}

/** How many rows each table holds for a team. */
async function rowsOf(at: TestApp, organizationId: string): Promise<Record<string, number>> {
  const { rows } = await at.app.driver.query(
    `select table_name::text from information_schema.columns where table_schema = 'public' and column_name = 'organization_id' order by 1`,
  )
  const counts: Record<string, number> = {}
  // Not what search keeps: a job puts it there behind the writes.
  for (const [table] of (rows as [string][]).filter(([name]) => name !== 'passages')) {
    const found = await at.app.driver.query(`select count(*)::int from "${table}" where organization_id = $1`, [
      organizationId,
    ])
    if (found.rows[0]?.[0]) counts[table] = Number(found.rows[0][0])
  }
  return counts
}

describe('deleting one’s own account', () => {
  test('removes everything that belongs only to the user, ends all access at once, and notifies the user', async () => {
    const ada = await provedPerson(t)
    const held = await everyCredential(t, ada)
    await addPasskey(t, ada.userId)
    await addIdentity(t, ada.userId)
    const team = await newTeam(ada)
    await mcpToken(t, ada, { kind: 'test' })
    await ada.fetch('POST', '/api/notes', { title: 'Diary' })
    await ada.fetch('POST', '/api/projects', { name: 'Mine' })
    await ada.fetch('POST', '/api/notes', { title: 'Plan', scope: 'team' }, { 'x-organization-id': team })
    await resetLink(t, ada.email)

    const done = await remove(ada, ` ${ada.email.toUpperCase()} `)
    expect([done.status, done.body]).toEqual([200, { id: ada.userId, deleted: true }])
    expect(done.headers.getSetCookie().join()).toContain('tutti_access=;')
    const events = await expectEvents(t, done, 'organization.deleted', 'organization.deleted', 'user.deleted')
    expect(events.at(-1)).toMatchObject({ subjectId: ada.userId, userId: ada.userId })
    expect(events.slice(0, 2).map((e) => e.subjectId)).toEqual(expect.arrayContaining([team, ada.organizationId]))

    expect(await statusOf(t, held)).toEqual(allClosed)
    expect((await login(t, ada.email)).status).toBe(401)
    // Only the audit still names them and their organizations.
    expect((await places(t, ada.userId)).filter((place) => !place.startsWith('events.'))).toEqual([])
    for (const id of [team, ada.organizationId])
      expect((await places(t, id)).filter((place) => !place.startsWith('events.'))).toEqual([])
    expect((await mailRows(t, ada.email)).map((m) => m.kind)).toEqual(['account_deleted'])
    expect((await keptMail(t, ada.email, 'account_deleted')).text).toContain('Ada Lovelace')
    expect((await post(t, 'register', { email: ada.email, password: PASSWORD, name: 'Ada again' })).status).toBe(201)
  })

  test('leaves records in the team that the user created them in, without the user’s name', async () => {
    const owner = await person(t)
    const ada = await member(t, owner, 'member', 'Ada')
    const note = (await ada.fetch<Note>('POST', '/api/notes', { title: unique('Runbook'), scope: 'team' })).body
    const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine') })).body
    const inProject = (
      await ada.fetch<Note>('POST', '/api/notes', { title: unique('Inside'), scope: 'team', projectId: project.id })
    ).body
    const now = t.app.clock().toISOString()
    const dates = { createdAt: now, updatedAt: now }
    const feature = newId()
    await t.app.db.insert(features).values({
      ...dates,
      id: feature,
      organizationId: owner.organizationId,
      projectId: project.id,
      createdById: ada.userId,
      title: 'Login',
      kind: 'feature',
      priority: 'medium',
      status: 'todo',
      assigneeType: 'user',
      assigneeId: ada.userId,
      taskIds: [],
      position: 1,
    })
    const skill = (organizationId: string | null) => ({
      ...dates,
      id: newId(),
      organizationId,
      createdById: ada.userId,
      name: 'Deploy',
      slug: unique('deploy'),
      content: '#',
      tags: [],
      scope: organizationId ? ('team' as const) : ('personal' as const),
    })
    const [shared, own] = [skill(owner.organizationId), skill(null)]
    await t.app.db.insert(skills).values([shared, own])
    const picture = newId()
    await t.app.driver.query(
      `insert into uploads (id, user_id, organization_id, purpose, type, width, height, bytes, created_at)
       values ($1, $2, $3, 'team_avatar', 'image/png', 1, 1, '\\x00', $4)`,
      [picture, ada.userId, owner.organizationId, now],
    )
    const before = await rowsOf(t, owner.organizationId)
    expect(before).toMatchObject({ memberships: 2, notes: 2, projects: 1, features: 1, skills: 1, uploads: 1 })

    const done = await remove(ada)
    expect(done.status).toBe(200)
    const [left] = await expectEvents(t, done, 'member.removed', 'organization.deleted', 'user.deleted')
    expect(left).toMatchObject({ organizationId: owner.organizationId, data: { userId: ada.userId } })
    const after = await rowsOf(t, owner.organizationId)
    expect(after).toEqual({ ...before, memberships: 1, events: expect.any(Number) })
    for (const { id } of [note, inProject])
      expect((await owner.fetch<Note>('GET', `/api/notes/${id}`)).body).toMatchObject({ id, createdById: null })
    expect((await owner.fetch('GET', `/api/projects/${project.id}`)).body).toMatchObject({ createdById: null })
    const [kept] = await t.app.db.select().from(features).where(eq(features.id, feature))
    expect([kept?.assigneeType, kept?.assigneeId, kept?.createdById]).toEqual([null, null, null])
    expect(await t.app.db.$count(skills, eq(skills.id, own.id))).toBe(0)
    expect(await t.app.db.$count(uploads, eq(uploads.id, picture))).toBe(1)
    expect((await places(t, ada.userId)).filter((place) => !place.startsWith('events.'))).toEqual([])
    expect(await t.app.db.$count(notes, eq(notes.createdById, ada.userId))).toBe(0)
  })

  test('leaves no trace in any table of a user with one record of every kind', async () => {
    const { owner } = await buildWorld(t)
    const heir = await person(t)
    for (const team of (await owner.fetch<{ items: { id: string }[] }>('GET', '/api/teams')).body.items)
      await join(team.id, heir, 'owner')
    const done = await remove(owner)
    expect([done.status, done.body]).toMatchObject([200, { deleted: true }])
    expect((await places(t, owner.userId)).filter((place) => !place.startsWith('events.'))).toEqual([])
  })

  test('is refused for the only owner of a team with other members; with a second owner it works', async () => {
    const ada = await person(t)
    const team = await newTeam(ada)
    const grace = await person(t)
    await join(team, grace, 'member')
    const { name } = (await ada.fetch<{ name: string }>('GET', `/api/teams/${team}`)).body
    const refused = await expectRefusal(t, await remove(ada), 409, 'conflict.last_owner')
    expect(refused.detail).toContain(name)
    expect((await me(t, ada.token)).status).toBe(200)
    await ada.fetch('PATCH', `/api/teams/${team}/members/${grace.userId}`, { role: 'owner' })
    expect((await remove(ada)).status).toBe(200)
    expect((await inside(grace, team).fetch('GET', '/api/team')).body).toMatchObject({ id: team, role: 'owner' })
    expect(await exists(team)).toBe(true)
  })

  test('treats a personal space with other members like any other team', async () => {
    const ada = await person(t)
    const grace = await member(t, ada, 'member')
    await expectRefusal(t, await remove(ada), 409, 'conflict.last_owner')
    await ada.fetch('PATCH', `/api/teams/${ada.organizationId}/members/${grace.userId}`, { role: 'owner' })
    expect((await remove(ada)).status).toBe(200)
    expect((await grace.fetch('GET', '/api/team')).body).toMatchObject({ id: ada.organizationId, personal: false })
    expect((await grace.fetch('DELETE', `/api/teams/${ada.organizationId}`)).status).toBe(200)
  })

  test('lets only one of two owners leave a team at the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      const [ada, grace, eve] = [await person(t), await person(t), await person(t)]
      const team = await newTeam(ada)
      await join(team, grace, 'owner')
      await join(team, eve, 'member')
      expect(statuses(await Promise.all([remove(ada), remove(grace)]))).toEqual([200, 409])
      expect(await exists(team)).toBe(true)
    }
  })

  test('deletes a team that is already in the trash together with its last member', async () => {
    const ada = await person(t)
    const team = await newTeam(ada)
    expect((await ada.fetch('DELETE', `/api/teams/${team}`)).status).toBe(200)
    expect(await exists(team)).toBe(true)
    expect((await remove(ada)).status).toBe(200)
    expect(await exists(team)).toBe(false)
  })

  test('requires the user’s own e-mail address and a recent confirmation of identity', async () => {
    const clock = new TestClock()
    const timed = watch(await testApp({ background: 'off' }, clock.now))
    const ada = await person(timed)
    const wrong = await expectRefusal(timed, await remove(ada, 'somebody@example.com'), 422, 'invalid')
    expect(wrong.errors).toMatchObject([{ pointer: '/confirm' }])
    await expectRefusal(timed, await ada.fetch('DELETE', '/api/auth/account', {}), 422, 'invalid')
    const { token: device } = await deviceSession(timed, ada.userId)
    for (const token of [device, await apiKey(timed, ada), await impersonation(timed, ada.userId)]) {
      const as = call(
        timed,
        'DELETE',
        '/api/auth/account',
        { confirm: ada.email },
        { authorization: `Bearer ${token}` },
      )
      await expectRefusal(timed, await as, 403, 'forbidden')
    }
    expect((await call(timed, 'DELETE', '/api/auth/account', { confirm: ada.email })).status).toBe(401)
    clock.forward({ minutes: 5, seconds: 1 })
    await expectRefusal(timed, await remove(ada), 403, 'forbidden.reauth')
    expect((await post(timed, 'reauth', { password: PASSWORD }, ada.token)).status).toBe(200)
    expect((await remove(ada)).status).toBe(200)
    await timed.close()
  })
})

describe('deleting the account of an administrator', () => {
  test('is refused for the last one; of the last two at the same moment, one stays', async () => {
    const own = watch(await ownApp())
    const first = await person(own, { admin: true })
    await expectRefusal(own, await remove(first), 409, 'conflict.last_admin')
    let last = first
    for (let round = 0; round < 5; round++) {
      const next = await person(own, { admin: true })
      const answers = await Promise.all([remove(last), remove(next)])
      expect(statuses(answers)).toEqual([200, 409])
      if (answers[0]?.status === 200) last = next
    }
    expect((await me(own, last.token)).body.role).toBe('admin')
    await own.close()
  })

  test('ends the sessions in which the administrator acts as others', async () => {
    const [boss, ada] = [await person(t, { admin: true }), await person(t)]
    await person(t, { admin: true })
    const acting = await impersonation(t, ada.userId, boss.userId)
    expect((await me(t, acting)).status).toBe(200)
    expect((await remove(boss)).status).toBe(200)
    expect((await me(t, acting)).status).toBe(401)
    expect(await userRow(t, ada.userId)).toBeDefined()
  })
})
