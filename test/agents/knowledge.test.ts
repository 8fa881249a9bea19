import { expect } from 'bun:test'
import { embedMissing } from '../../src/features/search/indexing/embed.ts'
import { indexed } from '../features/search-support.ts'
import { systemCtx, type TestApp } from '../support/app.ts'
import { type Agent, type Facts, job } from './harness.ts'

const newProject = async (agent: Agent): Promise<string> =>
  (await agent.call('create_project', { name: 'Folder lock' })).slug as string
/** What the jobs behind the writes do, now. */
async function embedded(t: TestApp): Promise<void> {
  await indexed(t)
  await embedMissing(systemCtx(t), {})
}

job('remembers something and finds it by other words', { calls: 4, tokens: 560 }, async ({ agent, t }) => {
  const one = await agent('one')
  const scopeId = await newProject(one)
  await one.call('store_memory', {
    scopeId,
    title: 'Backups',
    content: 'Nightly dumps go to the second disk; the restore was tried in March and took 40 minutes.',
    tags: ['ops'],
  })
  await one.call('store_memory', { scopeId, content: 'The button colours come from the design tokens file.' })
  await embedded(t)
  const other = await agent('other')
  const { items } = await other.call('search_memory', {
    query: 'how long does it take to get lost data back?',
    limit: 1,
  })
  expect(items).toMatchObject([{ title: 'Backups' }])
})

job('is told that it stored a fact before, and supersedes it', { calls: 5, tokens: 780 }, async ({ agent, t }) => {
  const one = await agent()
  const scopeId = await newProject(one)
  await one.call('store_memory', { scopeId, content: 'The staging server listens on port 8080.' })
  await embedded(t)
  const twice = await one.call('store_memory', { scopeId, content: 'Staging server listens on the port 8080.' })
  const [older] = twice.similar as Facts[]
  expect(older).toMatchObject({ excerpt: 'The staging server listens on port 8080.' })
  const right = await one.call('store_memory', {
    scopeId,
    content: 'The staging server listens on port 9090 now.',
    supersedes: older?.id,
  })
  expect(right).toHaveProperty('id')
  await embedded(t)
  const { items } = await one.call('search_memory', { query: 'staging server port', scopeId })
  const contents = items.map((m) => m.content)
  expect(contents).toContain('The staging server listens on port 9090 now.')
  expect(contents).not.toContain('The staging server listens on port 8080.')
})

job('clears the memories of a scope after it was told their number', { calls: 4, tokens: 260 }, async ({ agent }) => {
  const one = await agent()
  const scopeId = await newProject(one)
  await one.call('store_memory', { scopeId, content: 'Wrong from the start.' })
  const asked = await one.call('clear_memory', { scope: 'project', scopeId })
  expect(asked).toMatchObject({ count: 1 })
  expect(asked).not.toHaveProperty('removed')
  expect(await one.call('clear_memory', { scope: 'project', scopeId, confirm: asked.count })).toMatchObject({
    count: 1,
    removed: true,
  })
})

job('logs a decision that another one finds and supersedes', { calls: 7, tokens: 1140 }, async ({ agent }) => {
  const one = await agent('one')
  const project = await newProject(one)
  await one.call('log_decision', {
    project,
    title: 'One database for all tests',
    decision: 'Tests share one PGlite.',
    rationale: 'Opening one costs two seconds.',
    alternatives: ['One for each test', 'Mocks'],
  })
  const other = await agent('other')
  const { items } = await other.call('list_decisions', { query: 'database tests' })
  const found = await other.call('get_decision', { decision: items[0]?.id, comment: 'It slows down the races.' })
  expect(found).toMatchObject({ decision: 'Tests share one PGlite.', rationale: 'Opening one costs two seconds.' })
  const newer = await other.call('log_decision', {
    project: found.project,
    title: 'A database for each test file',
    decision: 'Files get a template copy.',
    supersedes: found.id,
  })
  expect(await other.call('get_decision', { decision: newer.id })).toMatchObject({ supersedes: found.id })
  const left = await one.call('list_decisions', { project, status: 'accepted' })
  expect(left.items.map((d) => d.title)).toEqual(['A database for each test file'])
})

job('merges its change of a spec after another one changed it', { calls: 8, tokens: 1440 }, async ({ agent }) => {
  const one = await agent('one')
  const project = await newProject(one)
  const spec = await one.call('create_spec', {
    project,
    title: 'The lock',
    content: '# The lock\n\nOne process.\n\n## Errors\n\nExit 3.',
  })
  const other = await agent('other')
  const { items } = await other.call('list_specs')
  const read = await other.call('get_spec', { spec: (items[0]?.slug ?? items[0]?.id) as string })
  await one.call('update_spec', {
    spec: spec.slug,
    expectedVersion: spec.version,
    content: '# The lock\n\nOne process, by flock.\n\n## Errors\n\nExit 3.',
    message: 'How',
  })
  const change = { spec: (items[0]?.slug ?? items[0]?.id) as string, message: 'Exit code' }
  const late = await other.refused('update_spec', {
    ...change,
    expectedVersion: read.version,
    content: '# The lock\n\nOne process.\n\n## Errors\n\nExit 4.',
  })
  expect(late).toMatchObject({ code: 'version_mismatch', status: 412, current: { version: 2 } })
  const { content, version } = late.current as Facts
  const merged = (content as string).replace('Exit 3.', 'Exit 4.')
  expect(merged).toContain('by flock')
  const kept = await other.call('update_spec', { ...change, expectedVersion: version, content: merged })
  expect(kept.version).toBe(3)
  const compared = await other.call('get_spec', { spec: change.spec, version: 3, diffWith: 1 })
  expect(JSON.stringify(compared)).toContain('+Exit 4.')
})

job(
  'writes notes that link to each other, and follows the links back',
  { calls: 4, tokens: 520 },
  async ({ agent }) => {
    const one = await agent()
    await one.call('create_note', { title: 'How we deploy', content: 'Copy the binary, restart.' })
    await one.call('create_note', { title: 'Runbook', content: 'When it is down see [[How we deploy]].' })
    const { items } = await one.call('list_notes', { search: 'deploy' })
    const target = items.find((note) => note.title === 'How we deploy') as Facts
    expect(await one.call('get_note', { note: target.slug })).toMatchObject({ backlinks: [{ title: 'Runbook' }] })
  },
)

job('searches all kinds of records within a token budget', { calls: 7, tokens: 1420 }, async ({ agent, t }) => {
  const one = await agent()
  const project = await newProject(one)
  const about = 'The folder lock is a flock on a file; it goes when the process goes.'
  await one.call('store_memory', { scopeId: project, content: about })
  await one.call('create_note', { project, title: 'Folder lock', content: `${about} ${'More about it. '.repeat(40)}` })
  await one.call('log_decision', { project, title: 'Use flock for the folder lock', decision: about })
  await one.call('create_spec', { project, title: 'Folder lock', content: about })
  await one.call('create_task', { project, title: 'Test the folder lock', description: about })
  await embedded(t)
  const kinds = ['memory', 'note', 'decision', 'spec', 'task']
  const found = await one.call('search_memory', { query: 'how does the folder lock work', kinds, budgetTokens: 500 })
  expect(found.items.length).toBeGreaterThan(1)
  expect(new Set(found.items.map((i) => i.kind)).size).toBeGreaterThan(1)
})
