import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { MemoriesStored, Memory } from '../../src/features/memory/schema.ts'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { CompletedMany, CreatedMany } from '../../src/features/tasks/many/many-schema.ts'
import type { Task, TaskCompleted } from '../../src/features/tasks/schema.ts'
import type { McpClient } from '../mcp/support.ts'
import { unique } from '../support/app.ts'
import { expectEvents, expectRefusal } from './support.ts'
import {
  comment,
  complete,
  connect,
  factsOf,
  get,
  keys,
  newProject,
  newTask,
  newTeam,
  refused,
  start,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
let agent: McpClient
beforeAll(async () => {
  await start()
  team = await newTeam()
  agent = await connect(team.owner, { organizationId: team.id })
})
afterAll(() => agent.close())

const listOf = async (project: { id: string }): Promise<string[]> =>
  (await team.owner.fetch<TaskPage>('GET', `/api/tasks?projectId=${project.id}&sort=number&order=asc`)).body.items.map(
    ({ title }) => title,
  )

describe('complete_task', () => {
  test('with claimNext claims the next task and returns it in full', async () => {
    const project = await newProject(team.owner)
    const first = await newTask(team.owner, project, { priority: 'high' })
    const second = await newTask(team.owner, project, { description: 'Write it down', blockedBy: [first.key] })
    await comment(team.owner, second, 'In English')
    factsOf(await agent.call('claim_task', { task: first.key }))
    const { next } = factsOf<{ next: object }>(
      await agent.call('complete_task', { task: first.key, notes: 'Locked with flock', claimNext: true }),
    )
    expect(next).toMatchObject({
      key: second.key,
      status: 'in_progress',
      why: expect.stringContaining('only ready task'),
      description: 'Write it down',
      notesBefore: [{ key: first.key, notes: 'Locked with flock' }],
      comments: [{ body: 'In English' }],
    })
    expect((await get(team.owner, second)).body.lease).not.toBeNull()
    const last = await complete(team.owner, second, { claimNext: true })
    expect(last.body).toMatchObject({ next: null, noNext: expect.stringContaining('no open task') })
    expect(last.body).not.toHaveProperty('claimed')
  })

  test('with tasks completes several, each with its own notes, all or none', async () => {
    const project = await newProject(team.owner)
    const a = await newTask(team.owner, project, { acceptance: ['Fast'] })
    const b = await newTask(team.owner, project, { blockedBy: [a.key] })
    const c = await newTask(team.owner, project, { blockedBy: [b.key] })
    const said = { task: a.key, notes: 'A is done' }
    expect(refused(await agent.call('complete_task', { tasks: [said, b.key] }))).toStartWith('conflict.acceptance_open')
    const blocked = await agent.call('complete_task', { tasks: [{ task: a.key, accepted: 'all' }, c.key] })
    expect(refused(blocked)).toStartWith('conflict.blocked')
    expect((await get(team.owner, a)).body.status).toBe('todo')
    const done = factsOf<{ done: string[]; freed: string[]; next: Task }>(
      await agent.call('complete_task', { tasks: [{ ...said, accepted: [1] }, b.key], notes: 'Together' }),
    )
    expect(done).toMatchObject({ done: [a.key, b.key], freed: [expect.stringContaining(c.key)] })
    expect(done.next).toMatchObject({ key: c.key })
    const notes = [(await get(team.owner, a)).body.completionNotes, (await get(team.owner, b)).body.completionNotes]
    expect(notes).toEqual(['A is done', 'Together'])
    const rest = await team.owner.fetch<CompletedMany>('POST', '/api/tasks/complete', { tasks: [c.key] })
    await expectEvents(t, rest, 'task.completed')
    expect(rest.body.items).toMatchObject([{ key: c.key, status: 'done' }])
  })

  test('needs either a task or several tasks', async () => {
    for (const args of [{}, { task: 'TUT-1', tasks: ['TUT-2'] }])
      expect(refused(await agent.call('complete_task', args))).toContain('Send task for one, or tasks for several.')
    expect(refused(await agent.call('complete_task', { tasks: [] }))).toStartWith('invalid')
  })
})

describe('create_task', () => {
  test('with tasks and parent splits a task, in order and without an epic', async () => {
    const project = await newProject(team.owner)
    const parent = await newTask(team.owner, project, { title: 'All of it' })
    const tasks = [
      { title: 'Tests', blockedBy: ['Lock', parent.key] },
      { title: 'Lock', description: 'flock', acceptance: ['One writer'] },
    ]
    // The second waits for the first one by its title; the first of all is what it is a part of.
    const cycle = await agent.call('create_task', {
      parent: parent.key,
      tasks: [...tasks, { title: 'x', blockedBy: ['X'] }],
    })
    expect(refused(cycle)).toStartWith('conflict.cycle')
    expect(await listOf(project)).toEqual(['All of it'])
    const { created } = factsOf<{ created: string[] }>(
      await agent.call('create_task', {
        parent: parent.key,
        priority: 'high',
        tasks: [{ ...tasks[0], blockedBy: ['lock'] }, tasks[1]],
      }),
    )
    const { subtasks } = (await get(team.owner, parent)).body
    expect(created).toEqual(subtasks.map(({ key, title }) => `${key} «${title}»`))
    const [first, second] = keys(subtasks) as [string, string]
    const [tests, lock] = [(await get(team.owner, first)).body, (await get(team.owner, second)).body]
    expect(tests).toMatchObject({ blockedBy: [lock.key], priority: 'high', storyId: null, parentId: parent.id })
    expect(lock).toMatchObject({ description: 'flock', acceptance: [{ text: 'One writer', done: false }] })
  })

  test('with a parent creates a part of it; the Web API creates several too', async () => {
    const project = await newProject(team.owner)
    const parent = await newTask(team.owner, project)
    factsOf(await agent.call('create_task', { title: 'Part', parent: parent.key }))
    const path = `/api/projects/${project.slug}/tasks/batch`
    const made = await team.owner.fetch<CreatedMany>('POST', path, {
      parent: parent.key,
      tasks: [{ title: 'One' }, { title: 'Two', blockedBy: ['One'] }],
    })
    expect(made.status).toBe(201)
    expect(made.body.items).toMatchObject([{ title: 'One' }, { title: 'Two', blockedBy: [made.body.items[0]?.key] }])
    expect((await get(team.owner, parent)).body.subtasks.map(({ title }) => title)).toEqual(['Part', 'One', 'Two'])
    const twice = await team.owner.fetch('POST', path, {
      tasks: [{ title: 'Same' }, { title: 'Same' }, { title: 'Other', blockedBy: ['Same'] }],
    })
    await expectRefusal(t, twice, 422, 'invalid')
    expect(await listOf(project)).not.toContain('Same')
  })
})

describe('store_memory', () => {
  test('with memories stores several, all or none', async () => {
    const { slug } = await newProject(team.owner)
    const word = unique('fact')
    const memories = [{ content: `${word} one` }, { content: `${word} two`, tags: ['own'], title: 'Two' }]
    const bad = [...memories, { content: 'three', supersedes: '00000000-0000-7000-8000-000000000000' }]
    expect(refused(await agent.call('store_memory', { memories: bad, scopeId: slug }))).toStartWith('not_found')
    const list = async () =>
      (
        await team.owner.fetch<{ items: { excerpt: string; tags: string[] }[] }>('GET', '/api/memories?order=asc')
      ).body.items.filter(({ excerpt }) => excerpt.startsWith(word))
    expect(await list()).toEqual([])
    const { memories: stored } = factsOf<{ memories: { id: string }[] }>(
      await agent.call('store_memory', { memories, scopeId: slug, tags: ['all'] }),
    )
    expect(stored).toMatchObject([{ id: expect.any(String) }, { id: expect.any(String) }])
    const tags = (await list()).map((memory) => memory.tags.join())
    expect(tags.toSorted()).toEqual(['all', 'own'])
    const both = await agent.call('store_memory', { content: 'x', memories })
    expect(refused(both)).toContain('Send content for one, or memories for several.')
    const made = await team.owner.fetch<MemoriesStored>('POST', '/api/memories/batch', {
      memories: [{ content: `${word} three`, scopeId: slug }],
    })
    expect([made.status, made.body]).toMatchObject([201, { items: [{ content: `${word} three` }] }])
  })

  test('compares each item of a list with stored memories of the same scope only', async () => {
    const { slug, id: projectId } = await newProject(team.owner)
    const { id: session } = (await team.owner.fetch<{ id: string }>('POST', '/api/sessions', { projectId })).body
    const shared = { scope: 'session', scopeId: session }
    const memories = [{ content: 'Own', scope: 'agent' }, { content: 'Here' }, { content: 'Same', scope: 'session' }]
    const { memories: stored } = factsOf<{ memories: { id: string }[] }>(
      await agent.call('store_memory', { memories: [...memories, { content: 'Project', project: slug }], ...shared }),
    )
    const scopes = stored.map(async ({ id }) => (await team.owner.fetch<Memory>('GET', `/api/memories/${id}`)).body)
    expect((await Promise.all(scopes)).map(({ scope }) => scope)).toEqual(['agent', 'session', 'session', 'project'])
    const made = await team.owner.fetch<MemoriesStored>('POST', '/api/memories/batch', {
      ...shared,
      memories: [{ content: 'Project', scope: 'project', scopeId: slug }, { content: 'Here' }],
    })
    expect(made.body.items.map(({ scope }) => scope)).toEqual(['project', 'session'])
    const nowhere = { ...shared, memories: [{ content: 'x', scope: 'agent' }] }
    const { errors } = await expectRefusal(
      t,
      await team.owner.fetch('POST', '/api/memories/batch', nowhere),
      422,
      'invalid',
    )
    expect(errors?.[0]).toMatchObject({ pointer: '/scopeId', code: 'required' })
  })

  test('with memories refuses fields that only a single memory has', async () => {
    for (const [name, value] of Object.entries({
      supersedes: '00000000-0000-7000-8000-000000000000',
      embedding: [1],
    })) {
      const result = await agent.call('store_memory', { memories: [{ content: 'x' }], [name]: value })
      expect(refused(result)).toContain(`${name} belongs to one memory. Send it inside memories.`)
    }
  })
})

test('a repeated call with the same key changes nothing', async () => {
  const project = await newProject(team.owner)
  const made = await newTask(team.owner, project)
  const args = { tasks: [made.key], idempotencyKey: unique('key'), claimNext: true }
  const [first, second] = [await agent.call('complete_task', args), await agent.call('complete_task', args)]
  expect(second.structuredContent).toEqual(first.structuredContent)
  expect(factsOf<TaskCompleted>(first)).toMatchObject({ key: made.key, status: 'done' })
})
