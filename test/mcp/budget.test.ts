import { beforeAll, describe, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { tools } from '../../src/all-features.ts'
import { toolsetNames } from '../../src/mcp/toolsets.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { anyTool, openRaw, serveTools } from './support.ts'

/** The table of the contract: category, and its tools in their order. A name in it is never changed; it gets an alias. */
const table: [string, string][] = [
  ['agents', 'create_agent list_agents get_agent update_agent delete_agent'],
  ['tasks', 'create_task list_tasks update_task complete_task delete_task get_task next_task claim_task'],
  ['projects', 'create_project list_projects get_project update_project archive_project create_plan'],
  ['memory', 'store_memory search_memory list_memories delete_memory clear_memory'],
  ['activity', 'log_activity list_activities get_activity'],
  ['decisions', 'log_decision list_decisions get_decision'],
  ['sessions', 'create_session resume_session end_session list_sessions get_context'],
  ['notes', 'create_note list_notes update_note delete_note get_note'],
  ['workflows', 'create_feature advance_feature submit_review list_features get_feature get_skill'],
  ['specs', 'create_spec list_specs update_spec get_spec'],
  ['code', 'connect_repo create_pr generate_agents_md list_repos sync_repo'],
]
/** Two selections across the categories. */
const core =
  'create_plan create_task list_tasks get_task next_task claim_task update_task complete_task ' +
  'store_memory search_memory log_decision get_context resume_session'
const work = `${core} end_session list_decisions get_decision list_activities create_feature advance_feature`

let t: TestApp
let ada: Person
let token: string

async function listed(query = '', as = token): Promise<Tool[]> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${t.url}/mcp${query}`), {
      requestInit: { headers: { authorization: `Bearer ${as}` } },
    }),
  )
  const { tools: list } = await client.listTools()
  await client.close()
  return list
}

/** What a client puts before its model: name, description and input schema, as JSON. */
const cost = (list: Tool[]): number =>
  list.reduce(
    (sum, { name, description, inputSchema }) => sum + countTokens(JSON.stringify({ name, description, inputSchema })),
    0,
  )

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  token = await mcpToken(t, ada)
})

describe('the table of tools', () => {
  test('has the names of all tools by category, in the order in which the server lists them', async () => {
    expect((await listed()).map((tool) => tool.name)).toEqual(table.flatMap(([, names]) => names.split(' ')))
    for (const [toolset, names] of table)
      expect([toolset, tools.filter((tool) => tool.toolset === toolset).map((tool) => tool.name)]).toEqual([
        toolset,
        names.split(' '),
      ])
  })

  test.each([
    ['core', 13, core],
    ['work', 19, work],
  ])('contains the toolset %s with %d tools', async (toolset, n, names) => {
    const seen = (await listed(`?toolsets=${toolset}`)).map((tool) => tool.name)
    expect(seen.toSorted()).toEqual(names.split(' ').toSorted())
    expect(seen).toHaveLength(n)
    expect(seen).toEqual(tools.map((tool) => tool.name).filter((name) => seen.includes(name)))
  })

  test('has toolsets that a token and an address can select', async () => {
    expect(toolsetNames).toEqual(['core', 'work', ...table.map(([toolset]) => toolset)])
    for (const toolset of toolsetNames) {
      const own = (await listed('', await mcpToken(t, ada, { toolsets: [toolset] }))).map((tool) => tool.name)
      expect([toolset, own]).toEqual([toolset, (await listed(`?toolsets=${toolset}`)).map((tool) => tool.name)])
    }
  })
})

describe('the list of tools, in o200k tokens,', () => {
  const within = (limit: number, tokens: number) => {
    const advice = 'shorten descriptions, or let search and an MCP resource do instead of a new tool'
    expect(tokens, `${tokens} tokens of ${limit}, ${tokens - limit} too many: ${advice}`).toBeLessThanOrEqual(limit)
  }
  test('costs a model at most 6,000', async () => within(6000, cost(await listed())))
  test('costs a model at most 2,100 with the toolset core', async () =>
    within(2100, cost(await listed('?toolsets=core'))))
  test('has at most a third more as JSON with titles and hints', async () => {
    const list = await listed()
    within(Math.floor((cost(list) * 4) / 3), countTokens(JSON.stringify({ tools: list })))
  })
})

test('an old tool name keeps working, but is not listed', async () => {
  const own = serveTools(t, [anyTool('new_name', async () => ({ ok: true }), { aliases: ['old_name'] })])
  const stream = await openRaw(own.url, token)
  expect((await stream.call(1, 'old_name')).result?.structuredContent).toEqual({ ok: true })
  expect((await stream.call(2, 'older_name')).error?.code).toBe(-32602)
  await stream.post({ jsonrpc: '2.0', id: 3, method: 'tools/list' })
  expect((await stream.wait(3)).result?.tools).toMatchObject([{ name: 'new_name' }])
  await own.stop()
})
