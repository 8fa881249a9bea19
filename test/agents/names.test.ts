import { beforeAll, describe, expect, test } from 'bun:test'
import type { AgentPage } from '../../src/features/agents/schema.ts'
import type { McpTokenCreated } from '../../src/features/tokens/schema.ts'
import { type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'

let t: TestApp
let ada: Person
let zoe: Person
let agent: McpClient
let claude: string
let reviewer: { id: string; slug: string }

const connect = (token: string): Promise<McpClient> => (ways['v1 client, HTTP'] as (typeof ways)[string])(t.url, token)
const createToken = async (who: Person, name: string, more: object = {}): Promise<McpTokenCreated> =>
  (await who.fetch<McpTokenCreated>('POST', '/api/mcp-tokens', { name, organizationId: ada.organizationId, ...more }))
    .body

async function call(tool: string, args: Record<string, unknown>, as = agent): Promise<Record<string, unknown>> {
  const { isError, structuredContent, content } = await as.call(tool, args)
  if (isError) throw new Error(content[0]?.text)
  return structuredContent as Record<string, unknown>
}
/** Assigns the task to somebody and returns the name of the assignee. */
async function assign(assignee: string, as = agent): Promise<string> {
  await call('update_task', { task: 'NAM-1', assignee }, as)
  const { body } = await ada.fetch<{ assignee: { name: string } }>('GET', '/api/tasks/NAM-1')
  return body.assignee.name
}

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  zoe = await member(t, ada, 'member', 'Zoë Müller-Lüdenscheid')
  const { id } = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Names', key: 'NAM' })).body
  for (const title of ['Take the lock', 'Release it']) await ada.fetch('POST', `/api/projects/${id}/tasks`, { title })
  agent = await connect(await mcpToken(t, ada, { name: 'tester' }))
  claude = (await createToken(ada, 'desk', { client: 'Claude Code' })).agentName as string
  reviewer = (
    await ada.fetch<{ id: string; slug: string }>('POST', '/api/agents', { name: 'Reviewer of SQL', scope: 'team' })
  ).body
  await createToken(ada, 'nightly', { agentId: reviewer.id })
})

describe('update_task.assignee', () => {
  test.each([
    'Claude Code (desk)',
    'claude code (desk)',
    'claude-code desk',
    'Claude Code (desk) for Ada Lovelace',
    '«Claude Code (desk)»',
    'Desk',
    'Claude',
  ])('finds the agent of a token as %s', async (name) => {
    expect(claude).toBe('Claude Code (desk)')
    expect(await assign(name)).toBe(claude)
  })

  test.each(['Zoë Müller-Lüdenscheid', 'ZOE MULLER LUDENSCHEID', 'zoe-müller', 'Zo'])(
    'finds a member as %s',
    async (name) => expect(await assign(name)).toBe('Zoë Müller-Lüdenscheid'),
  )

  test.each(['reviewer of sql', 'Reviewer', 'nightly'])('finds an agent that a person created as %s', async (name) =>
    expect(await assign(name)).toBe('Reviewer of SQL'),
  )

  test('finds everyone whom a result names', async () => {
    const { items } = (await call('list_agents', {})) as { items: { name: string; slug: string }[] }
    for (const { name, slug } of items) expect([await assign(name), await assign(slug)]).toEqual([name, name])
    const { assignee } = await call('get_task', { task: 'NAM-1' })
    expect(await assign(assignee as string)).toBe((items.at(-1) as { name: string }).name)
  })

  test('refuses an ambiguous name with the candidates, which work', async () => {
    const other = await createToken(zoe, 'desk', { client: 'Codex' })
    const refused = await agent.call('update_task', { task: 'NAM-1', assignee: 'desk' })
    expect(refused.isError).toBe(true)
    const text = refused.content[0]?.text as string
    expect(text).toMatch(/^invalid: desk could be \S+, \S+\. Use one of these\.$/)
    const slug = /codex\S*(?=[,.])/.exec(text)?.[0] as string
    expect(await assign(slug)).toBe(other.agentName as string)
    expect(await assign(`${other.agentName} for Zoe Muller`)).toBe(other.agentName as string)
  })

  test('suggests the nearest names for an unknown one', async () => {
    const { isError, content } = await agent.call('update_task', { task: 'NAM-1', assignee: 'Reviwer of SQL' })
    expect(isError).toBe(true)
    expect(content[0]?.text).toStartWith(
      'not_found: Member or agent "Reviwer of SQL" not found. Did you mean Reviewer of SQL?',
    )
  })

  test('neither finds nor names anyone of another team', async () => {
    const stranger = await person(t, { name: 'Mallory Fremd' })
    const foreign = await connect(await mcpToken(t, stranger, { name: 'foreign-token' }))
    await foreign.call('list_tasks', {})
    for (const assignee of ['Mallory Fremd', 'Mallory', 'foreign-token', 'Malory Fremd', stranger.email ?? 'x@y.zz'])
      expect((await agent.call('update_task', { task: 'NAM-1', assignee })).content[0]?.text).toMatch(
        /^not_found: M?\S*ember (or agent )?\S.* not found\.$/,
      )
    for (const name of ['Claude Code (desk)', 'desk', 'Zoë', reviewer.slug])
      expect((await foreign.call('list_tasks', { assignee: name })).isError).toBe(true)
    await foreign.close()
  })

  test('suggests no names to a token limited to projects, which needs the whole name', async () => {
    await member(t, ada, 'member', 'Zora Neale')
    const { body } = await ada.fetch<{ id: string }>('GET', '/api/projects/NAM')
    const limited = await connect(await mcpToken(t, ada, { projects: [body.id] }))
    for (const assignee of ['Zo', 'Zora Neal', 'Zora Neall'])
      expect((await limited.call('update_task', { task: 'NAM-1', assignee })).content[0]?.text).toMatch(
        /^not_found: Member or agent "?Zo[ \w]*"? not found\.$/,
      )
    expect(await assign('zora neale', limited)).toBe('Zora Neale')
    expect((await agent.call('update_task', { task: 'NAM-1', assignee: 'Zo' })).content[0]?.text).toContain(
      'Zora Neale',
    )
    await limited.close()
  })
})

