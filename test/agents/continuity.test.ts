import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { prepareStreams } from '../../src/features/connections/streams.ts'
import { connectionClosed, factsOf, type McpClient, type Result, sessionClosed, ways } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { takeSome } from '../support/thorough.ts'

let t: TestApp
let ada: Person
let grace: Person
let project: Project

interface Project {
  id: string
  key: string
}
interface Facts {
  id: string
  key: string
  why: string
  takenOver?: string
  status: string
  task?: { key: string; lastCheckpoint?: Record<string, unknown> }
  lastCheckpoint?: Record<string, unknown>
  items: string[]
  memories: { id: string }[]
}

const newProject = async (): Promise<Project> =>
  (await ada.fetch<Project>('POST', '/api/projects', { name: unique('Work') })).body
async function newTasks(count: number, place = project): Promise<string[]> {
  const tasks = Array.from({ length: count }, () => ({ title: unique('task') }))
  const path = `/api/projects/${place.id}/tasks/batch`
  const { body } = await ada.fetch<{ items: { key: string }[] }>('POST', path, { tasks })
  return body.items.map(({ key }) => key)
}
const connect = (token: string, way: string): Promise<McpClient> => (ways[way] as (typeof ways)[string])(t.url, token)
async function use(client: McpClient, tool: string, args: Record<string, unknown> = {}): Promise<Facts> {
  return factsOf<Facts>(await client.call(tool, args))
}
async function refusal(client: McpClient, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const { isError, content } = await client.call(tool, args)
  expect([tool, isError]).toEqual([tool, true])
  return String(content[0]?.text)
}

/** Returns the whole id of a session, of which tools show the beginning. */
const wholeId = async (id: string): Promise<string> =>
  (await ada.fetch<{ id: string }>('GET', `/api/sessions/${id}`)).body.id

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  grace = await member(t, ada, 'member')
})
beforeEach(async () => {
  project = await newProject()
})

const withConnections = ['v2 client, SSE', 'v2 client, HTTP 2025', 'v1 client, SSE', 'v1 client, HTTP']

describe.each(takeSome(withConnections))('the default project of two windows on one token, by %s', (way) => {
  test('is the project of each window’s own session, and a third window has none', async () => {
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const other = await newProject()
    const [mine] = await newTasks(1)
    await newTasks(1, other)
    const [left, right] = [await connect(token, way), await connect(token, way)]
    await use(left, 'create_session', { project: project.key })
    await use(right, 'create_session', { project: other.key })
    const made = await use(left, 'create_task', { title: unique('here') })
    expect(made.key).toStartWith(`${project.key}-`)
    const decision = await use(left, 'log_decision', { title: 'Where', decision: 'Here.' })
    const memory = await use(left, 'store_memory', { content: unique('Here') })
    for (const path of [`/api/decisions/${decision.id}`, `/api/memories/${memory.id}`])
      expect((await ada.fetch<{ projectId: string }>('GET', path)).body.projectId).toBe(project.id)
    const lines = (await use(left, 'list_tasks')).items
    expect(lines.map((line) => line.split('-')[0])).toEqual([project.key, project.key])
    expect((await use(left, 'next_task')).task?.key).toBe(String(mine))

    const third = await connect(token, way)
    expect(await refusal(third, 'create_task', { title: 'Where?' })).toContain(project.key)
    for (const client of [left, right, third]) await client.close()
  })
})

/** A client of 2025-11-25 that opens no stream: the server cannot notice that it ends. */
async function withoutStream(token: string): Promise<(tool: string, args?: object) => Promise<Result>> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  }
  const send = (message: object, session: object = {}) =>
    fetch(`${t.url}/mcp`, { method: 'POST', headers: { ...headers, ...session }, body: JSON.stringify(message) })
  const clientInfo = { name: 'codex', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const started = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  await started.text()
  const session = { 'mcp-session-id': started.headers.get('mcp-session-id') ?? '' }
  return async (name, args = {}) => {
    const answer = await send(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
      session,
    )
    const [data] = (await answer.text()).split('\n').filter((line) => line.startsWith('data: '))
    return (JSON.parse(String(data).slice(6)) as { result: Result }).result
  }
}

