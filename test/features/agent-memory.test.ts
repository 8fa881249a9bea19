import { beforeAll, describe, expect, test } from 'bun:test'
import { getAgentDetail } from '../../src/features/agents/detail.ts'
import * as memory from '../../src/features/memory/service.ts'
import { type Answer, mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { ctxOf, watch } from './support.ts'

let t: TestApp
let ada: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
})

const made = <T extends { id: string }>({ status, body }: Answer<unknown>): T => {
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body as T
}
const agentOf = async (extra = {}) =>
  made<{ id: string; slug: string }>(
    await ada.fetch('POST', '/api/agents', { name: unique('Rex'), scope: 'team', ...extra }),
  )
const remember = async (agent: string, content: string) =>
  made<{ id: string }>(await ada.fetch('POST', '/api/memories', { content, scope: 'agent', scopeId: agent })).id
const listed = async (agent: string) =>
  (await ada.fetch<{ items: { id: string }[] }>('GET', `/api/memories?scope=agent&scopeId=${agent}`)).body.items.map(
    (m) => m.id,
  )

describe('deleting an agent', () => {
  test('deletes its memories, and restoring the agent restores them', async () => {
    const agent = await agentOf()
    const id = await remember(agent.id, 'The ferret bites.')
    const other = await remember((await agentOf()).id, 'Another one’s.')
    const gone = await ada.fetch('DELETE', `/api/agents/${agent.id}`)
    expect(gone.body).toEqual({ id: agent.id, deleted: true, memories: { count: 1, kept: false } })
    expect(await listed(agent.id)).toEqual([])
    expect((await memory.search(await ada.ctx(), { query: 'ferret' })).items).toEqual([])
    expect((await ada.fetch('GET', `/api/memories/${other}`)).status).toBe(200)
    expect((await ada.fetch('POST', `/api/agents/${agent.id}/restore`)).status).toBe(200)
    expect(await listed(agent.id)).toEqual([id])
    expect((await memory.search(await ada.ctx(), { query: 'ferret' })).items.map((hit) => hit.id)).toEqual([id])
  })

  test('and restoring it does not restore memories that were deleted earlier', async () => {
    const agent = await agentOf()
    const wrong = await remember(agent.id, 'Wrong.')
    await ada.fetch('DELETE', `/api/memories/${wrong}`)
    await Bun.sleep(2)
    await ada.fetch('DELETE', `/api/agents/${agent.id}`)
    await ada.fetch('POST', `/api/agents/${agent.id}/restore`)
    expect(await listed(agent.id)).toEqual([])
  })

  test('leaves its memories to the team with archiveMemory', async () => {
    const agent = await agentOf()
    const id = await remember(agent.id, 'The stoat is kind.')
    const gone = await ada.fetch('DELETE', `/api/agents/${agent.id}?archiveMemory=true`)
    expect(gone.body).toEqual({ id: agent.id, deleted: true, memories: { count: 1, kept: true } })
    // Others may be like it in meaning.
    expect((await memory.search(await ada.ctx(), { query: 'stoat' })).items[0]?.id).toBe(id)
  })
})

test('deleting and restoring a public agent does not affect the memories that another team has of it', async () => {
  const agent = await agentOf({ scope: 'public' })
  const bob = await person(t)
  const { id } = made<{ id: string }>(
    await bob.fetch('POST', '/api/memories', { content: 'Ours alone.', scope: 'agent', scopeId: agent.id }),
  )
  const own = await remember(agent.id, 'Its team’s.')
  const gone = await ada.fetch('DELETE', `/api/agents/${agent.id}`)
  expect(gone.body).toMatchObject({ memories: { count: 1, kept: false } })
  expect((await bob.fetch('GET', `/api/memories/${id}`)).body).toMatchObject({ content: 'Ours alone.', version: 1 })
  expect((await ada.fetch('GET', `/api/memories/${own}`)).status).toBe(404)
  expect((await ada.fetch('POST', `/api/agents/${agent.id}/restore`)).status).toBe(200)
  expect((await ada.fetch('GET', `/api/memories/${own}`)).status).toBe(200)
})

