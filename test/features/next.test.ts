import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { expectEvent, times } from './support.ts'
import {
  claim,
  clock,
  complete,
  connect,
  factsOf,
  get,
  keys,
  newAgent,
  newProject,
  newTask,
  newTeam,
  next,
  patch,
  refused,
  startOnClock,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
let close: () => Promise<void>
beforeAll(async () => {
  close = await startOnClock()
})
afterAll(() => close())
beforeEach(async () => {
  team = await newTeam()
})

const task = (input: object = {}) => newTask(team.owner, team.project, input)
/** All there are, in the order in which they are handed out. */
async function handedOut(who = team.member): Promise<string[]> {
  const order: string[] = []
  for (;;) {
    const { body } = await next(who)
    if (!body.task) return order
    order.push(body.task.key)
    await complete(who, body.task)
  }
}

describe('the next task', () => {
  test('is one’s own, then abandoned work, then by priority, due date, waiting tasks and position', async () => {
    const low = await task({ priority: 'low' })
    const last = await task()
    const first = await task()
    const soon = await task({ dueAt: '2026-12-01T00:00:00.000Z' })
    const key = await task()
    const waits = await task({ blockedBy: [key.key], priority: 'critical' })
    const urgent = await task({ priority: 'critical' })
    const mine = await task({ priority: 'low', assignee: team.member.userId })
    const left = await task({ priority: 'low' })
    await patch(team.owner, first, { after: null })
    await claim(team.other, left)
    clock.forward({ minutes: 15 })
    // What waits comes as soon as it can: it is critical.
    expect(await handedOut()).toEqual(keys([mine, left, urgent, soon, key, waits, first, last, low]))
  })

  test('tells an agent that it already holds the task, and how to continue', async () => {
    const agent = await connect(team.member, { organizationId: team.id })
    const project = team.project.slug
    const { key } = factsOf<Task>(await agent.call('create_task', { project, title: 'Mine', assignee: 'me' }))
    factsOf(await agent.call('update_task', { task: key, status: 'in_progress' }))
    const none = factsOf<{ why: string; waiting: string[] }>(await agent.call('next_task', { project }))
    expect(none.waiting).toEqual([`${key} «Mine» is yours and in progress: claim_task continues it`])
    expect(factsOf<Task>(await agent.call('claim_task', { task: key }))).toMatchObject({ key, status: 'in_progress' })
    await agent.close()
  })

  test('is claimed in the same step, with its reason', async () => {
    const made = await task({ priority: 'high', dueAt: '2026-12-01T00:00:00.000Z' })
    const [one, two] = [await task({ blockedBy: [made.key] }), await task({ blockedBy: [made.key] })]
    await task({ priority: 'low' })
    const looked = await next(team.member, { claim: false })
    expect(looked.body).toMatchObject({ task: { key: made.key, status: 'todo', lease: null, version: 1 } })
    const answer = await next(team.member, { projectId: team.project.id, minutes: 60 })
    expect(answer.body).toMatchObject({
      task: { key: made.key, status: 'in_progress', lease: { holder: { name: 'Edsger' } } },
      waiting: [],
    })
    expect(answer.body.why).toBe(
      `high priority, first of 2 ready tasks; due 2026-12-01; ${one.key}, ${two.key} wait for it`,
    )
    expect(Date.parse(answer.body.task?.lease?.expiresAt as string) - clock.now().getTime()).toBe(60 * 60_000)
    expect((await expectEvent(t, answer, 'task.claimed')).subjectId).toBe(made.id)
  })

  test('is never in the backlog, claimed, blocked or a parent with open parts, and the answer says so', async () => {
    const backlog = await task({ status: 'backlog' })
    const theirs = await task({ assignee: team.other.userId })
    const held = await task()
    await claim(team.other, held)
    const waits = await task({ blockedBy: [held.key] })
    const partOfWaiting = await task({ parentId: waits.id })
    const stuck = await task()
    await patch(team.owner, stuck, { status: 'blocked' })
    const seen = await task()
    await patch(team.owner, seen, { status: 'in_review' })
    const { body } = await next(team.member)
    expect(body.task).toBeNull()
    const reasons = Object.fromEntries(body.waiting.map(({ key, reason }) => [key, reason]))
    expect(reasons).toEqual({
      [theirs.key]: 'is for Alan',
      [held.key]: expect.stringMatching(/^Alan works on it until 2026-/),
      [waits.key]: `waits for ${held.key}`,
      [partOfWaiting.key]: 'waits for its parts or its parent',
      [stuck.key]: 'is marked as blocked',
      [seen.key]: 'waits for a review',
      [backlog.key]: 'is in the backlog: move it to todo first',
    })
    expect(body.why).toStartWith('No task in your team can be started now: ')
  })

  test('is chosen without counting all of very many', async () => {
    await Promise.all(times(101, () => task()))
    expect((await next(team.member)).body.why).toBe('medium priority, first of at least 100 ready tasks')
  })

  test('is a part before its parent', async () => {
    const whole = await task({ priority: 'critical' })
    const part = await task({ priority: 'low', parentId: whole.id })
    expect(await handedOut()).toEqual([part.key, whole.key])
  })

  test('is the task that one already holds, and no second one', async () => {
    const [one, two] = [await task({ priority: 'low' }), await task({ priority: 'critical' })]
    await claim(team.member, one)
    clock.forward({ minutes: 10 })
    const looked = await next(team.member, { claim: false })
    expect(looked.body).toMatchObject({ task: { key: one.key, version: 2 }, waiting: [] })
    expect(looked.body.why).toStartWith(
      `You already work on it, until ${looked.body.task?.lease?.expiresAt}. To get another, complete it`,
    )
    const again = await next(team.member, { minutes: 60 })
    expect(again.body.task).toMatchObject({ key: one.key, version: 2 })
    expect(Date.parse(again.body.task?.lease?.expiresAt as string) - clock.now().getTime()).toBe(60 * 60_000)
    expect((await expectEvent(t, again, 'task.renewed')).subjectId).toBe(one.id)
    expect((await get(team.owner, two)).body.lease).toBeNull()
    // A task in review is no longer their work; of the others, the started ones come first.
    await patch(team.member, one, { status: 'in_review' })
    expect((await next(team.member)).body.task?.key).toBe(two.key)
    clock.forward({ minutes: 15 })
    const resumed = await next(team.member)
    expect(resumed.body).toMatchObject({ task: { key: two.key }, why: 'critical priority, the only ready task' })
  })

  test('is another one for another token of the same person, and in another project', async () => {
    const [one, two] = [await task(), await task()]
    const way = 'v2 client, HTTP 2025'
    const [here, there] = await Promise.all([connect(team.member, {}, way), connect(team.member, {}, way)])
    const keyOf = async (client: typeof here, how: object = {}) =>
      factsOf<{ task?: Task }>(await client.call('next_task', how as Record<string, unknown>)).task?.key
    expect(await keyOf(here)).toBe(one.key)
    expect(await keyOf(there)).toBe(two.key)
    expect([await keyOf(here), await keyOf(there)]).toEqual(keys([one, two]))
    const elsewhere = await newProject(team.owner)
    const third = await newTask(team.owner, elsewhere)
    expect(await keyOf(here, { project: elsewhere.slug })).toBe(third.key)
    await Promise.all([here.close(), there.close()])
  })

  test('does not exist in an empty project, and the answer suggests what to do', async () => {
    expect((await next(team.member)).body).toEqual({
      task: null,
      why: 'There is no open task in your team. Create one with create_task or create_plan.',
      waiting: [],
    })
  })

  test('is the first task that `ready` lists', async () => {
    const [ready, held] = [await task(), await task()]
    await task({ status: 'backlog' })
    await task({ blockedBy: [ready.key] })
    await claim(team.other, held)
    const list = async () =>
      keys((await team.viewer.fetch<TaskPage>('GET', '/api/tasks?ready=true&sort=number&order=asc')).body.items)
    expect(await list()).toEqual([ready.key])
    clock.forward({ minutes: 15 })
    expect(await list()).toEqual([ready.key, held.key])
  })

  test('is refused in an archived, private or foreign project', async () => {
    const made = await task()
    const secret = await newProject(team.owner, { visibility: 'private' })
    await newTask(team.owner, secret)
    expect((await next(team.member, { projectId: secret.id })).status).toBe(404)
    expect((await next(team.stranger, { projectId: team.project.id })).status).toBe(404)
    expect((await next(team.viewer)).status).toBe(403)
    await team.owner.fetch('POST', `/api/projects/${team.project.id}/archive`)
    expect((await next(team.member, { projectId: team.project.id })).status).toBe(409)
    expect((await next(team.member)).body.task).toBeNull()
    expect((await get(team.member, made)).body.lease).toBeNull()
  })

  test('waits for a concurrent change of the only task', async () => {
    for (let round = 0; round < 5; round++) {
      const made = await task()
      const [changed, answer] = await Promise.all([
        patch(team.owner, made, { title: `Round ${round}` }),
        next(team.member),
      ])
      expect([200, 412]).toContain(changed.status)
      expect(answer.body.task?.key).toBe(made.key)
      await complete(team.member, made)
    }
  })
})

describe('the next task over MCP', () => {
  test('is of the token’s project and agent by default', async () => {
    const [here, there] = [await newProject(team.owner), await newProject(team.owner)]
    const [mine] = [await newTask(team.owner, here), await newTask(team.owner, there, { priority: 'critical' })]
    const agent = await newAgent(team.owner)
    const client = await connect(team.member, { agentId: agent.id, projectId: here.id })
    const answer = factsOf<{ task: Task; why: string }>(await client.call('next_task'))
    expect(answer).toMatchObject({ task: { key: mine.key, yoursUntil: expect.any(String) } })
    expect(factsOf<{ items: Task[] }>(await client.call('list_tasks')).items.map(({ key }) => key)).toEqual([mine.key])
    const made = factsOf<Task>(await client.call('create_task', { title: 'Found on the way' }))
    expect((await get(team.owner, made.key)).body.projectId).toBe(here.id)
    // It is a default, not a fence.
    expect(factsOf<{ task: Task }>(await client.call('next_task', { project: there.slug })).task.priority).toBe(
      'critical',
    )
    const done = factsOf<{ next: { key: string } }>(
      await client.call('complete_task', { task: mine.key, notes: 'Done.', evidence: ['bun test: 3 pass'] }),
    )
    expect(done.next.key).toBe(made.key)
    expect((await get(team.owner, mine)).body.completionNotes).toBe('Done.\n\nEvidence:\n- bun test: 3 pass')
    await client.close()
  })

  test('needs a project to be created in, and an agent of the same team', async () => {
    const client = await connect(team.member)
    expect(refused(await client.call('create_task', { title: 'Where?' }))).toContain(`by its key: ${team.project.key}`)
    const other = await newTeam()
    const theirs = await newAgent(other.owner)
    await task()
    expect(refused(await client.call('next_task', { agent: theirs.slug }))).toMatch(/not_found|invalid/)
    expect(
      refused(await client.call('create_task', { title: 'A story', project: team.project.slug, story: 'not-an-id' })),
    ).toMatch(/not_found|invalid/)
    await client.close()
  })
})