describe('an agent whose client ended without a stream', () => {
  test.each(['claim_task', 'complete_task'])('takes its task over with %s, and the result says so', async (tool) => {
    const [task, next] = await newTasks(2)
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const first = await withoutStream(token)
    expect((await first('claim_task', { task })).isError).toBeFalsy()
    const again = await withoutStream(token)
    // Nobody knows that the first one has ended, so the next task is another one.
    const offered = factsOf<Facts>(await again('next_task', { project: project.id, claim: false }))
    expect(offered.task?.key).toBe(String(next))
    expect((await again('update_task', { task, priority: 'high' })).content[0]?.text).toContain('claim_task')
    const taken = factsOf<Facts>(await again(tool, { task }))
    expect(taken.takenOver).toContain('on another connection of this token')
    if (tool === 'claim_task') expect((await first('complete_task', { task })).isError).toBeFalsy()
  })

  test.each(['by name', 'without a name'])('resumes its session %s, and is told that it was active', async (how) => {
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const [first, second] = [await withoutStream(token), await withoutStream(token)]
    const session = factsOf<Facts>(await first('create_session', { project: project.id })).id
    const named = how === 'by name' ? { session } : {}
    const resumed = factsOf<Facts>(await second('resume_session', named))
    expect([resumed.id, resumed.takenOver]).toEqual([session, expect.stringContaining('another connection')])
  })

  test('takes several tasks over at once, and receives their keys', async () => {
    const tasks = await newTasks(2)
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const first = await withoutStream(token)
    await first('claim_task', { task: tasks[0] })
    const again = await withoutStream(token)
    const { done } = factsOf<{ done: unknown[] }>(await again('complete_task', { tasks }))
    expect(done).toEqual([{ key: tasks[0], takenOver: expect.any(String) }, tasks[1]])
  })

  test('does not take the task of another token of the same person', async () => {
    const [task] = await newTasks(1)
    const first = await withoutStream(await mcpToken(t, ada, { name: unique('laptop') }))
    await first('claim_task', { task })
    const other = await withoutStream(await mcpToken(t, ada, { name: unique('desk') }))
    expect((await other('claim_task', { task })).content[0]?.text).toContain('conflict.lease_held')
  })
})

describe('resume_session without a name', () => {
  const way = 'v2 client, SSE'

  test('names the newest session if its stream is open, and resumes no older one', async () => {
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const old = await connect(token, way)
    const { id: older } = await use(old, 'create_session', { project: project.key })
    await old.close()
    await sessionClosed(t, await wholeId(older))
    const open = await connect(token, way)
    const { id: newest } = await use(open, 'create_session', { project: project.key })
    const third = await connect(token, way)
    expect(await refusal(third, 'resume_session')).toContain(await wholeId(newest))
    expect((await ada.fetch<{ status: string }>('GET', `/api/sessions/${older}`)).body.status).toBe('active')
    for (const client of [open, third]) await client.close()
  })

  test('does not resume an ended session of this window while another one is open', async () => {
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const [left, right] = [await connect(token, way), await connect(token, way)]
    const { id: ended } = await use(left, 'create_session', { project: project.key })
    await use(left, 'end_session')
    const { id: open } = await use(right, 'create_session', { project: project.key })
    expect(await refusal(left, 'resume_session')).toContain(await wholeId(open))
    expect((await ada.fetch<{ status: string }>('GET', `/api/sessions/${ended}`)).body.status).toBe('ended')
    for (const client of [left, right]) await client.close()
  })

  test('does not touch the session of an open window if the caller has no connection', async () => {
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const open = await connect(token, way)
    const { id } = await use(open, 'create_session', { project: project.key })
    await use(open, 'resume_session', { checkpoint: { nextStep: 'Mine' } })
    const other = await connect(token, 'v2 client, HTTP 2026-07-28')
    await use(other, 'resume_session', { checkpoint: { nextStep: 'Another' } })
    const { body } = await ada.fetch<{ checkpoint: object }>('GET', `/api/sessions/${id}`)
    expect(body.checkpoint).toEqual({ nextStep: 'Mine' })
    for (const client of [open, other]) await client.close()
  })
})

