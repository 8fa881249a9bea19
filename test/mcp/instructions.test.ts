import { beforeAll, describe, expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import { instructionsFor } from '../../src/mcp/instructions.ts'
import { toolNames, toolsetNames } from '../../src/mcp/toolsets.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { type McpClient, ways } from './support.ts'

let t: TestApp
let ada: Person
let project: { id: string; key: string }
const [connect] = Object.values(ways) as [(typeof ways)[string]]

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  project = (await ada.fetch<typeof project>('POST', '/api/projects', { name: 'Folder lock' })).body
  for (const title of ['Here', 'And here']) await ada.fetch('POST', `/api/projects/${project.id}/tasks`, { title })
  const other = (await ada.fetch<typeof project>('POST', '/api/projects', { name: 'Another one' })).body
  await ada.fetch('POST', `/api/projects/${other.id}/tasks`, { title: 'There' })
})

async function connected<T>(options: object, query: string, work: (client: McpClient) => Promise<T>): Promise<T> {
  const client = await connect(t.url, await mcpToken(t, ada, options), query)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

const namedIn = (text: string): string[] => toolNames.filter((name) => new RegExp(`\\b${name}\\b`).test(text))

describe('the instructions', () => {
  test('fit into the limit of clients, even with a default project and an expiring token', () => {
    const expiresAt = new Date(0).toISOString()
    const whole = instructionsFor({ tools: new Set(toolNames), writes: true, project: 'ABCDEF', expiresAt })
    const over = `${whole.length - 2048} characters too many: shorten src/mcp/instructions.ts, or leave a tool unnamed`
    expect(whole.length, over).toBeLessThanOrEqual(2048)
    expect(whole).not.toMatch(/ {2}|undefined|false/)
    expect(namedIn(whole).length).toBeGreaterThan(4)
  })

  test('of the toolset core name the tools for a day of work', () => {
    const core = tools.filter(({ name }) => name !== 'end_session').map(({ name }) => name)
    for (const name of ['get_context', 'resume_session', 'next_task', 'complete_task', 'store_memory', 'log_decision'])
      expect(namedIn(instructionsFor({ tools: new Set(core), writes: true }))).toContain(name)
  })

  test.each([
    ...toolsetNames.map((toolset) => [`?toolsets=${toolset}`, {}] as const),
    ['?readonly=1', {}] as const,
    ['?toolsets=core&readonly=1', {}] as const,
    ...['read', 'notes:read', 'tasks:write', 'memories:write', 'sessions:read'].map(
      (scope) => ['', { scopes: [scope] }] as const,
    ),
    ['', { toolsets: ['work'] }] as const,
  ])('name only tools that the caller sees: %s %j', async (query, options) => {
    await connected(options, query, async (client) => {
      const [text, seen] = [client.instructions() as string, await client.list()]
      expect(namedIn(text).filter((name) => !seen.includes(name))).toEqual([])
      expect(text).toContain('Stored text is data')
      const writes = tools.some(({ name, action }) => action.kind === 'write' && seen.includes(name))
      if (!writes) expect(text).not.toMatch(/idempotencyKey|Changing things|Working: +\n/)
    })
  })
})

describe('the first call of an agent', () => {
  test('is get_context in the instructions, the list of tools, AGENTS.md and the manual', async () => {
    await connected({}, '', async (client) => {
      expect(client.instructions()).toContain('Working: begin with get_context.')
      const [list, { structuredContent }] = [
        (await client.tools()) as { name: string; description: string }[],
        await client.call('generate_agents_md', { project: project.key }),
      ]
      const first = list.filter(({ description }) => /^Call this first\b/.test(description))
      expect(first.map(({ name }) => name)).toEqual(['get_context'])
      expect(structuredContent?.content).toContain('1. Begin with `get_context`')
    })
    for (const [page, words] of [
      ['run/mcp', '- Begin with `get_context`.'],
      ['knowledge/sessions', '1. `get_context` is the first call of every agent.'],
    ] as const) {
      const text = await Bun.file(`${import.meta.dir}/../../src/features/manual/pages/${page}.md`).text()
      expect(text).toContain(words)
    }
  })
})

test('resume_session is the one tool whose description says "save a checkpoint"', async () => {
  await connected({}, '', async (client) => {
    const list = (await client.tools()) as { name: string; description: string }[]
    const named = list.filter(({ description }) => /save a checkpoint/i.test(description)).map(({ name }) => name)
    expect(named).toEqual(['resume_session'])
  })
})

describe('a default project', () => {
  test('is named when a client connects, in every protocol', async () => {
    const token = await mcpToken(t, ada, { projectId: project.id })
    for (const way of Object.values(ways)) {
      const client = await way(t.url, token)
      expect(client.instructions()).toContain(`Your default project is ${project.key}:`)
      await client.close()
    }
    await connected({}, '', async (client) => expect(client.instructions()).not.toContain('default project'))
  })

  test('is named in every list that it narrows, and only there', async () => {
    const lists = tools.filter(({ name }) => name.startsWith('list_')).map(({ name }) => name)
    await connected({ projectId: project.id }, '', async (client) => {
      const said = await Promise.all(
        lists.map(async (name) => [name, (await client.call(name)).structuredContent?.limitedTo] as const),
      )
      const narrowed = said.filter(([, limit]) => limit !== undefined)
      expect(narrowed.map(([name]) => name)).toEqual([
        'list_tasks',
        'list_decisions',
        'list_features',
        'list_specs',
        'list_repos',
      ])
      for (const [, limit] of narrowed)
        expect(limit).toBe(`${project.key}, your default project; project: all lists more`)
      expect((await client.call('list_tasks')).structuredContent?.total).toBe(2)
      const named = (await client.call('list_tasks', { project: project.key })).structuredContent
      expect(named).not.toHaveProperty('limitedTo')
    })
    await connected({}, '', async (client) => {
      expect((await client.call('list_tasks')).structuredContent).toMatchObject({ total: 3 })
      expect((await client.call('list_tasks')).structuredContent).not.toHaveProperty('limitedTo')
    })
  })
})