describe('GET /api/agents/:id', () => {
  test('shows its memories, open tasks and activity, as far as the caller can see them', async () => {
    const agent = await agentOf()
    const project = made<{ id: string; slug: string }>(await ada.fetch('POST', '/api/projects', { name: unique('P') }))
    const secret = made<{ id: string; slug: string }>(
      await ada.fetch('POST', '/api/projects', { name: unique('S'), visibility: 'private' }),
    )
    const memoryId = await remember(agent.id, 'Likes small changes.')
    const task = async (slug: string, title: string) =>
      made<{ id: string }>(await ada.fetch('POST', `/api/projects/${slug}/tasks`, { title, assignee: agent.id })).id
    const open = await task(project.slug, 'Open')
    const hidden = await task(secret.slug, 'Hidden')
    const token = await mcpToken(t, ada, { agentId: agent.id })
    await memory.store(await ctxOf(t, token), {
      content: 'Done by the agent itself.',
      scope: 'project',
      scopeId: project.id,
    })
    const mine = await getAgentDetail(await ada.ctx(), { ref: agent.slug })
    expect(mine.recentMemories.map((m) => m.id)).toEqual([memoryId])
    expect(mine.openTasks.map((o) => o.id).sort()).toEqual([open, hidden].sort())
    expect(mine.recentActivity.map((a) => a.type)).toContain('memory.stored')
    const grace = await member(t, ada, 'member')
    const ctx = await grace.ctx()
    const seen = await getAgentDetail(
      { ...ctx, actor: { ...ctx.actor, organizationId: ada.organizationId } },
      { ref: agent.slug },
    )
    expect(seen.openTasks.map((o) => o.id)).toEqual([open])
    // A credential for agents alone learns nothing else.
    const narrow = await getAgentDetail(
      { ...ctx, actor: { ...ctx.actor, organizationId: ada.organizationId, scopes: ['agents:read'] } },
      { ref: agent.slug },
    )
    expect({ memories: narrow.recentMemories, tasks: narrow.openTasks }).toEqual({ memories: [], tasks: [] })
  })
})

describe('the default scope of an agent’s memories', () => {
  const storedBy = async (agent: string, options = {}) => {
    const token = await mcpToken(t, ada, { agentId: agent, ...options })
    return memory.store(await ctxOf(t, token), { content: unique('A fact') })
  }

  test('follows its memoryScope, or is the agent if it has no project', async () => {
    const project = made<{ id: string }>(await ada.fetch('POST', '/api/projects', { name: unique('P') }))
    const own = await agentOf({ memoryScope: 'agent' })
    expect(await storedBy(own.id, { projectId: project.id })).toMatchObject({
      scope: 'agent',
      scopeId: own.id,
      projectId: null,
    })
    const shared = await agentOf({ memoryScope: 'project' })
    expect(await storedBy(shared.id, { projectId: project.id })).toMatchObject({
      scope: 'project',
      scopeId: project.id,
    })
    expect(await storedBy(shared.id)).toMatchObject({ scope: 'agent', scopeId: shared.id })
  })

  test('is its session if it remembers by session, and its project while no session is open', async () => {
    const project = made<{ id: string }>(await ada.fetch('POST', '/api/projects', { name: unique('P') }))
    const agent = await agentOf({ memoryScope: 'session' })
    expect(await storedBy(agent.id, { projectId: project.id })).toMatchObject({ scope: 'project', scopeId: project.id })
    const session = made<{ id: string }>(
      await ada.fetch('POST', '/api/sessions', { agentId: agent.id, projectId: project.id, goals: ['x'] }),
    )
    expect(await storedBy(agent.id, { projectId: project.id })).toMatchObject({
      scope: 'session',
      scopeId: session.id,
      projectId: project.id,
    })
  })
})
