import { beforeAll, describe, expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import { instructionsFor } from '../../src/mcp/instructions.ts'
import { toolNames } from '../../src/mcp/toolsets.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { ways } from './support.ts'

/** What a client reads whose token sees every tool. */
const whole = instructionsFor({ tools: new Set(toolNames), writes: true })

let t: TestApp
let ada: Person
let token: string

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  token = await mcpToken(t, ada)
})

const expected: Record<string, string> = {
  'v2 client, SSE': '2025-11-25',
  'v2 client, SSE, asking for the newest': '2025-11-25',
  'v2 client, HTTP 2025': '2025-11-25',
  'v2 client, HTTP 2025-06-18': '2025-06-18',
  'v2 client, HTTP 2026-07-28': '2026-07-28',
  'v2 client, HTTP at the address of SSE': '2026-07-28',
  'v1 client, HTTP': '2025-11-25',
}

for (const [name, connect] of Object.entries(ways)) {
  describe(`a client connected by ${name}`, () => {
    test('reads in the instructions that its token expires within a week', async () => {
      const soon = await connect(t.url, await mcpToken(t, ada, { expiresInDays: 6 }))
      expect(soon.instructions()).toMatch(
        /^Your token expires on 20\d\d-\d\d-\d\d\. Tell your user to renew it: .*\n\nTutti is/,
      )
      expect(soon.instructions()).toEndWith(whole)
      expect(soon.instructions()?.length).toBeLessThanOrEqual(2048)
      await soon.close()
    })

    test('connects, lists, calls, and gets errors', async () => {
      const client = await connect(t.url, token)
      if (expected[name]) expect(client.protocol).toBe(expected[name])
      expect(client.instructions()).toBe(whole)
      expect(await client.list()).toEqual(tools.map((tool) => tool.name))

      const title = unique('note')
      const made = await client.call('create_note', { title, content: 'Hello', tags: ['a', 'b'] })
      expect(made.isError).toBeUndefined()
      expect(made.structuredContent).toEqual({ slug: expect.any(String), version: 1 })
      expect(JSON.parse(made.content[0]?.text as string)).toEqual(made.structuredContent)

      const got = await client.call('get_note', { note: made.structuredContent?.slug })
      expect(got.structuredContent).toMatchObject({ title, content: 'Hello', tags: ['a', 'b'] })
      expect(JSON.parse(got.content[0]?.text as string)).toEqual(got.structuredContent)

      const missing = await client.call('get_note', { note: 'no-such-note' })
      expect(missing.isError).toBe(true)
      expect(missing.content[0]?.text).toBe(
        'not_found: Note no-such-note not found. Find the right one with list_notes.',
      )
      expect(missing.structuredContent).toMatchObject({
        code: 'not_found',
        status: 404,
        type: 'urn:tutti:error:not_found',
        instance: '/mcp#get_note',
      })

      await expect(client.call('no_such_tool')).rejects.toMatchObject({ code: -32602 })
      await client.close()
    })

    test('selects toolsets and readonly by the address', async () => {
      const notes = await connect(t.url, token, '?toolsets=notes')
      expect(await notes.list()).toEqual(tools.filter((tool) => tool.toolset === 'notes').map((tool) => tool.name))
      const outside = await notes.call('list_projects')
      expect(outside.isError).toBe(true)
      expect(outside.content[0]?.text).toContain('forbidden: list_projects is in the toolset projects')
      expect(outside.content[0]?.text).toContain('?toolsets=notes,projects')
      await notes.close()

      const reader = await connect(t.url, token, '?readonly=1')
      expect(await reader.list()).toEqual(tools.filter((tool) => tool.action.kind === 'read').map((tool) => tool.name))
      expect((await reader.call('create_note', { title: 'x' })).content[0]?.text).toContain('read-only')
      await reader.close()
    })
  })
}
