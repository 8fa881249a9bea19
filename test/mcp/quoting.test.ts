import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import * as v2 from '@modelcontextprotocol/client'
import { records, tools } from '../../src/all-features.ts'
import { recordNames } from '../../src/records/names.ts'
import { indexed } from '../features/search-support.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { EXAMPLE_TOKEN } from '../support/code-host.ts'
import { oneOfEach } from '../support/records.ts'
import { findUnquoted, INJECTION, isStored, ONE_LINE, unquotedLines } from './quoting.ts'
import { type McpClient, type Result, ways } from './support.ts'

/**
 * Ada wrote an injection into every text that the server stores. Grace's agent calls every tool, and reads resources
 * and prompts: nothing of it may look like the server's own words.
 */
let t: TestApp
let ada: Person
let grace: Person
let author: McpClient
let reader: McpClient
let resources: v2.Client
const calledTools = new Set<string>()
setDefaultTimeout(60_000)
/** What a test found; empty at its end. */
let problems: string[] = []
afterEach(() => {
  const found = problems
  problems = []
  expect(found).toEqual([])
})

type Fields = Record<string, unknown>
type Record_ = { id: string; slug: string; key: string; version: number }
/** Ids, keys and slugs of Ada's records. */
const made: Record<string, string> = {}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Creates a record over the web API. A name that must be one line gets the injection without its line ends. */
async function create(path: string, body: Fields, method = 'POST', who = ada): Promise<Record_> {
  const first = await who.fetch<Record_>(method, `/api${path}`, body)
  if (first.status < 300) return first.body
  const oneLine = JSON.parse(JSON.stringify(body).replaceAll(escaped(INJECTION), escaped(ONE_LINE)))
  const second = await who.fetch<Record_>(method, `/api${path}`, oneLine)
  if (second.status >= 300) throw new Error(`${path}: ${second.status} ${JSON.stringify(second.body)}`)
  return second.body
}

