import { beforeAll, describe, expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import { ToolCatalogue, toolTexts } from '../../src/mcp/catalogue.ts'
import { formerNames } from '../../src/mcp/former-names.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { recordNames } from '../../src/records/names.ts'
import { mcpToken, person, sharedApp } from '../support/app.ts'
import { ways } from './support.ts'

/** Loops over the arguments of all tools as clients see them: one name means one thing everywhere. */
interface Listed {
  type?: string
  description?: string
  default?: unknown
  enum?: string[]
  items?: Listed
  anyOf?: Listed[]
  properties?: Record<string, Listed>
}
interface Argument {
  tool: Tool
  name: string
  schema: Listed
}

const catalogue = new ToolCatalogue(tools)
const schemaOf = (tool: Tool): Listed => (JSON.parse(toolTexts(tool)[0]) as { inputSchema: Listed }).inputSchema

function argumentsIn(tool: Tool, schema: Listed): Argument[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, inner]) => ({ tool, name, schema: inner }))
  const inner = [schema.items, ...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {})].filter((s) => !!s)
  return [...own, ...inner.flatMap((s) => argumentsIn(tool, s))]
}
const all = tools.flatMap((tool) => argumentsIn(tool, schemaOf(tool)))
const names = [...new Set(all.map(({ name }) => name))].sort()

/** Where a name needs other words in one tool. Everything else is the same in all tools. */
const differing: Readonly<Record<string, readonly string[]>> = {
  // A search returns whole texts, so fewer of them.
  limit: ['search_memory'],
  // The type of an activity is free; the filter also takes those of the server.
  type: ['log_activity'],
  // Evidence for a gate links to pages, a note also to records.
  links: ['advance_feature'],
  // A feature is given tasks that exist, and a plan lists the fields of its own.
  tasks: ['create_feature', 'create_plan'],
  // A filter takes several.
  status: ['list_tasks'],
  // What is handed over with a released task.
  note: ['claim_task'],
  // The text of a new one, or the id of the one to add to.
  decision: ['log_decision'],
  // Tells workers apart, or is what a memory is about; without one, nothing is looked up.
  session: ['next_task', 'claim_task', 'complete_task', 'store_memory', 'search_memory', 'list_memories'],
  // resume_session lists its fields.
  checkpoint: ['end_session'],
}

/** Names that say what they are, or that the instructions explain. */
const plain = new Set(
  (
    'title name description content text url id ref role persona model status priority tags query cursor idempotencyKey ' +
    'goals context summary files branch commands checks commits option pros cons rationale alternatives outcome decision ' +
    'evidence notes comment reason verdict version links points estimate epics stories tasks systemPrompt nextStep ' +
    'openQuestions pullRequests testRuns acceptance blockedBy supersedes discoveredFrom expectedVersion limit until ' +
    'minutes budgetTokens importance settings metadata scopeId base tests command passed failed'
  ).split(' '),
)

describe('the arguments of tools', () => {
  test.each(names)('have one description and one default for %s', (name) => {
    const same = all.filter((a) => a.name === name && !differing[name]?.includes(a.tool.name))
    const words = same.map(({ schema }) => JSON.stringify([schema.description ?? null, schema.default ?? null]))
    expect([...new Set(words)]).toHaveLength(1)
  })

  test('differ where the exceptions say so', () => {
    for (const [name, where] of Object.entries(differing))
      for (const tool of where) expect(all.some((a) => a.name === name && a.tool.name === tool)).toBe(true)
  })

  test('have a description, or a name that needs none', () => {
    const kinds = new Set<string>([...recordNames, 'repo', 'activity'])
    const silent = all.filter(({ tool, name, schema }) => {
      if (schema.description || schema.enum || schema.items?.enum || plain.has(name) || kinds.has(name)) return false
      // The description of the tool explains it.
      return !new RegExp(`\\b${name}\\b`).test(tool.description)
    })
    expect(silent.map(({ tool, name }) => `${tool.name}.${name}`)).toEqual([])
  })

  test('search words with query in every list that can be searched', () => {
    const searched = ['tasks', 'specs', 'features', 'notes', 'decisions', 'projects', 'agents'].map((n) => `list_${n}`)
    for (const name of [...searched, 'search_memory'])
      expect([name, Object.keys(tools.find((t) => t.name === name)?.input.properties ?? {})[0]]).toEqual([
        name,
        'query',
      ])
  })
})

