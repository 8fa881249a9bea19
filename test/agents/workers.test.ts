import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import * as v2 from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { connectionClosed, type Result, sessionClosed, until } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'

let t: TestApp
let ada: Person
let grace: Person
let project: string
const open: Window[] = []

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  grace = await member(t, ada, 'member')
})
beforeEach(async () => {
  project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Work') })).body.id
})
afterEach(async () => {
  for (const window of open.splice(0)) await window.close()
})

interface Window {
  use<T = Facts>(tool: string, args?: Record<string, unknown>): Promise<T>
  refused(tool: string, args: Record<string, unknown>): Promise<string>
  /** The client ends, as its program would. */
  close(): Promise<void>
}
interface Facts {
  key: string
  why: string
  next: { key: string } | null
  task: { key: string } | null
}

const headers = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } })
const address = (path: string) => new URL(path, t.url)
const transports = {
  SSE: (token: string) => new v2.SSEClientTransport(address('/mcp/sse'), headers(token)),
  'HTTP 2025-11-25': (token: string) => new v2.StreamableHTTPClientTransport(address('/mcp'), headers(token)),
  'the stdio bridge': (token: string) =>
    new StdioClientTransport({
      command: process.execPath,
      args: [join(import.meta.dir, '../../cli/index.ts'), 'mcp', '--server', t.url],
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', TUTTI_MCP_TOKEN: token },
      stderr: 'ignore',
    }),
}

async function window(
  token: string,
  way: keyof typeof transports = 'HTTP 2025-11-25',
  mode: 'legacy' | 'auto' = 'legacy',
): Promise<Window> {
  const transport = transports[way](token)
  const client = new v2.Client({ name: 'codex', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })) as Result
  let closed = false
  const made: Window = {
    use: async <T>(tool: string, args: Record<string, unknown> = {}) => {
      const { isError, content, structuredContent } = await call(tool, args)
      if (isError) throw new Error(content[0]?.text)
      return structuredContent as T
    },
    refused: async (tool, args) => {
      const { isError, content } = await call(tool, args)
      expect(isError).toBe(true)
      return String(content[0]?.text)
    },
    close: async () => {
      if (closed) return
      closed = true
      if (transport instanceof v2.StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    },
  }
  open.push(made)
  return made
}

const newTasks = async (count: number): Promise<string[]> => {
  const keys: string[] = []
  for (let i = 0; i < count; i++) {
    const path = `/api/projects/${project}/tasks`
    keys.push((await ada.fetch<{ key: string }>('POST', path, { title: unique('task') })).body.key)
  }
  return keys
}
const taken = async (one: Window): Promise<string | undefined> => (await one.use('next_task', { project })).task?.key
const stored = async (key: string) =>
  (
    await ada.fetch<{ status: string; assignee: unknown; lease: { holder: Record<string, unknown> } | null }>(
      'GET',
      `/api/tasks/${key}`,
    )
  ).body

describe('four tokens of one person', () => {
  test('work on four tasks, and none changes a task that another holds', async () => {
    const keys = await newTasks(5)
    const four = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => window(await mcpToken(t, ada, { name: unique(name) }), 'SSE')),
    )
    const held = await Promise.all(four.map(taken))
    expect(new Set(held)).toEqual(new Set(keys.slice(0, 4)))

    const [first, second, third] = four as [Window, Window, Window]
    const task = held[0] as string
    const { holder } = (await stored(task)).lease as { holder: { name: string } }
    for (const [tool, args] of [
      ['claim_task', {}],
      ['claim_task', { action: 'release' }],
      ['update_task', { status: 'todo' }],
      ['complete_task', {}],
      ['delete_task', {}],
    ] as const) {
      const why = await second.refused(tool, { task, ...args })
      expect([tool, why]).toEqual([tool, expect.stringContaining('conflict.lease_held')])
      expect(why).toContain(`${holder.name} for Ada Lovelace works on ${task}`)
      expect(why).toContain('next_task')
    }
    expect(JSON.stringify(await third.use('create_session', { project }))).toContain(`Your task: ${held[2]}`)
    const fifth = await window(await mcpToken(t, ada, { name: unique('e') }))
    expect(JSON.stringify(await fifth.use('create_session', { project }))).not.toContain('Your task')
    expect((await stored(task)).status).toBe('in_progress')
    await first.use('complete_task', { task })
    expect((await stored(task)).status).toBe('done')
  })

  test('that finish at once get different tasks', async () => {
    await newTasks(4)
    const two = await Promise.all(
      ['a', 'b'].map(async (name) => window(await mcpToken(t, ada, { name: unique(name) }))),
    )
    const held = await Promise.all(two.map(taken))
    const done = await Promise.all(two.map((one, i) => one.use('complete_task', { task: held[i] })))
    const hints = done.map(({ next }) => next?.key)
    expect(hints).not.toContain(undefined)
    expect(new Set(hints).size).toBe(2)
    expect(new Set(await Promise.all(two.map(taken))).size).toBe(2)
  })
})

