import { beforeAll, describe, expect, test } from 'bun:test'
import * as v2 from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as V1Sse } from '@modelcontextprotocol/sdk/client/sse.js'
import {
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { mcpToken, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { until } from './support.ts'

/** What open streams are told without asking again, through official clients of both generations. */
let t: TestApp
let ada: Person
let grace: Person
let project: string

interface Listener {
  readonly updated: string[]
  readonly statuses: Record<string, unknown>[]
  readonly seen: { prompts: number }
  call(name: string, args: object): Promise<Record<string, unknown>>
  watch(...uris: string[]): Promise<void>
  close(): Promise<void>
}
type Connect = (token: string, query?: string) => Promise<Listener>

const info = { name: 'test', version: '1' }
const headers = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } })
const answer = (result: unknown): Record<string, unknown> => {
  const { isError, structuredContent } = result as { isError?: true; structuredContent: Record<string, unknown> }
  if (isError) throw new Error(JSON.stringify(structuredContent))
  return structuredContent
}

/** What was stored before is told first: a client that begins to watch a record may otherwise hear of its creation. */
const told = () => t.app.bus.catchUp()

const connectV2 = async (transport: v2.Transport, mode: v2.VersionNegotiationMode): Promise<Listener> => {
  const client = new v2.Client(info, { versionNegotiation: { mode } })
  const heard = { updated: [] as string[], statuses: [] as Record<string, unknown>[], seen: { prompts: 0 } }
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.updated.push(params.uri))
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.statuses.push({ ...params }))
  client.setNotificationHandler('notifications/prompts/list_changed', () => void heard.seen.prompts++)
  await client.connect(transport)
  return {
    ...heard,
    call: async (name, args) => answer(await client.callTool({ name, arguments: { ...args } })),
    async watch(...uris) {
      await told()
      if (mode === 'legacy') for (const uri of uris) await client.subscribeResource({ uri })
      else await client.listen({ resourceSubscriptions: uris, promptsListChanged: true })
    },
    close: () => client.close(),
  }
}

const ways: Record<string, Connect> = {
  'v2 client, SSE': (token, query = '') =>
    connectV2(new v2.SSEClientTransport(new URL(`${t.url}/mcp/sse${query}`), headers(token)), 'legacy'),
  'v2 client, HTTP 2026-07-28': (token, query = '') =>
    connectV2(new v2.StreamableHTTPClientTransport(new URL(`${t.url}/mcp${query}`), headers(token)), {
      pin: '2026-07-28',
    }),
  'v1 client, SSE': async (token, query = '') => {
    const client = new V1Client(info)
    const heard = { updated: [] as string[], statuses: [] as Record<string, unknown>[], seen: { prompts: 0 } }
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void heard.updated.push(params.uri),
    )
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void heard.statuses.push({ ...params }),
    )
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => void heard.seen.prompts++)
    await client.connect(new V1Sse(new URL(`${t.url}/mcp/sse${query}`), headers(token)))
    return {
      ...heard,
      call: async (name, args) => answer(await client.callTool({ name, arguments: { ...args } })),
      watch: async (...uris) => {
        await told()
        for (const uri of uris) await client.subscribeResource({ uri })
      },
      close: () => client.close(),
    }
  },
}
const logs = (name: string): boolean => name.includes('SSE')

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  grace = await member(t, ada, 'member')
  const client = await (ways['v2 client, SSE'] as Connect)(await mcpToken(t, ada))
  project = String((await client.call('create_project', { name: 'Tide tables' })).slug)
  await client.close()
})