describe('former names of arguments', () => {
  const taking = Object.entries(formerNames).flatMap(([name, former]) =>
    tools.filter(({ input }) => name in input.properties).flatMap((tool) => former.map((old) => ({ tool, name, old }))),
  )

  test('are not listed', () => {
    const former = new Set(Object.values(formerNames).flat())
    expect(names.filter((name) => former.has(name))).toEqual([])
    expect(taking.length).toBeGreaterThan(60)
  })

  test('work in every tool that takes the argument', () => {
    for (const { tool, name, old } of taking) {
      const list = (tool.input.properties[name] as Listed).type === 'array'
      const found = catalogue.read(tool, { [old]: 'x' })
      expect([tool.name, found]).toEqual([tool.name, { args: { [name]: list ? ['x'] : 'x' }, errors: [] }])
      if (list) expect(catalogue.read(tool, { [old]: '["x","y"]' }).args).toEqual({ [name]: ['x', 'y'] })
    }
  })

  test('are refused together with the current name, and both are named', () => {
    for (const { tool, name, old } of taking)
      expect(catalogue.read(tool, { [old]: 'x', [name]: 'x' }).errors).toEqual([
        { pointer: `/${old}`, code: 'twice', message: `${old} and ${name} are the same argument. Send only ${name}.` },
      ])
  })

  test('of one argument are refused together', () => {
    const several = taking.filter(({ name, old }) => formerNames[name]?.[0] !== old)
    expect(several.length).toBeGreaterThan(0)
    for (const { tool, name, old } of several) {
      const first = formerNames[name]?.[0] as string
      expect(catalogue.read(tool, { [first]: 'a', [old]: 'b' }).errors).toEqual([
        { pointer: `/${old}`, code: 'twice', message: `${old} and ${first} are the same argument. Send only ${name}.` },
      ])
    }
  })

  test('work inside lists of objects', () => {
    const plan = tools.find(({ name }) => name === 'create_plan') as Tool
    const epics = (task: object) => [{ title: 'E', stories: [{ title: 'S', tasks: [{ title: 'T', ...task }] }] }]
    for (const sent of [epics({ labels: ['a'] }), JSON.stringify(epics({ labels: ['a'] }))])
      expect(catalogue.read(plan, { projectId: 'P', epics: sent }).args).toEqual({
        project: 'P',
        epics: epics({ tags: ['a'] }),
      })
    expect(catalogue.read(plan, { epics: epics({ labels: ['a'], tags: ['b'] }) }).errors).toMatchObject([
      { pointer: '/epics/0/stories/0/tasks/0/labels' },
    ])
  })

  test('do not include names that every JavaScript object has', () => {
    const [tool] = tools as [Tool]
    for (const name of ['constructor', 'toString', '__proto__']) {
      const { args } = catalogue.read(tool, JSON.parse(`{ "${name}": { "a": 1 } }`) as Record<string, unknown>)
      expect(Object.keys(args)).toEqual([name])
    }
  })
})

describe('an agent', () => {
  let call: (name: string, args: Record<string, unknown>) => Promise<Record<string, unknown>>
  beforeAll(async () => {
    const t = await sharedApp()
    const [connect] = Object.values(ways) as [(typeof ways)[string]]
    const client = await connect(t.url, await mcpToken(t, await person(t)))
    call = async (name, args) => {
      const { isError, structuredContent, content } = await client.call(name, args)
      if (isError) throw new Error(content[0]?.text)
      return structuredContent as Record<string, unknown>
    }
    await call('create_project', { name: 'Folder lock' })
    for (const [title, tags] of Object.entries({ Lock: ['db', 'files'], Unlock: ['db'], Rest: [] }))
      await call('create_task', { project: 'FL', title, tags })
  })
  const total = async (name: string, args: Record<string, unknown>) => (await call(name, args)).total

  test('finds lists by words and by all given tags, with current and former names', async () => {
    expect(await total('list_tasks', { query: 'Lock' })).toBe(1)
    expect(await total('list_tasks', { search: 'Lock' })).toBe(1)
    expect(await total('list_tasks', { tags: ['db'] })).toBe(2)
    expect(await total('list_tasks', { label: 'db', projectId: 'FL' })).toBe(2)
    expect(await total('list_tasks', { tags: ['db', 'files'] })).toBe(1)
    expect(await total('list_tasks', { status: 'done,todo' })).toBe(3)
    expect(await total('list_tasks', { status: 'done, todo', assignee: 'me, none' })).toBe(3)
    expect(await total('list_tasks', { status: 'done,in_review' })).toBe(0)
    await expect(call('list_tasks', { status: 'todo,open' })).rejects.toThrow('status must be one of: backlog, todo')
    await call('create_note', { title: 'Deploying', content: 'x', tags: ['ops', 'x'], project: 'FL' })
    expect(await total('list_notes', { search: 'deploying', tag: 'ops', project: 'FL' })).toBe(1)
    expect(await total('list_notes', { query: 'deploying', tags: ['ops', 'other'] })).toBe(0)
    expect(await total('list_projects', { query: 'folder' })).toBe(1)
  })

  test('stores a memory about a project, an agent or a session', async () => {
    await call('store_memory', { content: 'Backups run at night.', project: 'FL', tags: ['ops'] })
    await call('store_memory', { content: 'Restores need the old schema.', scope: 'project', scopeId: 'FL' })
    expect(await total('list_memories', { project: 'FL' })).toBe(2)
    expect(await total('list_memories', { scope: 'project', scopeId: 'FL', tag: 'ops' })).toBe(1)
    await expect(call('list_memories', { project: 'XX' })).rejects.toThrow('not_found: Project XX not found.')
    await expect(call('list_memories', { project: 'FL', agent: 'me' })).rejects.toThrow(
      'Send project or agent, not both.',
    )
    await expect(call('search_memory', { query: 'x', project: 'FL', scopeId: 'FL' })).rejects.toThrow(
      'Send project or scopeId',
    )
  })

  test('sends links of a note as plain text', async () => {
    const links = ['https://example.com/runbook', 'FL-1', 'project:FL', { url: 'https://example.com', title: 'Home' }]
    const { slug } = await call('create_note', { title: 'Links', links })
    const shown = (await call('get_note', { note: slug as string })).links as { url?: string; type?: string }[]
    expect(shown.map(({ url, type }) => url ?? type)).toEqual([
      'https://example.com/runbook',
      'task',
      'project',
      'https://example.com',
    ])
    await expect(call('update_note', { note: slug as string, links: ['nothing-there'] })).rejects.toThrow(
      'links.0 is neither an http(s) URL nor the key, slug or id of a record that you can see.',
    )
  })
})
