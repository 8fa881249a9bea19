import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { call, mcpToken, member, PASSWORD, type Person, person, type TestApp, unique } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'
import { allowing } from '../support/timing.ts'
import { until } from '../support/until.ts'
import { ServerProcess } from './handover/server.ts'
import { type TransportName, transports, Window } from './handover/windows.ts'
import { type Work, Worker } from './handover/worker.ts'
import { addLargerData, appWithoutModel } from './jobs/larger.ts'
import { checkpoint } from './jobs/work.ts'

/** An agent is back at its task within these limits. */
const bars = { calls: 2, ms: 5_000 }

interface Task {
  key: string
  lastCheckpoint?: Record<string, unknown>
}
type Owner = Pick<Person, 'fetch'>
interface Project {
  id: string
  key: string
}

const open: Window[] = []
async function connect(url: string, token: string, transport: TransportName): Promise<Window> {
  const window = await Window.open(url, token, transport)
  open.push(window)
  return window
}
afterEach(async () => {
  for (const window of open.splice(0)) await window.die()
})

const newProject = async (owner: Owner): Promise<Project> =>
  (await owner.fetch<Project>('POST', '/api/projects', { name: unique('Work') })).body

/** Adds tasks that are more urgent than those of the larger data. */
async function newTasks(owner: Owner, { id }: Project, count: number): Promise<string[]> {
  const tasks = Array.from({ length: count }, (_, n) => ({ title: `Step ${n + 1}` }))
  const keys: string[] = []
  for (let n = 0; n < count; n += 50) {
    const made = await owner.fetch<{ items: Task[] }>('POST', `/api/projects/${id}/tasks/batch`, {
      tasks: tasks.slice(n, n + 50),
    })
    keys.push(...made.body.items.map(({ key }) => key))
  }
  return keys
}

/** Works like an agent until it is interrupted: it starts a session, takes a task and saves where it is. */
async function begin(window: Window, { key }: Project): Promise<string> {
  await window.use('create_session', { project: key })
  const { task } = await window.use<{ task: Task }>('next_task', { project: key })
  await window.use('resume_session', { checkpoint })
  window.calls = 0
  return task.key
}

/** Continues after a total loss of context. Fails if that takes more calls or time than it should. */
async function continueTask(window: Window, task: string): Promise<void> {
  const from = performance.now()
  const brief = JSON.stringify(await window.use('resume_session'))
  for (const part of [task, checkpoint.nextStep, ...checkpoint.files]) expect(brief).toContain(part)
  expect(await window.use('complete_task', { task })).toMatchObject({ key: task, status: 'done' })
  expect(window.calls).toBeLessThanOrEqual(bars.calls)
  expect(performance.now() - from).toBeLessThan(Math.max(bars.ms, allowing(bars.ms / 5)))
}

let t: TestApp
let ada: Person
let project: Project
beforeAll(async () => {
  t = await appWithoutModel()
  ada = await person(t)
  project = await newProject(ada)
  await addLargerData(ada, project.id)
})
const newToken = (who = ada) => mcpToken(t, who, { name: unique('laptop') })

describe.each(transports)('an agent connected by %s', (transport) => {
  test('returns to its task after its program died', async () => {
    await newTasks(ada, project, 1)
    const token = await newToken()
    const first = await connect(t.url, token, transport)
    const task = await begin(first, project)
    await first.die()
    await streamClosed(task)
    await continueTask(await connect(t.url, token, transport), task)
  })

  test('gets the checkpoint of another person’s agent that stopped calling', async () => {
    await newTasks(ada, project, 1)
    const first = await connect(t.url, await newToken(), transport)
    const task = await begin(first, project)
    await first.die()
    await streamClosed(task)
    await expireLease(task)
    const other = await connect(t.url, await newToken(await member(t, ada, 'member')), transport)
    const next = await other.use<{ task: Task }>('next_task', { project: project.key })
    expect(next).toMatchObject({ _source: { trust: 'other' }, task: { key: task, lastCheckpoint: checkpoint } })
    await other.use('complete_task', { task })
    expect(other.calls).toBeLessThanOrEqual(bars.calls)
    expect((await other.use<Task>('get_task', { task })).lastCheckpoint).toBeUndefined()
  })
})

