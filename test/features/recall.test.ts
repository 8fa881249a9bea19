import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { MemoryHits } from '../../src/features/memory/schema.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import { catchUp } from '../../src/features/search/indexing/indexing.ts'
import { renewTexts } from '../../src/features/search/indexing/renewal.ts'
import type { FoundGroups } from '../../src/features/search/schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { jobs } from '../../src/jobs/table.ts'
import { type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { indexed, newProject, newWord } from './search-support.ts'
import { ownApp, times } from './support.ts'

/** An app that indexes only when told to. */
let t: TestApp
let ada: Person
let agent: McpClient
let here: Project
let elsewhere: Project
beforeAll(async () => {
  t = await ownApp(undefined, { EMBEDDINGS: 'off' })
  ada = await person(t)
  agent = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, await mcpToken(t, ada))
  here = await newProject(ada)
  elsewhere = await newProject(ada)
  await follow()
  // The first comparison of everything is still to come.
  expect(await recall({ query: 'anything', kinds: ['task'] })).toMatchObject({ indexing: { behind: 1 } })
  await t.app.db.delete(jobs).where(eq(jobs.name, 'search.compare'))
})
afterAll(async () => {
  await agent.close()
  await t.close()
})

/** Does only what one look at the new events does, without the jobs that it starts. */
const follow = async () => {
  while ((await catchUp(systemCtx(t), {})) === 'waiting') await Bun.sleep(5)
}
const post = async <T>(path: string, body: object): Promise<T> => {
  const made = await ada.fetch<T>('POST', path, body)
  expect([made.status, made.body]).toMatchObject([201, {}])
  return made.body
}
const recall = async (args: object): Promise<MemoryHits> => {
  const result = await agent.call('search_memory', { limit: 20, ...args })
  if (result.isError) throw new Error(result.content[0]?.text)
  return result.structuredContent as MemoryHits
}
const task = (project: Project, input: object): Promise<Task> =>
  post<Task>(`/api/projects/${project.id}/tasks`, { title: unique('task'), ...input })

describe('search_memory in a scope', () => {
  const word = newWord()
  const kinds = ['task', 'decision', 'spec', 'note', 'memory']
  let found: Task

  beforeAll(async () => {
    for (const project of [here, elsewhere]) {
      const made = await task(project, { description: word })
      if (project === here) found = made
      await post('/api/decisions', { title: 'Locks', decision: word, projectId: project.id, status: 'accepted' })
      await post('/api/specs', { title: 'Locks', content: word, projectId: project.id })
      await post('/api/notes', { title: 'Locks', content: word, projectId: project.id })
      await post('/api/memories', { content: word, scope: 'project', scopeId: project.id })
    }
    await follow()
  })

  test.each(['scopeId', 'scope and scopeId', 'project'])('finds every kind of a project, by %s', async (way) => {
    const at = {
      scopeId: { scopeId: here.slug },
      'scope and scopeId': { scope: 'project', scopeId: here.key },
      project: { project: here.slug },
    }[way] as object
    const { items } = await recall({ query: word, kinds, ...at })
    expect(items.map(({ kind }) => String(kind)).toSorted()).toEqual(kinds.toSorted())
    for (const kind of kinds) {
      const one = await recall({ query: word, kinds: [kind], ...at })
      expect(one.items.map((hit) => hit.kind as string)).toEqual([kind])
    }
  })

  test('returns hits with the arguments of the next call and the state of the record', async () => {
    const { items } = await recall({ query: word, kinds, scopeId: here.slug })
    const of = (kind: string) => items.find((hit) => hit.kind === kind)
    expect(of('task')).toMatchObject({ key: found.key, status: 'todo' })
    expect(of('task')).not.toHaveProperty('id')
    expect(of('decision')).toMatchObject({ status: 'accepted' })
    for (const [kind, tool] of [
      ['task', 'get_task'],
      ['decision', 'get_decision'],
      ['spec', 'get_spec'],
      ['note', 'get_note'],
    ] as const) {
      const hit = of(kind)
      expect((await agent.call(tool, { [kind]: hit?.key ?? hit?.id })).isError).not.toBe(true)
    }
    const path = '/api/memories/search'
    const { body } = await ada.fetch<MemoryHits>('POST', path, { query: word, kinds: ['task'], scopeId: here.slug })
    expect(body.items).toMatchObject([{ id: found.id, key: found.key, status: 'todo' }])
    const groups = (await ada.fetch<FoundGroups>('GET', `/api/search?q=${word}&kinds=task&projectId=${here.id}`)).body
    expect(groups.items[0]?.items).toMatchObject([{ key: found.key, status: 'todo' }])
  })

  test('of an agent finds its tasks, decisions and sessions', async () => {
    const name = unique('Worker')
    const worker = await post<{ id: string; slug: string }>('/api/agents', { name, scope: 'team' })
    const own = newWord()
    const assigned = await task(here, { description: own, assignee: worker.id })
    await task(here, { description: own })
    await post('/api/sessions', { goals: [own], agentId: worker.id })
    await follow()
    const { items } = await recall({ query: own, kinds: ['task', 'session'], scope: 'agent', scopeId: worker.slug })
    expect(items.map(({ kind, key }) => key ?? kind).toSorted()).toEqual([assigned.key, 'session'].toSorted())
  })
})