describe('two windows without connections on one token, by HTTP 2026-07-28', () => {
  const way = 'v2 client, HTTP 2026-07-28'

  test('never get the same task from next_task', async () => {
    const keys = await newTasks(12)
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const windows = [await connect(token, way), await connect(token, way)]
    const taken: string[] = []
    for (let i = 0; i < 6; i++)
      for (const { task, why } of await Promise.all(
        windows.map((one) => use(one, 'next_task', { project: project.key })),
      )) {
        taken.push(String(task?.key))
        if (taken.length > 2) expect(why).toMatch(/You also hold .*; claim_task [A-Z]+-\d+ continues it/)
      }
    expect(taken.toSorted()).toEqual(keys.toSorted())
    const [mine] = taken
    expect((await use(windows[0] as McpClient, 'claim_task', { task: mine })).key).toBe(String(mine))
    expect((await use(windows[0] as McpClient, 'complete_task', { task: mine })).status).toBe('done')
  })
})

describe('the streams of a process that was killed', () => {
  test('are closed when the next process starts, so that an agent gets its task and session back', async () => {
    const [task] = await newTasks(1)
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const first = await withoutStream(token)
    const session = factsOf<Facts>(await first('create_session', { project: project.key })).id
    await first('claim_task', { task })
    // Another process, which ended a minute ago, held its stream.
    const dead = crypto.randomUUID()
    await t.app.driver.query(
      `with dead as (insert into stream_holders (id, seen_at) values ($1::uuid, now() - interval '1 minute') returning id)
        insert into open_streams (holder_id, credential_id, connection)
        select dead.id, t.lease_credential_id, t.lease_connection from dead, tasks t
        join projects p on p.id = t.project_id where p.key || '-' || t.number = $2`,
      [dead, task],
    )
    await prepareStreams(t.app)
    await connectionClosed(t, String(task))
    const again = await connect(token, 'v2 client, SSE')
    expect((await use(again, 'next_task', { project: project.key })).task?.key).toBe(String(task))
    expect((await use(again, 'resume_session')).id).toBe(session)
    await again.close()
  })

  test('are stored again by a process that another one took for ended', async () => {
    const [task] = await newTasks(1)
    const token = await mcpToken(t, ada, { name: unique('laptop') })
    const first = await connect(token, 'v2 client, SSE')
    await use(first, 'claim_task', { task })
    await t.app.driver.query('delete from stream_holders where id = $1::uuid', [t.app.instanceId])
    await prepareStreams(t.app)
    const second = await connect(token, 'v2 client, SSE')
    expect(await refusal(second, 'claim_task', { task })).toContain('on another connection of this token')
    for (const client of [first, second]) await client.close()
  })
})

describe('POST /api/tasks/next for an agent of a person', () => {
  test('returns the task that the agent already holds', async () => {
    await newTasks(2)
    const { body: agent } = await ada.fetch<{ id: string }>('POST', '/api/agents', { name: unique('Builder') })
    const next = () =>
      ada.fetch<{ task: { key: string } }>('POST', '/api/tasks/next', { projectId: project.id, agent: agent.id })
    const first = (await next()).body.task.key
    expect((await next()).body.task.key).toBe(first)
  })
})

