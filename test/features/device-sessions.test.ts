import { beforeAll, describe, expect, test } from 'bun:test'
import type { Problem } from '../../src/errors.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import type { MemberPage, Organization } from '../../src/features/organizations/schema.ts'
import { documentedRoutes, routeAction } from '../../src/http/openapi.ts'
import { apiKey, call, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { deviceSession, login, substitutesOf } from './accounts-support.ts'
import { expectRefusal, watch } from './support.ts'

/** A device that was signed in by a code is where agents run: it works, and administers nothing. */
let t: TestApp
let admin: Person
let ada: Person
let device: Person['fetch']
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[admin, ada] = [await person(t, { admin: true, name: 'Root Admin' }), await person(t)]
  device = await deviceOf(admin)
})

async function deviceOf(who: Person): Promise<Person['fetch']> {
  const { token } = await deviceSession(t, who.userId)
  return (method, path, body, headers = {}) =>
    call(t, method, path, body, { authorization: `Bearer ${token}`, ...headers })
}

/** A session at a browser whose user confirmed their identity six minutes ago. */
async function staleSession(who: Person): Promise<Person['fetch']> {
  // It has not been used yet: the rights of one that has are cached for a second.
  const { token } = (await login(t, who.email)).body
  await t.app.driver.query(
    "update login_sessions set authenticated_at = authenticated_at - interval '6 minutes' where id = (select id from " +
      'login_sessions where user_id = $1 order by created_at desc limit 1)',
    [who.userId],
  )
  return (method, path, body) => call(t, method, path, body, { authorization: `Bearer ${token}` })
}

const newTeam = async (): Promise<Organization> =>
  (await ada.fetch<Organization>('POST', '/api/teams', { name: unique('Team') })).body
const securityNotices = async (who: Person) =>
  (await who.fetch<NotificationPage>('GET', '/api/notifications?limit=200')).body.items
    .filter(({ reason }) => reason === 'security')
    .map(({ title, message }) => [title, message])

describe('the device session of an administrator', () => {
  test('is refused on every admin route, with the page to use instead', async () => {
    const routes = documentedRoutes(t.server.routes).filter((route) => routeAction(route).rule.admin)
    expect(routes.length).toBeGreaterThan(20)
    for (const route of routes) {
      const path = route.path.replaceAll(/:\w+/g, ada.organizationId)
      const { status, body } = await device<Problem>(route.method, path)
      expect([route.path, status, body.next]).toEqual([route.path, 403, [{ page: '/settings/profile' }]])
    }
  })
  test('cannot enter a team, reset a password or create a key', async () => {
    const team = await newTeam()
    const members = `/api/admin/teams/${team.id}/members`
    for (const [method, path, body] of [
      ['POST', members, { userId: admin.userId, role: 'owner' }],
      ['PATCH', `${members}/${ada.userId}`, { role: 'viewer' }],
      ['DELETE', `${members}/${ada.userId}`],
      ['POST', `/api/admin/users/${ada.userId}/password`],
      ['POST', '/api/settings/api-keys', { name: 'long', expiresInDays: 3650 }],
    ] as const)
      await expectRefusal(t, await device(method, path, body), 403, 'forbidden')
    expect((await admin.fetch('GET', `/api/teams/${team.id}`)).status).toBe(404)
  })
})

test('a device session creates MCP tokens for its agents that last at most 90 days', async () => {
  const mine = await deviceOf(ada)
  const create = (more: object) =>
    mine<{ expiresAt: string }>('POST', '/api/mcp-tokens', { name: 'a', organizationId: ada.organizationId, ...more })
  for (const more of [{}, { expiresInDays: 90 }, { kind: 'test' }]) expect((await create(more)).status).toBe(201)
  const { next } = await expectRefusal(t, await create({ expiresInDays: 91 }), 403, 'forbidden')
  expect(next).toEqual([{ page: '/tokens' }])
  const years = { name: 'a', organizationId: ada.organizationId, expiresInDays: 3650 }
  expect((await ada.fetch('POST', '/api/mcp-tokens', years)).status).toBe(201)
})

