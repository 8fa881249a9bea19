import { afterAll, beforeAll, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { tools } from '../../src/all-features.ts'
import { indexed } from '../features/search-support.ts'
import { mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { EXAMPLE_TOKEN, exampleHost } from '../support/code-host.ts'
import { type McpClient, ways } from './support.ts'

/**
 * What each tool returns, for a human eye: nothing superfluous, nothing missing, all that is needed for the next step.
 * Ada's agent works in a project that Grace shares with her.
 */
let t: TestApp
let ada: Person
let grace: Person
let client: McpClient

/** What is different in every run. */
const fixed = (text: string): string =>
  text
    .replace(/\b01[0-9a-f]{6}-[0-9a-f]{4}(-[0-9a-f]{4}(-[0-9a-f]{4}(-[0-9a-f]{12})?)?)?/g, '<id>')
    .replace(/\b20\d\d-\d\d-\d\dT\d\d:\d\d(:\d\d\.\d+)?Z/g, '<time>')
    .replace(/\b20\d\d-\d\d-\d\d( \d\d:\d\d)?\b/g, '<date>')
    .replace(/\b(\w+(?:-\w+)*)-[a-z0-9]{6,10}\b(?=["`])/g, '$1-<random>')
    // It is left out where a record was changed in the millisecond in which it was made.
    .replace(/"createdAt":"<time>",/g, '')
    .replace(/http:\/\/[\w.]+:\d+/g, '<url>')
    .replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"<cursor>"')
    .replace(/\b\d+ minutes?\b/g, '<age>')
    .replace(/"score":[\d.]+/g, '"score":1')
    .replace(/"mode":"\w+"/g, '"mode":"hybrid"')
    .replace(/,"indexing":\{[^}]*\}/g, '')

beforeAll(async () => {
  // With a code host of its own, where nobody else has opened a pull request.
  t = await testApp(exampleHost().settings)
  ada = await person(t)
  grace = await member(t, ada, 'member', 'Grace Hopper')
  const { body } = await ada.fetch<{ id: string }>('POST', '/api/agents', { name: 'Claude Code', scope: 'team' })
  const token = await mcpToken(t, ada, { agentId: body.id })
  client = (await ways['v2 client, HTTP 2026-07-28']?.(t.url, token)) as McpClient
  await ada.fetch('PUT', '/api/settings/integrations/user/github', { secret: EXAMPLE_TOKEN })
})
afterAll(async () => {
  await client.close()
  await t.close()
})

const called = new Set<string>()

/** Calls a tool and compares what a model reads with what a human has read. */
async function answer(tool: string, args: Record<string, unknown> = {}, also = ''): Promise<Record<string, unknown>> {
  const { isError, content, structuredContent } = await client.call(tool, args)
  const text = content[0]?.text as string
  if (isError) throw new Error(`${tool}: ${text}`)
  called.add(tool)
  expect(`${fixed(text)}\n`).toMatchSnapshot(also ? `${tool}, ${also}` : tool)
  // Clients show a model either of the two.
  const [asText, asFacts] = [countTokens(text), countTokens(JSON.stringify(structuredContent))]
  expect([tool, asFacts <= asText * 1.2 + 20 && asText <= asFacts * 1.2 + 20]).toEqual([tool, true])
  return structuredContent as Record<string, unknown>
}
test('the results of planning are as recorded', async () => {
  await answer('create_project', { name: 'Lantern', description: 'A reading app.' })
  const task = (title: string, more: object = {}) => ({ title, ...more })
  const epics = [
    {
      title: 'Reading offline',
      stories: [
        { title: 'Blocks', tasks: [task('Store blocks', { ref: 'a' }), task('Check blocks', { blockedBy: ['a'] })] },
        { title: 'Reader', tasks: [task('Open a book', { priority: 'high' })] },
      ],
    },
  ]
  await answer('create_plan', { project: 'LAN', epics })
  await answer('create_task', { project: 'LAN', title: 'Turn pages', blockedBy: ['LAN-3'], story: 'LAN-3' })
  await grace.fetch('POST', '/api/tasks/LAN-3/comments', { body: 'Mind the fonts.' })
  await grace.fetch('PATCH', '/api/tasks/LAN-3', {
    description: 'With no network.',
    acceptance: ['It opens in 400 ms'],
  })
  await grace.fetch('PATCH', '/api/tasks/LAN-1', { assignee: 'me', dueAt: '2026-12-01T12:00:00.000Z' })
  await answer('list_tasks', { project: 'LAN' })
  await answer('list_tasks', { project: 'LAN', ready: true, limit: 1 }, 'a page')
  await answer('list_projects')
  await answer('update_project', { project: 'LAN', description: 'A reading app for libraries.' })
})

test('the results of working are as recorded', async () => {
  await answer('create_session', { project: 'LAN', goals: ['Open a book'] })
  await answer('next_task', { project: 'LAN' })
  await answer('get_task', { task: 'LAN-3' })
  await answer('update_task', { task: 'LAN-3', comment: 'Fonts are in the block store.', priority: 'critical' })
  await answer('complete_task', { task: 'LAN-3', notes: 'Opens in 310 ms.', evidence: ['run 12'], accepted: 'all' })
  await answer('claim_task', { task: 'LAN-4' })
  await answer('claim_task', { task: 'LAN-4', action: 'release', note: 'Half done.' }, 'releasing')
  await answer('list_tasks', { project: 'LAN', status: 'done' }, 'one')
  const made = await answer('create_task', { project: 'LAN', title: 'By mistake' }, 'alone')
  await answer('delete_task', { task: made.key })
  const logged = await answer('log_activity', {
    project: 'LAN',
    type: 'deploy',
    description: 'Deployed 1.4',
    metadata: { on: 'staging' },
  })
  await answer('get_activity', { activity: logged.id })
  await answer('list_activities', { project: 'LAN', limit: 5 })
  await answer('get_project', { project: 'LAN' })
})

test('the results of recording knowledge are as recorded', async () => {
  const fact = await answer('store_memory', {
    project: 'LAN',
    content: 'Blocks have 256 KB.',
    title: 'Block size',
    tags: ['format'],
  })
  const other = await answer('store_memory', { project: 'LAN', content: 'Fonts come from the store.' }, 'another')
  const decision = await answer('log_decision', {
    project: 'LAN',
    title: 'Blocks have one size',
    decision: '256 KB, the last one less.',
    rationale: 'The number of a block is its place.',
    alternatives: ['Chapters', { option: 'Any size', cons: 'An index' }],
  })
  await answer('log_decision', { decision: decision.id, comment: 'It held.', outcome: 'Pages turn at once.' }, 'adding')
  await answer('get_decision', { decision: decision.id })
  await answer('list_decisions', { project: 'LAN' })
  const note = await answer('create_note', {
    project: 'LAN',
    title: 'How we test',
    content: 'In flight mode.',
    tags: ['dev'],
  })
  await answer('create_note', { project: 'LAN', title: 'How we release', content: 'See [[How we test]].' }, 'linked')
  await answer('get_note', { note: note.slug })
  await answer('update_note', { note: note.slug, content: 'In flight mode, twice.' })
  await answer('list_notes', { project: 'LAN' })
  const spec = await answer('create_spec', { project: 'LAN', title: 'Block store', content: '# Blocks\n\nOne size.' })
  await answer('update_spec', { spec: spec.slug, content: '# Blocks\n\nTwo sizes.', expectedVersion: 1 })
  await answer('get_spec', { spec: spec.slug, diffWith: 1 })
  await answer('create_spec', { project: 'LAN', title: 'Sync', content: 'Later.' }, 'another')
  await answer('list_specs', { project: 'LAN' })
  await indexed(t)
  await answer('search_memory', { query: 'block size format', project: 'LAN', limit: 1 })
  await answer('search_memory', { query: 'turn pages', project: 'LAN', kinds: ['task'], limit: 1 }, 'a task')
  await answer('list_memories', { project: 'LAN' })
  await answer('delete_memory', { memory: fact.id })
  await answer('clear_memory', { scope: 'project', scopeId: 'LAN' })
  await client.call('delete_memory', { memory: other.id })
  await answer('delete_note', { note: note.slug })
})

test('the results about features, agents and skills are as recorded', async () => {
  const feature = await answer('create_feature', { project: 'LAN', title: 'Night mode', tasks: ['LAN-1'] })
  await answer('advance_feature', { feature: feature.id })
  await answer('get_feature', { feature: feature.id })
  await answer('create_feature', { project: 'LAN', title: 'Crash', kind: 'bug' }, 'of another kind')
  await answer('list_features', { project: 'LAN' })
  const { body } = await grace.fetch<{ id: string }>('POST', '/api/projects/lantern/features', {
    title: 'Large print',
  })
  await toReview(body.id)
  await answer('submit_review', { feature: body.id, verdict: 'changes_requested', comment: 'Name the sizes.' })
  const agent = await answer('create_agent', { name: 'Builder', role: 'Builds' })
  await answer('update_agent', { agent: agent.slug, persona: 'Careful.' })
  await answer('list_agents')
  await answer('get_agent', { agent: agent.slug })
  await answer('delete_agent', { agent: agent.slug })
  const skill = {
    name: 'Review a migration',
    content: '1. Read the SQL.',
    description: 'Before a merge',
    scope: 'team',
  }
  const made = await grace.fetch<{ slug: string }>('POST', '/api/skills', skill)
  await answer('get_skill', { skill: made.body.slug })
})

async function toReview(id: string): Promise<void> {
  const evidence = [
    undefined,
    { summary: 'Drawn', commits: ['3f98b0f'] },
    { summary: 'Green', tests: { command: 'bun test', passed: 3, failed: 0 } },
    { summary: 'Written', files: ['docs/print.md'] },
  ]
  for (const given of evidence)
    expect((await grace.fetch('POST', `/api/features/${id}/advance`, { evidence: given })).status).toBe(200)
}

test('the results about code are as recorded', async () => {
  await answer('connect_repo', { repo: 'tutti/tutti', project: 'LAN' })
  await answer('list_repos', { project: 'LAN' })
  await answer('sync_repo', { repo: 'tutti/tutti' })
  await answer('create_pr', { repo: 'tutti/tutti', title: 'Lock the data folder', head: 'lock' })
  await answer('generate_agents_md', { project: 'LAN' })
})

test('the results of resuming are as recorded', async () => {
  await grace.fetch('POST', '/api/tasks/LAN-2/comments', { body: 'Checksums?' })
  await answer('get_context', { project: 'LAN' })
  await answer('resume_session')
  await answer('resume_session', { checkpoint: { nextStep: 'Turn pages' } }, 'saving')
  await answer('list_sessions')
  await answer('end_session', {
    summary: 'A book opens.',
    checkpoint: { nextStep: 'Turn pages', files: ['reader.ts'] },
  })
  await answer('archive_project', { project: 'LAN' })
})

test('the recorded results cover every tool', () => {
  const missing = tools.map(({ name }) => name).filter((name) => !called.has(name))
  expect(missing.map((name) => `${name}: call it in a test above with \`answer\`, and read the snapshot`)).toEqual([])
})
