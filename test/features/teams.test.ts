import { beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../src/action.ts'
import { machine, type Role, roles } from '../../src/auth/policy.ts'
import { defineEvent } from '../../src/events/catalogue.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { AgentPage } from '../../src/features/agents/schema.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { Project, ProjectPage } from '../../src/features/projects/schema.ts'
import * as projects from '../../src/features/projects/service.ts'
import type { SkillPage } from '../../src/features/skills/schema.ts'
import { tasks } from '../../src/features/tasks/table.ts'
import type { ActivityPage, Analytics, PresencePage } from '../../src/features/teams/schema.ts'
import { loginSessions } from '../../src/features/users/table.ts'
import type { FeaturePage } from '../../src/features/workflow/schema.ts'
import { features } from '../../src/features/workflow/table.ts'
import {
  call,
  mcpToken,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  testApp,
  unique,
} from '../support/app.ts'
import { ctxOf, expectRefusal, ids, inside, TestClock, times, watch } from './support.ts'

let t: TestApp
let people: Record<Role | 'stranger', Person>
beforeAll(async () => {
  t = watch(await sharedApp())
  const [owner, admin, member, viewer, stranger] = (await Promise.all(
    ['Ada', 'Grace', 'Edsger', 'Barbara', 'Mallory'].map((name) => person(t, { name })),
  )) as [Person, Person, Person, Person, Person]
  people = { owner, admin, member, viewer, stranger }
})

async function newTeam(at = t, who = people) {
  const { id } = (await who.owner.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
  for (const role of ['admin', 'member', 'viewer'] as const)
    await addMember(systemCtx(at), { id, userId: who[role].userId, role })
  const by = Object.fromEntries(roles.map((role) => [role, inside(who[role], id)])) as Record<Role, Person>
  return { id, path: `/api/teams/${id}`, ...by }
}
type Team = Awaited<ReturnType<typeof newTeam>>

const project = async (who: Person, over: object = {}) =>
  (await who.fetch<Project>('POST', '/api/projects', { name: unique('project'), ...over })).body
const note = async (who: Person, over: object = {}) =>
  (await who.fetch<Note>('POST', '/api/notes', { title: unique('note'), scope: 'team', ...over })).body

describe('the lists of a team', () => {
  test('contain the team’s records that the caller can see', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const open = await project(team.member)
    const secret = await project(team.member, { visibility: 'private' })
    await project(other.member)
    const list = async (who: Person) =>
      ids((await who.fetch<ProjectPage>('GET', `${team.path}/projects?total=true`)).body)
    expect(await list(people.viewer)).toEqual([open.id])
    expect(await list(people.member)).toEqual(ids({ items: [open, secret] }))
    expect(await list(people.admin)).toEqual(ids({ items: [open, secret] }))

    const feature = (projectId: string, over = {}) => ({
      organizationId: team.id,
      projectId,
      title: unique('feature'),
      kind: 'feature',
      priority: 'high' as const,
      status: 'todo',
      taskIds: [],
      position: 1,
      createdAt: new Date().toISOString(),
      updatedAt: new Date().toISOString(),
      ...over,
    })
    const rows = await t.app.db
      .insert(features)
      .values([
        feature(open.id, { assigneeType: 'user', assigneeId: people.member.userId }),
        feature(secret.id),
        feature(open.id, { deletedAt: new Date().toISOString() }),
      ])
      .returning({ id: features.id })
    const seen = async (who: Person, query = '') =>
      (await who.fetch<FeaturePage>('GET', `${team.path}/features?total=true${query}`)).body
    expect(await seen(people.viewer)).toMatchObject({
      items: [
        { id: rows[0]?.id, projectId: open.id, assignee: { type: 'user', id: people.member.userId, name: 'Edsger' } },
      ],
      total: 1,
    })
    expect(ids(await seen(people.owner))).toEqual(ids({ items: rows.slice(0, 2) }))
    expect(ids(await seen(people.owner, `&projectId=${secret.id}`))).toEqual([rows[1]?.id as string])
    expect((await seen(people.owner, '&status=done')).items).toEqual([])
    const theirs = await project(other.owner)
    await other.owner.fetch('POST', `/api/projects/${theirs.id}/features`, { title: 'Of another team' })
    expect((await seen(people.owner, `&projectId=${theirs.id}`)).items).toEqual([])
  })

  test('contain the team’s skills and agents, not the caller’s own or strangers’ public ones', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    for (const [noun, body] of [
      ['skills', { name: 'Deploy', content: 'x' }],
      ['agents', { name: 'Reviewer' }],
    ] as const) {
      const make = async (who: Person, scope: string) =>
        (await who.fetch<{ id: string }>('POST', `/api/${noun}`, { ...body, scope })).body
      const mine = await make(team.member, 'team')
      const published = await make(team.admin, 'public')
      await make(team.member, 'personal')
      await make(other.admin, 'public')
      const list = await people.member.fetch<SkillPage | AgentPage>('GET', `${team.path}/${noun}`)
      expect([noun, ids(list.body)]).toEqual([noun, ids({ items: [mine, published] })])
    }
  })
})