describe('an administrator who manages a foreign team', () => {
  test('needs a recent confirmation of identity', async () => {
    const team = await newTeam()
    const stale = await staleSession(admin)
    const { userId } = await person(t)
    const members = `/api/admin/teams/${team.id}/members`
    const steps = [
      ['POST', members, { userId, role: 'member' }, 201],
      ['PATCH', `${members}/${userId}`, { role: 'viewer' }, 200],
      ['DELETE', `${members}/${userId}`, undefined, 200],
      ['POST', `/api/admin/users/${userId}/password`, undefined, 200],
    ] as const
    for (const [method, path, body, done] of steps) {
      await expectRefusal(t, await stale(method, path, body), 403, 'forbidden.reauth')
      expect([path, (await admin.fetch(method, path, body)).status]).toEqual([path, done])
    }
  })

  test('is reported to the owners of the team', async () => {
    const [team, owner, other] = [await newTeam(), await person(t), await person(t, { name: 'Mary' })]
    const members = `/api/admin/teams/${team.id}/members`
    await admin.fetch('POST', members, { userId: owner.userId, role: 'owner' })
    await admin.fetch('POST', members, { userId: admin.userId, role: 'owner' })
    await admin.fetch('POST', members, { userId: other.userId, role: 'member' })
    await admin.fetch('PATCH', `${members}/${owner.userId}`, { role: 'viewer' })
    await admin.fetch('DELETE', `${members}/${other.userId}`)
    const title = `An administrator changed the members of ${team.name}`
    const added = [title, 'Root Admin added Mary as member.']
    const themselves = [title, 'Root Admin added themselves as owner.']
    const demoted = [title, 'Root Admin gave Ada Lovelace the role viewer.']
    expect(await securityNotices(owner)).toEqual([demoted, added, themselves])
    expect((await securityNotices(ada)).filter(([about]) => about === title)).toEqual([
      [title, 'Root Admin removed Mary.'],
      demoted,
      added,
      themselves,
      [title, 'Root Admin added Ada Lovelace as owner.'],
    ])
    expect(await securityNotices(admin)).toEqual([])
  })
})

describe('granting the role admin or owner', () => {
  test('is refused to devices, keys and impersonators, with the page to use instead', async () => {
    const boss = await person(t)
    const team = boss.organizationId
    const mary = await member(t, boss, 'viewer', 'Mary')
    const path = `/api/teams/${team}/members/${mary.userId}`
    for (const [name, use] of Object.entries(await substitutesOf(t, boss)))
      for (const [from, to] of [
        ['viewer', 'admin'],
        ['member', 'owner'],
        ['admin', 'owner'],
      ] as const) {
        expect((await boss.fetch('PATCH', path, { role: from })).status).toBe(200)
        const { next } = await expectRefusal(t, await use('PATCH', path, { role: to }), 403, 'forbidden')
        if (name !== 'impersonator') expect(next).toEqual([{ page: `/teams/${team}` }])
        expect((await boss.fetch<MemberPage>('GET', `/api/teams/${team}/members`)).body.items).toContainEqual(
          expect.objectContaining({ id: mary.userId, role: from }),
        )
        // What gives nobody more power stays possible.
        for (const role of [from, 'member', 'viewer'])
          expect([name, (await use('PATCH', path, { role })).status]).toEqual([name, 200])
      }
  })

  test('needs a recent confirmation of identity at a browser, also for an invitation', async () => {
    const boss = await person(t)
    const mary = await member(t, boss, 'member', 'Mary')
    const stale = await staleSession(boss)
    const team = `/api/teams/${boss.organizationId}`
    for (const role of ['admin', 'owner']) {
      const steps = [
        ['PATCH', `${team}/members/${mary.userId}`, { role }],
        ['POST', `${team}/invite`, { email: `${unique('guest')}@example.com`, role }],
      ] as const
      for (const [method, path, body] of steps)
        await expectRefusal(t, await stale(method, path, body), 403, 'forbidden.reauth')
    }
    expect((await stale('PATCH', `${team}/members/${mary.userId}`, { role: 'viewer' })).status).toBe(200)
  })
})

