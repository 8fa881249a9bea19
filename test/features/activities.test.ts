import { beforeAll, describe, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { events, tools } from '../../src/all-features.ts'
import { machine } from '../../src/auth/policy.ts'
import { defineEvent, EventCatalogue, text } from '../../src/events/catalogue.ts'
import { describeEvent } from '../../src/events/words.ts'
import type { Activity, ActivityPage } from '../../src/features/activity/schema.ts'
import type { Agent } from '../../src/features/agents/schema.ts'
import type { Project, ProjectDetail } from '../../src/features/projects/schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import type { Analytics } from '../../src/features/teams/schema.ts'
import { mcpToken, member, type Person, person, sharedApp, systemCtx, type TestApp, unique } from '../support/app.ts'
import { ctxOf, expectEvent, expectRefusal, inside, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let viewer: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  grace = await member(t, ada, 'member')
  viewer = await member(t, ada, 'viewer', 'Vera')
})

const project = async (who: Person, more: object = {}) =>
  (await who.fetch<Project>('POST', '/api/projects', { name: unique('Engine'), ...more })).body
const task = async (who: Person, { id }: Project, title = 'Lock the data folder') =>
  (await who.fetch<Task>('POST', `/api/projects/${id}/tasks`, { title })).body
const log = (who: Person, more: object = {}) =>
  who.fetch<Activity>('POST', '/api/activities', { type: 'deploy', description: 'Deployed 1.4', ...more })
const feed = async (who: Person, query = '') =>
  (await who.fetch<ActivityPage>('GET', `/api/activities?limit=200${query}`)).body.items
const words = async (who: Person, query = '') => (await feed(who, query)).map((a) => a.description)
const use = async (token: string, name: string, input: object): Promise<unknown> =>
  (await tools.find((tool) => tool.name === name)?.run(await ctxOf(t, token), input as never))?.shown