describe('the activity of a team', () => {
  const feed = async (who: Person, team: Team, query = '') =>
    (await who.fetch<ActivityPage>('GET', `${team.path}/activity?limit=200${query}`)).body
  const about = async (who: Person, team: Team) => new Set((await feed(who, team)).items.map((e) => e.subjectId))

  test('is listed newest first, names who did what, and pages without gaps', async () => {
    const team = await newTeam()
    const made = await project(team.member, { name: 'Engine' })
    const written: Note[] = []
    for (let i = 0; i < 5; i++) written.push(await note(team.admin, { projectId: made.id }))
    const all = (await feed(people.viewer, team)).items
    expect(all.slice(0, 6).map((e) => [e.type, e.subjectId])).toEqual([
      ...written.toReversed().map((n) => ['note.created', n.id]),
      ['project.created', made.id],
    ])
    expect(all[5]).toMatchObject({
      type: 'project.created',
      actor: { type: 'user', id: people.member.userId, name: 'Edsger' },
      projectId: made.id,
      data: { name: 'Engine' },
    })
    expect(Object.keys(all[0] as object).sort()).toEqual([
      'actor',
      'at',
      'data',
      'description',
      'id',
      'projectId',
      'subjectId',
      'type',
    ])
    // Nothing that is only for the audit.
    expect(all.map((e) => e.type).filter((type) => !/^[a-z_]+\.([a-z_]+ed|made)$/.test(type))).toEqual([])
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await people.viewer.fetch<ActivityPage>('GET', `${team.path}/activity?limit=2${cursor}`)
      paged.push(...body.items.map((e) => e.id))
      // What happens meanwhile does not shift the pages.
      if (paged.length === 2) await note(team.admin)
      if (!body.nextCursor) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(paged).toEqual(all.map((e) => e.id))
    await expectRefusal(t, await people.viewer.fetch('GET', `${team.path}/activity?cursor=abc`), 400, 'invalid.cursor')
  })

  test('is filtered by kind, person and time', async () => {
    const team = await newTeam()
    const first = await note(team.admin)
    const between = (await feed(people.owner, team)).items[0]?.at as string
    const second = await note(team.member)
    const found = async (query: string) => (await feed(people.viewer, team, query)).items.map((e) => e.subjectId)
    expect(await found('&type=note.created')).toEqual([second.id, first.id])
    expect(await found('&type=note.created&order=asc')).toEqual([first.id, second.id])
    expect(await found(`&type=note.created&actorId=${people.admin.userId}`)).toEqual([first.id])
    expect(await found(`&type=note.created&until=${between}`)).toEqual([])
    expect(await found(`&type=note.created&since=${between}`)).toEqual([second.id, first.id])
    expect(await found('&type=note.deleted')).toEqual([])
    expect(await found(`&actorId=${people.stranger.userId}`)).toEqual([])
  })

  test('contains only records that the reader can see now', async () => {
    const team = await newTeam()
    const secret = await project(team.member, { visibility: 'private' })
    const inside = await note(team.member, { projectId: secret.id })
    const personal = await note(team.member, { scope: 'personal' })
    const open = await project(team.member)
    const loose = await note(team.member)
    expect([...(await about(people.viewer, team))]).toEqual(expect.arrayContaining([open.id, loose.id]))
    for (const hidden of [secret.id, inside.id, personal.id])
      expect((await about(people.viewer, team)).has(hidden)).toBe(false)
    for (const who of [people.member, people.admin]) {
      const seen = await about(who, team)
      expect([secret.id, inside.id].every((id) => seen.has(id))).toBe(true)
      expect(seen.has(personal.id)).toBe(false)
    }
    // Shown when shared, with what happened before; gone when unshared, deleted, or moved away.
    await team.member.fetch('POST', `/api/projects/${secret.id}/share`, {})
    expect((await about(people.viewer, team)).has(inside.id)).toBe(true)
    await team.member.fetch('POST', `/api/projects/${secret.id}/share`, { visibility: 'private' })
    expect((await about(people.viewer, team)).has(inside.id)).toBe(false)
    await team.member.fetch('DELETE', `/api/projects/${open.id}`)
    for (const role of roles) expect((await about(people[role], team)).has(open.id)).toBe(false)
    await people.owner.fetch('DELETE', `${team.path}/members/${people.viewer.userId}`)
    await expectRefusal(t, await people.viewer.fetch('GET', `${team.path}/activity`), 404, 'not_found')
  })

  test('leaves out events for one person', async () => {
    const team = await newTeam()
    const tell = write('test.tell', machine, async (ctx, userId: string) => {
      ctx.emit(defineEvent('thing.happened', { kind: 'thing', description: 'A test' }), {
        organizationId: team.id,
        userId,
        subjectId: userId,
      })
    })
    await tell(systemCtx(t), people.member.userId)
    expect((await about(people.member, team)).has(people.member.userId)).toBe(true)
    expect((await about(people.owner, team)).has(people.member.userId)).toBe(false)
  })

  test('leaves out events for the audit log only', async () => {
    const team = await newTeam()
    const only = Bun.randomUUIDv7()
    const note = write('test.note', machine, async (ctx, type: string) =>
      ctx.emit(defineEvent(type, { kind: 'test', description: 'A test' }), {
        organizationId: team.id,
        subjectId: only,
      }),
    )
    await note(systemCtx(t), 'test.note')
    expect((await about(people.owner, team)).has(only)).toBe(false)
    await note(systemCtx(t), 'test.noted')
    expect((await about(people.owner, team)).has(only)).toBe(true)
  })
})