test('the other owners are notified of new admins and owners only', async () => {
  const boss = await person(t)
  const [other, admin, mary] = [
    await member(t, boss, 'owner'),
    await member(t, boss, 'admin'),
    await member(t, boss, 'viewer', 'Mary'),
  ]
  const roleOf = (by: Person, role: string) =>
    by.fetch('PATCH', `/api/teams/${boss.organizationId}/members/${mary.userId}`, { role })
  await roleOf(boss, 'member')
  await roleOf(admin, 'admin')
  await roleOf(boss, 'owner')
  await roleOf(boss, 'admin')
  const told = (by: string, from: string, to: string) => [
    `Mary is now ${to} of Ada Lovelace's space`,
    `${by} changed the role of ${mary.email} from ${from} to ${to}.`,
  ]
  const [byAdmin, byBoss] = [told('Grace Hopper', 'member', 'admin'), told('Ada Lovelace', 'admin', 'owner')]
  expect([await securityNotices(other), await securityNotices(boss), await securityNotices(admin)]).toEqual([
    [byBoss, byAdmin],
    [byAdmin],
    [],
  ])
  const { body } = await other.fetch<NotificationPage>('GET', '/api/notifications')
  expect(body.items[0]?.link).toBe(`/teams/${boss.organizationId}`)
})

describe('gates of a workflow', () => {
  test('cannot be overridden or changed from a device or with a key, and the refusal names the page', async () => {
    const mine = await deviceOf(ada)
    const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Gates') })).body
    const made = await ada.fetch<{ id: string }>('POST', `/api/projects/${project.id}/features`, { title: 'Gate' })
    const override = { status: 'done', reason: 'Shipped' }
    const settings = { settings: { allowSelfReview: true } }
    const key = { authorization: `Bearer ${await apiKey(t, ada)}` }
    for (const use of [mine, (...[method, path, body]: Parameters<typeof mine>) => call(t, method, path, body, key)]) {
      const over = await use('POST', `/api/features/${made.body.id}/override`, override)
      expect((await expectRefusal(t, over, 403, 'forbidden')).next).toEqual([{ page: '/features/{id}' }])
      const set = await use('PUT', `/api/projects/${project.id}`, settings)
      expect((await expectRefusal(t, set, 403, 'forbidden')).next).toEqual([{ page: `/projects/${project.id}` }])
      const begun = await use('POST', '/api/projects', { name: unique('Open'), ...settings })
      expect((await expectRefusal(t, begun, 403, 'forbidden')).next).toEqual([{ page: '/projects' }])
    }
    expect((await ada.fetch('POST', `/api/features/${made.body.id}/override`, override)).status).toBe(200)
    expect((await ada.fetch('PUT', `/api/projects/${project.id}`, settings)).status).toBe(200)
  })
})

test('a key bound to one team can neither read nor change its user’s account', async () => {
  const { body } = await ada.fetch<{ token: string }>('POST', '/api/settings/api-keys', {
    name: 'bound',
    organizationId: ada.organizationId,
  })
  const bound = (method: string, path: string, sent?: object) =>
    call<Problem>(t, method, path, sent, { authorization: `Bearer ${body.token}` })
  for (const path of [
    '/api/auth/me',
    '/api/settings/api-keys',
    '/api/mcp-tokens',
    '/api/settings/sessions',
    '/api/settings/passkeys',
    '/api/settings/preferences',
    '/api/settings/connected-accounts',
    '/api/settings/integrations/user',
    '/api/notifications',
    '/api/invites',
    '/api/issues',
  ])
    expect([path, (await bound('GET', path)).status]).toEqual([path, 403])
  expect((await bound('PATCH', '/api/settings/preferences', { theme: 'dark' })).status).toBe(403)
  for (const path of ['/api/teams', '/api/team', '/api/notes', '/api/projects', '/api/workspaces'])
    expect([path, (await bound('GET', path)).status]).toEqual([path, 200])
})
