import { beforeAll, describe, expect, test } from 'bun:test'
import type { Role } from '../../src/auth/policy.ts'
import type { AdminTeam, AdminTeamDetail, AdminTeamPage } from '../../src/features/admin/schema.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Member, Organization } from '../../src/features/organizations/schema.ts'
import { mcpToken, type Person, person, sharedApp, systemCtx, type TestApp, unique } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, ids, inside, statuses, times, watch } from './support.ts'

let t: TestApp
let admin: Person
let ada: Person
let grace: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[admin, ada, grace] = (await Promise.all([
    person(t, { admin: true }),
    person(t),
    person(t, { name: 'Grace Hopper' }),
  ])) as [Person, Person, Person]
})

const newTeam = async (owner = ada, name = unique('Team')): Promise<Organization> =>
  (await owner.fetch<Organization>('POST', '/api/teams', { name })).body
const add = (team: Organization, who: Person, role: Role) =>
  addMember(systemCtx(t), { id: team.id, userId: who.userId, role })
const list = async (query: string) => (await admin.fetch<AdminTeamPage>('GET', `/api/admin/teams${query}`)).body
const at = (team: { id: string }, who?: Person) => `/api/admin/teams/${team.id}${who ? `/members/${who.userId}` : ''}`

describe('GET /api/admin/teams', () => {
  test('lists teams page by page with their number of members, and finds them by name or slug', async () => {
    const mark = unique('Gremium')
    const made = [
      await newTeam(ada, `${mark} one`),
      await newTeam(ada, `${mark} two`),
      await newTeam(grace, `${mark} three`),
    ]
    await add(made[0] as Organization, grace, 'viewer')
    const found = await list(`?search=${mark}&total=true&sort=createdAt&order=asc`)
    expect(found.total).toBe(3)
    expect(found.items.map((team) => [team.id, team.members, team.createdById])).toEqual([
      [made[0]?.id as string, 2, ada.userId],
      [made[1]?.id as string, 1, ada.userId],
      [made[2]?.id as string, 1, grace.userId],
    ])
    expect(ids(await list(`?search=${made[1]?.slug}`))).toEqual([made[1]?.id as string])
    const first = await list(`?search=${mark}&limit=2&sort=name`)
    const rest = await list(`?search=${mark}&limit=2&sort=name&cursor=${first.nextCursor}`)
    expect([...first.items, ...rest.items]).toHaveLength(3)
    expect(ids(await list(`?search=${mark}&personal=true`))).toEqual([])
  })

  test('includes personal teams, but neither sandboxes nor deleted teams', async () => {
    const [who, team] = [await person(t), await newTeam()]
    await mcpToken(t, who, { kind: 'test' })
    const { handle } = (await who.fetch<{ handle: string }>('GET', '/api/auth/me')).body
    expect((await list(`?search=${handle}&personal=true`)).items).toMatchObject([
      { id: who.organizationId, personal: true, members: 1 },
    ])
    expect((await list('?search=sandbox-')).items).toEqual([])
    const { rows } = await t.app.driver.query('select id::text from organizations where sandbox_of = $1', [
      who.organizationId,
    ])
    expect((await admin.fetch('GET', at({ id: String(rows[0]?.[0]) }))).status).toBe(404)
    await ada.fetch('DELETE', `/api/teams/${team.id}`)
    expect((await list(`?search=${team.slug}`)).items).toEqual([])
    expect((await admin.fetch('GET', at(team))).status).toBe(404)
  })
})

