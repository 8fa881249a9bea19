import { beforeAll, describe, expect, test } from 'bun:test'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { Task, TaskDetail } from '../../src/features/tasks/schema.ts'
import { expectEvents } from './support.ts'
import {
  claim,
  complete,
  connect,
  factsOf,
  get,
  keys,
  newProject,
  newTask,
  newTeam,
  patch,
  start,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
beforeAll(async () => {
  await start()
  team = await newTeam()
})

const bodiesOn = async (task: Task): Promise<string[]> =>
  (await get(team.owner, task)).body.comments.map(({ body }) => body)

describe('handing over a task', () => {
  test('takes a comment with the change, and keeps the description', async () => {
    const made = await newTask(team.owner, team.project, { description: 'Lock the folder' })
    const agent = await connect(team.owner, { organizationId: team.id })
    factsOf(await agent.call('update_task', { task: made.key, priority: 'high', comment: 'Half done: lock.ts' }))
    factsOf(await agent.call('update_task', { task: made.key, comment: 'Tests are missing' }))
    expect(await bodiesOn(made)).toEqual(['Half done: lock.ts', 'Tests are missing'])
    // A comment alone is not a change of the task.
    expect((await get(team.owner, made)).body).toMatchObject({ description: 'Lock the folder', version: 2 })
    const both = await patch(team.member, made, { title: 'Lock it', comment: 'Shorter' })
    await expectEvents(t, both, 'task.updated', 'task.commented')
    await agent.close()
  })

  test('with only a comment does not interrupt the worker of the task', async () => {
    const made = await newTask(team.owner, team.project)
    const worker = await connect(team.member, { organizationId: team.id })
    factsOf(await worker.call('claim_task', { task: made.key }))
    const other = await connect(team.other, { organizationId: team.id })
    factsOf(await other.call('update_task', { task: made.key, comment: 'Look at flock(2)' }))
    expect(await bodiesOn(made)).toEqual(['Look at flock(2)'])
    await Promise.all([worker.close(), other.close()])
  })

  test('takes a note for the next worker, over MCP and both REST routes', async () => {
    const made = await newTask(team.owner, team.project)
    const agent = await connect(team.member, { organizationId: team.id })
    factsOf(await agent.call('claim_task', { task: made.key }))
    const given = factsOf<Task>(
      await agent.call('claim_task', { task: made.key, action: 'release', note: 'The lock works; tests are missing' }),
    )
    expect(given).toMatchObject({ status: 'todo' })
    await agent.close()
    await claim(team.member, made)
    const path = `/api/tasks/${made.id}/release`
    const released = await team.member.fetch<Task>('POST', path, { note: 'One test is there' })
    await expectEvents(t, released, 'task.released', 'task.commented')
    await claim(team.member, made)
    expect((await claim(team.member, made, { action: 'release', note: 'Two' })).status).toBe(200)
    // Without a body, as before.
    expect((await team.member.fetch<Task>('POST', path)).status).toBe(200)
    expect(await bodiesOn(made)).toEqual(['The lock works; tests are missing', 'One test is there', 'Two'])
  })

  test('shows the next worker the notes of completed blockers', async () => {
    const [before, open] = [await newTask(team.owner, team.project), await newTask(team.owner, team.project)]
    const made = await newTask(team.owner, team.project, { blockedBy: [before.key, open.key] })
    await complete(team.member, before, { notes: 'Locked with flock', evidence: ['1a2b3c4'] })
    const agent = await connect(team.owner, { organizationId: team.id })
    const { waitsFor } = factsOf<TaskDetail>(await agent.call('get_task', { task: made.key }))
    expect(waitsFor).toMatchObject([
      { key: before.key, status: 'done', completionNotes: 'Locked with flock\n\nEvidence:\n- 1a2b3c4' },
      { key: open.key, title: open.title, status: 'todo' },
    ])
    expect((await get(team.owner, made)).body.waitsFor).toMatchObject([
      { key: before.key, completionNotes: 'Locked with flock\n\nEvidence:\n- 1a2b3c4' },
      { key: open.key, completionNotes: null },
    ])
    await agent.close()
  })
})

describe('the list of blocked tasks', () => {
  test('contains tasks marked as blocked and tasks with blockers, which it names', async () => {
    const project = await newProject(team.owner)
    const first = await newTask(team.owner, project)
    const waits = await newTask(team.owner, project, { blockedBy: [first.key] })
    const marked = await newTask(team.owner, project)
    await patch(team.owner, marked, { status: 'blocked' })
    const [done, over] = [await newTask(team.owner, project), await newTask(team.owner, project)]
    await patch(team.owner, over, { blockedBy: [first.key], status: 'cancelled' })
    await complete(team.owner, done)
    const unblocked = await newTask(team.owner, project, { blockedBy: [done.key] })
    const expected = [marked.key, waits.key].toSorted()
    const path = `/api/tasks?projectId=${project.id}&status=blocked&total=true`
    const { body } = await team.viewer.fetch<TaskPage>('GET', path)
    expect(keys(body.items).toSorted()).toEqual(expected)
    expect(body.total).toBe(2)
    expect(body.items.find(({ key }) => key === waits.key)).toMatchObject({ status: 'todo', blockedBy: [first.key] })
    const agent = await connect(team.owner, { organizationId: team.id })
    const { items } = factsOf<{ items: string[] }>(
      await agent.call('list_tasks', { project: project.id, status: 'blocked' }),
    )
    expect(items.map((line) => line.split(' ')[0]).toSorted()).toEqual(expected)
    expect(items.find((line) => line.startsWith(waits.key))).toContain(`waits for ${first.key}`)
    await agent.close()
    await complete(team.owner, first)
    const later = await team.viewer.fetch<TaskPage>('GET', path)
    expect(keys(later.body.items)).toEqual([marked.key])
    expect(keys(later.body.items)).not.toContain(unblocked.key)
  })
})
