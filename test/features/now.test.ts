import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { events } from '../../src/events/table.ts'
import type { Now } from '../../src/features/now/schema.ts'
import type { Timeline } from '../../src/features/sessions/timeline-schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { callMinutes, tasks } from '../../src/features/tasks/table.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import type { McpClient } from '../mcp/support.ts'
import { type Person, systemCtx } from '../support/app.ts'
import { expectRefusal } from './support.ts'
import {
  claim,
  clock,
  comment,
  complete,
  connect,
  factsOf,
  get,
  newProject,
  newTask,
  newTeam,
  patch,
  startOnClock,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
let close: () => Promise<void>
const clients: McpClient[] = []
beforeAll(async () => {
  close = await startOnClock()
  team = await newTeam()
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await close()
})

const now = async (who: Person = team.owner, hours = '2'): Promise<Now> =>
  (await who.fetch<Now>('GET', `/api/now?hours=${hours}`)).body
const laneOf = async (key: string, who?: Person) => (await now(who)).lanes.find(({ task }) => task?.key === key)
async function agent(who: Person): Promise<McpClient> {
  const client = await connect(who)
  clients.push(client)
  return client
}
const timeline = async (who: Person, id: string): Promise<Timeline> =>
  (await who.fetch<Timeline>('GET', `/api/sessions/${id}/timeline`)).body
/** Calls are stored in parallel to what they ask for. */
async function storedCalls(credentialId: string): Promise<number[]> {
  const rows = await t.app.db.select().from(callMinutes).where(eq(callMinutes.credentialId, credentialId))
  return rows.map(({ calls }) => calls)
}

test('a lane shows what an agent holds and why, its last call and change, and who waits for it', async () => {
  const held = await newTask(team.owner, team.project, { title: 'Block store', priority: 'critical' })
  const waits = await newTask(team.owner, team.project, { title: 'Reader', blockedBy: [held.key] })
  const client = await agent(team.owner)
  const given = factsOf<{ task: { key: string }; why: string }>(
    await client.call('next_task', { project: team.project.slug }),
  )
  expect(given.task.key).toBe(held.key)
  const lane = await laneOf(held.key)
  expect(lane).toMatchObject({
    party: { type: 'agent' },
    for: { id: team.owner.userId },
    task: { key: held.key, status: 'in_progress' },
    lease: { why: given.why },
    stalled: false,
    lastChangeAt: clock.now().toISOString(),
    waiting: [{ key: waits.key, title: 'Reader' }],
    can: { update: true, release: true, comment: true },
  })
  expect(lane?.marks.at(-1)?.line).toBe('task')
  // Its person stands before it, and nobody who is not in the team is told.
  const { lanes } = await now()
  expect(lanes[lanes.findIndex(({ task }) => task?.key === held.key) - 1]?.party.id).toBe(team.owner.userId)
  expect((await team.stranger.fetch<Now>('GET', '/api/now')).body.lanes).toEqual([])
  expect((await laneOf(held.key, team.viewer))?.can?.update).toMatchObject({ code: 'forbidden' })
})

test('the reason of a claim does not name tasks of a project that the reader cannot see', async () => {
  const secret = await newProject(team.owner, { name: 'Secret plan' })
  await team.owner.fetch('POST', `/api/projects/${secret.id}/share`, { visibility: 'private' })
  const open = await newProject(team.owner, { name: 'Open plan' })
  const held = await newTask(team.owner, open, { title: 'Foundation' })
  const near = await newTask(team.owner, open, { title: 'Walls', blockedBy: [held.key] })
  const far = await newTask(team.owner, secret, { title: 'Vault', blockedBy: [held.key] })
  const client = await agent(team.owner)
  const given = factsOf<{ why: string }>(await client.call('next_task', { project: open.slug }))
  expect(given.why).toContain(far.key)
  const lane = await laneOf(held.key, team.member)
  expect(lane?.waiting.map(({ key }) => key)).toEqual([near.key])
  expect(lane?.lease?.why).toContain(near.key)
  expect(lane?.lease?.why).not.toContain(far.key)
  const { body } = await get(team.member, held)
  expect(JSON.stringify(body)).not.toContain(far.key)
})

test('an agent that changes nothing for half an hour is stalled and listed first; it can be taken over', async () => {
  const made = await newTask(team.owner, team.project, { title: 'Resume a download' })
  const client = await agent(team.member)
  factsOf(await client.call('claim_task', { task: made.key, minutes: 60 }))
  for (let minute = 0; minute < 31; minute += 1) {
    clock.forward({ minutes: 1 })
    factsOf(await client.call('get_task', { task: made.key }))
  }
  const seen = async (): Promise<boolean> => (await laneOf(made.key))?.stalled === true
  while (!(await seen())) await Bun.sleep(10)
  const held = async () => {
    const { body } = await team.owner.fetch<{ items: Task[] }>('GET', '/api/tasks?leased=true')
    return body.items.find(({ key }) => key === made.key)?.lease
  }
  // What others do with the task is no change of the agent.
  await patch(team.owner, made.id, { priority: 'high' })
  const lastChangeAt = (await laneOf(made.key))?.lease?.since
  expect(await held()).toMatchObject({ stalled: true, lastChangeAt })
  expect(await laneOf(made.key)).toMatchObject({ stalled: true, lastChangeAt })
  const { lanes } = await now()
  expect(lanes[0]?.party.id).toBe(team.member.userId)
  expect(lanes[1]).toMatchObject({ stalled: true, task: { key: made.key } })
  expect(lanes[1]?.calls.length).toBeGreaterThan(20)
  await patch(team.owner, made.id, { assignee: 'me' })
  expect(await laneOf(made.key)).toMatchObject({ party: { type: 'user', id: team.owner.userId }, stalled: false })
  expect(await held()).toMatchObject({ stalled: false })
})

test('the reason of a lease names the person who assigned the task', async () => {
  const made = await newTask(team.owner, team.project, { assignee: team.member.email })
  await claim(team.member, made)
  expect((await get(team.owner, made.id)).body.lease?.why).toBe('assigned by Ada')
  await patch(team.admin, made.id, { assignee: team.other.email })
  expect((await get(team.owner, made.id)).body.lease).toMatchObject({
    holder: { name: 'Alan' },
    why: 'assigned by Grace',
  })
})

test('lanes leave out private projects that the reader cannot see', async () => {
  const hidden = await newProject(team.owner, { visibility: 'private' })
  const secret = await newTask(team.owner, hidden, { title: 'Secret' })
  await claim(team.owner, secret)
  expect(await laneOf(secret.key)).toBeDefined()
  expect(JSON.stringify(await now(team.member))).not.toContain(secret.key)
  await expectRefusal(t, await team.owner.fetch('GET', '/api/now?hours=3'), 422, 'invalid')
})

test('evidence of a task is stored in the same form as evidence of a feature', async () => {
  const made = await newTask(team.owner, team.project)
  const evidence = ['3f98b0f', 'https://git.example.com/tutti/pull/7', 'https://ci.example.com/42', '214 pass']
  await complete(team.owner, made.id, { notes: 'Done', evidence })
  await complete(team.owner, made.id, { notes: 'Done', evidence })
  expect((await get(team.owner, made.id)).body.evidence).toMatchObject([
    {
      level: 'reported',
      actor: { type: 'user', name: 'Ada' },
      evidence: {
        summary: '214 pass',
        commits: ['3f98b0f'],
        pullRequests: ['https://git.example.com/tutti/pull/7'],
        links: ['https://ci.example.com/42'],
      },
    },
  ])
})

test('evidence is added once, while the task is open, and verified by a person', async () => {
  const made = await newTask(team.owner, team.project)
  const client = await agent(team.owner)
  factsOf(await client.call('claim_task', { task: made.key }))
  factsOf(await client.call('update_task', { task: made.key, evidence: ['bun test: 214 pass'] }))
  const added = await patch(team.member, made.id, { evidence: ['3f98b0f', 'bun test: 214 pass'] })
  expect(added.body.version).toBe((await get(team.owner, made.id)).body.version)
  await patch(team.member, made.id, { evidence: ['3f98b0f'] })
  const shown = async () => (await get(team.owner, made.id)).body.evidence
  expect(await shown()).toMatchObject([
    { level: 'reported', actor: { type: 'agent' }, evidence: { summary: 'bun test: 214 pass' } },
    { level: 'reported', actor: { type: 'user' }, evidence: { commits: ['3f98b0f'] } },
  ])
  const { evidence } = factsOf<{ evidence: string[] }>(await client.call('get_task', { task: made.key }))
  expect(evidence).toEqual([
    expect.stringMatching(/^«bun test: 214 pass» \(reported, /),
    expect.stringContaining('3f98b0f'),
  ])
  // Who completes it with the same evidence adds nothing.
  factsOf(await client.call('complete_task', { task: made.key, evidence: ['bun test: 214 pass'] }))
  expect(await shown()).toHaveLength(2)

  const [first] = await shown()
  const verify = (who: Person, id = first?.id) => who.fetch('POST', `/api/tasks/${made.key}/evidence/${id}/verify`)
  await expectRefusal(t, await verify(team.viewer), 403, 'forbidden')
  await expectRefusal(t, await verify(team.member, made.id), 404, 'not_found')
  expect((await verify(team.member)).body).toMatchObject({ id: first?.id, level: 'verified' })
  expect((await verify(team.member)).status).toBe(200)
  expect((await shown()).map(({ level }) => level)).toEqual(['verified', 'reported'])
  const { rows } = await t.app.db.execute<{ type: string }>(
    sql`select type from events where subject_id = ${made.id} and (type like 'task.%ver%' or type = 'task.evidence_added')`,
  )
  expect(rows.map(({ type }) => type).sort()).toEqual(['task.evidence_added', 'task.evidence_added', 'task.verified'])
})

test('a replay contains the events of one’s own session, and only the head of others’ sessions', async () => {
  const made = await newTask(team.owner, team.project, { title: 'Offline' })
  const client = await agent(team.owner)
  const begun = factsOf<{ id: string }>(
    await client.call('create_session', { goals: ['Secret goal'], project: team.project.slug }),
  )
  const { id } = await timeline(team.owner, begun.id)
  factsOf(await client.call('claim_task', { task: made.key }))
  clock.forward({ minutes: 3 })
  factsOf(await client.call('update_task', { task: made.key, priority: 'high' }))
  await comment(team.member, made.id, 'Keep the checksum')
  factsOf(await client.call('resume_session', { checkpoint: { nextStep: 'Covers and fonts' } }))
  clock.forward({ minutes: 2 })
  factsOf(await client.call('complete_task', { tasks: [made.key] }))
  factsOf(await client.call('end_session', { session: id, summary: 'Done' }))
  const replay = await timeline(team.owner, id)
  const rows = await t.app.db.select().from(events).where(eq(events.sessionId, id)).orderBy(events.seq)
  const own = replay.events.filter((event) => event.own)
  const told_ = rows.filter(({ type, action }) => type !== action && type !== 'session.briefed')
  expect(own.filter(({ type }) => type !== 'session.ended').map((event) => event.id)).toEqual(
    told_.map((row) => row.id),
  )
  expect(own.at(-1)?.type).toMatch(/session\.ended|memory\.stored/)
  expect(own.map(({ type }) => type)).toEqual(expect.arrayContaining(['session.checkpointed', 'task.claimed']))
  expect(replay.events.filter((event) => !event.own).map(({ type, kind }) => [type, kind])).toEqual([
    ['task.commented', 'task'],
  ])
  const changesOf = (type: string) => own.find((event) => event.type === type)?.changes
  expect(changesOf('task.updated')).toEqual([{ field: 'priority', before: 'medium', after: 'high' }])
  expect(changesOf('task.completed')).toContainEqual({ field: 'status', before: 'in_progress', after: 'done' })
  expect(replay).toMatchObject({
    own: true,
    status: 'ended',
    holds: [{ key: made.key, until: clock.now().toISOString() }],
    spans: [{ until: clock.now().toISOString() }],
  })
  expect(replay.briefs[0]).toMatchObject({ budget: 1000 })
  expect(replay.briefs[0]?.parts.length).toBeGreaterThan(0)
  const head = await timeline(team.member, id)
  expect(head).toMatchObject({ own: false, briefs: [], status: 'ended' })
  expect(JSON.stringify(head)).not.toContain('Secret goal')
  await expectRefusal(t, await team.stranger.fetch('GET', `/api/sessions/${id}/timeline`), 404, 'not_found')
})

test('calls are stored for 30 days', async () => {
  const made = await newTask(team.owner, team.project)
  const client = await agent(team.owner)
  factsOf(await client.call('claim_task', { task: made.key }))
  const [row] = await t.app.db.select().from(tasks).where(eq(tasks.id, made.id))
  const credential = row?.leaseCredentialId as string
  clock.forward({ seconds: 30 })
  factsOf(await client.call('get_task', { task: made.key }))
  while ((await storedCalls(credential)).reduce((a, b) => a + b, 0) < 2) await Bun.sleep(10)
  await purgeExpired(systemCtx(t), {})
  expect(await storedCalls(credential)).not.toEqual([])
  await t.app.db
    .update(callMinutes)
    .set({ minute: sql`${callMinutes.minute} - interval '31 days'` })
    .where(eq(callMinutes.credentialId, credential))
  await purgeExpired(systemCtx(t), {})
  expect(await storedCalls(credential)).toEqual([])
})
