import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Problem } from '../../src/errors.ts'
import type { TeamUsage } from '../../src/features/organizations/schema.ts'
import { type Answer, call, type Person, person, type TestApp } from '../support/app.ts'
import { pictureForm } from '../support/pictures.ts'
import { SyncClient } from '../support/sync-client.ts'
import { expectRefusal, inside, ownApp, statuses, watch } from './support.ts'

/** Limits of the plan that a test gives to its team. */
const starter = { members: 2, projects: 1, agents: 1, storageMb: 1 }

let t: TestApp
let admin: Person
let ada: Person
beforeAll(async () => {
  t = watch(await ownApp(undefined, { BILLING_KEY: 'pk_live_for_everybody' }))
  admin = await person(t, { admin: true })
})
afterAll(() => t.close())
beforeEach(async () => {
  ada = await person(t)
})

const setPlans = (table: object | null) => admin.fetch('PATCH', '/api/admin/settings/plans', { table })
const setPlan = (who: Person, plan: string, status = 'active') =>
  admin.fetch('POST', `/api/admin/users/${who.userId}/subscription`, { plan, status })
const createProject = (who: Person, name = 'Engine') => who.fetch<{ id: string }>('POST', '/api/projects', { name })
const full = (answer: Answer<unknown>, allowed: string) => {
  expect([answer.status, (answer.body as Problem).code]).toEqual([409, 'conflict.plan_limit'])
  expect((answer.body as Problem).detail).toContain(`The plan starter allows ${allowed}, and this team has`)
}

describe('the list of plans', () => {
  test('is empty by default: every plan is accepted and nothing is limited', async () => {
    expect((await setPlan(ada, 'whatever')).status).toBe(200)
    expect(statuses([await createProject(ada), await createProject(ada)])).toEqual([201, 201])
    const { body } = await ada.fetch<TeamUsage>('GET', `/api/teams/${ada.organizationId}/usage`)
    expect(body).toEqual({
      plan: 'whatever',
      planStatus: 'active',
      items: [
        { limit: 'members', used: 1, most: null },
        { limit: 'projects', used: 2, most: null },
        { limit: 'agents', used: 0, most: null },
        { limit: 'storageMb', used: 0, most: null },
      ],
    })
  })

  test('refuses invalid names and limits', async () => {
    for (const table of [{ 'Big one': {} }, { big: { members: -1 } }, { big: { members: 1.5 } }, { big: { seats: 1 } }])
      expect((await setPlans(table)).status).toBe(422)
  })

  test('refuses a plan that is not in it, and an unknown state', async () => {
    await setPlans({ starter, included: {} })
    const refused = await expectRefusal(t, await setPlan(ada, 'pro'), 422, 'invalid')
    expect(refused.detail).toContain('The plans are: starter, included.')
    expect((await setPlan(ada, 'starter', 'paid')).status).toBe(422)
    expect((await setPlan(ada, 'starter', 'past_due')).status).toBe(200)
  })
})

