import { expect } from 'bun:test'
import { person } from '../support/app.ts'
import { job } from './harness.ts'

job(
  'with a read-only token is told so, and who can change that',
  { calls: 2, tokens: 190 },
  async ({ agent, owner }) => {
    await owner.fetch('POST', '/api/projects', { name: 'Folder lock' })
    const reader = await agent('reader', { scopes: ['read'] })
    expect(await reader.client.list()).not.toContain('create_task')
    expect((await reader.call('list_projects')).total).toBe(1)
    const refused = await reader.refused('create_task', { title: 'A task' })
    expect(refused.code).toBe('forbidden')
    expect(refused.text).toContain('Ask the owner of the token for one with that scope.')
  },
)

job('with the core tools is told the toolset of another tool', { calls: 2, tokens: 140 }, async ({ agent }) => {
  const small = await agent('small', { toolsets: ['core'] })
  expect((await small.client.list()).length).toBe(13)
  const refused = await small.refused('create_note', { title: 'A note' })
  expect(refused.text).toContain('create_note is in the toolset notes, and this token has only: core.')
  expect(await small.call('next_task')).toMatchObject({
    why: 'There is no open task in your organization. Create one with create_task or create_plan.',
  })
})

job('does not find records of other teams', { calls: 3, tokens: 310 }, async ({ agent, t }) => {
  const stranger = await person(t)
  const { id } = (await stranger.fetch<{ id: string }>('POST', '/api/projects', { name: 'Secret plans' })).body
  const task = (await stranger.fetch<{ id: string }>('POST', `/api/projects/${id}/tasks`, { title: 'Secret' })).body
  const one = (await agent()).told(`Look at ${task.id} in ${id}.`)
  expect((await one.refused('get_task', { task: task.id })).text).toEndWith('Find the right one with list_tasks.')
  expect((await one.refused('create_task', { title: 'x', project: id })).code).toBe('not_found')
  expect((await one.call('list_tasks')).total).toBe(0)
})

job('sends wrong types, and corrects them from the refusal', { calls: 3, tokens: 480 }, async ({ agent }) => {
  const one = await agent()
  const { slug } = await one.call('create_project', { name: 'Folder lock' })
  const wrong = { title: 'A task', project: slug, priority: 'urgent', tags: 'backend', dueAt: 'tomorrow', points: 3 }
  const { errors, text } = await one.refused('create_task', wrong)
  expect(errors?.map((e) => e.pointer).sort()).toEqual(['/dueAt', '/points', '/priority', '/tags'])
  expect(text).toContain('critical, high, medium, low')
  expect(
    await one.call('create_task', {
      title: 'A task',
      project: slug,
      priority: 'critical',
      tags: ['backend'],
      dueAt: '2026-12-01',
    }),
  ).toMatchObject({ key: 'FL-1' })
})

job('sends lists as JSON text, as some clients do', { calls: 5, tokens: 470 }, async ({ agent }) => {
  const one = await agent()
  const { slug } = await one.call('create_project', { name: 'Folder lock' })
  const task = await one.call('create_task', {
    title: 'A task',
    project: slug,
    labels: '["a","b"]',
    acceptance: '["It works"]',
  })
  expect(await one.call('get_task', { task: task.key })).toMatchObject({
    labels: ['a', 'b'],
    acceptance: ['It works'],
  })
  await one.call('complete_task', { task: task.key, evidence: '["bun test: 3 pass"]', accepted: 'all' })
  const epics = '[{"title":"E","stories":[{"title":"S","tasks":[{"title":"T"}]}]}]'
  expect(await one.call('create_plan', { project: slug, epics })).toMatchObject({ tasks: 'FL-2' })
})

job('repeats a write whose answer was lost, which is stored once', { calls: 4, tokens: 320 }, async ({ agent }) => {
  const one = await agent()
  const { slug } = await one.call('create_project', { name: 'Folder lock' })
  const write = { title: 'A task', project: slug, idempotencyKey: 'one-and-the-same' }
  const first = await one.call('create_task', write)
  const again = await one.call('create_task', write)
  expect(again).toEqual(first)
  expect((await one.call('list_tasks')).total).toBe(1)
})

job('misspells a key, and is told how to find the right one', { calls: 2, tokens: 160 }, async ({ agent, owner }) => {
  const { id } = (await owner.fetch<{ id: string }>('POST', '/api/projects', { name: 'Folder lock' })).body
  await owner.fetch('POST', `/api/projects/${id}/tasks`, { title: 'Lock it' })
  const one = (await agent()).told('Do FLO-1.')
  const refused = await one.refused('claim_task', { task: 'FLO-1' })
  expect(refused.text).toBe('not_found: Task FLO-1 not found. Did you mean a task of FL?')
  expect((await one.call('list_tasks')).items).toMatchObject([{ key: 'FL-1' }])
})
