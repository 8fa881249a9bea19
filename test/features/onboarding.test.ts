import { beforeAll, describe, expect, test } from 'bun:test'
import { addMember } from '../../src/features/admin/teams.ts'
import type { InvitePage } from '../../src/features/invites/schema.ts'
import type { Onboarded, Onboarding } from '../../src/features/onboarding/schema.ts'
import type { Organization, OrganizationPage } from '../../src/features/organizations/schema.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { User } from '../../src/features/users/schema.ts'
import type { FeatureDetail } from '../../src/features/workflow/schema.ts'
import {
  apiKey,
  call,
  mcpToken,
  type Person,
  person,
  sharedApp,
  systemCtx,
  type TestApp,
  unique,
} from '../support/app.ts'
import { keptMail } from '../support/mail.ts'
import { expectEvents, expectRefusal, inside, statuses, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

const done = async (who: Person) => {
  const { body } = await who.fetch<Onboarding>('GET', '/api/onboarding')
  return body.steps.filter((s) => s.done).map((s) => s.id)
}
const start = (who: Person, body: object) => who.fetch<Onboarded>('POST', '/api/onboarding', body)

describe('the steps of onboarding', () => {
  test('are done according to the records, not to clicks', async () => {
    const me = await person(t)
    const fresh = await me.fetch<Onboarding>('GET', '/api/onboarding')
    expect(fresh.body).toEqual({
      onboardedAt: null,
      steps: (['organization', 'invite', 'token', 'project', 'first_call', 'first_task'] as const).map((id) => ({
        id,
        done: false,
      })),
    })
    const team = (await me.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
    expect(await done(me)).toEqual(['organization'])
    await me.fetch('POST', `/api/teams/${team.id}/invite`, { email: `${unique('x')}@example.com` })
    expect(await done(me)).toEqual(['organization', 'invite'])
    const token = await mcpToken(t, me)
    const project = (await me.fetch<{ id: string }>('POST', '/api/projects', { name: unique('p') })).body
    expect(await done(me)).toEqual(['organization', 'invite', 'token', 'project'])
    await me.fetch('POST', `/api/projects/${project.id}/tasks`, { title: 'Lock the folder' })
    await call(
      t,
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      {
        authorization: `Bearer ${token}`,
      },
    )
    expect(await done(me)).toEqual(['organization', 'invite', 'token', 'project', 'first_call', 'first_task'])
    await me.fetch('DELETE', `/api/projects/${project.id}`)
    await me.fetch('DELETE', `/api/teams/${team.id}`)
    expect(await done(me)).toEqual(['invite', 'token', 'first_call'])
  })

  test('for a team and for company are done for someone who was added to a team', async () => {
    const [boss, me] = [await person(t), await person(t)]
    const team = (await boss.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
    await addMember(systemCtx(t), { id: team.id, userId: me.userId, role: 'viewer' })
    expect(await done(me)).toEqual(['organization', 'invite'])
  })
})

describe('POST /api/onboarding', () => {
  test('creates the team, sends the invites and stores both steps', async () => {
    const me = await person(t)
    const emails = times(2, () => `${unique('friend')}@example.com`) as [string, string]
    const name = unique('First team')
    const answer = await start(me, {
      organization: { name },
      invites: [{ email: emails[0], role: 'admin' }, { email: emails[1] }],
    })
    expect(answer.status).toBe(201)
    const { organization, invites, onboardedAt } = answer.body
    expect(answer.headers.get('location')).toBe(`/api/teams/${organization.id}`)
    expect(organization).toMatchObject({ name, role: 'owner', personal: false })
    expect(invites).toMatchObject([
      { email: emails[0], role: 'admin', organization: { id: organization.id } },
      { email: emails[1], role: 'member' },
    ])
    await expectEvents(t, answer, 'organization.created', 'invite.created', 'invite.created', 'user.onboarded')
    for (const email of emails) expect((await keptMail(t, email)).text).toContain('/invite#svc_inv_')
    const user = (await me.fetch<User>('GET', '/api/auth/me')).body
    expect(user.onboardedAt).toBe(onboardedAt)
    expect(user.preferences.currentOrganizationId).toBe(organization.id)
    expect((await me.fetch<Organization>('GET', '/api/team')).body.id).toBe(organization.id)
    expect((await me.fetch<InvitePage>('GET', `/api/teams/${organization.id}/invites`)).body.items).toHaveLength(2)
    expect((await me.fetch<Onboarding>('GET', '/api/onboarding')).body.onboardedAt).toBe(onboardedAt)
    await expectRefusal(t, await start(me, { organization: { name } }), 409, 'conflict')
  })

  test('sets a current team, which falls back to the oldest one when it is deleted or left', async () => {
    const me = await person(t)
    const { id } = (await start(me, { organization: { name: unique('gone') } })).body.organization
    expect((await me.fetch<Organization>('GET', '/api/team')).body.id).toBe(id)
    await me.fetch('DELETE', `/api/teams/${id}`)
    expect((await me.fetch<Organization>('GET', '/api/team')).body.id).toBe(me.organizationId)
    expect((await me.fetch('GET', '/api/projects')).status).toBe(200)
    await expectRefusal(t, await inside(me, id).fetch('GET', '/api/team'), 404, 'not_found')
  })

  test('creates one team for ten simultaneous calls', async () => {
    const me = await person(t)
    const answers = await Promise.all(times(10, () => start(me, { organization: { name: unique('once') } })))
    expect(statuses(answers)).toEqual([201, ...times(9, () => 409)])
    expect((await me.fetch<OrganizationPage>('GET', '/api/teams')).body.items).toHaveLength(2)
  })

  test('does everything or nothing', async () => {
    const me = await person(t)
    const email = `${unique('friend')}@example.com`
    // Oneself is in the team already.
    const refused = await start(me, {
      organization: { name: unique('none') },
      invites: [{ email }, { email: me.email }],
    })
    await expectRefusal(t, refused, 409, 'conflict.exists')
    expect((await me.fetch<OrganizationPage>('GET', '/api/teams')).body.items).toHaveLength(1)
    expect((await me.fetch<User>('GET', '/api/auth/me')).body.onboardedAt).toBeNull()
    expect(await keptMail(t, email).catch(() => 'none')).toBe('none')
  })

  test('needs the person themselves, a name and at most twenty invites', async () => {
    const me = await person(t)
    const key = await apiKey(t, me)
    const withKey = call(
      t,
      'POST',
      '/api/onboarding',
      { organization: { name: 'x' } },
      { authorization: `Bearer ${key}` },
    )
    await expectRefusal(t, await withKey, 403, 'forbidden')
    await expectRefusal(t, await call(t, 'POST', '/api/onboarding', {}), 401, 'unauthenticated')
    const invites = times(21, (i) => ({ email: `x${i}@example.com` }))
    for (const body of [
      {},
      { organization: {} },
      { organization: { name: ' ' } },
      { organization: { name: 'x', personal: true } },
    ])
      await expectRefusal(t, await start(me, body), 422, 'invalid')
    await expectRefusal(t, await start(me, { organization: { name: 'x' }, invites }), 422, 'invalid')
  })
})

describe('POST /api/onboarding/sample', () => {
  const create = (who: Person) => who.fetch<Project>('POST', '/api/onboarding/sample')

  test('creates a project with tasks in several states, a feature at a gate, a note and a decision', async () => {
    const me = await person(t)
    const answer = await create(me)
    const { status, body: project } = answer
    expect({ status, name: project.name, visibility: project.visibility }).toEqual({
      status: 201,
      name: 'Sample project',
      visibility: 'team',
    })
    expect(answer.headers.get('location')).toBe(`/api/projects/${project.id}`)
    const changes = ['task.completed', 'task.freed', 'task.commented', 'task.updated', 'task.updated', 'task.commented']
    const made = ['project.created', 'plan.created', 'feature.created', 'feature.advanced', ...changes, 'task.updated']
    await expectEvents(t, answer, ...made, 'note.created', 'decision.logged')
    const list = async <T>(path: string) => (await me.fetch<{ items: T[] }>('GET', path)).body.items
    const states = (await list<{ status: string }>(`/api/tasks?projectId=${project.id}`)).map((one) => one.status)
    expect(states.toSorted()).toEqual(['backlog', 'done', 'in_progress', 'in_review', 'todo', 'todo'])
    const [feature] = await list<{ id: string }>(`/api/projects/${project.slug}/features`)
    const gate = await me.fetch<FeatureDetail>('GET', `/api/features/${feature?.id}`)
    expect(gate.body).toMatchObject({ status: 'in_progress', next: { to: 'in_testing' } })
    expect(gate.body.next?.missing.length).toBeGreaterThan(0)
    expect(await list(`/api/notes?projectId=${project.id}`)).toHaveLength(1)
    expect(await list(`/api/decisions?projectId=${project.id}`)).toHaveLength(1)
    expect(await list('/api/changes')).toEqual([])
    expect(await done(me)).toEqual(['project', 'first_task'])
  })

  test('creates one project for simultaneous calls, and another after it was deleted', async () => {
    const me = await person(t)
    const answers = await Promise.all(times(4, () => create(me)))
    expect(statuses(answers)).toEqual(times(4, () => 201))
    const [first, ...others] = new Set(answers.map(({ body }) => body.id))
    expect(others).toEqual([])
    await me.fetch('DELETE', `/api/projects/${first}`)
    const again = await create(me)
    expect({ status: again.status, isSame: again.body.id === first }).toEqual({ status: 201, isSame: false })
  })

  test('does not return the private sample project of someone else, and is refused to viewers', async () => {
    const [boss, me, viewer] = [await person(t), await person(t), await person(t)]
    const team = (await boss.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
    await addMember(systemCtx(t), { id: team.id, userId: me.userId, role: 'member' })
    await addMember(systemCtx(t), { id: team.id, userId: viewer.userId, role: 'viewer' })
    const secret = (await create(inside(boss, team.id))).body
    await boss.fetch('POST', `/api/projects/${secret.id}/share`, { visibility: 'private' })
    const own = await create(inside(me, team.id))
    expect({ status: own.status, isSame: own.body.id === secret.id }).toEqual({ status: 201, isSame: false })
    await expectRefusal(t, await create(inside(viewer, team.id)), 403, 'forbidden')
  })
})
