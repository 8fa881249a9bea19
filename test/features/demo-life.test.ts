import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { demoLife, playMinute } from '../../seeds/demo/life/index.ts'
import { questions, routines } from '../../seeds/demo/life/routines.ts'
import { openDemo } from '../../seeds/index.ts'
import { LiveClient } from '../live/support.ts'
import { call, person, systemCtx, type TestApp } from '../support/app.ts'
import { ownApp, TestClock } from './support.ts'

const clock = new TestClock()
let t: TestApp
let token: string
/** The team of the demo. */
let team: string

/** Signs the visitor in. An access token is valid for a quarter of an hour. */
async function signIn(): Promise<void> {
  const link = await openDemo(systemCtx(t), {})
  const secret = { token: link.split('#')[1] }
  token = (await call<{ token: string }>(t, 'POST', '/api/auth/magic-link/verify', secret)).body.token
}
const ask = <T>(method: string, path: string, body?: unknown) =>
  call<T>(t, method, `/api${path}`, body, { authorization: `Bearer ${token}` })
async function get<T>(path: string): Promise<T> {
  const { status, body } = await ask<T>('GET', path)
  expect([path, status]).toEqual([path, 200])
  return body
}

const runJob = () => demoLife.run(t.app, {}, new AbortController().signal)
/** Lets minutes pass in which the visitor makes calls and the job runs. */
async function watchFor(minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    clock.forward({ minutes: 1 })
    if (i % 10 === 0) await signIn()
    await get('/auth/me')
    await runJob()
  }
}

interface Lane {
  party: { type: string; name: string }
  task: { key: string; title: string } | null
  stalled: boolean
  lease: { lastSeenAt: string } | null
}
/** Returns the agents that hold a task, each with whether it is stalled. */
async function agentsAtWork(): Promise<Record<string, boolean>> {
  const { lanes } = await get<{ lanes: Lane[] }>('/now')
  const held = lanes.filter(({ party, lease }) => party.type === 'agent' && lease)
  for (const { lease } of held) expect(clock.now().getTime() - Date.parse(lease?.lastSeenAt ?? '')).toBeLessThan(60_000)
  return Object.fromEntries(held.map(({ party, stalled }) => [party.name, stalled]))
}
const alive = { 'Claude Code (laptop)': false, 'Codex (build-1)': true, Reviewer: false }

const countRows = async (query: string, ...params: unknown[]) =>
  Number((await t.app.driver.query(query, params)).rows[0]?.[0])
const agentEvents = () => countRows(`select count(*) from events where actor_kind = 'agent'`)
const eventsElsewhere = () =>
  countRows('select count(*) from events where organization_id is not null and organization_id <> $1', team)

interface Notice {
  reason: string
  message: string
  subject: { id: string }
}
const openQuestions = async () =>
  (await get<{ items: Notice[] }>('/notifications?view=needs&limit=100')).items.filter((n) => n.reason === 'question')

beforeAll(async () => {
  t = await ownApp(clock.now)
  await signIn()
  team = (await get<{ items: { organizationId: string }[] }>('/tasks?limit=1')).items[0]?.organizationId as string
}, 300_000)
afterAll(() => t.close())

describe('the agents of the demo', () => {
  test('work while somebody looks: they claim, comment, save checkpoints, complete and continue', async () => {
    const before = await eventsElsewhere()
    const since = clock.now().toISOString()
    await watchFor(24)
    expect(await agentsAtWork()).toEqual(alive)
    const { rows } = await t.app.driver.query(
      `select distinct type from events where actor_kind = 'agent' and at > $1 order by 1`,
      [since],
    )
    expect(rows.flat()).toEqual(
      expect.arrayContaining(['task.claimed', 'task.commented', 'session.checkpointed', 'task.completed']),
    )
    expect(await eventsElsewhere()).toBe(before)
  }, 120_000)

  test('stop ten minutes after the last call, and continue when somebody returns', async () => {
    const last = await agentEvents()
    clock.forward({ minutes: 11 })
    await runJob()
    expect(await agentEvents()).toBe(last)

    clock.forward({ days: 1 })
    await signIn()
    expect(await agentsAtWork()).toEqual({})
    await watchFor(1)
    expect(await agentsAtWork()).toEqual(alive)
  }, 60_000)

  test('work as long as a dashboard is open', async () => {
    await signIn()
    const dashboard = await LiveClient.open(t, token)
    clock.forward({ minutes: 30 })
    const before = await agentEvents()
    await runJob()
    expect(await agentEvents()).toBeGreaterThan(before)
    dashboard.socket.close()
    await dashboard.end()
  }, 60_000)

  test('are at work at once after a restart, one of them stalled', async () => {
    clock.forward({ days: 2 })
    await playMinute(t.app)
    await signIn()
    expect(await agentsAtWork()).toEqual(alive)
    expect((await openQuestions()).length).toBeGreaterThan(0)
  }, 60_000)

  test('ask again when all questions are answered', async () => {
    await signIn()
    for (const { subject } of await openQuestions())
      await ask('POST', `/tasks/${subject.id}/comments`, { body: 'Yes, please.' })
    expect(await openQuestions()).toEqual([])
    await watchFor(1)
    const [question, ...others] = await openQuestions()
    expect(questions).toContain(question?.message as string)
    expect(others).toEqual([])
  }, 60_000)

  test('add no task, comment, session or notification by repeating their work', async () => {
    const sizes = async () => ({
      tasks: await countRows('select count(*) from tasks'),
      comments: await countRows('select count(*) from task_comments'),
      sessions: await countRows('select count(*) from sessions'),
      notifications: await countRows('select count(*) from notifications'),
    })
    await watchFor(24)
    const before = await sizes()
    const completed = () => countRows(`select count(*) from events where type = 'task.completed'`)
    const done = await completed()
    await watchFor(48)
    expect(await completed()).toBeGreaterThan(done + 6)
    const after = await sizes()
    expect(after).toEqual({ ...before, comments: after.comments })
    // Each agent has commented on each of its tasks, or has not yet in this round.
    expect(Math.abs(after.comments - before.comments)).toBeLessThanOrEqual(2)
  }, 240_000)

  test('leave a task to the visitor who takes it, and continue with others', async () => {
    await watchFor(1)
    const { lanes } = await get<{ lanes: Lane[] }>('/now')
    const titles = routines.claude.map(({ title }) => title)
    const taken = lanes.find(({ task }) => task && titles.includes(task.title))?.task as { key: string }
    expect((await ask('PATCH', `/tasks/${taken.key}`, { assignee: 'me' })).status).toBe(200)
    expect((await ask('PATCH', '/tasks/LAN-45', { assignee: 'me' })).status).toBe(200)
    await watchFor(2)
    expect(await agentsAtWork()).toEqual(alive)
    const now = await get<{ lease: { holder: { type: string } } | null }>(`/tasks/${taken.key}`)
    expect(now.lease?.holder.type ?? 'user').toBe('user')
  }, 60_000)
})

test('an installation without a demo has no agents that work by themselves', async () => {
  const other = await ownApp(clock.now)
  await person(other, { admin: true })
  const count = () => other.app.driver.query('select count(*) from events')
  const before = (await count()).rows
  await playMinute(other.app)
  expect((await count()).rows).toEqual(before)
  await other.close()
}, 60_000)