describe('a team', () => {
  test('is shown with its owners and its number of records', async () => {
    const team = await newTeam()
    await add(team, grace, 'owner')
    await inside(ada, team.id).fetch('POST', '/api/projects', { name: unique('Engine') })
    const { body } = await admin.fetch<AdminTeamDetail>('GET', at(team))
    expect(body).toMatchObject({
      id: team.id,
      name: team.name,
      plan: 'included',
      planStatus: 'active',
      members: 2,
      projects: 1,
    })
    expect(body.owners.map((o) => o.id)).toEqual([ada.userId, grace.userId])
  })

  test('can be changed by an administrator who is no member, based on the version they read', async () => {
    const team = await newTeam()
    const changed = await admin.fetch<AdminTeamDetail>('PATCH', at(team), {
      name: ' Renamed ',
      description: null,
      settings: { a: 1 },
    })
    expect(changed.body).toMatchObject({ name: 'Renamed', settings: { a: 1 }, version: 2, slug: team.slug })
    expect(await expectEvent(t, changed, 'organization.updated')).toMatchObject({
      organizationId: team.id,
      actor: { id: admin.userId },
      data: { fields: ['name', 'description', 'settings'] },
    })
    const both = await Promise.all(
      times(2, (i) => admin.fetch<AdminTeam>('PATCH', at(team), { name: `N${i}` }, { 'if-match': '"2"' })),
    )
    expect(statuses(both)).toEqual([200, 412])
    await expectRefusal(
      t,
      await admin.fetch('PATCH', at(team), { settings: { big: 'x'.repeat(17_000) } }),
      422,
      'invalid',
    )
    // It gives the administrator no rights in it.
    expect((await admin.fetch('GET', `/api/teams/${team.id}`)).status).toBe(404)
  })

  test('can be deleted, except a personal one', async () => {
    const team = await newTeam()
    const gone = await admin.fetch('DELETE', at(team))
    expect(gone.body).toEqual({ id: team.id, deleted: true })
    await expectEvent(t, gone, 'organization.deleted')
    expect((await ada.fetch('GET', `/api/teams/${team.id}`)).status).toBe(404)
    await expectRefusal(t, await admin.fetch('DELETE', at(team)), 404, 'not_found')
    await expectRefusal(t, await admin.fetch('DELETE', at({ id: ada.organizationId })), 409, 'conflict')
  })
})

describe('members of a team', () => {
  test('get another role or are removed, with immediate effect', async () => {
    const team = await newTeam()
    await add(team, grace, 'viewer')
    const hers = inside(grace, team.id)
    expect((await hers.fetch('POST', '/api/projects', { name: unique('P') })).status).toBe(403)
    const raised = await admin.fetch<Member>('PATCH', at(team, grace), { role: 'member' })
    expect(raised.body).toMatchObject({ id: grace.userId, organizationId: team.id, role: 'member' })
    const [change] = await expectEvents(t, raised, 'member.role_changed', 'notification.created')
    expect(change).toMatchObject({ data: { userId: grace.userId, from: 'viewer', to: 'member' } })
    expect((await hers.fetch('POST', '/api/projects', { name: unique('P') })).status).toBe(201)
    const removed = await admin.fetch('DELETE', at(team, grace))
    expect(removed.body).toEqual({ organizationId: team.id, userId: grace.userId, removed: true })
    const [removal] = await expectEvents(t, removed, 'member.removed', 'notification.created')
    expect(removal).toMatchObject({ data: { userId: grace.userId } })
    expect((await hers.fetch('GET', '/api/projects')).status).toBe(404)
    await expectRefusal(t, await admin.fetch('DELETE', at(team, grace)), 404, 'not_found')
    await expectRefusal(t, await admin.fetch('PATCH', at(team, grace), { role: 'viewer' }), 404, 'not_found')
  })

  test('always include one owner, whoever makes the change', async () => {
    const team = await newTeam()
    await expectRefusal(t, await admin.fetch('PATCH', at(team, ada), { role: 'admin' }), 409, 'conflict.last_owner')
    await expectRefusal(t, await admin.fetch('DELETE', at(team, ada)), 409, 'conflict.last_owner')
    await expectRefusal(t, await admin.fetch('DELETE', at({ id: ada.organizationId }, ada)), 409, 'conflict')
    await add(team, grace, 'owner')
    const both = await Promise.all([
      admin.fetch('DELETE', at(team, ada)),
      admin.fetch('PATCH', at(team, grace), { role: 'viewer' }),
    ])
    expect(statuses(both)).toEqual([200, 409])
  })
})
