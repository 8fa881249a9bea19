import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { factsOf, type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'

let t: TestApp
let ada: Person
let grace: Person
let client: McpClient
let project: Project

interface Project {
  id: string
  key: string
}
interface Listed {
  items: string[]
  total?: number
  nextCursor?: string
  limitedTo?: string
  task?: { key: string }
}

const newProject = async (): Promise<Project> =>
  (await ada.fetch<Project>('POST', '/api/projects', { name: unique('Lists') })).body
const connect = (token: string): Promise<McpClient> =>
  (ways['v2 client, HTTP 2025'] as (typeof ways)[string])(t.url, token)
async function use(tool: string, args: Record<string, unknown> = {}, by = client): Promise<Listed> {
  return factsOf<Listed>(await by.call(tool, args))
}
const newTask = async (body: object): Promise<string> =>
  (await ada.fetch<{ key: string }>('POST', `/api/projects/${project.id}/tasks`, { title: unique('task'), ...body }))
    .body.key
const keysOf = ({ items }: Listed): string[] => items.map((line) => String(line.split(' ')[0]))

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  grace = await member(t, ada, 'member')
  client = await connect(await mcpToken(t, ada))
})
afterAll(() => client.close())
beforeEach(async () => {
  project = await newProject()
})

describe('list_activities with a type', () => {
  const refusal = async (type: string): Promise<string> => {
    const { isError, content } = await client.call('list_activities', { type, project: project.id })
    expect([type, isError]).toEqual([type, true])
    return String(content[0]?.text)
  }

  test('accepts the short name of a type if it is unique', async () => {
    const key = await newTask({})
    await use('complete_task', { task: key })
    for (const type of ['completed', 'task.completed', 'task.'])
      expect((await use('list_activities', { type, project: project.id })).items.join()).toContain(key)
    expect((await use('list_activities', { type: 'completed', project: project.id })).items).toHaveLength(1)
  })

  test('refuses an unknown type and names the known ones', async () => {
    expect(await refusal('created')).toContain('task.created, feature.created')
    expect(await refusal('task.finished')).toContain('task.completed')
    const unknown = await refusal('finished')
    for (const beginning of ['task.', 'note.', 'decision.']) expect(unknown).toContain(beginning)
    expect(countTokens(unknown)).toBeLessThan(90)
  })

  test('lists activities logged by hand, and knows their type once one exists', async () => {
    expect(await refusal('rollout')).not.toContain('rollout,')
    await use('log_activity', { type: 'rollout', description: 'To staging', project: project.id })
    expect((await use('list_activities', { type: 'rollout', project: project.id })).items).toHaveLength(1)
    expect(await refusal('finished')).toContain('rollout')
    const other = await connect(await mcpToken(t, await person(t)))
    const { isError, content } = await other.call('list_activities', { type: 'finished' })
    expect([isError, content[0]?.text]).toEqual([true, expect.not.stringContaining('rollout')])
    await other.close()
  })
})

describe('project: all', () => {
  test('widens lists beyond the default project, which they name', async () => {
    const other = project
    await newTask({ title: 'Elsewhere' })
    project = await newProject()
    await newTask({ title: 'Here' })
    const here = await connect(await mcpToken(t, ada, { projectId: project.id }))
    const narrow = await use('list_tasks', { ready: true }, here)
    expect(narrow).toMatchObject({
      total: 1,
      limitedTo: `${project.key}, your default project; project: all lists more`,
    })
    const wide = await use('list_tasks', { ready: true, project: 'all', limit: 100 }, here)
    expect(wide).not.toHaveProperty('limitedTo')
    for (const { key } of [project, other]) expect(wide.items.join()).toContain(`${key}-1`)
    const lists = ['list_decisions', 'list_features', 'list_specs', 'list_repos', 'list_notes', 'list_activities']
    for (const list of [...lists, 'list_memories'])
      expect(await use(list, { project: 'all' }, here)).not.toHaveProperty('limitedTo')
    expect(await use('search_memory', { project: 'all', query: 'anything' }, here)).toHaveProperty('items')
    await here.close()
  })
})

describe('list_tasks { ready: true }', () => {
  const inOrder = async (args: object = {}): Promise<string[]> =>
    keysOf(await use('list_tasks', { project: project.id, ready: true, ...args }))

  /** Tasks that differ in all that decides the order, first to last, and one that is not ready. */
  async function tasksInOrder(): Promise<string[]> {
    const theirs = await newTask({ priority: 'critical', assignee: grace.userId })
    const low = await newTask({ priority: 'low' })
    const plain = await newTask({})
    const awaited = await newTask({})
    await newTask({ priority: 'low', blockedBy: [awaited] })
    const later = await newTask({ dueAt: '2027-03-01' })
    const sooner = await newTask({ dueAt: '2027-02-01' })
    const high = await newTask({ priority: 'high' })
    const own = await newTask({ priority: 'low', assignee: 'me' })
    return [own, high, sooner, later, awaited, plain, low, theirs]
  }

  test('lists tasks in the order of next_task, others’ tasks last', async () => {
    const expected = await tasksInOrder()
    expect(await inOrder()).toEqual(expected)
    const taken: (string | undefined)[] = []
    for (const key of expected.slice(0, -1)) {
      taken.push((await use('next_task', { project: project.id })).task?.key)
      await use('update_task', { task: key, status: 'cancelled' })
    }
    expect(taken).toEqual(expected.slice(0, -1))
  })

  test('pages through the same order, even if the last task of a page is claimed meanwhile', async () => {
    const expected = await tasksInOrder()
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await use('list_tasks', { project: project.id, ready: true, limit: 2, cursor })
      seen.push(...keysOf(page))
      cursor = page.nextCursor
      if (seen.length === 2) await use('claim_task', { task: seen[1] })
    } while (cursor)
    expect(seen).toEqual(expected)
  })
})