describe.each(Object.keys(transports) as (keyof typeof transports)[])(
  'two windows on one token, connected by %s,',
  (way) => {
    test('get different tasks, and a restarted one gets its own back at once', async () => {
      const [one, two, three] = await newTasks(3)
      const token = await mcpToken(t, ada, { name: unique('laptop') })
      const [left, right] = [await window(token, way), await window(token, way)]
      expect([await taken(left), await taken(right)]).toEqual([one, two])
      expect([await taken(left), await taken(right)]).toEqual([one, two])
      expect(await right.refused('complete_task', { task: one })).toContain('on another connection of this token')
      expect(JSON.stringify(await right.use('create_session', { project }))).not.toContain(`Your task: ${one}`)

      await left.close()
      await connectionClosed(t, one as string)
      const other = await window(await mcpToken(t, ada, { name: unique('other') }), way)
      expect(await taken(other)).toBe(three)
      const again = await window(token, way)
      const back = await again.use('next_task', { project })
      expect(back.task?.key).toBe(one)
      expect(back.why).toContain('on a connection that closed at')
      // It is that window's now, and the other one still has its own.
      expect(await taken(right)).toBe(two)
      await again.use('complete_task', { task: one })
      expect((await stored(one as string)).status).toBe('done')
    })
  },
)

test('two windows on one token have separate sessions until one of them closes', async () => {
  const token = await mcpToken(t, ada, { name: unique('laptop') })
  const [left, right] = [await window(token, 'SSE'), await window(token, 'SSE')]
  const { id } = await left.use<{ id: string }>('create_session', { project })
  const save = async (one: Window, nextStep: string) =>
    (await one.use<{ session: string }>('resume_session', { checkpoint: { nextStep } })).session
  const session = async () =>
    (await ada.fetch<{ id: string; status: string; checkpoint: object }>('GET', `/api/sessions/${id}`)).body
  expect(await save(left, 'left')).toBe(id)
  for (const tool of ['end_session', 'resume_session']) expect(await right.refused(tool, {})).toContain(`Session ${id}`)
  const own = await save(right, 'right')
  expect(own).not.toBe(id)
  expect((await right.use<{ session: string }>('end_session')).session).toBe(own)
  expect(await session()).toMatchObject({ status: 'active', checkpoint: { nextStep: 'left' } })
  // Its stream is open, so it is not taken over although it is named.
  expect(await right.refused('resume_session', { session: id })).toStartWith(`conflict: Session ${id}`)

  await left.close()
  await sessionClosed(t, (await session()).id)
  const again = await window(token, 'SSE')
  expect((await again.use<{ id: string }>('resume_session')).id).toBe(id)
  expect(await save(again, 'again')).toBe(id)
  expect(await right.refused('end_session', {})).toContain(id)
})

test('the task of a closed connection stays with the session that claimed it', async () => {
  const [task, other] = await newTasks(2)
  const token = await mcpToken(t, ada, { name: unique('laptop') })
  const [left, right] = [await window(token), await window(token)]
  const session = (await left.use<{ id: string }>('create_session', { project })).id
  const another = (await right.use<{ id: string }>('create_session', { project })).id
  await left.use('claim_task', { task, session })
  await left.close()
  await connectionClosed(t, task as string)
  expect((await right.use('next_task', { project, session: another })).task?.key).toBe(other)
  for (const action of ['claim', 'release'])
    expect(await right.refused('claim_task', { task, session: another, action })).toContain('conflict.lease_held')
  const again = await window(token)
  expect((await again.use('next_task', { project, session })).task?.key).toBe(task)
})