describe('a subscription plan', () => {
  beforeEach(async () => {
    await setPlans({ starter, included: {} })
    await setPlan(ada, 'starter')
  })

  test('limits projects that are created, restored, moved into the team, pushed or imported', async () => {
    const first = await createProject(ada)
    full(await createProject(ada), '1 project')
    await ada.fetch('DELETE', `/api/projects/${first.body.id}`)
    expect((await createProject(ada)).status).toBe(201)
    full(await ada.fetch('POST', `/api/projects/${first.body.id}/restore`), '1 project')
    const team = (await ada.fetch<{ id: string }>('POST', '/api/teams', { name: 'Other' })).body.id
    const other = (await createProject(inside(ada, team))).body.id
    full(
      await inside(ada, team).fetch('PATCH', `/api/projects/${other}`, { organizationId: ada.organizationId }),
      '1 project',
    )
    const client = new SyncClient(ada, 'laptop')
    await client.register()
    const fields = { name: 'Pushed', organizationId: ada.organizationId }
    const [mutationId, id] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
    const mutations = [{ mutationId, id, entity: 'project', op: 'upsert', fields }]
    const pushed = await ada.fetch('POST', '/api/sync/push', { deviceId: client.deviceId, mutations })
    expect(pushed.status).toBe(200)
    expect(JSON.stringify(pushed.body)).toContain('The plan starter allows 1 project')
    const exported = await inside(ada, team).fetch<{ entity?: string }[]>('GET', '/api/sync/export')
    const records = exported.body.filter(({ entity }) => entity === 'project')
    full(await ada.fetch('POST', '/api/sync/import', { people: [], records }), '1 project')
  })

  test('allows one of two projects that are created at once', async () => {
    const made = await Promise.all([createProject(ada), createProject(ada), createProject(ada)])
    expect(statuses(made)).toEqual([201, 409, 409])
  })

  test('limits members, and counts open invitations when someone is invited', async () => {
    const invite = (email: string) =>
      ada.fetch<{ id: string; link: string }>('POST', `/api/teams/${ada.organizationId}/invite`, { email })
    const bob = await person(t)
    const sent = await invite(bob.email)
    expect(sent.status).toBe(201)
    const refused = await invite('third@example.com')
    full(refused, '2 members')
    expect((refused.body as unknown as Problem).detail).toContain('2 members, including 1 open invitation.')
    // The same invitation can be sent again.
    const again = await invite(bob.email)
    expect(again.status).toBe(201)
    const token = again.body.link.split('#')[1]
    expect((await bob.fetch('POST', `/api/invites/${token}/accept`)).status).toBe(200)
    const eve = await person(t)
    full(
      await admin.fetch('POST', `/api/admin/teams/${ada.organizationId}/members`, {
        userId: eve.userId,
        role: 'member',
      }),
      '2 members',
    )
  })

  test('limits agents, and names the limit when a new token would create one', async () => {
    const token = (name: string) =>
      ada.fetch<{ token: string }>('POST', '/api/mcp-tokens', { name, organizationId: ada.organizationId })
    expect((await token('laptop')).status).toBe(201)
    full(await token('desktop'), '1 agent')
    full(await ada.fetch('POST', '/api/agents', { name: 'Reviewer', scope: 'team' }), '1 agent')
    expect((await ada.fetch('POST', '/api/agents', { name: 'Mine', scope: 'personal' })).status).toBe(201)
    const { items } = (await ada.fetch<{ items: { id: string; scope: string }[] }>('GET', '/api/agents?scope=team'))
      .body
    // The token of a deleted agent gets another one, whatever the plan says.
    expect((await ada.fetch('DELETE', `/api/agents/${items[0]?.id}`)).status).toBe(200)
    full(await token('desktop'), '1 agent')
  })

  test('gives tokens of a deleted agent one shared agent if there is no room for more', async () => {
    const newToken = (name: string, more: object = {}) => {
      const body = { name, organizationId: ada.organizationId, ...more }
      return ada.fetch<{ id: string; agentId: string }>('POST', '/api/mcp-tokens', body)
    }
    const { agentId } = (await newToken('laptop')).body
    for (const name of ['desktop', 'server']) expect((await newToken(name, { agentId })).status).toBe(201)
    expect((await ada.fetch('DELETE', `/api/agents/${agentId}`)).status).toBe(200)
    const listed = await ada.fetch<{ items: { agentId: string }[] }>('GET', '/api/mcp-tokens')
    const agentIds = new Set(listed.body.items.map((item) => item.agentId))
    expect([listed.body.items.length, agentIds.size, agentIds.has(agentId)]).toEqual([3, 1, false])
    const { body } = await ada.fetch<TeamUsage>('GET', `/api/teams/${ada.organizationId}/usage`)
    expect(body.items.find(({ limit }) => limit === 'agents')?.used).toBe(1)
  })

  test('limits agents that a repeated import activates', async () => {
    const team = (await ada.fetch<{ id: string }>('POST', '/api/teams', { name: 'Source' })).body.id
    await inside(ada, team).fetch('POST', '/api/agents', { name: 'Moved', scope: 'team' })
    const exported = await inside(ada, team).fetch<{ entity?: string; record: object }[]>('GET', '/api/sync/export')
    const found = exported.body.find(({ entity }) => entity === 'agent')
    const id = Bun.randomUUIDv7()
    const importAs = (status: string) => {
      const records = [{ entity: 'agent', record: { ...found?.record, id, status } }]
      return ada.fetch<{ created: number; updated: number }>('POST', '/api/sync/import', { people: [], records })
    }
    expect((await importAs('archived')).body).toMatchObject({ created: 1 })
    expect((await ada.fetch('POST', '/api/agents', { name: 'Here', scope: 'team' })).status).toBe(201)
    full(await importAs('active'), '1 agent')
    expect((await ada.fetch<{ status: string }>('GET', `/api/agents/${id}`)).body.status).toBe('archived')
  })

  test('limits files', async () => {
    const note = (await ada.fetch<{ id: string }>('POST', '/api/notes', { title: 'Covers', scope: 'team' })).body
    const attach = (name: string, bytes: number) =>
      ada.fetch(
        'POST',
        `/api/uploads?${new URLSearchParams({ kind: 'note', recordId: note.id, name })}`,
        pictureForm(Buffer.from('x'.repeat(bytes)), name, 'text/plain'),
      )
    expect((await attach('one.txt', 700_000)).status).toBe(201)
    full(await attach('two.txt', 700_000), '1 MB of files')
    const { body } = await ada.fetch<TeamUsage>('GET', `/api/teams/${ada.organizationId}/usage`)
    expect(body.items.at(-1)).toEqual({ limit: 'storageMb', used: 1, most: 1 })
  })

  test('shows its usage to members only', async () => {
    const { body } = await ada.fetch<TeamUsage>('GET', `/api/teams/${ada.organizationId}/usage`)
    expect(Object.fromEntries(body.items.map(({ limit, most }) => [limit, most]))).toEqual(starter)
    const stranger = await person(t)
    expect((await stranger.fetch('GET', `/api/teams/${ada.organizationId}/usage`)).status).toBe(404)
  })
})

describe('BILLING_KEY', () => {
  test('can be read by anyone, and administrators cannot change it', async () => {
    const { body } = await call<{ values: object }>(t, 'GET', '/api/public/settings/billing')
    expect(body.values).toEqual({ publishableKey: 'pk_live_for_everybody' })
    const other = { publishableKey: 'pk_other' }
    await expectRefusal(t, await admin.fetch('PATCH', '/api/admin/settings/billing', other), 409, 'conflict')
  })
})
