import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { connectionClosed, factsOf, type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'

let t: TestApp
let ada: Person
let grace: Person
let project: Project

interface Project {
  id: string
  key: string
}
interface Facts {
  brief: string[]
  key: string
  id: string
  task?: { key: string }
  comments?: { body: string; asks?: boolean }[]
}

const newProject = async (): Promise<Project> =>
  (await ada.fetch<Project>('POST', '/api/projects', { name: unique('Charter') })).body
async function newTasks(titles: string[], shared: object = {}): Promise<string[]> {
  const path = `/api/projects/${project.id}/tasks/batch`
  const tasks = titles.map((title) => ({ title, ...shared }))
  const { body } = await ada.fetch<{ items: { key: string }[] }>('POST', path, { tasks })
  return body.items.map(({ key }) => key)
}
const connect = (token: string, way = 'v2 client, HTTP 2025'): Promise<McpClient> =>
  (ways[way] as (typeof ways)[string])(t.url, token)
const agentOf = async (who: Person, name = unique('laptop')): Promise<McpClient> =>
  connect(await mcpToken(t, who, { name }))
async function use(client: McpClient, tool: string, args: Record<string, unknown> = {}): Promise<Facts> {
  return factsOf<Facts>(await client.call(tool, args))
}
/** Returns the lines of a part of the brief. */
async function partOf(client: McpClient, title: string, args: Record<string, unknown> = {}): Promise<string[]> {
  const { brief = [] } = await use(client, 'get_context', args)
  const start = brief.findIndex((line) => line.startsWith(`## ${title}`))
  const rest = start < 0 ? [] : brief.slice(start + 1)
  const end = rest.findIndex((line) => line.startsWith('## '))
  return end < 0 ? rest : rest.slice(0, end)
}

beforeAll(async () => {
  t = await sharedApp()
})
beforeEach(async () => {
  ada = await person(t)
  grace = await member(t, ada, 'member', 'Grace Hopper')
  project = await newProject()
})

describe('get_context { project, since }', () => {
  /** Two agents complete 18 tasks in a project with decisions, memories and further tasks. */
  async function aBusyDay(): Promise<{ since: string; keys: string[] }> {
    const titles = Array.from({ length: 18 }, (_, n) => `Step ${n + 1} of the charter`)
    const keys = await newTasks(titles)
    await newTasks(Array.from({ length: 12 }, (_, n) => `Later ${n + 1}`))
    for (let n = 0; n < 6; n++)
      await ada.fetch('POST', '/api/decisions', {
        projectId: project.id,
        title: `Decision ${n}`,
        decision: 'It is decided. '.repeat(20),
      })
    const since = new Date().toISOString()
    const [one, two] = [await agentOf(grace, 'desk'), await agentOf(grace, 'server')]
    for (const [client, some] of [[one, keys.slice(0, 12)] as const, [two, keys.slice(12)] as const])
      await use(client, 'complete_task', { tasks: some, notes: 'Done as described; the tests pass.' })
    for (const client of [one, two]) await client.close()
    return { since, keys }
  }

  test('fits totals, a line for each actor and the titles of 18 completed tasks into 800 tokens', async () => {
    const { since, keys } = await aBusyDay()
    const client = await agentOf(ada)
    const args = { project: project.id, since, budgetTokens: 800 }
    const { brief } = await use(client, 'get_context', args)
    expect(countTokens(brief.join('\n'))).toBeLessThanOrEqual(800)
    const [totals, first, second, ...titles] = await partOf(client, 'What changed since', args)
    const range = (from: number, to: number) => `${project.key}-${from}…${to}`
    expect(totals).toBe(`all: completed 18: ${range(1, 18)}`)
    expect(first).toMatch(/^A = .*desk.* for Grace Hopper: /)
    expect(first).toEndWith(`: completed 12: ${range(1, 12)}`)
    expect(second).toMatch(/^B = .*server.* for Grace Hopper: /)
    expect(second).toEndWith(`: completed 6: ${range(13, 18)}`)
    for (const key of keys) expect(titles.filter((line) => line.includes(`completed ${key} Step`))).toHaveLength(1)
    await client.close()
  })

  test('counts a task that was reopened as reopened, and one’s own work as one’s own', async () => {
    const keys = await newTasks(Array.from({ length: 7 }, (_, n) => `Step ${n + 1}`))
    const since = new Date().toISOString()
    const client = await agentOf(ada)
    await use(client, 'complete_task', { tasks: keys })
    await grace.fetch('PATCH', `/api/tasks/${keys[2]}`, { status: 'todo' })
    const [totals, own] = await partOf(client, 'What changed', { project: project.id, since })
    const { key } = project
    expect(totals).toBe(`all: completed 6: ${key}-1, 2, 4…7; reopened 1: ${key}-3`)
    expect(own).toStartWith('you: completed 6: ')
    await client.close()
  })
})

describe('get_context { project }', () => {
  test('names each finished task once, what others hold, and features in review', async () => {
    const [done, held, own] = (await newTasks(['Lay the keel', 'Rig the mast', 'Sew the sails'])) as [
      string,
      string,
      string,
    ]
    const client = await agentOf(ada)
    const other = await agentOf(grace, 'desk')
    await use(other, 'complete_task', { task: done, notes: 'Oak.' })
    await use(other, 'claim_task', { task: held })
    await use(client, 'claim_task', { task: own })
    const feature = await use(other, 'create_feature', { project: project.id, title: 'Sea trial', kind: 'chore' })
    await ada.fetch('POST', `/api/features/${feature.id}/override`, { status: 'in_review', reason: 'Seen' })
    const { brief } = await use(client, 'get_context', { project: project.id })
    expect(brief.join('\n').split('Lay the keel')).toHaveLength(2)
    expect(await partOf(client, 'Held by others', { project: project.id })).toEqual([
      expect.stringMatching(new RegExp(`^- ${held} «Rig the mast»: .*desk.* for Grace Hopper until \\S+ \\S+$`)),
    ])
    expect(await partOf(client, 'Features in review', { project: project.id })).toEqual([
      expect.stringMatching(/^- «Sea trial» \([0-9a-f-]{13}\)$/),
    ])
    for (const one of [client, other]) await one.close()
  })
})

describe('get_context {} without a session or a default project', () => {
  test.each(['v2 client, SSE', 'v2 client, HTTP 2026-07-28', 'v1 client, HTTP'])(
    'returns the caller’s tasks with their handover, and projects with ready tasks, by %s',
    async (way) => {
      const [assigned] = await newTasks(['Caulk the seams'], { assignee: ada.userId })
      const [held, begun] = (await newTasks(['Rig the mast', 'Sew the sails'])) as [string, string]
      await newTasks(['Paint it', 'Name it'])
      const { key: quiet } = await newProject()
      const token = await mcpToken(t, ada, { name: unique('laptop') })
      const first = await connect(token, way)
      const { id: session } = await use(first, 'create_session', { project: project.id })
      for (const task of [begun, held]) await use(first, 'claim_task', { task, session })
      await use(first, 'resume_session', { session, checkpoint: { nextStep: 'Step the mast', files: ['mast.md'] } })
      await use(first, 'end_session', { session })
      await first.close()
      if (!way.includes('2026')) await connectionClosed(t, held)

      const again = await connect(token, way)
      const { brief } = await use(again, 'get_context')
      const text = brief.join('\n')
      expect(text).toMatch(new RegExp(`## Your task: (${held}|${begun})`))
      expect(text.match(/Handover \(.*\): next step: «Step the mast»; files: «mast.md»/g)).toHaveLength(2)
      expect(text).toMatch(new RegExp(`^- (${held}|${begun}) «.*» \\(in_progress, yours until .*\\)$`, 'm'))
      expect(text).toContain(`- ${assigned} «Caulk the seams» (todo)`)
      expect(text).toMatch(new RegExp(`^- ${project.key} «Charter.*»: 3 ready$`, 'm'))
      expect(text).toMatch(new RegExp(`^- ${quiet} «Charter.*»: 0 ready$`, 'm'))
      await again.close()
    },
  )

  test('shows no records of another team or of projects beyond the token’s limit', async () => {
    await newTasks(['Rig the mast'])
    const other = await newProject()
    const stranger = await agentOf(await person(t))
    const limited = await connect(await mcpToken(t, ada, { projects: [other.id] }))
    expect((await use(stranger, 'get_context')).brief.join()).not.toContain(project.key)
    const lines = await partOf(limited, 'Projects')
    expect(lines.filter((line) => line.startsWith('- '))).toEqual([expect.stringContaining(`- ${other.key} `)])
    for (const client of [stranger, limited]) await client.close()
  })
})

describe('a comment with a question', () => {
  const ask = (client: McpClient, task: string, comment: string) =>
    use(client, 'update_task', { task, comment, asks: true })

  test('is marked in results, and stays in the context of the person’s agents until that person answers', async () => {
    const [task] = (await newTasks(['Rig the mast'])) as [string]
    const asking = await agentOf(grace, 'desk')
    const other = await agentOf(grace, 'phone')
    const stranger = await agentOf(ada)
    await ask(asking, task, 'Which wood is meant?')
    for (const tool of ['get_task', 'claim_task']) {
      const { comments } = await use(asking, tool, { task })
      expect(comments).toEqual([expect.objectContaining({ body: 'Which wood is meant?', asks: true })])
    }
    const line = (to: string) => expect.stringMatching(new RegExp(`^- ${task}, to ${to}: «Which wood is meant\\?» \\(`))
    // Her agents learn of it wherever they are; those of others in the project.
    for (const args of [{}, { project: project.id }])
      expect(await partOf(other, 'Open questions', args)).toContainEqual(line('your person'))
    expect(await partOf(stranger, 'Open questions', { project: project.id })).toEqual([line('Grace Hopper')])
    expect(await partOf(stranger, 'Open questions')).toEqual([])
    // Neither the agent that asked nor another person answers it.
    await use(asking, 'update_task', { task, comment: 'I wait.' })
    await ada.fetch('POST', `/api/tasks/${task}/comments`, { body: 'I do not know.' })
    expect(await partOf(other, 'Open questions')).toContainEqual(line('your person'))
    await grace.fetch('POST', `/api/tasks/${task}/comments`, { body: 'Oak.' })
    for (const client of [asking, other])
      expect(await partOf(client, 'Open questions', { project: project.id })).toEqual([])
    for (const client of [asking, other, stranger]) await client.close()
  })

  test('is answered by a comment of another agent of the person it asks', async () => {
    const [task] = (await newTasks(['Rig the mast'])) as [string]
    const [asking, other] = [await agentOf(grace, 'desk'), await agentOf(grace, 'phone')]
    await ask(asking, task, 'Which wood?')
    await ask(other, task, 'And which rope?')
    expect(await partOf(asking, 'Open questions')).toHaveLength(3)
    await use(other, 'update_task', { task, comment: 'Oak, says Grace.' })
    expect((await partOf(asking, 'Open questions')).join()).not.toContain('Which wood?')
    expect((await partOf(asking, 'Open questions')).join()).toContain('And which rope?')
    for (const client of [asking, other]) await client.close()
  })
})
