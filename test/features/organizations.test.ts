import { beforeAll, describe, expect, test } from 'bun:test'
import type { Role } from '../../src/auth/policy.ts'
import { isAtLeast, roles } from '../../src/auth/policy.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import type { Member, MemberPage, Organization, OrganizationPage } from '../../src/features/organizations/schema.ts'
import type { Project, ProjectPage } from '../../src/features/projects/schema.ts'
import { call, mcpToken, type Person, person, sharedApp, systemCtx, type TestApp, unique } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, failure, ids, inside, statuses, times, watch } from './support.ts'

let t: TestApp
/** People are dear (a password hash each), so these work in many teams. */
let ada: Person
let grace: Person
let edsger: Person
let barbara: Person
let stranger: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[ada, grace, edsger, barbara, stranger] = (await Promise.all(
    ['Ada Lovelace', 'Grace Hopper', 'Edsger Dijkstra', 'Barbara Liskov', 'Some Stranger'].map((name) =>
      person(t, { name }),
    ),
  )) as [Person, Person, Person, Person, Person]
})

const newTeam = async (owner: Person, name = unique('team')): Promise<Organization> =>
  (await owner.fetch<Organization>('POST', '/api/teams', { name })).body
const add = (team: { id: string }, who: Person, role: Role) =>
  addMember(systemCtx(t), { id: team.id, userId: who.userId, role })
const roleOf = async (team: { id: string }, seenBy: Person) => {
  const { body } = await seenBy.fetch<MemberPage>('GET', `/api/teams/${team.id}/members`)
  return new Map(body.items.map((m) => [m.id, m.role]))
}

/** Ada owns it; the others have the role their variable says. */
async function fullTeam() {
  const team = await newTeam(ada)
  await add(team, grace, 'admin')
  await add(team, edsger, 'member')
  await add(team, barbara, 'viewer')
  return { team, by: { owner: ada, admin: grace, member: edsger, viewer: barbara } as Record<Role, Person> }
}