describe('a search index that is behind', () => {
  test('is reported in the answer, until it has caught up', async () => {
    const word = newWord()
    const { key } = await task(here, { description: word })
    const before = await recall({ query: word, kinds: ['task'] })
    expect(before).toMatchObject({ items: [], indexing: { behind: 1 } })
    const path = `/api/search?q=${word}`
    expect((await ada.fetch<FoundGroups>('GET', path)).body).toMatchObject({ items: [], indexing: { behind: 1 } })
    // Memories are found at once, so nothing is missing among them; nor does another team's work matter.
    expect(await recall({ query: word })).not.toHaveProperty('indexing')
    const other = await person(t)
    expect((await other.fetch('GET', path)).body).not.toHaveProperty('indexing')
    await follow()
    const after = await recall({ query: word, kinds: ['task'] })
    expect(after).toMatchObject({ items: [{ key }] })
    expect(after).not.toHaveProperty('indexing')
    expect((await ada.fetch('GET', path)).body).not.toHaveProperty('indexing')
  })

  test('finds all tasks of a new plan after one read of the events', async () => {
    const word = newWord()
    const tasks = times(120, (i) => ({ title: `${word} ${i}`, description: 'Part of the plan' }))
    const epics = [{ title: 'Epic', stories: [{ title: 'Story', tasks }] }]
    await post(`/api/projects/${here.slug}/plan`, { epics })
    await follow()
    const { body } = await ada.fetch<FoundGroups>('GET', `/api/search?q=${word}&kinds=task`)
    expect(body.items).toMatchObject([{ kind: 'task', total: 120 }])
  })
})

describe('comments and alternatives', () => {
  const names = async (tool: string, args: object): Promise<string> => {
    const { isError, content } = await agent.call(tool, { ...args })
    if (isError) throw new Error(content[0]?.text)
    return content[0]?.text as string
  }

  /** A task with a comment, and a decision with an alternative and a comment; each holds a word of its own. */
  async function discussed() {
    const words = { comment: newWord(), option: newWord(), discussion: newWord() }
    const { key } = await task(here, { title: 'Quiet' })
    await agent.call('update_task', { task: key, comment: `It broke at ${words.comment}.` })
    const alternatives = [{ option: 'Queue', cons: `Slow\n${words.option}` }]
    const { id } = await post<{ id: string }>('/api/decisions', {
      title: 'Silent',
      decision: 'Poll.',
      alternatives,
      projectId: here.id,
    })
    await agent.call('log_decision', { decision: id, comment: `We met ${words.discussion}.` })
    await follow()
    return { words, key, id }
  }

  test('are found by search and by lists', async () => {
    const { words, key } = await discussed()
    const kinds = ['task', 'decision']
    const found = await recall({ query: words.comment, kinds })
    expect(found.items).toMatchObject([{ title: 'Quiet' }])
    // Anybody may have written a comment.
    expect(found).toMatchObject({ _source: { trust: 'other' } })
    for (const word of [words.option, words.discussion])
      expect((await recall({ query: word, kinds })).items).toMatchObject([{ title: 'Silent' }])
    expect(await names('list_tasks', { project: here.slug, query: words.comment })).toContain(key)
    for (const word of [words.option, words.discussion])
      expect(await names('list_decisions', { project: here.slug, query: word })).toContain('Silent')
    expect(await names('list_decisions', { project: here.slug, query: 'pros' })).not.toContain('Silent')
  })

  test('of records indexed by an earlier version are found after an upgrade', async () => {
    const { words, id } = await discussed()
    await t.app.driver.exec(`update passages set content = 'Poll.' where record_id = '${id}'`)
    await t.app.driver.exec(`delete from meta where key = 'search.texts'`)
    expect((await recall({ query: words.option, kinds: ['decision'] })).items).toEqual([])
    await renewTexts(systemCtx(t), {})
    await indexed(t)
    expect((await recall({ query: words.option, kinds: ['decision'] })).items).toMatchObject([{ title: 'Silent' }])
  })
})
