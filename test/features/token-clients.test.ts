import { beforeAll, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { and, eq } from 'drizzle-orm'
import { tools } from '../../src/all-features.ts'
import { events } from '../../src/events/table.ts'
import type { McpTokenCreate, McpTokenCreated, McpTokenDetail, ToolsetList } from '../../src/features/tokens/schema.ts'
import { member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'

let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
})

const create = async (who: Person, over: Partial<McpTokenCreate> = {}) =>
  (
    await who.fetch<McpTokenCreated>('POST', '/api/mcp-tokens', {
      name: 'laptop',
      organizationId: who.organizationId,
      ...over,
    })
  ).body
const read = async (who: Person, id: string) => (await who.fetch<McpTokenDetail>('GET', `/api/mcp-tokens/${id}`)).body

async function toolsListed(token: string | undefined, version: string): Promise<number> {
  const client = new Client({ name: 'claude-code', version }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${t.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  const { tools } = await client.listTools()
  await client.close()
  return tools.length
}

test('a token shows the program that uses it; the first use and another version are events', async () => {
  const made = await create(ada, { client: 'Claude Code' })
  expect(await read(ada, made.id)).toMatchObject({
    client: null,
    firstUsedAt: null,
    lastUsedAt: null,
    useCount: 0,
    can: { revoke: true },
  })
  expect(await toolsListed(made.token, '2.1.40')).toBe(tools.length)
  const used = await read(ada, made.id)
  expect(used).toMatchObject({ client: { name: 'Claude Code', version: '2.1.40' }, agentName: 'Claude Code (laptop)' })
  expect(used.useCount).toBeGreaterThan(0)
  expect(Date.parse(used.lastUsedAt as string)).toBeGreaterThanOrEqual(Date.parse(used.firstUsedAt as string))
  await toolsListed(made.token, '2.1.40')
  await toolsListed(made.token, '2.1.41')
  const told = await t.app.db
    .select({ userId: events.userId, data: events.data })
    .from(events)
    .where(and(eq(events.subjectId, made.id), eq(events.type, 'mcp_token.connected')))
    .orderBy(events.seq)
  expect(told).toEqual([
    { userId: ada.userId, data: { name: 'laptop', first: true, client: 'Claude Code', version: '2.1.40' } },
    { userId: ada.userId, data: { name: 'laptop', first: false, client: 'Claude Code', version: '2.1.41' } },
  ])
})

test('programs that alternate with one token are not reported every time', async () => {
  const made = await create(ada)
  for (let turn = 0; turn < 12; turn += 1) await toolsListed(made.token, turn % 2 === 0 ? '1.0' : '2.0')
  const told = await t.app.db.$count(events, and(eq(events.subjectId, made.id), eq(events.type, 'mcp_token.connected')))
  expect(told).toBeWithin(2, 12)
})

test('a token shows how many tools it lists within its scopes, toolsets and role, and their tokens', async () => {
  const all = await create(ada)
  const core = await create(ada, { toolsets: ['core'] })
  const reading = await create(ada, { scopes: ['read'] })
  const sandbox = await create(ada, { kind: 'test' })
  const viewer = await member(t, ada, 'viewer', 'Vera')
  const hers = await create(viewer, { organizationId: ada.organizationId })
  const { body: sets } = await ada.fetch<ToolsetList>('GET', '/api/mcp/toolsets')
  expect(all.tools).toEqual(sets.all)
  expect(sandbox.tools).toEqual(sets.all)
  expect(sets.all.count).toBe(tools.length)
  expect(sets.items.find(({ name }) => name === 'core')).toEqual({ name: 'core', ...core.tools })
  expect(core.tools.count).toBe(13)
  expect(hers.tools).toEqual(reading.tools)
  for (const { token, tools } of [core, reading, hers]) expect(await toolsListed(token, '1')).toBe(tools.count)
  expect(sets.all.tokens).toBeLessThanOrEqual(7000)
  expect(core.tools.tokens).toBeLessThanOrEqual(2500)
})

test('a token is visible to its owner only, and lists are filtered by agent or team', async () => {
  const made = await create(ada)
  const grace = await person(t, { name: 'Grace Hopper' })
  expect((await grace.fetch('GET', `/api/mcp-tokens/${made.id}`)).status).toBe(404)
  const listed = async (query: string) =>
    (await ada.fetch<{ items: { agentId: string }[] }>('GET', `/api/mcp-tokens?${query}`)).body.items
  const agents = (await listed(`agentId=${made.agentId}`)).map(({ agentId }) => agentId)
  expect(new Set(agents)).toEqual(new Set([made.agentId as string]))
  expect(await listed(`organizationId=${grace.organizationId}`)).toEqual([])
})