describe('the checkpoint of a session', () => {
  const checkpoint = {
    nextStep: 'Write the second test',
    files: ['src/lock.ts'],
    branch: 'lock-folder',
    openQuestions: ['What about NFS?'],
  }
  /** An agent that saved where it is and was not heard of again. */
  async function leave(): Promise<string> {
    const [task] = await newTasks(1)
    const client = await connect(await mcpToken(t, ada, { name: unique('laptop') }), 'v2 client, HTTP 2025')
    const { id: session } = await use(client, 'create_session', { project: project.key })
    await use(client, 'claim_task', { task, session, minutes: 1 })
    await use(client, 'resume_session', { checkpoint })
    await client.close()
    await t.app.driver.query(
      `update tasks set lease_expires_at = lease_seen_at where id = (select t.id from tasks t
        join projects p on p.id = t.project_id where p.key || '-' || t.number = $1)`,
      [task],
    )
    return String(task)
  }

  test('is hidden from readers without write access to the task', async () => {
    const task = await leave()
    const viewer = await member(t, ada, 'viewer')
    const read = async (who: Person) =>
      (await who.fetch<{ lastCheckpoint: object | null }>('GET', `/api/tasks/${task}`)).body.lastCheckpoint
    expect([await read(viewer), await read(grace)]).toEqual([null, expect.objectContaining(checkpoint)])
    const reads = await connect(await mcpToken(t, ada, { scopes: ['read'] }), 'v2 client, SSE')
    expect((await use(reads, 'get_task', { task })).lastCheckpoint).toBeUndefined()
    await reads.close()
  })

  test('is not stored with tasks of other projects that the same window holds', async () => {
    const [task] = await newTasks(1)
    const other = await newProject()
    const client = await connect(await mcpToken(t, ada, { name: unique('laptop') }), 'v2 client, SSE')
    await use(client, 'claim_task', { task })
    await use(client, 'create_session', { project: other.key })
    await use(client, 'resume_session', { checkpoint })
    expect((await use(client, 'get_task', { task })).lastCheckpoint).toBeUndefined()
    await client.close()
  })

  test('is cleared with the account of its author', async () => {
    const leaver = await member(t, ada, 'member', 'Edsger Dijkstra')
    const [task] = await newTasks(1)
    const client = await connect(await mcpToken(t, leaver, { name: unique('laptop') }), 'v2 client, SSE')
    await use(client, 'create_session', { project: project.key })
    await use(client, 'claim_task', { task })
    await use(client, 'resume_session', { checkpoint })
    await client.close()
    const read = async () =>
      (await ada.fetch<{ lastCheckpoint: object | null }>('GET', `/api/tasks/${task}`)).body.lastCheckpoint
    expect(await read()).toMatchObject({ author: { for: { name: 'Edsger Dijkstra' } } })
    expect((await leaver.fetch('DELETE', '/api/auth/account', { confirm: leaver.email })).status).toBe(200)
    expect(await read()).toBeNull()
  })

  test('keeps the fields that the next one does not contain; null clears one', async () => {
    const client = await connect(await mcpToken(t, ada, { name: unique('laptop') }), 'v2 client, SSE')
    const { id } = await use(client, 'create_session', { project: project.key })
    await use(client, 'resume_session', { checkpoint })
    await use(client, 'resume_session', { checkpoint: { nextStep: 'Merge it', openQuestions: null } })
    const { body } = await ada.fetch<{ checkpoint: object }>('GET', `/api/sessions/${id}`)
    const { openQuestions: _, ...rest } = checkpoint
    expect(body.checkpoint).toEqual({ ...rest, nextStep: 'Merge it' })
    await client.close()
  })

  test('leaves no next step in the memory of a session that completed it', async () => {
    const [task] = await newTasks(1)
    const client = await connect(await mcpToken(t, ada, { name: unique('laptop') }), 'v2 client, SSE')
    await use(client, 'create_session', { project: project.key })
    await use(client, 'claim_task', { task })
    await use(client, 'resume_session', { checkpoint })
    await use(client, 'complete_task', { task })
    const { memories } = await use(client, 'end_session', { summary: 'Locked.' })
    const { body } = await ada.fetch<{ content: string }>('GET', `/api/memories/${memories[0]?.id}`)
    expect(body.content).toContain('Branch: lock-folder')
    expect(body.content).not.toContain('Next step')
    await client.close()
  })

  test('leaves its next step in the memory of a session that still holds a task', async () => {
    const [task, open] = await newTasks(2)
    const client = await connect(await mcpToken(t, ada, { name: unique('laptop') }), 'v2 client, SSE')
    await use(client, 'create_session', { project: project.key })
    for (const each of [task, open]) await use(client, 'claim_task', { task: each })
    await use(client, 'resume_session', { checkpoint })
    await use(client, 'complete_task', { task })
    const { memories } = await use(client, 'end_session')
    const { body } = await ada.fetch<{ content: string }>('GET', `/api/memories/${memories[0]?.id}`)
    expect(body.content).toContain(`Next step: ${checkpoint.nextStep}`)
    await client.close()
  })
})
