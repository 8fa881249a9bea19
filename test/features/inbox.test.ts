import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Notification, NotificationCount, NotificationPage } from '../../src/features/notifications/schema.ts'
import { notifyOfStalled } from '../../src/features/tasks/leases/stalled.ts'
import type { Comment } from '../../src/features/tasks/schema.ts'
import { type Person, person, systemCtx } from '../support/app.ts'
import { expectEvent, expectRefusal, inside } from './support.ts'
import {
  clock,
  comment,
  complete,
  connect,
  factsOf,
  newTask,
  newTeam,
  patch,
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

const listOf = async (who: Person, view: string) =>
  (await who.fetch<NotificationPage>('GET', `/api/notifications?view=${view}&total=true`)).body
const countOf = async (who: Person) => (await who.fetch<NotificationCount>('GET', '/api/notifications/count')).body
const change = (who: Person, { id }: { id: string }, body: object, headers = {}) =>
  who.fetch<Notification>('PATCH', `/api/notifications/${id}`, body, headers)
const ask = (who: Person, { key }: { key: string }, body: string) =>
  who.fetch<Comment>('POST', `/api/tasks/${key}/comments`, { body, asks: true })
const needing = async (who: Person, id: string) =>
  (await listOf(who, 'needs')).items.filter(({ subject }) => subject?.id === id)

describe('a notification', () => {
  test('names its subject and its cause, and each view counts what it lists', async () => {
    const { owner, member, project } = team
    const task = await newTask(owner, project, { title: 'Lock the folder', assignee: member.userId })
    const [found] = await needing(member, task.id)
    const { slug } = (await owner.fetch<{ slug: string }>('GET', '/api/team')).body
    expect(found).toMatchObject({
      reason: 'assignment',
      // Keys of tasks belong to a team, and the reader may be in several.
      link: `/tasks/${task.key}?team=${slug}`,
      subject: { kind: 'task', id: task.id, key: task.key, title: 'Lock the folder', path: `/tasks/${task.key}` },
      from: { type: 'user', id: owner.userId, name: expect.any(String) },
      done: false,
      snoozedUntil: null,
    })
    const counts = await countOf(member)
    for (const view of ['needs', 'unread', 'all'] as const)
      expect((await listOf(member, view)).total).toBe(counts[view])
    await patch(owner, task, { title: 'Lock it' })
    expect((await needing(member, task.id))[0]?.subject?.title).toBe('Lock it')
  })

  test('is marked as done, undone, snoozed and unread at the version that its reader saw', async () => {
    const { owner, member, project } = team
    const task = await newTask(owner, project, { assignee: member.userId })
    const [found] = (await needing(member, task.id)) as [Notification]
    const before = await countOf(member)
    const done = await change(member, found, { done: true }, { 'if-match': '"1"' })
    expect(done.body).toMatchObject({ done: true, readAt: clock.now().toISOString(), version: 2 })
    expect((await expectEvent(t, done, 'notification.updated')).data).toEqual({ read: true, done: true })
    expect(await countOf(member)).toEqual({ ...before, needs: before.needs - 1, unread: before.unread - 1 })
    await expectRefusal(t, await change(member, found, { done: false }, { 'if-match': '"1"' }), 412, 'version_mismatch')
    await change(member, found, { done: false, read: false })
    expect(await countOf(member)).toEqual(before)
    const until = new Date(clock.now().getTime() + 60_000).toISOString()
    expect((await change(member, found, { snoozedUntil: until })).body.snoozedUntil).toBe(until)
    expect(await needing(member, task.id)).toEqual([])
    clock.forward({ minutes: 1 })
    expect(await needing(member, task.id)).toHaveLength(1)
    await expectRefusal(t, await change(owner, found, { done: true }), 404, 'not_found')
  })
})

describe('a question in a comment', () => {
  test('leaves the inbox when it is deleted or edited into a statement', async () => {
    const { owner, member, project } = team
    const task = await newTask(owner, project, { title: 'Which lock?' })
    const asked = async () => (await needing(owner, task.id)).map(({ reason }) => reason)
    const first = (await ask(member, task, 'Which one?')).body
    const second = (await ask(member, task, 'Or which?')).body
    expect(await asked()).toEqual(['question', 'question'])
    const path = (id: string) => `/api/tasks/${task.key}/comments/${id}`
    await member.fetch('DELETE', path(first.id))
    expect(await asked()).toEqual(['question', 'question'])
    await member.fetch('PATCH', path(second.id), { asks: false })
    expect(await asked()).toEqual([])
  })

  test('of an agent goes to the person it works for, and their comment answers it', async () => {
    const { owner, member, project } = team
    const task = await newTask(owner, project)
    const agent = await connect(member)
    factsOf(await agent.call('update_task', { task: task.key, comment: 'Which folder is meant?', asks: true }))
    const [found] = await needing(member, task.id)
    expect(found).toMatchObject({ reason: 'question', message: 'Which folder is meant?', from: { type: 'agent' } })
    expect(await needing(owner, task.id)).toEqual([])
    await comment(owner, task, 'Not mine to say')
    expect(await needing(member, task.id)).toHaveLength(1)
    const answer = await comment(member, task, 'The data folder')
    await expectEvent(t, answer, 'task.commented')
    expect(await needing(member, task.id)).toEqual([])
    const { items } = (await owner.fetch<{ items: Comment[] }>('GET', `/api/tasks/${task.key}/comments`)).body
    expect(items.map(({ asks }) => asks)).toEqual([true, false, false])
    await agent.close()
  })

  test('of a person goes to the person it names, else to the assignee, else to the creator', async () => {
    const { owner, member, other, project } = team
    const task = await newTask(owner, project)
    await ask(member, task, 'Is it urgent?')
    expect((await needing(owner, task.id)).map(({ reason }) => reason)).toEqual(['question'])
    await patch(owner, task, { assignee: other.userId })
    await ask(member, task, 'How far is it?')
    expect((await needing(other, task.id)).map(({ reason }) => reason).sort()).toEqual(['assignment', 'question'])
    expect(await needing(owner, task.id)).toHaveLength(1)
  })
})

describe('a stalled agent, which calls but changes nothing,', () => {
  test('is reported once for each lease, until it continues', async () => {
    const { owner, member, project } = team
    const task = await newTask(owner, project)
    const agent = await connect(member)
    const look = () => notifyOfStalled(systemCtx(t), {})
    factsOf(await agent.call('claim_task', { task: task.key, minutes: 60 }))
    for (const _ of [1, 2, 3]) {
      clock.forward({ minutes: 11 })
      factsOf(await agent.call('get_task', { task: task.key }))
      await look()
    }
    const [found, ...more] = await needing(member, task.id)
    expect(found).toMatchObject({ reason: 'stalled', from: { type: 'agent' }, subject: { key: task.key } })
    expect(more).toEqual([])
    await look()
    expect(await needing(member, task.id)).toHaveLength(1)
    factsOf(await agent.call('update_task', { task: task.key, comment: 'Halfway' }))
    await look()
    expect(await needing(member, task.id)).toEqual([])
    await agent.close()
  })
})

describe('an inbox entry', () => {
  test('about a proposal is for managers, until the proposal is decided', async () => {
    const { owner, member, project } = team
    const body = { title: 'Use flock', decision: 'We lock', status: 'proposed', projectId: project.id }
    const { id } = (await member.fetch<{ id: string }>('POST', '/api/decisions', body)).body
    expect((await needing(owner, id)).map(({ reason, subject }) => [reason, subject?.kind])).toEqual([
      ['decision', 'decision'],
    ])
    await owner.fetch('PATCH', `/api/decisions/${id}`, { status: 'accepted' })
    expect(await needing(owner, id)).toEqual([])
  })

  test('about an invitation names the team, and is done once the invitation is accepted', async () => {
    const guest = await person(t, { name: 'Grace Hopper' })
    await t.app.driver.query('update users set email_verified_at = now() where id = $1', [guest.userId])
    const place = (
      await team.owner.fetch<{ id: string; name: string }>('GET', `/api/teams/${team.project.organizationId}`)
    ).body
    const sent = await team.owner.fetch('POST', `/api/teams/${place.id}/invite`, { email: guest.email })
    expect(sent.status).toBe(201)
    const [found] = (await listOf(guest, 'needs')).items
    expect(found).toMatchObject({ reason: 'invite', link: '/inbox', subject: { kind: 'invite', title: place.name } })
    const accepted = await guest.fetch('POST', `/api/invites/${found?.subject?.id}/accept`)
    expect(accepted.status).toBe(200)
    expect((await listOf(guest, 'needs')).items).toEqual([])
    expect((await listOf(guest, 'all')).items[0]).toMatchObject({ done: true, subject: null })
  })

  test('about a question stays open when the task is completed', async () => {
    const { owner, member, project } = team
    const task = await newTask(owner, project)
    await ask(member, task, 'Really?')
    await complete(member, task)
    expect(await needing(owner, task.id)).toHaveLength(1)
  })
})

test('viewers have an inbox; an entry is marked as done only by its receiver', async () => {
  const { owner, viewer, project } = team
  const task = await newTask(owner, project)
  const who = inside(viewer, project.organizationId as string)
  await comment(owner, task, `@${(await viewer.fetch<{ handle: string }>('GET', '/api/auth/me')).body.handle} look`)
  const [found] = (await needing(who, task.id)) as [Notification]
  expect(found.reason).toBe('mention')
  expect((await change(who, found, { done: true })).body.done).toBe(true)
})