const task = async (more: Fields = {}) =>
  (await create(`/projects/${made.project}/tasks`, { title: INJECTION, ...more })).key

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t, { name: ONE_LINE })
  grace = await member(t, ada, 'member', 'Grace Hopper')
  for (const who of [ada, grace])
    await who.fetch('PUT', '/api/settings/integrations/user/github', { secret: EXAMPLE_TOKEN })
  await create(`/teams/${ada.organizationId}`, { name: INJECTION }, 'PATCH')
  const project = await create('/projects', { name: INJECTION, description: INJECTION })
  Object.assign(made, { project: project.slug, projectId: project.id, projectKey: project.key })
  const agent = await create('/agents', {
    name: INJECTION,
    role: INJECTION,
    persona: INJECTION,
    systemPrompt: INJECTION,
    model: ONE_LINE.slice(0, 60),
    scope: 'team',
  })
  made.agent = agent.slug
  author = await connect(t.url, await mcpToken(t, ada, { agentId: agent.id }))
  const token = await mcpToken(t, grace)
  reader = await connect(t.url, token)
  resources = new v2.Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  await resources.connect(
    new v2.StreamableHTTPClientTransport(new URL(`${t.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  await createKnowledge()
  await createWork()
  await createOthers()
  await indexed(t)
}, 120_000)

const connect = ways['v2 client, HTTP 2025'] as (typeof ways)[string]

async function createKnowledge(): Promise<void> {
  const within = { projectId: made.projectId, scope: 'team' }
  const note = await create('/notes', { title: INJECTION, content: INJECTION, tags: [ONE_LINE], ...within })
  await create('/notes', { title: `${ONE_LINE} again`, content: `[[${note.slug}]]`, ...within })
  const spec = await create('/specs', { title: INJECTION, content: INJECTION, projectId: made.projectId })
  await create(`/specs/${spec.id}`, { content: `${INJECTION}\nMore.`, message: INJECTION, baseVersion: 1 }, 'PATCH')
  const decision = await create('/decisions', {
    title: INJECTION,
    decision: INJECTION,
    rationale: INJECTION,
    context: INJECTION,
    alternatives: [{ option: INJECTION, pros: INJECTION, cons: INJECTION }],
    projectId: made.projectId,
  })
  await create(`/decisions/${decision.id}/comments`, { body: INJECTION })
  await create(`/decisions/${decision.id}`, { outcome: INJECTION }, 'PATCH')
  await create('/decisions', { title: INJECTION, decision: INJECTION, projectId: made.projectId, status: 'proposed' })
  const scope = { scope: 'project', scopeId: made.projectId }
  const memory = await create('/memories', { title: INJECTION, content: INJECTION, tags: [ONE_LINE], ...scope })
  await create('/memories', { title: 'Second', content: `${INJECTION} again`, ...scope })
  const skill = await create('/skills', { name: INJECTION, description: INJECTION, content: INJECTION, scope: 'team' })
  const repository = await create('/repos', { repo: 'tutti/tutti', projectId: made.projectId })
  Object.assign(made, { note: note.slug, spec: spec.slug, decision: decision.id, memory: memory.id, skill: skill.slug })
  made.repository = repository.id
}

/** Creates a record of each kind that needs nothing special. */
async function createOthers(): Promise<void> {
  const kinds = recordNames.filter((kind) => !(kind in made))
  const words = (kind: string) => ({ title: kind === 'project' ? ONE_LINE : INJECTION, text: INJECTION })
  const records = await oneOfEach(ada, { kinds: ['project', ...kinds], words })
  for (const kind of kinds) made[kind] = records[kind].id
}

async function createWork(): Promise<void> {
  const epic = await create(`/projects/${made.project}/epics`, { title: INJECTION, description: INJECTION })
  const story = await create(`/projects/${made.project}/epics/${epic.id}/stories`, { title: INJECTION })
  Object.assign(made, { epic: epic.id, story: story.id })
  made.before = await task()
  made.task = await task({
    description: INJECTION,
    acceptance: [INJECTION, `${ONE_LINE} twice`],
    labels: [ONE_LINE],
    blockedBy: [made.before],
    storyId: story.id,
  })
  await create(`/tasks/${made.task}/comments`, { body: INJECTION })
  await author.call('complete_task', { task: made.before, notes: INJECTION, evidence: [INJECTION] })
  await author.call('update_task', { task: made.task, evidence: [INJECTION] })
  made.open = await task({ acceptance: [INJECTION] })
  made.held = await task({ acceptance: [INJECTION] })
  await author.call('claim_task', { task: made.held, note: INJECTION })
  made.blocked = await task({ blockedBy: [made.held] })
  const feature = await create(`/projects/${made.project}/features`, {
    title: INJECTION,
    description: INJECTION,
    taskIds: [made.held],
  })
  made.feature = feature.id
  await create(`/features/${feature.id}/advance`, {})
  const evidence = { summary: INJECTION, files: [ONE_LINE], commits: ['3f98b0f'], links: [] }
  await create(`/features/${feature.id}/advance`, { evidence })
  const session = await create('/sessions', { goals: [INJECTION], context: INJECTION, projectId: made.projectId })
  made.session = session.id
  const logged = await create('/activities', { type: 'deploy', description: INJECTION, metadata: { note: INJECTION } })
  made.activity = logged.id
}

/** Calls a tool as Grace's agent; every result and every refusal must pass. */
async function call(name: string, args: Fields = {}): Promise<Result> {
  calledTools.add(name)
  const result = await reader.call(name, args)
  problems.push(...findUnquoted(result).map((problem) => `${name} ${JSON.stringify(args)}: ${problem}`))
  return result
}
const refuse = async (name: string, args: Fields): Promise<string> => {
  const { isError, content } = await call(name, args)
  expect({ [name]: isError, text: content[0]?.text }).toMatchObject({ [name]: true })
  return content[0]?.text as string
}
const accept = async (name: string, args: Fields = {}): Promise<Fields> => {
  const { isError, content, structuredContent } = await call(name, args)
  expect({ [name]: isError ?? false, text: content[0]?.text }).toMatchObject({ [name]: false })
  return structuredContent as Fields
}

describe("another author's text in MCP resources and prompts", () => {
  test('is quoted in every resource', async () => {
    // Nobody else sees a session.
    const kinds = records.all.flatMap(({ kind, resource }) => (resource && kind !== 'session' ? kind : []))
    for (const kind of kinds) {
      const ref = made[kind]
      const { contents } = await resources.readResource({ uri: `tutti://${kind}/${ref}` })
      const text = (contents[0] as { text: string }).text
      expect({ [kind]: isStored(text) }).toEqual({ [kind]: kind !== 'repository' })
      expect({ [kind]: unquotedLines(text) }).toEqual({ [kind]: [] })
    }
  })

  test('is quoted in the list of one’s own tasks', async () => {
    await task({ assignee: grace.email })
    const { contents } = await resources.readResource({ uri: 'tutti://me' })
    const text = (contents[0] as { text: string }).text
    expect(isStored(text)).toBe(true)
    expect(unquotedLines(text)).toEqual([])
  })

  test('is quoted in the lists of resources and prompts', async () => {
    const { resources: listed } = await resources.listResources()
    const { prompts } = await resources.listPrompts()
    expect([isStored(listed), isStored(prompts)]).toEqual([true, true])
    expect(
      findUnquoted({
        content: [{ type: 'text', text: '{}' }],
        structuredContent: { _source: { trust: 'other' }, listed, prompts },
      }),
    ).toEqual([])
    expect(prompts.flatMap(({ description = '' }) => unquotedLines(description))).toEqual([])
    const prompt = await resources.getPrompt({ name: made.skill as string })
    expect(unquotedLines(prompt.description ?? '')).toEqual([])
  })
})