describe('a team', () => {
  test('is created by any user, who then owns it', async () => {
    const name = unique('Analytical Engines')
    const made = await ada.fetch<Organization>('POST', '/api/teams', { name, description: 'Cogs' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/teams/${made.body.id}`)
    expect(made.body).toMatchObject({
      name,
      slug: name.toLowerCase().replaceAll(' ', '-'),
      description: 'Cogs',
      personal: false,
      role: 'owner',
      version: 1,
      settings: {},
    })
    expect(await expectEvent(t, made, 'organization.created')).toMatchObject({
      subjectId: made.body.id,
      organizationId: made.body.id,
      actor: { kind: 'session', id: ada.userId },
    })
    expect((await ada.fetch<Organization>('GET', `/api/teams/${made.body.id}`)).body).toEqual(made.body)
    expect((await roleOf(made.body, ada)).get(ada.userId)).toBe('owner')
  })

  test('gets its own slug even if ten of the same name are created at once', async () => {
    const name = unique('same')
    const answers = await Promise.all(times(10, () => ada.fetch<Organization>('POST', '/api/teams', { name })))
    expect(statuses(answers)).toEqual(times(10, () => 201))
    expect(new Set(answers.map((a) => a.body.slug)).size).toBe(10)
  })

  test('is listed for its members only, oldest first and page by page', async () => {
    const me = await person(t)
    const second = await newTeam(me)
    const third = await newTeam(ada)
    await add(third, me, 'viewer')
    await newTeam(ada)
    const all = await me.fetch<OrganizationPage>('GET', '/api/teams?total=true')
    const refusal = { code: 'forbidden', detail: expect.stringContaining('needs the role member') }
    expect(all.body.items.map(({ can }) => can?.write)).toMatchObject([true, true, refusal])
    expect(all.body.items.map((o) => [o.id, o.role])).toEqual([
      [me.organizationId, 'owner'],
      [second.id, 'owner'],
      [third.id, 'viewer'],
    ])
    expect(all.body.total).toBe(3)
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await me.fetch<OrganizationPage>('GET', `/api/teams?limit=1${cursor}`)
      paged.push(...body.items.map((o) => o.id))
      if (!body.nextCursor) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(paged).toEqual(all.body.items.map((o) => o.id))
  })

  test('is chosen by X-Organization-Id; otherwise the oldest one is current', async () => {
    const team = await newTeam(ada)
    expect((await ada.fetch<Organization>('GET', '/api/team')).body.id).toBe(ada.organizationId)
    expect((await inside(ada, team.id).fetch<Organization>('GET', '/api/team')).body.id).toBe(team.id)
    await expectRefusal(t, await inside(stranger, team.id).fetch('GET', '/api/team'), 404, 'not_found')
  })
})

describe('changing a team', () => {
  test('is for owners and admins; other members get 403', async () => {
    const { team, by } = await fullTeam()
    const path = `/api/teams/${team.id}`
    for (const role of ['owner', 'admin'] as const) {
      const changed = await by[role].fetch<Organization>('PATCH', path, { description: `by ${role}` })
      expect(changed.status).toBe(200)
      expect(changed.body).toMatchObject({ description: `by ${role}`, role, name: team.name, slug: team.slug })
      expect(await expectEvent(t, changed, 'organization.updated')).toMatchObject({
        organizationId: team.id,
        data: { fields: ['description'] },
      })
    }
    for (const role of ['member', 'viewer'] as const) {
      await expectRefusal(t, await by[role].fetch('PATCH', path, { description: 'x' }), 403, 'forbidden')
      await expectRefusal(
        t,
        await inside(by[role], team.id).fetch('PATCH', '/api/team', { description: 'x' }),
        403,
        'forbidden',
      )
    }
    expect((await ada.fetch<Organization>('GET', path)).body).toMatchObject({ description: 'by admin', version: 3 })
  })

  test('by PATCH /api/team changes the current one', async () => {
    const { team, by } = await fullTeam()
    const changed = await inside(by.admin, team.id).fetch<Organization>('PATCH', '/api/team', {
      name: '  New name ',
      settings: { weekStart: 'monday' },
    })
    expect(changed.body).toMatchObject({
      id: team.id,
      name: 'New name',
      slug: team.slug,
      settings: { weekStart: 'monday' },
    })
    await expectEvent(t, changed, 'organization.updated')
  })

  test('clears a description with null; unknown, privileged and oversized fields are refused', async () => {
    const team = await newTeam(ada)
    const path = `/api/teams/${team.id}`
    await ada.fetch('PATCH', path, { description: 'x' })
    expect((await ada.fetch<Organization>('PATCH', path, { description: null })).body.description).toBeNull()
    for (const patch of [
      { plan: 'gold' },
      { personal: true },
      { slug: 'mine' },
      { name: null },
      { settings: { x: 'é'.repeat(8 << 10) } },
    ])
      await expectRefusal(t, await ada.fetch('PATCH', path, patch), 422, 'invalid')
  })
})

describe('deleting a team', () => {
  test('is for owners, and hides it with all its records from everyone at once', async () => {
    const { team, by } = await fullTeam()
    const path = `/api/teams/${team.id}`
    const there = inside(ada, team.id)
    const handle = ((await ada.fetch('GET', '/api/auth/me')).body as { handle: string }).handle
    const project = (
      await there.fetch<Project>('POST', '/api/projects', { name: unique('open'), visibility: 'public' })
    ).body
    const note = (await there.fetch<Note>('POST', '/api/notes', { title: 'Open', scope: 'public' })).body
    const visitor = () =>
      Promise.all(
        [`/api/public/projects/${handle}/${project.slug}`, `/api/notes/public/${note.slug}`].map((p) =>
          call(t, 'GET', p),
        ),
      )
    expect(statuses(await visitor())).toEqual([200, 200])
    const token = await mcpToken(t, inside(by.member, team.id))
    await t.app.auth.authenticate(token)
    expect((await inside(by.viewer, team.id).fetch('GET', '/api/projects')).status).toBe(200)

    for (const role of ['admin', 'member', 'viewer'] as const)
      await expectRefusal(t, await by[role].fetch('DELETE', path), 403, 'forbidden')
    await expectRefusal(t, await stranger.fetch('DELETE', path), 404, 'not_found')

    const gone = await ada.fetch('DELETE', path)
    expect(gone.status).toBe(200)
    expect(gone.body).toEqual({ id: team.id, deleted: true })
    expect(await expectEvent(t, gone, 'organization.deleted')).toMatchObject({
      subjectId: team.id,
      organizationId: team.id,
      data: { name: team.name },
    })

    for (const who of Object.values(by)) {
      expect((await who.fetch('GET', path)).status).toBe(404)
      expect((await inside(who, team.id).fetch('GET', '/api/projects')).status).toBe(404)
      expect((await who.fetch('GET', `/api/projects/${project.id}`)).status).toBe(404)
      expect((await who.fetch('GET', `/api/notes/${note.id}`)).status).toBe(404)
      expect(ids((await who.fetch<OrganizationPage>('GET', '/api/teams')).body)).not.toContain(team.id)
    }
    expect(statuses(await visitor())).toEqual([404, 404])
    expect(await failure(t.app.auth.authenticate(token))).toMatchObject({ code: 'unauthenticated' })
    expect((await newTeam(ada, team.name)).slug).toBe(team.slug)
  })

  test('is refused for a personal one', async () => {
    await expectRefusal(t, await ada.fetch('DELETE', `/api/teams/${ada.organizationId}`), 409, 'conflict')
    expect((await ada.fetch('GET', '/api/team')).status).toBe(200)
  })
})

describe('the members of a team', () => {
  test('are visible to every member, by time of joining or by name', async () => {
    const { team, by } = await fullTeam()
    for (const who of Object.values(by)) {
      const { body } = await who.fetch<MemberPage>('GET', `/api/teams/${team.id}/members?total=true`)
      expect(body.items.map((m) => `${m.name}: ${m.role}`).sort()).toEqual([
        'Ada Lovelace: owner',
        'Barbara Liskov: viewer',
        'Edsger Dijkstra: member',
        'Grace Hopper: admin',
      ])
      const joined = body.items.map((m) => `${m.joinedAt} ${m.id}`)
      expect(joined).toEqual(joined.toSorted())
      expect(body.total).toBe(4)
      expect(Object.keys(body.items[0] as Member).sort()).toEqual([
        'avatarUrl',
        'can',
        'email',
        'handle',
        'id',
        'joinedAt',
        'name',
        'organizationId',
        'role',
      ])
    }
    const named = await inside(barbara, team.id).fetch<MemberPage>('GET', '/api/team/members?sort=name&limit=3')
    expect(named.body.items.map((m) => m.name)).toEqual(['Ada Lovelace', 'Barbara Liskov', 'Edsger Dijkstra'])
    const rest = await inside(barbara, team.id).fetch<MemberPage>(
      'GET',
      `/api/team/members?sort=name&limit=3&cursor=${named.body.nextCursor}`,
    )
    expect(rest.body).toMatchObject({ items: [{ name: 'Grace Hopper' }], nextCursor: null })
  })

  test('are listed from a valid cursor only; an invented one is answered with 4xx', async () => {
    const forge = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
    for (const value of ['yesterday', '2026-99-99T99:99:99.999Z', 5]) {
      const cursor = forge('joinedAt.asc', value, ada.userId)
      await expectRefusal(t, await ada.fetch('GET', `/api/team/members?cursor=${cursor}`), 400, 'invalid.cursor')
    }
    await expectRefusal(
      t,
      await ada.fetch('GET', `/api/team/members?sort=name&cursor=${forge('name.asc', 5, ada.userId)}`),
      400,
      'invalid.cursor',
    )
  })

  test('are added by administrators of the server only', async () => {
    const team = await newTeam(ada)
    const boss = await person(t, { admin: true })
    const path = `/api/admin/teams/${team.id}/members`
    const added = await boss.fetch<Member>('POST', path, { userId: grace.userId, role: 'member' })
    expect(added.status).toBe(201)
    expect(added.body).toMatchObject({ id: grace.userId, organizationId: team.id, role: 'member', email: grace.email })
    const [joined] = await expectEvents(t, added, 'member.added', 'notification.created')
    expect(joined).toMatchObject({
      organizationId: team.id,
      data: { userId: grace.userId, role: 'member' },
    })
    expect((await grace.fetch('GET', `/api/teams/${team.id}`)).status).toBe(200)
    await expectRefusal(
      t,
      await boss.fetch('POST', path, { userId: grace.userId, role: 'owner' }),
      409,
      'conflict.exists',
    )
    await expectRefusal(
      t,
      await boss.fetch('POST', path, { userId: Bun.randomUUIDv7(), role: 'member' }),
      404,
      'not_found',
    )
    await expectRefusal(
      t,
      await boss.fetch('POST', `/api/admin/teams/${Bun.randomUUIDv7()}/members`, {
        userId: edsger.userId,
        role: 'member',
      }),
      404,
      'not_found',
    )
    await expectRefusal(t, await ada.fetch('POST', path, { userId: edsger.userId, role: 'member' }), 403, 'forbidden')
    // An administrator of the instance is no member of its teams.
    await expectRefusal(t, await boss.fetch('GET', `/api/teams/${team.id}`), 404, 'not_found')
  })

  test('get roles according to the role of the caller', async () => {
    const { team, by } = await fullTeam()
    const target = await person(t, { name: 'Alan Turing' })
    await add(team, target, 'viewer')
    const path = `/api/teams/${team.id}/members/${target.userId}`
    const set = (who: Person, role: Role) => who.fetch<Member>('PATCH', path, { role })
    for (const actor of roles)
      for (const from of roles)
        for (const to of roles) {
          expect((await set(ada, from)).status).toBe(200)
          const answer = await set(by[actor], to)
          const allowed = actor === 'owner' || (actor === 'admin' && from !== 'owner' && to !== 'owner')
          if (!allowed) {
            await expectRefusal(t, answer, 403, 'forbidden')
            expect((await roleOf(team, ada)).get(target.userId)).toBe(from)
            continue
          }
          expect({ actor, from, to, status: answer.status, role: answer.body.role }).toEqual({
            actor,
            from,
            to,
            status: 200,
            role: to,
          })
          // Of a new admin or owner every owner is told who did not do it: Ada, or the new owner.
          const told = isAtLeast(to, 'admin') && !isAtLeast(from, to) && (actor === 'admin' || to === 'owner')
          const types = ['member.role_changed', ...(told ? ['notification.created'] : [])]
          const [event] = await expectEvents(t, answer, ...types)
          expect(event).toMatchObject({ organizationId: team.id, data: { userId: target.userId, from, to } })
          expect((await roleOf(team, ada)).get(target.userId)).toBe(to)
        }
  }, 300_000)

  test('are removed according to the role of the caller', async () => {
    const { team, by } = await fullTeam()
    const target = await person(t, { name: 'Alan Turing' })
    const path = `/api/teams/${team.id}/members/${target.userId}`
    for (const role of roles) {
      await add(team, target, role)
      for (const actor of ['viewer', 'member', 'admin', 'owner'] as const) {
        const answer = await by[actor].fetch('DELETE', path)
        if (actor !== 'owner' && !(actor === 'admin' && !isAtLeast(role, 'owner'))) {
          await expectRefusal(t, answer, 403, 'forbidden')
          continue
        }
        expect(answer.body).toEqual({ organizationId: team.id, userId: target.userId, removed: true })
        expect(await expectEvent(t, answer, 'member.removed')).toMatchObject({
          organizationId: team.id,
          data: { userId: target.userId },
        })
        break
      }
      expect((await roleOf(team, ada)).has(target.userId)).toBe(false)
    }
    await expectRefusal(t, await ada.fetch('DELETE', path), 404, 'not_found')
    await expectRefusal(t, await ada.fetch('PATCH', path, { role: 'member' }), 404, 'not_found')
  })

  test('can leave, and lose access', async () => {
    const { team, by } = await fullTeam()
    for (const role of ['viewer', 'member', 'admin'] as const) {
      const who = by[role]
      const left = await who.fetch('DELETE', `/api/teams/${team.id}/members/${who.userId}`)
      expect(left.status).toBe(200)
      await expectEvent(t, left, 'member.removed')
      expect((await who.fetch('GET', `/api/teams/${team.id}`)).status).toBe(404)
    }
    expect([...(await roleOf(team, ada)).keys()]).toEqual([ada.userId])
  })

  test('of a personal team can leave it; its own person cannot leave or be removed', async () => {
    const home = await person(t)
    const own = { id: home.organizationId }
    await add(own, grace, 'viewer')
    await add(own, edsger, 'owner')
    expect((await grace.fetch('DELETE', `/api/teams/${own.id}/members/${grace.userId}`)).status).toBe(200)
    await expectRefusal(t, await home.fetch('DELETE', `/api/teams/${own.id}/members/${home.userId}`), 409, 'conflict')
    await expectRefusal(t, await edsger.fetch('DELETE', `/api/teams/${own.id}/members/${home.userId}`), 409, 'conflict')
    expect((await edsger.fetch('DELETE', `/api/teams/${own.id}/members/${edsger.userId}`)).status).toBe(200)
  })

  test('lose access at once when removed, with every credential', async () => {
    const { team } = await fullTeam()
    const there = inside(edsger, team.id)
    const project = (await there.fetch<Project>('POST', '/api/projects', { name: 'Mine', visibility: 'private' })).body
    const note = (await there.fetch<Note>('POST', '/api/notes', { title: 'Mine', scope: 'team' })).body
    const token = await mcpToken(t, there)
    const key = (
      await edsger.fetch<{ token: string }>('POST', '/api/settings/api-keys', { name: 'k', organizationId: team.id })
    ).body.token
    const withKey = () => call<ProjectPage>(t, 'GET', '/api/projects', undefined, { authorization: `Bearer ${key}` })
    const look = () =>
      Promise.all(
        [`/api/teams/${team.id}`, `/api/projects/${project.id}`, `/api/notes/${note.id}`].map((p) =>
          edsger.fetch('GET', p),
        ),
      )
    // Everything is in the cache now.
    expect(statuses(await look())).toEqual([200, 200, 200])
    expect((await withKey()).body.items).toHaveLength(1)
    expect((await t.app.auth.authenticate(token)).organizationId).toBe(team.id)

    expect((await ada.fetch('DELETE', `/api/teams/${team.id}/members/${edsger.userId}`)).status).toBe(200)
    expect(statuses(await look())).toEqual([404, 404, 404])
    expect((await there.fetch('GET', '/api/projects')).status).toBe(404)
    expect((await withKey()).status).toBe(401)
    expect(await failure(t.app.auth.authenticate(token))).toMatchObject({ code: 'unauthenticated' })
    expect((await edsger.fetch('GET', '/api/team')).status).toBe(200)
  })
})

describe('the last owner of a team', () => {
  test('can neither step down, leave nor be removed', async () => {
    const { team } = await fullTeam()
    const path = `/api/teams/${team.id}/members/${ada.userId}`
    for (const role of ['admin', 'member', 'viewer'])
      await expectRefusal(t, await ada.fetch('PATCH', path, { role }), 409, 'conflict.last_owner')
    await expectRefusal(t, await ada.fetch('DELETE', path), 409, 'conflict.last_owner')
    await expectRefusal(t, await grace.fetch('DELETE', path), 403, 'forbidden')
    expect((await roleOf(team, ada)).get(ada.userId)).toBe('owner')
    await ada.fetch('PATCH', `/api/teams/${team.id}/members/${grace.userId}`, { role: 'owner' })
    expect((await ada.fetch('PATCH', path, { role: 'viewer' })).status).toBe(200)
  })

  test('remains when two owners demote each other at the same moment, thirty times', async () => {
    const team = await newTeam(ada)
    await add(team, grace, 'owner')
    const demote = (who: Person, whom: Person) =>
      who.fetch('PATCH', `/api/teams/${team.id}/members/${whom.userId}`, { role: 'member' })
    for (let round = 0; round < 30; round++) {
      const answers = await Promise.all([demote(ada, grace), demote(grace, ada)])
      // The second was no longer owner when they tried, or would have been the last one.
      const [won, lost] = statuses(answers)
      expect(won).toBe(200)
      expect([403, 409]).toContain(lost as number)
      const held = await roleOf(team, ada)
      const [owner, other] = held.get(ada.userId) === 'owner' ? [ada, grace] : [grace, ada]
      expect([...held.values()].sort()).toEqual(['member', 'owner'])
      expect(
        (await owner.fetch('PATCH', `/api/teams/${team.id}/members/${other.userId}`, { role: 'owner' })).status,
      ).toBe(200)
    }
  }, 300_000)

  test('remains when two owners leave at the same moment, ten times', async () => {
    const team = await newTeam(ada)
    await add(team, grace, 'owner')
    for (let round = 0; round < 10; round++) {
      const both = [ada, grace]
      const answers = await Promise.all(both.map((p) => p.fetch('DELETE', `/api/teams/${team.id}/members/${p.userId}`)))
      expect(statuses(answers)).toEqual([200, 409])
      const gone = both[answers.findIndex((a) => a.status === 200)] as Person
      const stays = both.find((p) => p !== gone) as Person
      expect([...(await roleOf(team, stays)).entries()]).toEqual([[stays.userId, 'owner']])
      await add(team, gone, 'owner')
    }
  }, 300_000)
})
