import { beforeAll, describe, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import { tools } from '../../src/all-features.ts'
import { call, mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { ways } from './support.ts'

let t: TestApp
let ada: Person
let listed: Tool[]

async function listFor(token: string, query = ''): Promise<Tool[]> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${t.url}/mcp${query}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  const { tools: list } = await client.listTools()
  await client.close()
  return list
}

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  listed = await listFor(await mcpToken(t, ada))
})

describe('tools/list', () => {
  test('returns all tools, in the order of the table', () =>
    expect(listed.map((x) => x.name)).toEqual(tools.map((x) => x.name)))

  // Names, descriptions and schemas are a promise: every change of one shows here.
  for (const { name } of tools)
    test(`returns ${name} as recorded`, () => expect(listed.find((x) => x.name === name)).toMatchSnapshot())

  test('returns tools with a short description and hints about their effects', () => {
    for (const tool of listed) {
      expect(tool.name).toMatch(/^[a-z]+(_[a-z]+)+$/)
      expect(tool.name.length).toBeLessThan(40)
      expect(tool.title).toBeTruthy()
      expect(tool.description?.length).toBeGreaterThan(20)
      expect(tool.description?.length).toBeLessThanOrEqual(1000)
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(Object.keys(tool.inputSchema)).not.toContain('$schema')
      const { annotations: a } = tool
      for (const hint of [a?.readOnlyHint, a?.destructiveHint, a?.idempotentHint, a?.openWorldHint])
        expect(hint).toBeBoolean()
      expect([tool.name, a?.openWorldHint]).toEqual([tool.name, /_pr$|_repo$|^generate_/.test(tool.name)])
      expect(a?.readOnlyHint && a.destructiveHint).toBe(false)
      expect([tool.name, a?.readOnlyHint]).toEqual([tool.name, /^(list|get|search)_/.test(tool.name)])
      if (tool.name.startsWith('delete_')) expect(a?.destructiveHint).toBe(true)
      expect('idempotencyKey' in (tool.inputSchema.properties ?? {})).toBe(a?.readOnlyHint === false)
    }
  })
})

describe('the tools that a token sees', () => {
  const reads = tools.filter((x) => x.action.kind === 'read').map((x) => x.name)
  const of = (...toolsets: string[]) => tools.filter((x) => toolsets.includes(x.toolset)).map((x) => x.name)
  const names = async (token: string, query = '') => (await listFor(token, query)).map((x) => x.name)

  test('depend on its scopes', async () => {
    expect(await names(await mcpToken(t, ada, { scopes: ['read'] }))).toEqual(reads)
    expect(await names(await mcpToken(t, ada, { scopes: ['notes:read'] }))).toEqual(
      reads.filter((n) => of('notes').includes(n)),
    )
    expect(await names(await mcpToken(t, ada, { scopes: ['notes:write', 'projects:read'] }))).toEqual([
      'list_projects',
      'get_project',
      'create_note',
      'list_notes',
      'update_note',
      'delete_note',
      'get_note',
    ])
  })

  test('depend on its role', async () => {
    const viewer = await member(t, ada, 'viewer')
    const token = await mcpToken(t, viewer)
    expect(await names(token)).toEqual(reads)
  })

  test('depend on the toolset, of which the token sets the most', async () => {
    const token = await mcpToken(t, ada, { toolsets: ['notes'] })
    expect(await names(token)).toEqual(of('notes'))
    expect(await names(token, '?toolsets=projects,notes')).toEqual(of('notes'))
    expect(await names(token, '?toolsets=projects')).toEqual([])
    expect(await names(await mcpToken(t, ada), '?toolsets=projects, notes')).toEqual(of('projects', 'notes'))
    expect(await names(await mcpToken(t, ada), '?toolsets=')).toEqual(tools.map((x) => x.name))
  })

  test('depend on readonly', async () => {
    const token = await mcpToken(t, ada)
    expect(await names(token, '?readonly=1')).toEqual(reads)
    expect(await names(token, '?readonly=0')).toEqual(tools.map((x) => x.name))
  })

  test('are the only ones it can call, by every transport', async () => {
    const reader = await mcpToken(t, ada, { scopes: ['read'] })
    const narrow = await mcpToken(t, ada, { toolsets: ['notes'] })
    for (const connect of Object.values(ways)) {
      const client = await connect(t.url, reader)
      for (const tool of tools.filter((x) => x.action.kind === 'write')) {
        const answer = await client.call(tool.name, { title: 'x', name: 'x', note: 'x', project: 'x' })
        expect([tool.name, answer.isError, answer.structuredContent?.code]).toEqual([tool.name, true, 'forbidden'])
        expect(answer.content[0]?.text).toContain('lacks the scope')
      }
      expect((await client.call('list_notes')).isError).toBeUndefined()
      await client.close()

      const other = await connect(t.url, narrow)
      const answer = await other.call('list_projects')
      expect(answer.content[0]?.text).toBe(
        'forbidden: list_projects is in the toolset projects, and this token has only: notes. Ask its owner for a token with the toolset projects.',
      )
      await other.close()
    }
    expect((await ada.fetch<{ items: unknown[] }>('GET', '/api/notes')).body.items).toEqual([])
  })

  test('are only reading ones for a read-only token; earlier arguments work with write access', async () => {
    const reader = await mcpToken(t, ada, { scopes: ['read'] })
    const writer = await mcpToken(t, ada)
    const both = tools.flatMap(({ name, writing }) => (writing ? [{ name, fields: [...writing.fields] }] : []))
    expect(both.map(({ name }) => name).sort()).toEqual(['get_context', 'get_decision'])
    for (const { name, fields } of both) {
      const seen = async (token: string, query?: string) =>
        (await listFor(token, query)).find((tool) => tool.name === name)
      for (const listed of [await seen(reader), await seen(writer, '?readonly=1'), await seen(writer)]) {
        expect(listed?.annotations?.readOnlyHint).toBe(true)
        for (const field of [...fields, 'idempotencyKey'])
          expect(listed?.inputSchema.properties).not.toHaveProperty(field)
      }
    }
    for (const connect of Object.values(ways)) {
      const client = await connect(t.url, reader)
      expect((await client.call('get_context')).isError).toBeUndefined()
      const refused = await client.call('get_context', { checkpoint: { nextStep: 'On' } })
      expect(refused.content[0]?.text).toBe(
        'forbidden: This credential lacks the scope sessions:write, which get_context with checkpoint needs. Ask the owner of the token for one with that scope.',
      )
      await client.close()
    }
  })
})

test('the list of tools can be cached for a while by the client that requested it', async () => {
  const { body } = await call<{ result: Record<string, unknown> }>(
    t,
    'POST',
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
    {
      authorization: `Bearer ${await mcpToken(t, ada)}`,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    },
  )
  expect(body.result).toMatchObject({ ttlMs: 300_000, cacheScope: 'private' })
})