describe("another author's text in tool results", () => {
  test('is quoted and attributed when records are read', async () => {
    const { project } = made
    for (const [name, args] of [
      ['get_task', { task: made.task }],
      ['get_task', { task: made.held }],
      ['get_task', { task: made.before }],
      ['get_note', { note: made.note }],
      ['get_spec', { spec: made.spec }],
      ['get_spec', { spec: made.spec, diffWith: 1 }],
      ['get_decision', { decision: made.decision }],
      ['get_agent', { agent: made.agent }],
      ['get_project', { project }],
      ['get_feature', { feature: made.feature }],
      ['get_skill', { skill: made.skill }],
      ['get_skill', {}],
      ['get_activity', { activity: made.activity }],
      ['get_context', { project, budgetTokens: 8000 }],
      ['list_tasks', { project }],
      ['list_tasks', { project, query: made.held }],
      ['list_notes', { project }],
      ['list_specs', { project }],
      ['list_decisions', { project }],
      ['list_memories', { project }],
      ['list_agents', {}],
      ['list_projects', {}],
      ['list_features', { project }],
      ['list_sessions', {}],
      ['list_activities', { project, limit: 100 }],
      ['list_activities', {}],
      ['list_repos', { project }],
      ['search_memory', { query: 'ZQX obey', project, kinds: ['memory', 'note', 'decision', 'spec', 'task'] }],
      ['generate_agents_md', { project }],
    ] as const)
      await accept(name, args)
  })

  test('is quoted and attributed when records are written', async () => {
    const { project } = made
    await accept('next_task', { project, claim: false })
    await accept('claim_task', { task: made.task })
    await accept('update_task', { task: made.task, comment: 'Seen.', accepted: [1] })
    await accept('claim_task', { task: made.task, action: 'renew' })
    await accept('claim_task', { task: made.task, action: 'release', note: 'Mine.' })
    await accept('create_session', { project, goals: ['Look'], task: made.task })
    await accept('resume_session', { checkpoint: { nextStep: 'Look again' } })
    await accept('resume_session', {})
    await accept('end_session', { summary: 'Looked.' })
    await accept('create_task', { project, title: 'Own', blockedBy: [made.open], story: made.story })
    await accept('create_plan', {
      project,
      epics: [{ title: 'E', stories: [{ title: 'S', tasks: [{ title: 'T' }] }] }],
    })
    await accept('store_memory', { project, content: `${INJECTION} again` })
    await accept('log_decision', { project, title: `${INJECTION} again`, decision: 'Other' })
    await accept('log_decision', { decision: made.decision, comment: 'Noted.' })
    await accept('create_note', { project, title: 'Own note', content: `[[${made.note}]]` })
    await accept('update_note', { note: made.note, tags: ['seen'] })
    await accept('update_spec', { spec: made.spec, content: 'Other.', expectedVersion: 2 })
    await accept('create_spec', { project, title: 'Own spec', content: 'Own.' })
    await accept('log_activity', { project, type: 'deploy', description: 'Own' })
    await accept('create_agent', { name: 'Own agent' })
    await accept('update_agent', { agent: made.agent, role: 'Reads' })
    await accept('create_project', { name: 'Own project' })
    await accept('update_project', { project, settings: {} })
    await accept('create_feature', { project, title: 'Own feature', tasks: [made.held] })
    await accept('sync_repo', { repo: 'tutti/tutti' })
    await call('create_pr', { repo: 'tutti/tutti', title: 'Lock', head: 'lock' })
    await call('connect_repo', { repo: 'tutti/tutti', project })
    await accept('clear_memory', { scope: 'project', scopeId: project })
  })

  test('is quoted and attributed when a call is refused', async () => {
    const { project, projectKey } = made
    const other = await task()
    await create(`/tasks/${other}`, {}, 'DELETE')
    expect(await refuse('complete_task', { task: made.open })).toContain('"trust":"other"')
    await refuse('complete_task', { task: made.open, accepted: ['none of them'] })
    await refuse('update_task', { task: made.open, acceptance: ['Another'], status: 'done' })
    expect(await refuse('complete_task', { task: made.held })).toContain('«')
    await refuse('claim_task', { task: made.held })
    await refuse('claim_task', { task: made.held, action: 'release' })
    await refuse('update_task', { task: made.held, title: 'Mine' })
    await refuse('delete_task', { task: made.held })
    await refuse('complete_task', { task: made.blocked })
    await refuse('get_task', { task: `${projectKey}-999` })
    await refuse('update_task', { task: made.task, title: 'Mine', expectedVersion: 1 })
    await refuse('update_note', { note: made.note, content: 'Mine', expectedVersion: 99 })
    await refuse('update_spec', { spec: made.spec, content: 'Mine', expectedVersion: 1 })
    await refuse('update_agent', { agent: made.agent, role: 'Mine', expectedVersion: 99 })
    await refuse('update_project', { project, description: 'Mine', expectedVersion: 99 })
    await refuse('get_spec', { spec: made.spec, version: 99 })
    await refuse('advance_feature', { feature: made.feature })
    await refuse('submit_review', { feature: made.feature, verdict: 'approved' })
    await refuse('update_task', { task: made.held, blockedBy: [made.blocked] })
    await refuse('update_task', { task: made.open, blockedBy: [made.open] })
    await refuse('update_task', { task: made.open, assignee: 'nobody there' })
    await refuse('create_session', { project, agent: await agentOfToken() })
    await refuse('advance_feature', { feature: await featureWithOwnGate() })
    await refuse('get_project', { project: 'zqx-obey-system' })
    await refuse('get_agent', { agent: 'zqx-obey-system' })
    await refuse('log_activity', { project: 'none', task: made.task, type: 'x', description: 'y' })
  })

  test('is quoted and attributed in the reasons why there is no next task', async () => {
    const { slug } = await create('/projects', { name: ONE_LINE })
    const key = (await create(`/projects/${slug}/tasks`, { title: INJECTION })).key
    await author.call('claim_task', { task: key })
    const assigned = await create(`/projects/${slug}/tasks`, { title: INJECTION, assignee: 'me' })
    const none = await accept('next_task', { project: slug })
    expect(none.why).toContain('«')
    expect(JSON.stringify(none)).toContain(assigned.key)
  })

  test('is quoted and attributed when a completion names other tasks', async () => {
    const { slug } = await create('/projects', { name: ONE_LINE })
    const { key } = (await accept('create_task', { project: slug, title: 'Own' })) as { key: string }
    await create(`/projects/${slug}/tasks`, { title: INJECTION, blockedBy: [key] })
    const done = await accept('complete_task', { task: key })
    expect(isStored(done)).toBe(true)
    const { key: second } = (await accept('create_task', { project: slug, title: 'Own' })) as { key: string }
    await accept('complete_task', { task: second, claimNext: true })
    await accept('archive_project', { project: slug })
    await refuse('create_task', { project: slug, title: 'Late' })
  })

  test('is quoted and attributed when records are deleted', async () => {
    await accept('delete_task', { task: await task() })
    await call('delete_note', { note: made.note })
    await call('delete_memory', { memory: made.memory })
    await call('delete_agent', { agent: made.agent })
  })

  test('is checked for every tool', () => {
    expect(tools.map(({ name }) => name).filter((name) => !calledTools.has(name))).toEqual([])
  })
})

/** A feature at a gate that Ada defined. */
async function featureWithOwnGate(): Promise<string> {
  const gates = [{ name: 'checked', needs: [{ anyOf: ['files'], what: ONE_LINE }] }]
  const transitions = [{ from: 'todo', to: 'done', gate: 'checked' }]
  const workflow = { initial: 'todo', states: ['todo', 'done'], transitions, gates }
  const { slug } = await create('/projects', { name: ONE_LINE, settings: { workflow } })
  return (await create(`/projects/${slug}/features`, { title: INJECTION })).id
}

/** The agent of Ada's own token, as which nobody else may work. */
async function agentOfToken(): Promise<string> {
  const client = await connect(t.url, await mcpToken(t, ada, { name: ONE_LINE.slice(0, 60) }))
  await client.call('list_tasks', {})
  await client.close()
  const { body } = await ada.fetch<{ items: { slug: string; name: string }[] }>('GET', '/api/agents?limit=100')
  return body.items.find(({ slug }) => slug !== made.agent)?.slug as string
}
