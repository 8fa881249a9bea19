import { beforeAll, describe, expect, test } from 'bun:test'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { CommentPage, Task } from '../../src/features/tasks/schema.ts'
import { member, unique } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, times } from './support.ts'
import {
  claim,
  comment,
  complete,
  get,
  keys,
  newAgent,
  newEpic,
  newProject,
  newStory,
  newTask,
  newTeam,
  next,
  noticesTo,
  patch,
  remove,
  restore,
  start,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
beforeAll(async () => {
  await start()
  team = await newTeam()
})

const list = async (query: string, who = team.viewer): Promise<string[]> =>
  keys((await who.fetch<TaskPage>('GET', `/api/tasks?${query}`)).body.items)

describe('a task', () => {
  test('returns every field that was sent, has its own number, and is found by id, key and prefix', async () => {
    const project = await newProject(team.owner)
    const story = await newStory(team.owner, await newEpic(team.owner, project))
    const said = {
      title: '  Lock the folder  ',
      description: 'So that **two** processes do not meet.',
      priority: 'high',
      labels: ['db', 'ünïcode "quoted" \\ 💾'],
      dueAt: '2026-12-24T18:00:00.000Z',
      estimate: 8,
      acceptance: ['A second process is refused', { text: 'Documented', done: true }],
      storyId: story.id,
      assignee: 'me',
    }
    const made = await team.member.fetch<Task>('POST', `/api/projects/${project.slug}/tasks`, said)
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/tasks/${made.body.id}`)
    expect(made.body).toMatchObject({
      ...said,
      title: 'Lock the folder',
      acceptance: [
        { text: 'A second process is refused', done: false },
        { text: 'Documented', done: true },
      ],
      assignee: { type: 'user', id: team.member.userId, name: 'Edsger' },
      key: `${project.key}-1`,
      number: 1,
      status: 'todo',
      version: 1,
      lease: null,
      blockedBy: [],
    })
    expect((await expectEvent(t, made, 'task.created')).data).toMatchObject({
      key: made.body.key,
      title: 'Lock the folder',
    })
    const { body } = await get(team.viewer, made.body.key.toLowerCase())
    expect(body).toMatchObject({
      id: made.body.id,
      project: { id: project.id, slug: project.slug },
      subtasks: [],
      comments: [],
    })
    expect((await get(team.viewer, made.body.id.slice(0, 18))).body.id).toBe(made.body.id)
    const cleared = await patch(team.member, made.body, {
      description: null,
      dueAt: null,
      estimate: null,
      assignee: null,
      storyId: null,
      labels: [],
    })
    expect(cleared.body).toMatchObject({
      description: null,
      dueAt: null,
      estimate: null,
      assignee: null,
      storyId: null,
      labels: [],
      version: 2,
    })
  })

  test('gets a number that is given once, even to many at once, and never reused', async () => {
    const project = await newProject(team.owner)
    const made = await Promise.all(times(12, () => newTask(team.member, project)))
    expect(made.map((task) => task.number).sort((a, b) => a - b)).toEqual(times(12, (i) => i + 1))
    expect(new Set(made.map((task) => task.position)).size).toBe(12)
    await remove(team.member, made.find((task) => task.number === 12) as Task)
    expect((await newTask(team.member, project)).number).toBe(13)
  })

  test.each([
    ['right-to-left and joined', '‮evil‬ 👩‍👩‍👧‍👦 Zoë 漢字'],
    ['markup', '<script>alert(1)</script> & "quotes" \'; drop table tasks;--'],
    ['placeholders', '%s $' + '{x} {{7*7}} $1 :id \\'],
  ])('keeps its title as plain text: %s', async (_, title) => {
    const made = await newTask(team.member, team.project, { title })
    expect((await get(team.viewer, made)).body.title).toBe(title)
    expect((await complete(team.member, made)).body.title).toBe(title)
  })

  test.each([
    ['no title', {}, 422],
    ['a blank title', { title: ' \n ' }, 422],
    ['a title that is too long', { title: 'x'.repeat(201) }, 422],
    ['a NUL in its title', { title: 'a\u0000b' }, 422],
    ['an initial state of done', { title: 'x', status: 'done' }, 422],
    ['a negative estimate', { title: 'x', estimate: -1 }, 422],
    ['an impossible date', { title: 'x', dueAt: '2026-02-31T00:00:00Z' }, 422],
    ['a label twice', { title: 'x', labels: ['a', 'a'] }, 422],
    ['a field that the server sets', { title: 'x', number: 7 }, 422],
    ['a lease', { title: 'x', leaseHolderId: null }, 422],
    ['an unknown story', { title: 'x', storyId: '01a1de70-0000-7000-8000-000000000000' }, 404],
    ['an unknown assignee', { title: 'x', assignee: 'nobody@example.com' }, 404],
  ])('with %s is refused', async (_, body, status) => {
    const refused = await team.member.fetch('POST', `/api/projects/${team.project.id}/tasks`, body)
    expect(refused.status).toBe(status)
  })

  test('is created once by a repeated request; its idempotency key is refused for another task', async () => {
    const send = (title: string) =>
      team.member.fetch<Task>(
        'POST',
        `/api/projects/${team.project.id}/tasks`,
        { title },
        { 'idempotency-key': 'once' },
      )
    const [first, again] = [await send('Once'), await send('Once')]
    expect([again.status, again.body]).toEqual([201, first.body])
    await expectRefusal(t, await send('Twice'), 409, 'conflict.idempotency')
  })

  test('is completed once, by either route, with notes', async () => {
    const made = await newTask(team.member, team.project)
    await claim(team.member, made)
    const done = await complete(team.member, made, { notes: 'Locked.', evidence: ['src/lock.ts', 'bun test: 9 pass'] })
    expect(done.body).toMatchObject({
      status: 'done',
      lease: null,
      completionNotes: 'Locked.\n\nEvidence:\n- src/lock.ts\n- bun test: 9 pass',
    })
    expect(done.body.completedAt).toBeString()
    await expectEvent(t, done, 'task.completed')
    const again = await complete(team.member, made, { notes: 'Locked.' })
    expect(again.body).toMatchObject({ version: done.body.version, completionNotes: done.body.completionNotes })
    const other = await newTask(team.member, team.project)
    const dragged = await patch(team.member, other, { status: 'done' })
    await expectEvent(t, dragged, 'task.completed')
    expect((await patch(team.member, other, { status: 'in_progress' })).body).toMatchObject({ completedAt: null })
    expect((await patch(team.member, other, { status: 'cancelled' })).body.completedAt).toBeNull()
  })

  test('is counted in its project’s numbers', async () => {
    const project = await newProject(team.owner)
    const [one] = [await newTask(team.member, project), await newTask(team.member, project)]
    await complete(team.member, one)
    expect((await team.viewer.fetch<{ stats: object }>('GET', `/api/projects/${project.id}`)).body.stats).toMatchObject(
      {
        tasks: 2,
        tasksDone: 1,
      },
    )
  })
})

describe('GET /api/tasks', () => {
  test('filters by state, priority, label, assignee, story, parent and words, and pages', async () => {
    const project = await newProject(team.owner)
    const story = await newStory(team.owner, await newEpic(team.owner, project))
    const agent = await newAgent(team.owner)
    const plain = await newTask(team.member, project, { title: 'Plain' })
    const labelled = await newTask(team.member, project, { title: 'Labelled', labels: ['a,b"c'], priority: 'critical' })
    const theirs = await newTask(team.member, project, {
      title: 'Sharpen the flywheel',
      assignee: agent.slug,
      storyId: story.id,
    })
    const part = await newTask(team.member, project, { title: 'Part', parentId: theirs.id })
    await patch(team.member, plain, { status: 'cancelled' })
    const of = (query: string) => list(`projectId=${project.id}&sort=number&order=asc&${query}`)
    expect(await of('status=cancelled')).toEqual([plain.key])
    expect(await of('open=false')).toEqual([plain.key])
    expect(await of('open=true')).toEqual(keys([labelled, theirs, part]))
    expect(await of('priority=critical')).toEqual([labelled.key])
    expect(await of(`label=${encodeURIComponent('a,b"c')}`)).toEqual([labelled.key])
    expect(await of(`assignee=${agent.id}`)).toEqual([theirs.key])
    expect(await of(`storyId=${story.id}`)).toEqual(keys([theirs, part]))
    expect(await of(`parentId=${theirs.id}`)).toEqual([part.key])
    expect(await of('search=flywheel')).toEqual([theirs.key])
    const page = (
      await team.viewer.fetch<TaskPage>(
        'GET',
        `/api/tasks?projectId=${project.id}&sort=position&order=asc&limit=3&total=true`,
      )
    ).body
    expect([page.items.length, page.total]).toEqual([3, 4])
    const rest = await list(`projectId=${project.id}&sort=position&order=asc&cursor=${page.nextCursor}`)
    expect([...keys(page.items), ...rest]).toEqual(keys([plain, labelled, theirs, part]))
  })
})

describe('the order of tasks', () => {
  const order = (project: { id: string }) => list(`projectId=${project.id}&sort=position&order=asc`)

  test('changes when a task is dragged behind another or to the top, and only for that task', async () => {
    const project = await newProject(team.owner)
    const [a, b, c] = [
      await newTask(team.member, project),
      await newTask(team.member, project),
      await newTask(team.member, project),
    ]
    await patch(team.member, c, { after: a.key })
    expect(await order(project)).toEqual(keys([a, c, b]))
    await patch(team.member, b, { after: null })
    expect(await order(project)).toEqual(keys([b, a, c]))
    await patch(team.member, b, { after: c.id })
    expect(await order(project)).toEqual(keys([a, c, b]))
    expect((await get(team.member, a)).body.version).toBe(1)
    expect((await patch(team.member, a, { after: a.id })).status).toBe(422)
    const elsewhere = await newTask(team.member, await newProject(team.owner))
    expect((await patch(team.member, a, { after: elsewhere.id })).status).toBe(404)
  })

  test('survives very many moves between the same two: then all are renumbered', async () => {
    const project = await newProject(team.owner)
    const [first, x, y, last] = (await Promise.all(times(4, () => newTask(team.member, project)))).sort(
      (m, n) => m.number - n.number,
    ) as [Task, Task, Task, Task]
    let anew = 0
    for (let i = 0; i < 130; i++) {
      const moved = await patch(team.member, i % 2 ? x : y, { after: first.id })
      expect(moved.status).toBe(200)
      const types = (
        await t.app.driver.query('select type from events where request_id = $1', [moved.headers.get('x-request-id')])
      ).rows.flat()
      if (types.includes('project.reordered')) anew++
    }
    expect(await order(project)).toEqual(keys([first, x, y, last]))
    expect(anew).toBeGreaterThan(0)
    expect(anew).toBeLessThan(5)
    const { rows } = await t.app.driver.query('select count(distinct position)::int from tasks where project_id = $1', [
      project.id,
    ])
    expect(rows).toEqual([[4]])
  })

  test('gives many who drag to the same place at once a position each', async () => {
    const project = await newProject(team.owner)
    const [top, ...others] = await Promise.all(times(10, () => newTask(team.member, project)))
    const moves = await Promise.all(others.map((task) => patch(team.member, task, { after: (top as Task).id })))
    expect(moves.map((m) => m.status)).toEqual(times(9, () => 200))
    const { rows } = await t.app.driver.query('select count(distinct position)::int from tasks where project_id = $1', [
      project.id,
    ])
    expect(rows).toEqual([[10]])
  })
})

describe('subtasks', () => {
  test('are listed with their parent, and never form a circle, even by two simultaneous changes', async () => {
    const whole = await newTask(team.member, team.project)
    const part = await newTask(team.member, team.project, { parentId: whole.id })
    expect((await get(team.viewer, whole)).body.subtasks).toEqual([
      { id: part.id, key: part.key, title: part.title, status: 'todo' },
    ])
    await expectRefusal(t, await patch(team.member, whole, { parentId: part.id }), 409, 'conflict.cycle')
    await expectRefusal(t, await patch(team.member, whole, { parentId: whole.id }), 409, 'conflict.cycle')
    const elsewhere = await newTask(team.member, await newProject(team.owner))
    expect((await patch(team.member, part, { parentId: elsewhere.id })).status).toBe(404)
    for (const _ of times(5, (i) => i)) {
      const [a, b] = await Promise.all([newTask(team.member, team.project), newTask(team.member, team.project)])
      const both = await Promise.all([
        patch(team.member, a, { parentId: b.id }),
        patch(team.owner, b, { parentId: a.id }),
      ])
      expect(both.map((r) => r.status).sort()).toEqual([200, 409])
    }
  })

  test('are deleted and restored with their parent at any depth, except those deleted before', async () => {
    const whole = await newTask(team.member, team.project)
    const part = await newTask(team.member, team.project, { parentId: whole.id })
    const deep = await newTask(team.member, team.project, { parentId: part.id })
    const earlier = await newTask(team.member, team.project, { parentId: whole.id })
    await remove(team.member, earlier)
    const gone = await remove(team.member, whole)
    expect(gone.body).toEqual({ id: whole.id, deleted: true })
    expect((await expectEvent(t, gone, 'task.deleted')).data).toMatchObject({ key: whole.key, parts: 2 })
    for (const task of [whole, part, deep, earlier]) expect((await get(team.member, task)).status).toBe(404)
    expect((await restore(team.admin, part)).status).toBe(409)
    const back = await restore(team.admin, whole.key)
    expect(back.body).toMatchObject({ id: whole.id, key: whole.key })
    await expectEvent(t, back, 'task.restored')
    for (const task of [whole, part, deep])
      expect((await get(team.member, task)).body).toMatchObject({ key: task.key, version: 3 })
    expect((await get(team.member, earlier)).status).toBe(404)
    expect((await restore(team.admin, whole)).body.version).toBe(3)
  })
})

describe('people', () => {
  test('are notified once when a task is assigned to them by someone else', async () => {
    const made = await newTask(team.owner, team.project, { assignee: team.other.email })
    await patch(team.owner, made, { assignee: team.other.userId, title: 'Same' })
    expect(await noticesTo(team.other, made)).toEqual(['assignment'])
    await patch(team.member, made, { assignee: 'me' })
    expect(await noticesTo(team.member, made)).toEqual([])
    const secret = await newProject(team.owner, { visibility: 'private' })
    const hidden = await newTask(team.owner, secret)
    expect((await patch(team.owner, hidden, { assignee: team.other.userId })).status).toBe(422)
  })

  test('named like an agent cannot be assigned by name, but by e-mail; the agent by slug', async () => {
    const made = await newTask(team.owner, team.project)
    const give = (assignee: string) => patch(team.owner, made, { assignee })
    expect((await give('edsger')).body.assignee).toMatchObject({ type: 'user', id: team.member.userId })
    const agent = await newAgent(team.owner, 'Edsger')
    const { errors } = await expectRefusal(t, await give('edsger'), 422, 'invalid')
    expect(errors?.[0]).toMatchObject({
      pointer: '/assignee',
      message: expect.stringContaining("the member's e-mail address or the agent's slug"),
    })
    expect((await give(agent.slug)).body.assignee).toMatchObject({ type: 'agent', id: agent.id })
    expect((await give(team.member.email)).body.assignee).toMatchObject({ type: 'user', id: team.member.userId })
    // Two agents of the name do not make it the member's.
    const second = await newAgent(team.owner, 'Edsger')
    await expectRefusal(t, await give('Edsger'), 422, 'invalid')
    for (const { id } of [agent, second]) await team.owner.fetch('DELETE', `/api/agents/${id}`)
  })

  test('who are mentioned in a comment and can see the task are notified; comments stay in order', async () => {
    const made = await newTask(team.owner, team.project)
    const handles = new Map<string, string>()
    for (const who of [team.viewer, team.other, team.stranger])
      handles.set(who.userId, (await who.fetch<{ handle: string }>('GET', '/api/auth/me')).body.handle)
    const [viewer, other, stranger] = [...handles.values()]
    const said = await comment(
      team.other,
      made,
      `Look, @${viewer} and @${viewer}, and @${other}, @${stranger}; not me@${viewer}.example`,
    )
    expect(said.status).toBe(201)
    expect(said.headers.get('location')).toBe(`/api/tasks/${made.id}/comments`)
    await expectEvents(t, said, 'task.commented', 'notification.created')
    expect(await noticesTo(team.viewer, made)).toEqual(['mention'])
    expect(await noticesTo(team.stranger, made)).toEqual([])
    expect(await noticesTo(team.other, made)).toEqual([])
    await comment(team.owner, made, 'Second')
    const { items } = (await team.viewer.fetch<CommentPage>('GET', `/api/tasks/${made.key}/comments`)).body
    expect(items.map(({ author, body }) => [author.name, body.slice(0, 6)])).toEqual([
      ['Alan', 'Look, '],
      ['Ada', 'Second'],
    ])
    expect((await comment(team.viewer, made, 'May I?')).status).toBe(403)
    expect((await comment(team.stranger, made, 'May I?')).status).toBe(404)
    expect((await comment(team.owner, made, ' ')).status).toBe(422)
  })
})

describe('access to tasks', () => {
  test('is read-only in an archived project', async () => {
    const project = await newProject(team.owner)
    const made = await newTask(team.owner, project)
    const writes: [string, string, object?][] = [
      ['PATCH', `/api/tasks/${made.id}`, { title: 'x' }],
      ['POST', `/api/tasks/${made.id}/claim`, {}],
      ['POST', `/api/tasks/${made.id}/release`],
      ['POST', `/api/tasks/${made.id}/complete`, {}],
      ['POST', `/api/tasks/${made.id}/comments`, { body: 'x' }],
      ['POST', `/api/tasks/${made.id}/relations`, { task: made.key, kind: 'relates' }],
      ['POST', `/api/projects/${project.id}/tasks`, { title: 'x' }],
      ['DELETE', `/api/tasks/${made.id}`],
    ]
    await team.owner.fetch('POST', `/api/projects/${project.id}/archive`)
    for (const [method, path, body] of writes)
      expect([path, (await team.owner.fetch(method, path, body)).status]).toEqual([path, 409])
    expect((await get(team.viewer, made)).body.version).toBe(1)
  })

  test('in a shared workspace is the lower of two roles', async () => {
    const guests = await newTeam()
    const space = (await team.owner.fetch<{ id: string }>('POST', '/api/workspaces', { name: unique('space') })).body
    const project = await newProject(team.owner, { key: 'WSX' })
    await team.owner.fetch('POST', `/api/projects/${project.id}/share`, { workspaceId: space.id })
    const made = await newTask(team.owner, project)
    const lone = await member(t, guests.owner, 'member')
    const share = (role: string) =>
      team.owner.fetch('POST', `/api/workspaces/${space.id}/teams`, { teamId: guests.id, role })
    expect((await get(lone, made)).status).toBe(404)
    expect((await share('viewer')).status).toBeLessThan(300)
    expect((await get(lone, made.key)).body.id).toBe(made.id)
    expect((await patch(lone, made, { title: 'x' })).status).toBe(403)
    expect((await claim(lone, made)).status).toBe(403)
    expect((await next(lone, { projectId: project.id })).status).toBe(403)
    await share('editor')
    expect((await next(lone, { projectId: project.id })).body.task?.key).toBe(made.key)
    expect((await complete(lone, made)).status).toBe(200)
    expect((await remove(lone, made)).status).toBe(200)
    await share('viewer')
    expect((await restore(lone, made)).status).toBe(403)
    await share('editor')
    expect((await restore(lone, made)).status).toBe(200)
  })

  test('allows only administrators to restore others’ deleted tasks, within thirty days', async () => {
    const made = await newTask(team.member, team.project)
    await remove(team.owner, made)
    for (const who of [team.viewer, team.member]) expect((await restore(who, made)).status).toBe(403)
    expect((await restore(team.stranger, made)).status).toBe(404)
    await t.app.driver.query("update tasks set deleted_at = now() - interval '31 days' where id = $1", [made.id])
    expect((await restore(team.owner, made)).status).toBe(404)
    await t.app.driver.query("update tasks set deleted_at = now() - interval '29 days' where id = $1", [made.id])
    expect((await restore(team.owner, made)).body).toMatchObject({ id: made.id, key: made.key })
  })
})