describe('activities written by the server', () => {
  test('describe each change in words, with who made it and where, newest first', async () => {
    const made = await project(ada)
    const lock = await task(grace, made)
    await grace.fetch('PATCH', `/api/tasks/${lock.id}`, { priority: 'high' })
    await grace.fetch('POST', `/api/tasks/${lock.id}/comments`, { body: 'Works here' })
    await grace.fetch('POST', `/api/tasks/${lock.id}/complete`, {})
    const items = await feed(viewer, `&projectId=${made.id}`)
    expect(items.map((a) => [a.type, a.description])).toEqual([
      ['task.completed', `completed ${lock.key} Lock the data folder`],
      ['task.commented', `commented on ${lock.key} Lock the data folder`],
      ['task.updated', `changed priority of ${lock.key} Lock the data folder`],
      ['task.created', `created ${lock.key} Lock the data folder`],
      ['project.created', `created project ${made.name}`],
    ])
    expect(items[0]).toMatchObject({
      actor: { type: 'user', id: grace.userId, name: 'Grace Hopper' },
      organizationId: ada.organizationId,
      projectId: made.id,
      taskId: lock.id,
      subjectId: lock.id,
      path: `/tasks/${lock.id}`,
      sessionId: null,
    })
    expect(await feed(viewer, `&taskId=${lock.id}`)).toHaveLength(4)
    // Lists carry no bodies; one does.
    expect(items[0]).not.toHaveProperty('metadata')
    const one = await viewer.fetch<Activity>('GET', `/api/activities/${items[0]?.id}`)
    expect(one.body).toMatchObject({ ...items[0], metadata: { key: lock.key, from: 'todo' } } as object)
    const detail = (await viewer.fetch<ProjectDetail>('GET', `/api/projects/${made.id}`)).body
    expect(detail.recentActivity?.map((a) => a.description)).toEqual(items.map((a) => a.description))
    expect(detail.stats).toMatchObject({ tasks: 1, tasksDone: 1 })
    await grace.fetch('DELETE', `/api/tasks/${lock.id}`)
    expect((await feed(viewer, `&taskId=${lock.id}`))[0]).toMatchObject({ type: 'task.deleted', path: null })
  })

  test.each([
    [
      'task.updated',
      { key: 'TUT-4', title: 'Lock', from: 'todo', status: 'blocked', fields: ['status'] },
      'moved TUT-4 Lock from todo to blocked',
    ],
    [
      'task.updated',
      { key: 'TUT-4', title: 'Lock', from: 'todo', status: 'todo', fields: ['status', 'labels'] },
      'changed labels of TUT-4 Lock',
    ],
    [
      'task.updated',
      { key: 'TUT-4', title: 'Lock', from: 'todo', status: 'todo', fields: ['status'] },
      'changed TUT-4 Lock',
    ],
    [
      'task.updated',
      { key: 'TUT-4', title: 'Lock', fields: ['addLabels', 'labels', 'dueAt', 'storyId', 'blockedBy', 'estimate'] },
      'changed labels, due date, story, what it waits for, estimate of TUT-4 Lock',
    ],
    [
      'task.updated',
      { key: 'TUT-4', title: 'Lock', from: 'in_progress', status: 'in_review', fields: ['status'] },
      'moved TUT-4 Lock from in progress to in review',
    ],
    ['note.updated', { title: 'Runbook', fields: ['title', 'tags'] }, 'changed title, tags of note Runbook'],
    ['project.shared', { name: 'Engine', from: 'x' }, 'shared project Engine'],
    ['plan.created', { epics: 1, stories: 2, tasks: 0 }, 'planned 1 epic, 2 stories and 0 tasks'],
    ['memory.stored', { title: null, scope: 'project' }, 'stored a memory'],
    ['memory.cleared', { scope: 'agent', count: 1 }, 'cleared 1 memory of the agent'],
    ['epic.created', {}, 'created an epic'],
    ['session.started', { goals: ['Lock the folder'] }, 'started session Lock the folder'],
    [
      'feature.advanced',
      { title: 'Lock', from: 'todo', to: 'in_progress' },
      'moved feature Lock from todo to in progress',
    ],
    ['feature.reviewed', { title: 'Lock', verdict: 'changes_requested' }, 'requested changes in feature Lock'],
    ['decision.commented', { title: 'Use flock' }, 'commented on decision Use flock'],
    ['something_new.turned_round', { title: 'It' }, 'turned round something new It'],
    ['deploy', { description: 'Deployed 1.4' }, 'Deployed 1.4'],
  ])('describe %s in words', (type, data, said) =>
    expect(describeEvent(new EventCatalogue(events), type, data)).toBe(said),
  )

  test('name the agent for its own work, and can be filtered by it', async () => {
    const made = await project(ada)
    const agent = (await ada.fetch<Agent>('POST', '/api/agents', { name: 'Builder', scope: 'team' })).body
    const token = await mcpToken(t, grace, { agentId: agent.id, projectId: made.id, scopes: ['write'] })
    const team = (await ada.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Team') })).body.id
    await use(token, 'create_task', { title: 'Lock' })
    const { id } = (await use(token, 'log_activity', {
      type: 'test-run',
      description: '214 pass',
      metadata: { pass: 214 },
    })) as Activity
    const logged = (await grace.fetch<Activity>('GET', `/api/activities/${id}`)).body
    expect(logged).toMatchObject({
      type: 'test-run',
      description: '214 pass',
      actor: { type: 'agent', id: agent.id, name: 'Builder' },
      projectId: made.id,
      metadata: { pass: 214 },
    })
    await task(ada, made, 'By hand')
    const { items } = (await use(token, 'list_activities', { agent: agent.slug, project: made.key })) as {
      items: string[]
    }
    expect(items).toEqual([
      expect.stringMatching(/^[0-9a-f-]{13,36} test-run \S+Z Builder for Grace Hopper: «214 pass»$/),
      expect.stringMatching(/^\S+Z Builder for Grace Hopper: «created \S+ Lock»$/),
    ])
    const { subjectId: _, path: __, ...shown } = logged
    expect(await use(token, 'get_activity', { activity: items[0]?.split(' ')[0] })).toEqual(shown)
    expect((await feed(ada, `&agentId=${agent.id}`)).map((a) => a.type)).toEqual(['test-run', 'task.created'])
    expect(await feed(inside(ada, team), `&agentId=${agent.id}`)).toEqual([])

    // Counted as agents' work, and for the member whose token it is.
    // Of two days, because the second may have just begun.
    const numbers = (await ada.fetch<Analytics>('GET', `/api/teams/${ada.organizationId}/analytics?days=2`)).body
    expect(numbers.changes.reduce((sum, { agents }) => sum + agents, 0)).toBe(2)
    expect(numbers.contributors.find((c) => c.id === grace.userId)?.changes).toBeGreaterThanOrEqual(2)
  })
})

describe('activities logged by hand', () => {
  test('are about a task, a project or the team, and are one event each', async () => {
    const made = await project(ada)
    const lock = await task(ada, made)
    const answer = await log(grace, {
      taskId: lock.id,
      description: ' Tried flock ',
      metadata: { runs: [1, 2], ok: true },
    })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(`/api/activities/${answer.body.id}`)
    expect(answer.body).toMatchObject({
      type: 'deploy',
      description: 'Tried flock',
      actor: { type: 'user', id: grace.userId, name: 'Grace Hopper' },
      projectId: made.id,
      taskId: lock.id,
      metadata: { runs: [1, 2], ok: true },
    })
    const event = await expectEvent(t, answer, 'deploy')
    expect(event).toMatchObject({
      id: answer.body.id,
      action: 'activity.log',
      projectId: made.id,
      subjectId: lock.id,
    })
    expect((await viewer.fetch('GET', `/api/activities/${answer.body.id}`)).body).toEqual(
      answer.body as unknown as Record<string, unknown>,
    )
    expect((await feed(viewer, `&taskId=${lock.id}&type=deploy`)).map((a) => a.id)).toEqual([answer.body.id])
    const [ofTeam, ofProject] = [(await log(grace)).body, (await log(grace, { projectId: made.id })).body]
    expect([ofTeam.projectId, ofProject.projectId]).toEqual([null, made.id])
    expect((await feed(ada, '&type=deploy')).map((a) => a.id).slice(0, 2)).toEqual([ofProject.id, ofTeam.id])
  })

  test('can name only a session of the caller', async () => {
    const start = async (who: Person) =>
      (await who.fetch<{ id: string }>('POST', '/api/sessions', { goals: ['Lock'] })).body.id
    const own = await start(grace)
    expect((await log(grace, { sessionId: own })).body).toMatchObject({ sessionId: own, subjectId: own })
    await expectRefusal(t, await log(grace, { sessionId: await start(ada) }), 404, 'not_found')
  })

  test('cannot have the type of a server event, and are limited in length', async () => {
    for (const type of [
      'task.completed',
      'user.suspended',
      'member.removed',
      'Deploy',
      'a b',
      '',
      '1',
      'x'.repeat(51),
      'activity.log',
    ])
      await expectRefusal(t, await log(grace, { type }), 422, 'invalid')
    for (const description of ['', '   ', 'x'.repeat(2001)])
      await expectRefusal(t, await log(grace, { description }), 422, 'invalid')
    const large = await expectRefusal(t, await log(grace, { metadata: { text: 'ü'.repeat(8200) } }), 422, 'invalid')
    expect(large.errors).toMatchObject([{ pointer: '/metadata', code: 'too_long' }])
    expect((await log(grace, { metadata: { text: 'ü'.repeat(8100) } })).status).toBe(201)
    await expectRefusal(t, await log(grace, { metadata: ['a'] }), 422, 'invalid')
  })

  test('are refused to viewers, and for projects that the caller cannot see', async () => {
    const secret = await project(ada, { visibility: 'private' })
    const hidden = await task(ada, secret)
    await expectRefusal(t, await log(viewer), 403, 'forbidden')
    await expectRefusal(t, await log(grace, { projectId: secret.id }), 404, 'not_found')
    await expectRefusal(t, await log(grace, { taskId: hidden.id }), 404, 'not_found')
    const [one, other] = [await project(ada), await project(ada)]
    await expectRefusal(t, await log(grace, { projectId: one.id, taskId: (await task(ada, other)).id }), 422, 'invalid')
    await ada.fetch('POST', `/api/projects/${one.id}/archive`)
    expect((await log(ada, { projectId: one.id })).status).toBe(201)
  })

  test('cannot be changed or deleted', async () => {
    const { id } = (await log(grace)).body
    for (const method of ['PATCH', 'PUT', 'DELETE'])
      expect((await grace.fetch(method, `/api/activities/${id}`, { description: 'x' })).status).toBe(405)
  })
})

describe('the activity feed', () => {
  test('of a project that moves to another team stays with neither team', async () => {
    const owner = await person(t)
    const before = inside(owner, owner.organizationId)
    const next = inside(
      owner,
      (await owner.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Next') })).body.id,
    )
    const moving = await project(before)
    const old = (await log(before, { projectId: moving.id })).body
    await before.fetch('PATCH', `/api/projects/${moving.id}`, { organizationId: next.organizationId })
    const fresh = (await log(next, { projectId: moving.id, description: 'After' })).body
    expect(await words(next, `&projectId=${moving.id}`)).toEqual(['After', `shared project ${moving.name}`])
    expect((await feed(before)).some((a) => a.projectId === moving.id)).toBe(false)
    expect((await next.fetch('GET', `/api/activities/${old.id}`)).status).toBe(404)
    expect((await next.fetch('GET', `/api/activities/${fresh.id}`)).status).toBe(200)
  })

  test('leaves out others’ sessions and personal records, accounts, credentials and audit-only events', async () => {
    const owner = await person(t)
    const other = await member(t, owner, 'admin')
    const made = await project(owner)
    await owner.fetch('POST', '/api/sessions', { projectId: made.id, goals: ['Something private'] })
    await owner.fetch('POST', '/api/notes', { title: 'Diary', scope: 'personal' })
    await mcpToken(t, owner)
    await owner.fetch('POST', `/api/teams/${owner.organizationId}/invite`, { email: `${unique('x')}@example.com` })
    await owner.fetch('PATCH', `/api/teams/${owner.organizationId}/members/${other.userId}`, { role: 'member' })
    const emit = write('test.secret', machine, async (ctx, type: string) => {
      ctx.emit(defineEvent(type, { kind: 'test', description: 'A test' }), {
        organizationId: owner.organizationId,
        projectId: made.id,
        subjectId: made.id,
      })
    })
    for (const type of ['test.secret', 'user.suspended', 'mcp_token.created', 'session.revoked', 'auth.sign_in_failed'])
      await emit(systemCtx(t), type)
    const recalled = defineEvent('note.recalled', { kind: 'note', description: 'A test', data: { title: text } })
    const tell = write('test.tell', machine, async (ctx, _: Record<string, never>) => {
      ctx.emit(recalled, {
        organizationId: owner.organizationId,
        projectId: made.id,
        userId: owner.userId,
        data: { title: 'For me' },
      })
    })
    await tell(systemCtx(t), {})
    expect(await words(owner, '&type=note.recalled')).toEqual(['recalled note For me'])
    expect(await words(other, '&type=note.recalled')).toEqual([])
    // The feed shows that somebody works, but not their goals.
    expect(await words(other)).toEqual([
      'created agent agent', // for the token
      'started a session',
      `created project ${made.name}`,
    ])
    expect(JSON.stringify(await feed(other))).not.toContain('Something private')
    const detail = (await other.fetch<ProjectDetail>('GET', `/api/projects/${made.id}`)).body
    expect(detail.recentActivity?.map((a) => a.description)).not.toContain('recalled note For me')
    expect(JSON.stringify(detail)).not.toContain('Something private')
  })

  test('does not tell that an administrator acted as a user', async () => {
    const logged = (await log(ada, { metadata: { impersonatorId: 'kept, since it is only a word' } })).body
    expect(logged.metadata).toEqual({ impersonatorId: 'kept, since it is only a word' })
    const pinned = defineEvent('note.pinned', {
      kind: 'note',
      description: 'A test',
      data: { title: text, impersonatorId: text },
    })
    const emit = write('test.acted', machine, async (ctx, _: Record<string, never>) => {
      ctx.emit(pinned, {
        organizationId: ada.organizationId,
        data: { title: 'Runbook', impersonatorId: ada.userId },
      })
    })
    await emit(systemCtx(t), {})
    const [found] = await feed(ada, '&type=note.pinned')
    const one = (await ada.fetch<Activity>('GET', `/api/activities/${found?.id}`)).body
    expect([one.metadata, one.actor]).toEqual([{ title: 'Runbook' }, { type: 'system', id: null, name: 'system' }])
  })
})

test('the activity feed is filtered by type and time, and pages without gaps while new events arrive', async () => {
  const owner = await person(t)
  const made = await project(owner)
  for (const i of times(5, (n) => n))
    await log(owner, { description: `No. ${i}`, ...(i % 2 && { projectId: made.id, type: 'build' }) })
  expect(await words(owner, '&type=build')).toEqual(['No. 3', 'No. 1'])
  const all = await feed(owner)
  const middle = all[2]?.at as string
  expect((await feed(owner, `&since=${middle}`)).every((a) => a.at >= middle)).toBe(true)
  expect((await feed(owner, `&until=${middle}`)).every((a) => a.at < middle)).toBe(true)
  expect(await feed(owner, '&since=2999-01-01T00:00:00Z')).toEqual([])
  const paged: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await owner.fetch<ActivityPage>('GET', `/api/activities?limit=2${cursor}`)
    paged.push(...body.items.map((a) => a.id))
    if (paged.length === 2) await log(owner)
    if (!body.nextCursor) break
    cursor = `&cursor=${body.nextCursor}`
  }
  expect(paged).toEqual(all.map((a) => a.id))
  expect((await feed(owner, '&order=asc'))[0]?.id).toBe(all.at(-1)?.id as string)
  await expectRefusal(t, await owner.fetch('GET', '/api/activities?cursor=abc'), 400, 'invalid.cursor')
})
