import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { apiKey, call, mcpToken, systemCtx } from '../support/app.ts'
import { expectEvent, expectRefusal, inside } from './support.ts'
import {
  claim,
  clock,
  complete,
  connect,
  factsOf,
  get,
  newAgent,
  newTask,
  newTeam,
  next,
  patch,
  refused,
  release,
  remove,
  signedInForDays,
  startOnClock,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
let close: () => Promise<void>
beforeAll(async () => {
  close = await startOnClock()
  team = await newTeam()
})
afterAll(() => close())

const task = (input: object = {}) => newTask(team.owner, team.project, input)
const leaseOf = async ({ id }: Task) => (await get(team.owner, id)).body.lease

describe('claiming a task', () => {
  test('starts the work, names the holder, and lasts 15 minutes', async () => {
    const made = await task()
    const taken = await claim(team.member, made)
    const now = clock.now().toISOString()
    expect(taken.body).toMatchObject({
      status: 'in_progress',
      version: 2,
      startedAt: now,
      assignee: { type: 'user', id: team.member.userId, name: 'Edsger' },
      lease: {
        holder: { type: 'user', id: team.member.userId, name: 'Edsger' },
        sessionId: null,
        since: now,
        lastSeenAt: now,
      },
    })
    expect(Date.parse(taken.body.lease?.expiresAt as string) - clock.now().getTime()).toBe(15 * 60_000)
    expect((await expectEvent(t, taken, 'task.claimed')).data).toMatchObject({
      key: made.key,
      holder: { name: 'Edsger' },
    })
  })

  test('of someone else is refused with the holder, their last call, the end, and when to try again', async () => {
    const made = await task()
    await claim(team.member, made, { minutes: 60 })
    const seen = clock.now().toISOString()
    clock.forward({ minutes: 10 })
    const answer = await claim(team.other, made)
    const { detail } = await expectRefusal(t, answer, 409, 'conflict.lease_held')
    const until = new Date(clock.now().getTime() + 50 * 60_000).toISOString()
    expect(detail).toContain(`Edsger works on ${made.key}: last seen ${seen}, claimed until ${until}`)
    expect(detail).toContain('try again in 3000 seconds')
    expect(answer.headers.get('retry-after')).toBe('3000')
  })

  test('again, or renewing, keeps its duration and does not raise the version', async () => {
    const made = await task()
    await claim(team.member, made, { minutes: 60 })
    const { since } = (await leaseOf(made)) as { since: string }
    clock.forward({ minutes: 30 })
    for (const action of ['claim', 'renew']) {
      const again = await claim(team.member, made, { action })
      expect(again.body).toMatchObject({ version: 2, lease: { since, lastSeenAt: clock.now().toISOString() } })
      expect(Date.parse(again.body.lease?.expiresAt as string) - clock.now().getTime()).toBe(60 * 60_000)
    }
    expect(
      await expectRefusal(t, await claim(team.other, made, { action: 'renew' }), 409, 'conflict.lease_held'),
    ).toBeTruthy()
  })

  test('is possible after the lease expired, and the former holder is refused a renewal', async () => {
    const made = await task()
    await claim(team.member, made)
    clock.forward({ minutes: 15 })
    expect(await leaseOf(made)).toBeNull()
    await expectRefusal(t, await claim(team.member, made, { action: 'renew' }), 409, 'conflict')
    const taken = await claim(team.other, made)
    expect(taken.body).toMatchObject({
      status: 'in_progress',
      assignee: { id: team.other.userId },
      lease: { holder: { id: team.other.userId } },
    })
    await expectRefusal(t, await claim(team.member, made, { action: 'renew' }), 409, 'conflict.lease_held')
  })

  test('that is assigned to someone else is refused', async () => {
    const made = await task({ assignee: team.admin.userId })
    expect((await claim(team.member, made)).body).toMatchObject({
      assignee: { id: team.admin.userId },
      lease: { holder: { id: team.member.userId } },
    })
  })

  test('is refused when it is closed, and starts it from the backlog', async () => {
    const made = await task({ status: 'backlog' })
    expect((await claim(team.member, made)).body.status).toBe('in_progress')
    await complete(team.member, made)
    await expectRefusal(t, await claim(team.member, made), 409, 'conflict')
  })

  test('is for members who see the task, with their own agents and sessions', async () => {
    const made = await task()
    expect((await claim(team.viewer, made)).status).toBe(403)
    expect((await claim(team.stranger, made)).status).toBe(404)
    expect((await claim(team.member, made, { agent: 'nobody-such' })).status).toBe(404)
    expect((await claim(team.member, made, { minutes: 481 })).status).toBe(422)
    const session = (
      await team.other.fetch<{ id?: string; session?: { id: string } }>('POST', '/api/sessions', {
        projectId: team.project.id,
      })
    ).body
    const sessionId = session.id ?? session.session?.id
    expect((await claim(team.member, made, { sessionId })).status).toBe(404)
    expect((await claim(team.other, made, { sessionId })).body.lease).toMatchObject({ sessionId })
  })
})

describe('releasing a task', () => {
  test('clears the lease, the assignment and the state', async () => {
    const made = await task()
    await claim(team.member, made)
    const back = await release(team.member, made)
    expect(back.body).toMatchObject({ status: 'todo', assignee: null, lease: null, version: 3 })
    expect((await expectEvent(t, back, 'task.released')).data).toMatchObject({ holder: { name: 'Edsger' } })
    expect(
      (
        await t.app.driver.query(
          'select count(*)::int from tasks where id = $1 and num_nonnulls(lease_type, lease_holder_id, lease_session_id, lease_credential_id, lease_since, lease_seen_at, lease_expires_at) > 0',
          [made.id],
        )
      ).rows,
    ).toEqual([[0]])
    expect((await release(team.member, made)).body.version).toBe(3)
  })

  test('is refused to another agent, and allowed to a person', async () => {
    const made = await task()
    const [a, b] = [await connect(team.member, { agentId: (await newAgent(team.owner)).id }), await connect(team.other)]
    factsOf(await a.call('claim_task', { task: made.key }))
    expect(refused(await b.call('claim_task', { task: made.key, action: 'release' }))).toContain('conflict.lease_held')
    expect((await release(team.owner, made)).body).toMatchObject({ lease: null, status: 'todo' })
    await Promise.all([a.close(), b.close()])
  })

  test('after the lease expired does not touch the next lease', async () => {
    const made = await task()
    await claim(team.member, made)
    clock.forward({ minutes: 15 })
    await claim(team.other, made)
    const agent = await connect(team.member)
    expect(refused(await agent.call('claim_task', { task: made.key, action: 'release' }))).toContain('Alan works on')
    await agent.close()
    expect(await leaseOf(made)).toMatchObject({ holder: { id: team.other.userId } })
  })
})

describe('a lease', () => {
  /** The renewal goes beside the call: the next statement on the same database comes after it. */
  const settled = async (made: Task) => {
    for (let i = 0; i < 50; i++) {
      const lease = await leaseOf(made)
      if (lease?.lastSeenAt === clock.now().toISOString()) return lease
    }
    return leaseOf(made)
  }

  test('is extended by any call on the agent’s connection, for as long as the claim requested', async () => {
    const agent = await newAgent(team.owner)
    const worker = await connect(team.member, { agentId: agent.id }, 'v2 client, HTTP 2025')
    const [short, long] = [await task(), await task()]
    factsOf(await worker.call('claim_task', { task: short.key, minutes: 1 }))
    factsOf(await worker.call('claim_task', { task: long.key, minutes: 120 }))
    for (let i = 0; i < 4; i++) {
      clock.forward({ seconds: 50 })
      factsOf(await worker.call('list_projects', {}))
      await settled(short)
    }
    expect(await leaseOf(short)).toMatchObject({ lastSeenAt: clock.now().toISOString() })
    const lease = await settled(long)
    expect(Date.parse(lease?.expiresAt as string) - clock.now().getTime()).toBe(120 * 60_000)
    expect((await get(team.owner, short)).body.version).toBe(2)
    // Its user is at the web all day; the agent is gone.
    clock.forward({ seconds: 61 })
    await team.member.fetch('GET', '/api/projects')
    expect(await leaseOf(short)).toBeNull()
    await worker.close()
  })

  test('is extended without a connection only by calls that name the task', async () => {
    const worker = await connect(team.member)
    const [named, other] = [await task(), await task()]
    for (const { key } of [named, other]) factsOf(await worker.call('claim_task', { task: key, minutes: 5 }))
    for (let i = 0; i < 3; i++) {
      clock.forward({ minutes: 3 })
      factsOf(await worker.call('get_task', { task: named.key.toLowerCase() }))
      factsOf(await worker.call('list_projects', {}))
      await settled(named)
    }
    expect([await leaseOf(named), await leaseOf(other)]).toEqual([expect.anything(), null])
    await worker.close()
  })

  test('is not extended by someone who was removed from the team, though their key works elsewhere', async () => {
    const own = await newTeam()
    const made = await newTask(own.owner, own.project)
    const headers = { authorization: `Bearer ${await apiKey(t, own.member)}` }
    const claimed = await call(
      t,
      'POST',
      `/api/tasks/${made.id}/claim`,
      { minutes: 5 },
      { ...headers, 'x-organization-id': own.id },
    )
    expect(claimed.status).toBe(200)
    expect((await own.owner.fetch('DELETE', `/api/teams/${own.id}/members/${own.member.userId}`)).status).toBe(200)
    const lease = async () => (await get(own.owner, made)).body.lease
    for (let i = 0; i < 2; i++) {
      clock.forward({ minutes: 2 })
      expect((await call(t, 'GET', '/api/projects', undefined, headers)).status).toBe(200)
      for (let look = 0; look < 5; look++) expect(await lease()).not.toBeNull()
    }
    clock.forward({ minutes: 1 })
    expect(await lease()).toBeNull()
  })

  test('of a person is extended by their own calls, and that of their agent is not', async () => {
    const [mine, agents] = [await task(), await task()]
    await claim(team.other, mine)
    const worker = await connect(team.other)
    factsOf(await worker.call('claim_task', { task: agents.key }))
    await worker.close()
    clock.forward({ minutes: 10 })
    await team.other.fetch('GET', '/api/projects')
    expect(await settled(mine)).toMatchObject({ lastSeenAt: clock.now().toISOString() })
    clock.forward({ minutes: 6 })
    expect(await leaseOf(mine)).not.toBeNull()
    expect(await leaseOf(agents)).toBeNull()
  })
})

describe('the holder of a task', () => {
  test('is not disturbed by other agents, and continues without naming the agent again', async () => {
    const made = await task()
    const [one, two] = [await newAgent(team.owner), await newAgent(team.owner)]
    const worker = await connect(team.member)
    const other = await connect(team.other)
    factsOf(await worker.call('claim_task', { task: made.key, agent: one.slug }))
    expect(refused(await worker.call('claim_task', { task: made.key, agent: two.slug }))).toContain(
      `${one.name} for Edsger works on`,
    )
    for (const [tool, more] of [
      ['update_task', { title: 'Mine' }],
      ['complete_task', {}],
      ['delete_task', {}],
    ] as const)
      expect(refused(await other.call(tool, { task: made.key, ...more }))).toContain('conflict.lease_held')
    factsOf(await worker.call('update_task', { task: made.key, description: 'Half way' }))
    factsOf(await worker.call('complete_task', { task: made.key }))
    expect((await get(team.owner, made)).body).toMatchObject({ status: 'done', lease: null })
    await Promise.all([worker.close(), other.close()])
  })

  test('changes with the assignee, and the lease ends when the task is to do again', async () => {
    const made = await task()
    await claim(team.member, made, { minutes: 60 })
    const { expiresAt } = (await leaseOf(made)) as { expiresAt: string }
    const moved = await patch(team.owner, made, { assignee: team.other.email })
    expect(moved.body).toMatchObject({ assignee: { name: 'Alan' }, lease: { holder: { name: 'Alan' }, expiresAt } })
    await expectRefusal(t, await claim(team.member, made), 409, 'conflict.lease_held')
    expect((await patch(team.owner, made, { status: 'todo' })).body).toMatchObject({
      lease: null,
      assignee: { name: 'Alan' },
    })
    await claim(team.other, made)
    expect((await patch(team.owner, made, { assignee: null })).body).toMatchObject({ lease: null, assignee: null })
  })

  test('leaves the work free and nothing assigned if it is an agent that is deleted', async () => {
    const agent = await newAgent(team.owner)
    const worker = await connect(team.member, { agentId: agent.id })
    const [begun, planned] = [await task(), await task({ assignee: agent.id })]
    factsOf(await worker.call('claim_task', { task: begun.key, minutes: 480 }))
    expect((await team.owner.fetch('DELETE', `/api/agents/${agent.id}`)).status).toBe(200)
    expect((await get(team.owner, begun)).body).toMatchObject({ status: 'in_progress', lease: null, assignee: null })
    expect((await get(team.owner, planned)).body.assignee).toBeNull()
    expect((await claim(team.other, begun)).body.lease?.holder.name).toBe('Alan')
    await worker.close()
  })

  test('loses the claim by deleting the account; their comments stay without a name', async () => {
    const leaver = await signedInForDays('Leaver')
    await addMember(systemCtx(t), { id: team.id, userId: leaver.userId, role: 'member' })
    const made = await task()
    const inTeam = inside(leaver, team.id)
    await claim(inTeam, made, { minutes: 480 })
    await inTeam.fetch('POST', `/api/tasks/${made.id}/comments`, { body: 'I begin.' })
    expect((await leaver.fetch('DELETE', '/api/auth/account', { confirm: leaver.email })).status).toBe(200)
    const left = (await get(team.owner, made)).body
    expect(left).toMatchObject({ status: 'in_progress', lease: null, assignee: null })
    expect(left.comments[0]).toMatchObject({ body: 'I begin.', author: { id: null, name: 'Former user' } })
    expect(JSON.stringify(left)).not.toContain('Leaver')
    // Abandoned work comes first.
    expect((await next(team.other, { projectId: team.project.id })).status).toBe(200)
  })

  test('loses the lease in time if its token was revoked', async () => {
    const made = await task()
    const secret = await mcpToken(t, team.member)
    expect(secret).toStartWith('svc_live_')
    const worker = await connect(team.member)
    factsOf(await worker.call('claim_task', { task: made.key }))
    const tokens = (await team.member.fetch<{ items: { id: string }[] }>('GET', '/api/mcp-tokens')).body.items
    for (const { id } of tokens) await team.member.fetch('DELETE', `/api/mcp-tokens/${id}`)
    clock.forward({ minutes: 15 })
    await worker.call('list_projects', {}).catch(() => undefined)
    expect(await leaseOf(made)).toBeNull()
    expect((await remove(team.member, made)).status).toBe(200)
  })
})