describe('other arguments that name an agent', () => {
  test.each([
    ['list_tasks', 'assignee', {}],
    ['list_activities', 'agent', {}],
    ['list_sessions', 'agent', {}],
    ['list_memories', 'agent', {}],
    ['search_memory', 'agent', { query: 'locks' }],
    ['store_memory', 'agent', { content: 'Locks are files.' }],
    ['get_agent', 'agent', {}],
    ['update_agent', 'agent', { role: 'Reviews queries' }],
    ['next_task', 'agent', { claim: false }],
    ['claim_task', 'agent', { task: 'NAM-2' }],
    ['create_session', 'agent', { goals: ['Review'] }],
  ])('%s.%s accepts a name in another spelling', async (tool, argument, args) => {
    await call(tool, { ...args, [argument]: 'reviewer-of SQL' })
  })

  test('update_agent and delete_agent refuse the beginning of a name', async () => {
    for (const tool of ['update_agent', 'delete_agent'])
      expect((await agent.call(tool, { agent: 'Reviewer' })).content[0]?.text).toStartWith('not_found: ')
  })

  test('get_agent accepts me', async () =>
    expect(await call('get_agent', { agent: 'me' })).toMatchObject({ name: 'tester' }))
})

describe('the agent of a token', () => {
  const namesOf = async () =>
    (await ada.fetch<AgentPage>('GET', '/api/agents?scope=team&limit=200')).body.items.map(({ name }) => name)

  test('keeps its name at its first use, and then has a program', async () => {
    const { token, agentName } = await createToken(ada, 'laptop')
    expect(agentName).toBe('laptop')
    const before = await namesOf()
    const first = await connect(token as string)
    await call('list_tasks', {}, first)
    expect(await namesOf()).toEqual(expect.arrayContaining(before))
    expect(await call('get_agent', { agent: 'me' }, first)).toMatchObject({ name: 'laptop', client: 'test' })
    expect(await assign('me', first)).toBe('laptop')
    await first.close()
  })

  test('is not shared with a second valid token of the same name', async () => {
    const [one, two] = [await createToken(ada, 'phone'), await createToken(ada, 'phone')]
    expect([one.agentName, two.agentName]).toEqual(['phone', 'phone 2'])
    await ada.fetch('DELETE', `/api/mcp-tokens/${one.id}`)
    expect((await createToken(ada, 'phone')).agentId).toBe(one.agentId as string)
  })
})