describe.each(Object.entries(ways))('a client connected by %s', (name, connect) => {
  /** Ada's agent listens; Grace changes things. */
  async function scene(): Promise<{ listener: Listener; other: Listener; agent: string; close(): Promise<void> }> {
    const other = await (ways['v2 client, SSE'] as Connect)(await mcpToken(t, grace))
    const made = await other.call('create_agent', { name: `Worker ${crypto.randomUUID().slice(0, 8)}` })
    const agent = (await grace.fetch<{ id: string }>('GET', `/api/agents/${made.slug}`)).body.id
    const listener = await connect(await mcpToken(t, ada, { agentId: agent }))
    return {
      listener,
      other,
      agent,
      close: async () => {
        await listener.close()
        await other.close()
      },
    }
  }

  test('is notified of every change to a record that it watches, by the address it chose', async () => {
    const { listener, other, close } = await scene()
    const note = await other.call('create_note', { title: 'Watched', content: 'one' })
    const task = await other.call('create_task', { title: 'Watched', project })
    const unwatched = await other.call('create_note', { title: 'Not watched' })
    await listener.watch(`tutti://note/${note.slug}`, `tutti://task/${task.key}`)
    await other.call('update_note', { note: unwatched.slug, content: 'two' })
    await other.call('update_note', { note: note.slug, content: 'two' })
    await until(() => listener.updated.length >= 1)
    await other.call('update_task', { task: task.key, priority: 'high' })
    await until(() => listener.updated.length >= 2)
    expect(listener.updated).toEqual([`tutti://note/${note.slug}`, `tutti://task/${task.key}`])
    expect(listener.statuses).toEqual([])
    await close()
  })

  if (logs(name))
    test('is notified once that its token expires within a week', async () => {
      const soon = await connect(await mcpToken(t, ada, { expiresInDays: 6 }))
      const later = await connect(await mcpToken(t, ada, { expiresInDays: 30 }))
      await until(() => soon.statuses.length > 0)
      // What follows a later message has been sent.
      for (const one of [soon, later]) await one.call('list_projects', {})
      const data = { event: 'mcp_token.expiring', uri: 'tutti://me', status: expect.stringMatching(/^expires at 20/) }
      expect(soon.statuses).toMatchObject([{ level: 'warning', data }])
      expect(later.statuses).toEqual([])
      await soon.close()
      await later.close()
    })

  test('is notified of changes to its own tasks: assigned, freed, taken away', async () => {
    const { listener, other, agent, close } = await scene()
    await listener.watch('tutti://me')
    const first = await other.call('create_task', { title: 'First', project })
    const second = await other.call('create_task', { title: 'Second', project, blockedBy: [first.key] })
    await other.call('update_task', { task: second.key, assignee: agent })
    await until(() => listener.updated.length >= 1)
    await other.call('complete_task', { task: first.key })
    await until(() => listener.updated.length >= 2)
    await listener.call('claim_task', { task: second.key })
    const { status } = await grace.fetch('PATCH', `/api/tasks/${second.key}`, { assignee: 'me' })
    expect(status).toBe(200)
    await until(() => listener.updated.length >= 3)
    expect(new Set(listener.updated)).toEqual(new Set(['tutti://me']))
    if (logs(name)) {
      const uri = `tutti://task/${second.key}`
      await until(() => listener.statuses.length >= 3)
      expect(listener.statuses.map(({ data }) => data)).toMatchObject([
        { event: 'task.updated', uri, status: 'todo', by: expect.stringMatching(/^agent \d+$/) },
        { event: 'task.freed', uri, status: 'todo', by: expect.stringMatching(/^agent \d+$/) },
        { uri, by: 'Grace Hopper' },
      ])
      expect(listener.statuses[0]).toMatchObject({ level: 'info', logger: 'tutti' })
      expect(JSON.stringify(listener.statuses)).not.toContain('Second')
    } else expect(listener.statuses).toEqual([])
    await close()
  })

  test('is notified only of the projects that its token is limited to', async () => {
    const worker = await member(t, ada, 'member', 'Mary')
    const make = async (path: string, body: object) =>
      (await grace.fetch<{ id: string; slug: string }>('POST', path, body)).body
    const [own, other] = [
      await make('/api/projects', { name: 'Own', visibility: 'team' }),
      await make('/api/projects', { name: 'Other', visibility: 'team' }),
    ]
    const loose = await make('/api/notes', { title: 'Loose', scope: 'team' })
    const listener = await connect(await mcpToken(t, worker, { projects: [own.id] }))
    if (name === 'v2 client, HTTP 2026-07-28') await listener.watch('tutti://me', `tutti://note/${loose.id}`)
    else {
      await listener.watch('tutti://me')
      await expect(listener.watch(`tutti://note/${loose.id}`)).rejects.toThrow()
    }
    await grace.fetch('POST', '/api/skills', { name: 'A skill', scope: 'team' })
    await grace.fetch('PUT', `/api/notes/${loose.id}`, { content: 'new' })
    const given = { title: 'Given', assignee: worker.userId }
    const outside = (await grace.fetch<{ key: string }>('POST', `/api/projects/${other.id}/tasks`, given)).body
    await make(`/api/projects/${own.id}/tasks`, given)
    await until(() => listener.updated.length > 0)
    await listener.call('list_projects', {})
    expect(listener.updated).toEqual(['tutti://me'])
    expect(JSON.stringify(listener.statuses)).not.toContain(outside.key)
    expect(listener.seen.prompts).toBe(0)
    await listener.close()
  })

  test('is not notified of its own work that its scopes or its user cannot read', async () => {
    const worker = await member(t, ada, 'member', 'Mary')
    const listener = await connect(await mcpToken(t, worker))
    const narrow = await connect(await mcpToken(t, worker, { scopes: ['notes:read'] }))
    const space = (await grace.fetch<{ slug: string }>('POST', '/api/projects', { name: 'Space', visibility: 'team' }))
      .body
    const note = (await grace.fetch<{ id: string }>('POST', '/api/notes', { title: 'End', scope: 'team' })).body
    const uri = `tutti://note/${note.id}`
    await listener.watch('tutti://me', uri)
    await narrow.watch(uri)
    const given = async (slug: string) => {
      const path = `/api/projects/${slug}/tasks`
      return (await grace.fetch<{ key: string }>('POST', path, { title: 'Given', assignee: worker.userId })).body
    }
    const task = await given(space.slug)
    await until(() => listener.updated.length === 1)
    await grace.fetch('POST', `/api/projects/${space.slug}/share`, { visibility: 'private' })
    await grace.fetch('PATCH', `/api/tasks/${task.key}`, { priority: 'urgent' })
    const open = await given(project)
    await grace.fetch('PUT', `/api/notes/${note.id}`, { content: 'end' })
    await until(() => listener.updated.includes(uri) && narrow.updated.includes(uri))
    expect(listener.updated).toEqual(['tutti://me', 'tutti://me', uri])
    expect(narrow.updated).toEqual([uri])
    expect(narrow.statuses).toEqual([])
    expect(listener.statuses.map(({ data }) => (data as { uri: string }).uri)).toEqual(
      logs(name) ? [`tutti://task/${task.key}`, `tutti://task/${open.key}`] : [],
    )
    await listener.close()
    await narrow.close()
  })

  test("is notified when the team's skills change", async () => {
    const { listener, close } = await scene()
    // On SSE nobody has to ask for it.
    if (!logs(name)) await listener.watch('tutti://me')
    const made = await grace.fetch<{ id: string }>('POST', '/api/skills', { name: 'New', content: 'x', scope: 'team' })
    await until(() => listener.seen.prompts === 1)
    await grace.fetch('PUT', `/api/skills/${made.body.id}`, { content: 'y' })
    await until(() => listener.seen.prompts === 2)
    await grace.fetch('POST', '/api/skills', { name: 'Own', content: 'x', scope: 'personal' })
    await grace.fetch('DELETE', `/api/skills/${made.body.id}`)
    await until(() => listener.seen.prompts === 3)
    await close()
  })

  test('is notified of the skills that its projects name, if its token is limited to projects', async () => {
    const newSkill = async (named: string) =>
      (
        await grace.fetch<{ id: string; slug: string }>('POST', '/api/skills', {
          name: named,
          content: 'x',
          scope: 'team',
        })
      ).body
    const [named, unnamed] = [await newSkill('Named'), await newSkill('Unnamed')]
    const made = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: `Limited ${crypto.randomUUID()}` })
    const nameSkills = (...skills: string[]) =>
      ada.fetch('PUT', `/api/projects/${made.body.id}`, { settings: { skills } })
    expect((await nameSkills(named.slug)).status).toBe(200)
    const listener = await connect(await mcpToken(t, ada, { projects: [made.body.id] }))
    const uri = `tutti://skill/${named.slug}`
    await listener.watch(uri)
    await grace.fetch('PUT', `/api/skills/${unnamed.id}`, { content: 'not heard' })
    await grace.fetch('PUT', `/api/skills/${named.id}`, { content: 'heard' })
    await until(() => listener.seen.prompts > 0 && listener.updated.length > 0)
    const before = listener.seen.prompts
    await nameSkills(named.slug, unnamed.slug)
    await until(() => listener.seen.prompts > before)
    expect(new Set(listener.updated)).toEqual(new Set([uri]))
    await listener.close()
  })

  test('is not notified of another team, or of records that it can no longer read', async () => {
    const mallory = await connect(await mcpToken(t, await person(t)))
    const { listener, other, close } = await scene()
    const note = await other.call('create_note', { title: 'Ours' })
    const uri = `tutti://note/${note.slug}`
    // The newest protocol says what is watched; the older ones refuse.
    if (logs(name)) await expect(mallory.watch(uri)).rejects.toMatchObject({ code: -32602 })
    else await mallory.watch(uri, 'tutti://me')
    await listener.watch(uri)

    const viewer = await member(t, ada, 'viewer')
    const reader = await connect(await mcpToken(t, viewer))
    const hidden = await grace.fetch<{ id: string; slug: string }>('POST', '/api/projects', {
      name: 'Soon private',
      visibility: 'team',
    })
    const inside = await other.call('create_note', { title: 'Inside', project: hidden.body.slug })
    await reader.watch(`tutti://note/${inside.slug}`, uri)
    await other.call('update_note', { note: inside.slug, content: 'seen' })
    await until(() => reader.updated.length === 1)
    const { status } = await grace.fetch('POST', `/api/projects/${hidden.body.slug}/share`, { visibility: 'private' })
    expect(status).toBe(200)
    await other.call('update_note', { note: inside.slug, content: 'not seen' })
    await other.call('update_note', { note: note.slug, content: 'end' })
    await until(() => reader.updated.includes(uri) && listener.updated.includes(uri))
    expect(reader.updated.filter((u) => u !== uri)).toEqual([`tutti://note/${inside.slug}`])
    expect(mallory.updated).toEqual([])
    expect(mallory.seen.prompts).toBe(0)
    await mallory.close()
    await reader.close()
    await close()
  })
})

test('a client with log level warning gets no status messages', async () => {
  const client = new v2.Client(info, { versionNegotiation: { mode: 'legacy' } })
  const heard: unknown[] = []
  client.setNotificationHandler('notifications/message', (message) => void heard.push(message))
  let prompts = 0
  client.setNotificationHandler('notifications/prompts/list_changed', () => void prompts++)
  await client.connect(new v2.SSEClientTransport(new URL(`${t.url}/mcp/sse`), headers(await mcpToken(t, ada))))
  await client.setLoggingLevel('warning')
  const other = await (ways['v2 client, SSE'] as Connect)(await mcpToken(t, grace))
  await other.call('create_task', { title: 'For Ada', project, assignee: ada.email })
  await grace.fetch('POST', '/api/skills', { name: 'After it', content: 'x', scope: 'team' })
  await until(() => prompts === 1)
  expect(heard).toEqual([])
  await other.close()
  await client.close()
})