test('a client of 2025-11-25 that disconnects is noticed by its stream', async () => {
  const [task] = await newTasks(1)
  const token = await mcpToken(t, ada, { name: unique('laptop') })
  let listens = false
  const transport = new v2.StreamableHTTPClientTransport(address('/mcp'), {
    ...headers(token),
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      listens ||= init?.method === 'GET' && response.ok
      return response
    },
  })
  const client = new v2.Client({ name: 'codex', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  await client.connect(transport)
  await client.callTool({ name: 'claim_task', arguments: { task } })
  await until(() => listens)
  await client.close()
  await connectionClosed(t, String(task))
  expect(await taken(await window(token))).toBe(task)
})

test('a person can release or complete at the browser what an agent holds', async () => {
  const [one, two] = await newTasks(2)
  const agent = await window(await mcpToken(t, ada, { name: unique('laptop') }))
  for (const task of [one, two]) await agent.use('claim_task', { task })
  expect((await ada.fetch('POST', `/api/tasks/${one}/release`, {})).status).toBe(200)
  expect((await ada.fetch('POST', `/api/tasks/${one}/claim`, {})).status).toBe(200)
  expect(await agent.refused('complete_task', { task: one })).toContain('Ada Lovelace works on')
  expect((await ada.fetch('POST', `/api/tasks/${two}/complete`, {})).status).toBe(200)
})

test('events name the agent, its program and its person', async () => {
  const [task] = await newTasks(1)
  const name = unique('laptop')
  const one = await window(await mcpToken(t, ada, { name }))
  await one.use('claim_task', { task })
  const agent = {
    type: 'agent',
    name,
    client: 'Codex',
    for: { id: ada.userId, name: 'Ada Lovelace' },
  }
  expect(await stored(task as string)).toMatchObject({ assignee: agent, lease: { holder: agent } })
  const { body } = await ada.fetch<{ items: object[] }>('GET', `/api/activities?projectId=${project}&type=task.claimed`)
  expect(body.items).toMatchObject([{ actor: agent }])
  const listed = await one.use<{ items: string[] }>('list_activities', { project, type: 'task.claimed' })
  expect(JSON.stringify(listed)).toContain(`${name} for Ada Lovelace`)
})

test('two windows on one token by HTTP 2026-07-28 are distinguished by the sessions they name', async () => {
  const keys = await newTasks(4)
  const token = await mcpToken(t, ada, { name: unique('laptop') })
  const two = [await window(token, 'HTTP 2025-11-25', 'auto'), await window(token, 'HTTP 2025-11-25', 'auto')]
  const [left, right] = two as [Window, Window]
  const begun = await Promise.all(two.map((one) => one.use<{ id: string }>('create_session', { project })))
  const [a, b] = begun.map(({ id }) => id)
  const next = async (one: Window, session?: string) =>
    (await one.use('next_task', { project, session })).task?.key as string
  const held = [await next(left, a), await next(right, b)]
  expect(held).toEqual(keys.slice(0, 2))
  expect([await next(left, a), await next(right, b)]).toEqual(held)

  const [task] = held
  for (const [tool, args] of [
    ['claim_task', {}],
    ['claim_task', { action: 'renew' }],
    ['claim_task', { action: 'release' }],
    ['complete_task', {}],
  ] as const) {
    const why = await right.refused(tool, { task, session: b, ...args })
    expect([tool, why]).toEqual([tool, expect.stringContaining('conflict.lease_held')])
    expect(why).toContain(`works on ${task}, in another session of this token`)
  }
  expect((await stored(task as string)).status).toBe('in_progress')
  // Each goes on with a task of its own.
  const { next: third } = await left.use('complete_task', { task, session: a, claimNext: true })
  expect(third?.key).toBe(keys[2] as string)
  expect(await right.refused('complete_task', { task: third?.key, session: b })).toContain('conflict.lease_held')
  const { next: last } = await right.use('complete_task', { task: held[1], session: b, claimNext: true })
  expect(last?.key).toBe(keys[3] as string)
  expect(await left.refused('complete_task', { task: third?.key, session: 'ffffffff' })).toStartWith('not_found: ')
})

describe('another person of the team', () => {
  /** Returns the id of the agent that holds the task. */
  const holderOf = async (key: string) => String((await stored(key)).lease?.holder.id)

  test('cannot change or delete the agent of my token; an admin can', async () => {
    const [task] = (await newTasks(1)) as [string]
    const own = await window(await mcpToken(t, ada, { name: unique('laptop') }))
    await own.use('claim_task', { task })
    const agent = await holderOf(task)
    const other = await window(await mcpToken(t, grace, { name: unique('other') }))
    for (const [tool, args] of [
      ['delete_agent', {}],
      ['update_agent', { status: 'archived' }],
    ] as const) {
      const why = await other.refused(tool, { agent, ...args })
      expect([tool, why]).toEqual([tool, expect.stringMatching(/^forbidden: .* works for Ada Lovelace\./)])
    }
    expect((await grace.fetch('DELETE', `/api/agents/${agent}`)).status).toBe(403)
    expect(await holderOf(task)).toBe(agent)
    const admin = await member(t, ada, 'admin', 'Edsger Dijkstra')
    expect((await admin.fetch('DELETE', `/api/agents/${agent}`)).status).toBe(200)
    expect((await stored(task)).lease).toBeNull()
  })

  test('cannot work as the agent of my token, but can assign tasks to it', async () => {
    const [task, handed] = (await newTasks(2)) as [string, string]
    const own = await window(await mcpToken(t, ada, { name: unique('laptop') }))
    await own.use('claim_task', { task })
    const agent = await holderOf(task)
    const other = await window(await mcpToken(t, grace, { name: unique('other') }))
    for (const [tool, args] of [
      ['claim_task', { task }],
      ['claim_task', { task, action: 'release' }],
      ['next_task', { project }],
      ['create_session', { project }],
    ] as const) {
      const why = await other.refused(tool, { agent, ...args })
      expect([tool, why]).toEqual([tool, expect.stringMatching(/^forbidden: .* works for Ada Lovelace, so you cannot/)])
    }
    const made = { name: unique('mine'), organizationId: grace.organizationId, agentId: agent }
    for (const [path, body] of [
      ['/api/mcp-tokens', made],
      ['/api/sessions', { agentId: agent }],
      [`/api/tasks/${task}/claim`, { agent }],
    ] as const)
      expect([path, (await grace.fetch('POST', path, body)).status]).toEqual([path, 403])
    // A lease that was handed to it at the browser is its own: not that of another token of the person.
    const mine = await window(await mcpToken(t, ada, { name: unique('second') }))
    await mine.use('claim_task', { task: handed })
    expect((await grace.fetch('PATCH', `/api/tasks/${handed}`, { assignee: agent })).status).toBe(200)
    expect(await holderOf(handed)).toBe(agent)
    expect(await mine.refused('claim_task', { task: handed, agent })).toContain('conflict.lease_held')
    expect((await own.use('claim_task', { task: handed })).key).toBe(handed)
  })

  test('can take the tasks of an agent whose token is revoked or whose person leaves', async () => {
    const edsger = await member(t, ada, 'member', 'Edsger Dijkstra')
    const { body: token } = await edsger.fetch<{ id: string; token: string }>('POST', '/api/mcp-tokens', {
      name: unique('laptop'),
      organizationId: ada.organizationId,
    })
    const [done, one, two] = (await newTasks(3)) as [string, string, string]
    const first = await window(token.token)
    await first.use('complete_task', { task: (await first.use('claim_task', { task: done })).key })
    await first.use('claim_task', { task: one })
    await first.close()
    expect((await edsger.fetch('DELETE', `/api/mcp-tokens/${token.id}`)).status).toBe(200)
    expect(await stored(one)).toMatchObject({ assignee: null, lease: null })
    expect((await stored(done)).assignee).not.toBeNull()

    const second = await window(await mcpToken(t, edsger, { name: unique('desk') }))
    await second.use('claim_task', { task: two })
    const agent = await holderOf(two)
    await second.close()
    const left = await edsger.fetch('DELETE', `/api/teams/${ada.organizationId}/members/${edsger.userId}`)
    expect(left.status).toBe(200)
    expect(await stored(two)).toMatchObject({ assignee: null, lease: null })
    expect((await ada.fetch('PATCH', `/api/tasks/${two}`, { assignee: agent })).status).toBe(422)
  })
})

test('a token whose agent is deleted gets another one, named after the same program', async () => {
  const name = unique('laptop')
  await window(await mcpToken(t, ada, { name }))
  const ofToken = async () =>
    (
      await ada.fetch<{ items: { name: string; agentId: string; agentName: string }[] }>('GET', '/api/mcp-tokens')
    ).body.items.find((token) => token.name === name)
  const before = await ofToken()
  expect((await ada.fetch('DELETE', `/api/agents/${before?.agentId}`)).status).toBe(200)
  const after = await ofToken()
  expect(after?.agentId).not.toBe(String(before?.agentId))
  expect(after?.agentName).toBe(`Codex (${name})`)
})