describe('the analytics of a team', () => {
  const numbers = async (who: Person, team: Team, query = '') =>
    (await who.fetch<Analytics>('GET', `${team.path}/analytics${query}`)).body

  test('count records and events that the reader can see', async () => {
    const team = await newTeam()
    const fresh = await numbers(people.owner, team)
    expect(fresh).toMatchObject({
      days: 30,
      members: 4,
      activeMembers: 1,
      projects: { active: 0, archived: 0 },
      notes: 0,
    })
    expect(fresh.contributors).toEqual([{ id: people.owner.userId, name: 'Ada', changes: 1 }])
    expect(fresh.changes).toHaveLength(30)

    const open = await project(team.member)
    const secret = await project(team.member, { visibility: 'private' })
    const old = await project(team.member)
    await team.member.fetch('POST', `/api/projects/${old.id}/archive`)
    await note(team.admin, { projectId: open.id })
    await note(team.member, { projectId: secret.id })
    await note(team.member, { scope: 'personal' })
    const plan = { epics: [{ title: 'E', stories: [{ title: 'S', tasks: times(3, (i) => ({ title: `T${i}` })) }] }] }
    for (const { id } of [open, secret]) await team.member.fetch('POST', `/api/projects/${id}/plan`, plan)
    const [task] = await t.app.db.select({ id: tasks.id }).from(tasks).where(eq(tasks.projectId, open.id)).limit(1)
    await t.app.db
      .update(tasks)
      .set({ status: 'done' })
      .where(eq(tasks.id, task?.id as string))
    const complete = write('test.complete', machine, async (ctx, _: Record<string, never>) => {
      ctx.emit(defineEvent('task.completed', { kind: 'task', description: 'A test' }), {
        organizationId: team.id,
        projectId: open.id,
        subjectId: task?.id,
      })
    })
    await complete(systemCtx(t), {})
    const agent = await mcpToken(t, team.admin)
    await projects.create(await ctxOf(t, agent), { name: unique('by an agent') })

    const day = new Date().toISOString().slice(0, 10)
    const all = await numbers(people.owner, team)
    expect(all).toMatchObject({
      projects: { active: 3, archived: 1 },
      notes: 2,
      tasks: { backlog: 0, todo: 5, in_progress: 0, blocked: 0, in_review: 0, done: 1, cancelled: 0 },
      activeMembers: 3,
    })
    // Midnight may have passed meanwhile, so the days are added up; the next test looks at each day.
    const sum = <T>(days: readonly T[], of: (day: T) => number) => days.reduce((all, day) => all + of(day), 0)
    expect([day, new Date().toISOString().slice(0, 10)]).toContain(all.changes.at(-1)?.date as string)
    expect(sum(all.completed, ({ count }) => count)).toBe(1)
    expect(sum(all.changes, ({ agents }) => agents)).toBe(1)
    // One team made, one agent for a token, three projects, one archived, two notes, two plans; the rest was done by the
    // machine.
    expect(sum(all.changes, ({ people }) => people)).toBe(10)
    expect(all.contributors.map((c) => [c.name, c.changes])).toEqual([
      ['Edsger', 7],
      ['Grace', 3],
      ['Ada', 1],
    ])
    const less = await numbers(people.viewer, team)
    expect(less).toMatchObject({ projects: { active: 2, archived: 1 }, notes: 1, tasks: { todo: 2, done: 1 } })
    expect(sum(less.changes, ({ people }) => people)).toBe(7)
  })

  test('cover whole days, from 1 to 365', async () => {
    const clock = new TestClock()
    const own = await testApp({}, clock.now)
    try {
      const me = await person(own)
      const { id } = (await me.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
      const again = async () => {
        const login = await call<{ token: string }>(own, 'POST', '/api/auth/login', {
          email: me.email,
          password: 'violet anchor prefers rain',
        })
        return (path: string) =>
          call<Analytics>(own, 'GET', path, undefined, { authorization: `Bearer ${login.body.token}` })
      }
      clock.forward({ days: 2 })
      const ask = await again()
      const week = (await ask(`/api/teams/${id}/analytics?days=7`)).body
      expect(week.from).toBe('2026-11-11T00:00:00.000Z')
      expect(week.changes.map((c) => c.people)).toEqual([0, 0, 0, 0, 1, 0, 0])
      expect((await ask(`/api/teams/${id}/analytics?days=2`)).body.changes).toEqual([
        { date: '2026-11-16', people: 0, agents: 0 },
        { date: '2026-11-17', people: 0, agents: 0 },
      ])
      expect((await ask(`/api/teams/${id}/analytics?days=365`)).body.changes).toHaveLength(365)
      for (const days of ['0', '366', '1.5', 'x'])
        expect((await ask(`/api/teams/${id}/analytics?days=${days}`)).status).toBe(422)
    } finally {
      await own.close()
    }
  })
})

describe('the presence of a member', () => {
  test('changes from online to away to offline by the last use of any credential', async () => {
    const clock = new TestClock()
    const own = await testApp({}, clock.now)
    try {
      const [owner, admin, member, viewer] = (await Promise.all(times(4, () => person(own)))) as [
        Person,
        Person,
        Person,
        Person,
      ]
      const team = await newTeam(own, { owner, admin, member, viewer, stranger: owner })
      const at = async () => {
        const login = await call<{ token: string }>(own, 'POST', '/api/auth/login', {
          email: owner.email,
          password: 'violet anchor prefers rain',
        })
        const { body } = await call<PresencePage>(own, 'GET', `${team.path}/presence`, undefined, {
          authorization: `Bearer ${login.body.token}`,
        })
        return new Map(body.items.map((m) => [m.id, m]))
      }
      const statusOf = async () => {
        const seen = await at()
        return [admin, member, viewer].map((who) => seen.get(who.userId)?.status)
      }
      // Used a moment ago and not written down yet.
      const token = await mcpToken(own, { ...team.member, ctx: member.ctx })
      const elsewhere = await mcpToken(own, viewer)
      expect(await statusOf()).toEqual(['online', 'online', 'online'])
      await own.app.auth.flushUsage()
      clock.forward({ minutes: 2 })
      expect(await statusOf()).toEqual(['online', 'online', 'online'])
      clock.forward({ seconds: 1 })
      expect(await statusOf()).toEqual(['away', 'away', 'away'])
      // Their agent works in this team; the viewer's works in another, which is not shown here.
      await own.app.auth.authenticate(token)
      await own.app.auth.authenticate(elsewhere)
      const seen = await at()
      expect(seen.get(member.userId)).toMatchObject({
        status: 'online',
        agents: 1,
        role: 'member',
        lastSeenAt: clock.now().toISOString(),
      })
      expect(seen.get(viewer.userId)).toMatchObject({ status: 'away', agents: 0 })
      await own.app.auth.flushUsage()
      expect((await at()).get(member.userId)).toMatchObject({ status: 'online', agents: 1 })
      clock.forward({ minutes: 13 })
      expect(await statusOf()).toEqual(['offline', 'away', 'offline'])
      expect((await at()).get(owner.userId)?.status).toBe('online')
      expect(JSON.stringify([...(await at()).values()])).not.toContain('@example.com')
    } finally {
      await own.close()
    }
  })

  test('is not affected by an administrator who acts as that member', async () => {
    const team = await newTeam()
    await t.app.auth.flushUsage()
    const longAgo = '2020-01-01T00:00:00.000Z'
    await t.app.db
      .update(loginSessions)
      .set({ lastSeenAt: longAgo })
      .where(eq(loginSessions.userId, people.viewer.userId))
    await t.app.db.insert(loginSessions).values({
      userId: people.viewer.userId,
      via: 'impersonation',
      impersonatorId: people.stranger.userId,
      createdAt: longAgo,
      lastSeenAt: new Date().toISOString(),
      expiresAt: longAgo,
    })
    const { body } = await people.owner.fetch<PresencePage>('GET', `${team.path}/presence?sort=name&limit=2&total=true`)
    expect(body.items.map((m) => [m.name, m.status])).toEqual([
      ['Ada', 'online'],
      ['Barbara', 'offline'],
    ])
    expect(body).toMatchObject({ total: 4, items: [{}, { lastSeenAt: longAgo }] })
    expect(body.nextCursor).toBeString()
  })
})