/** At night, four workers by each transport. Otherwise each of the four works by another one. */
const crews: [string, readonly TransportName[]][] = [
  ['four transports', transports],
  ...(process.env.NIGHTLY
    ? transports.map((one) => [one, transports.map(() => one)] as [string, TransportName[]])
    : []),
]

describe('four workers in two windows of two tokens', () => {
  test.each(crews)('complete every task once by %s, although one worker dies', async (_, crew) => {
    const keys = await newTasks(ada, project, isShort ? 28 : 60)
    const all: Work = { project: project.key, keys, given: new Map(), done: [] }
    const tokens = [await newToken(), await newToken()]
    const workers = crew.map(
      (transport, n) => new Worker(`worker ${n}`, () => connect(t.url, tokens[n % 2] as string, transport), all),
    )
    const [first, ...others] = workers as [Worker, ...Worker[]]
    await Promise.all(workers.map((worker) => worker.work(5)))
    const dieAndContinue = async () => {
      await first.die()
      await streamClosed(String(first.lost))
      await first.work()
    }
    await Promise.all([dieAndContinue(), ...others.map((worker) => worker.work())])
    expect(all.done.toSorted()).toEqual(keys.toSorted())
    const path = `/api/tasks?projectId=${project.id}&status=done&limit=200`
    const { body } = await ada.fetch<{ items: Task[] }>('GET', path)
    expect(body.items.map(({ key }) => key)).toEqual(expect.arrayContaining(keys))
  })
})

const leaseOf = 'from tasks t where t.project_id = $1::uuid and t.number = $2::int'
const numberOf = (key: string): number => Number(key.split('-')[1])

/** Waits until the server has noticed that the stream of the connection which holds this task is closed. */
async function streamClosed(key: string): Promise<void> {
  const isOpen = `select 1 from open_streams where (credential_id, connection) in
    (select t.lease_credential_id, t.lease_connection ${leaseOf})`
  await until(async () => (await t.app.driver.query(isOpen, [project.id, numberOf(key)])).rows.length === 0)
}

/** The agent that holds this task was last seen as long ago as its claim lasts. */
async function expireLease(key: string): Promise<void> {
  const expire = `update tasks set lease_expires_at = lease_seen_at where id = (select t.id ${leaseOf})`
  await t.app.driver.query(expire, [project.id, numberOf(key)])
}

describe('a server in a separate process', () => {
  let server: ServerProcess
  let owner: Owner
  let organizationId: string
  let work: Project
  beforeAll(async () => {
    server = await ServerProcess.start()
    const account = { email: 'ada@example.com', name: 'Ada Lovelace', password: PASSWORD }
    const { body } = await call<{ token: string }>(server, 'POST', '/api/auth/register', account)
    const headers = { authorization: `Bearer ${body.token}` }
    owner = { fetch: (method, path, sent) => call(server, method, path, sent, headers) }
    organizationId = (await owner.fetch<{ id: string }>('GET', '/api/team')).body.id
    work = await newProject(owner)
  })

  const tokenOfOwner = async () => {
    const wanted = { name: unique('laptop'), organizationId }
    return (await owner.fetch<{ token: string }>('POST', '/api/mcp-tokens', wanted)).body.token
  }

  const ends = [
    ['kill -9', 'SIGKILL'],
    ['a restart', 'SIGINT'],
  ] as const
  // A server that was killed has told nobody that it ends.
  test.each(isShort ? ends.slice(0, 1) : ends)('returns every agent’s task after %s', async (_, signal) => {
    const keys = await newTasks(owner, work, transports.length)
    const agents: { token: string; window: Window; task: string }[] = []
    for (const transport of transports) {
      const token = await tokenOfOwner()
      const window = await connect(server.url, token, transport)
      agents.push({ token, window, task: await begin(window, work) })
    }
    expect(agents.map(({ task }) => task).toSorted()).toEqual(keys.toSorted())
    await server.end(signal)
    await server.start()
    for (const { token, window, task } of agents) {
      // A client of SSE cannot call without its stream, so its program connects again. The others reconnect themselves.
      const again = window.transport === 'SSE' ? await connect(server.url, token, 'SSE') : window
      await continueTask(again, task)
    }
  })
})
