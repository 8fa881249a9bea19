import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { ChangePage, Undone } from '../../src/features/changes/schema.ts'
import { changeItems, changes } from '../../src/features/changes/table.ts'
import type { CompletedMany } from '../../src/features/tasks/many/many-schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { type Answer, apiKey, call, type Person, systemCtx } from '../support/app.ts'
import { expectNoEvents, expectRefusal, inside, times } from './support.ts'
import {
  claim,
  clock,
  complete,
  connect,
  get,
  newEpic,
  newProject,
  newStory,
  newTask,
  newTeam,
  patch,
  remove,
  startOnClock,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
let stop: () => Promise<void>
beforeAll(async () => {
  stop = await startOnClock()
  team = await newTeam()
})
afterAll(() => stop())

const changeOf = ({ headers }: Pick<Answer<unknown>, 'headers'>): string => headers.get('x-change-id') as string
const undo = (who: Person, id: string) => who.fetch<Undone>('POST', `/api/changes/${id}/undo`)
const undone = async (who: Person, answer: Pick<Answer<unknown>, 'headers'>): Promise<Undone> => {
  const { status, body } = await undo(who, changeOf(answer))
  expect([status, body]).toMatchObject([200, { state: 'undone' }])
  return body
}
const list = async (who: Person, query = '') => (await who.fetch<ChangePage>('GET', `/api/changes?${query}`)).body.items
const task = (input: object = {}) => newTask(team.member, team.project, input)
const current = async ({ id }: { id: string }): Promise<Task> => (await get(team.owner, id)).body

/** Everything that an undo restores. */
const restorable = ({ version: _, updatedAt: __, startedAt: ___, ...rest }: Task) => rest

describe('POST /api/changes/:id/undo', () => {
  test('restores every field that a call changed, and records no further change', async () => {
    const epic = await newEpic(team.owner, team.project)
    const [story, other] = [await newStory(team.owner, epic), await newStory(team.owner, epic)]
    const [parent, blocker, later] = [await task(), await task(), await task()]
    const made = await task({
      description: 'Before',
      priority: 'low',
      assignee: 'me',
      labels: ['db', 'ünïcode "quoted" \\'],
      dueAt: '2026-12-24T18:00:00.000Z',
      estimate: 3,
      storyId: story.id,
      acceptance: [{ text: 'Works', done: true }, 'Documented'],
      blockedBy: [blocker.id],
    })
    const before = await current(made)
    const changed = await patch(team.member, made, {
      title: 'After',
      description: null,
      status: 'blocked',
      priority: 'critical',
      assignee: team.owner.userId,
      labels: ['web'],
      dueAt: null,
      estimate: null,
      storyId: other.id,
      parentId: parent.id,
      acceptance: ['Fast'],
      blockedBy: [later.id],
      after: parent.id,
    })
    expect(changed.status).toBe(200)
    const { restored, kept } = await undone(team.member, changed)
    expect(kept).toEqual([])
    expect(restored).toEqual([{ id: made.id, key: made.key, fields: expect.any(Array) }])
    expect(restored[0]?.fields).toHaveLength(13)
    expect(restorable(await current(made))).toEqual(restorable(before))
    expect((await list(team.member, 'recent=true')).map(({ id }) => id)).not.toContain(changeOf(changed))
    expect((await list(team.member))[0]).toMatchObject({ id: changeOf(changed), state: 'undone' })
  })

  test('leaves a field that was changed meanwhile, and lists it', async () => {
    const made = await task({ priority: 'low', labels: ['a'] })
    const changed = await patch(team.member, made, { priority: 'high', labels: ['b'], estimate: 5 })
    await patch(team.owner, made, { priority: 'critical' })
    expect(await undone(team.member, changed)).toMatchObject({
      restored: [{ key: made.key, fields: ['labels', 'estimate'] }],
      kept: [{ key: made.key, fields: ['priority'], reason: 'It was changed again meanwhile.' }],
    })
    expect(await current(made)).toMatchObject({ priority: 'critical', labels: ['a'], estimate: null })
  })

  test('restores the other fields if one is refused', async () => {
    const { body } = await team.owner.fetch<{ id: string }>('POST', '/api/agents', { name: 'Temp', scope: 'team' })
    const made = await task({ assignee: body.id, priority: 'low' })
    const changed = await patch(team.member, made, { assignee: null, priority: 'high' })
    await team.owner.fetch('PUT', `/api/agents/${body.id}`, { status: 'archived' })
    expect(await undone(team.member, changed)).toMatchObject({
      restored: [{ key: made.key, fields: ['priority'] }],
      kept: [
        { key: made.key, fields: ['assignee'], reason: 'This agent is archived. Set its status to active first.' },
      ],
    })
    expect(await current(made)).toMatchObject({ assignee: null, priority: 'low' })
  })

  test('of a completion restores state, ticks and notes, and tasks wait for it again', async () => {
    const made = await task({ acceptance: ['Works', 'Documented'] })
    await patch(team.member, made, { status: 'in_progress', accepted: [1] })
    const stopped = await task({ blockedBy: [made.id] })
    await patch(team.member, stopped, { status: 'blocked' })
    const waiting = await task({ blockedBy: [made.id] })
    const before = await current(made)
    const done = await complete(team.member, made, { accepted: 'all', notes: 'Done by mistake' })
    expect(await current(stopped)).toMatchObject({ status: 'todo', blockedBy: [] })
    expect(await undone(team.member, done)).toMatchObject({ kept: [] })
    expect(restorable(await current(made))).toEqual(restorable(before))
    expect(await current(stopped)).toMatchObject({ status: 'blocked', blockedBy: [made.key] })
    expect(await current(waiting)).toMatchObject({ status: 'todo', blockedBy: [made.key] })
  })

  test('of a forced completion reopens a task that has open blockers', async () => {
    const made = await task()
    await patch(team.member, made, { status: 'in_progress' })
    await patch(team.member, made, { blockedBy: [(await task()).id] })
    const done = await complete(team.member, made, { force: true })
    expect(done.status).toBe(200)
    expect(await undone(team.member, done)).toMatchObject({ kept: [] })
    expect(await current(made)).toMatchObject({ status: 'in_progress', completedAt: null })
  })

  test('of a completion keeps claims of tasks that it unblocked, and lists them; the own claim stays released', async () => {
    const made = await task()
    await claim(team.member, made)
    const [stopped, waiting] = [await task({ blockedBy: [made.id] }), await task({ blockedBy: [made.id] })]
    await patch(team.member, stopped, { status: 'blocked' })
    const done = await complete(team.member, made)
    await claim(team.other, stopped)
    await claim(team.other, waiting)
    const reason = 'Alan claimed it meanwhile. The claim stays.'
    const { kept } = await undone(team.member, done)
    expect(kept.toSorted((a, b) => (String(a.key) < String(b.key) ? -1 : 1))).toEqual([
      { id: stopped.id, key: stopped.key, fields: ['status'], reason },
      { id: waiting.id, key: waiting.key, fields: ['status'], reason },
    ])
    expect(await current(made)).toMatchObject({ status: 'in_progress', lease: null })
    expect(await current(stopped)).toMatchObject({ status: 'in_progress', lease: { holder: { name: 'Alan' } } })
  })

  test('of several completions goes from the last task to the first', async () => {
    const first = await task()
    const second = await task({ blockedBy: [first.id] })
    await patch(team.member, second, { status: 'blocked' })
    const done = await team.member.fetch<CompletedMany>('POST', '/api/tasks/complete', { tasks: [first.id, second.id] })
    expect(done.status).toBe(200)
    expect(await undone(team.member, done)).toMatchObject({ label: '2 tasks: state Done', tasks: 2, kept: [] })
    expect(await current(first)).toMatchObject({ status: 'todo' })
    expect(await current(second)).toMatchObject({ status: 'blocked', blockedBy: [first.key] })
  })

  test('of a reopened task restores its completion with the time', async () => {
    const made = await task({ acceptance: ['Works'] })
    await complete(team.member, made, { accepted: 'all' })
    const before = await current(made)
    clock.forward({ minutes: 1 })
    const reopened = await patch(team.member, made, { status: 'todo' })
    expect(await current(made)).toMatchObject({ acceptance: [{ done: false }], completedAt: null })
    await undone(team.member, reopened)
    expect(restorable(await current(made))).toEqual(restorable(before))
  })

  test('restores 200 tasks of one call', async () => {
    const project = await newProject(team.owner)
    const made: Task[] = []
    for (const from of [0, 50, 100, 150]) {
      const some = times(50, (i) => ({ title: `Task ${from + i}`, priority: 'low' }))
      const batch = await team.member.fetch<{ items: Task[] }>('POST', `/api/projects/${project.id}/tasks/batch`, {
        tasks: some,
      })
      made.push(...batch.body.items)
    }
    const body = { tasks: made.map(({ id }) => ({ id })), change: { priority: 'high', addLabels: ['x'] } }
    const changed = await team.member.fetch('POST', '/api/tasks/batch', body)
    const result = await undone(team.member, changed)
    expect(result).toMatchObject({ label: '200 tasks: priority High, labels', tasks: 200, kept: [] })
    expect(result.restored).toHaveLength(200)
    const left = await team.member.fetch('GET', `/api/tasks?projectId=${project.id}&priority=low&total=true&limit=1`)
    expect(left.body).toMatchObject({ total: 200, items: [{ labels: [] }] })
  })

  test('restores the tasks of several calls with one X-Change-Key, which is that of the credential', async () => {
    const [one, two, foreign] = [await task(), await task(), await task()]
    const header = { 'x-change-key': 'together' }
    const first = await patch(team.member, one, { priority: 'high' }, header)
    const second = await patch(team.member, two, { priority: 'high' }, header)
    const other = await patch(team.other, foreign, { priority: 'high' }, header)
    expect(changeOf(second)).toBe(changeOf(first))
    expect(changeOf(other)).not.toBe(changeOf(first))
    expect(await undone(team.member, first)).toMatchObject({ tasks: 2, kept: [] })
    expect(await current(two)).toMatchObject({ priority: 'medium' })
    expect(await current(foreign)).toMatchObject({ priority: 'high' })
    expect((await patch(team.member, one, { priority: 'high' }, { 'x-change-key': 'ä b' })).status).toBe(400)
  })

  test('changes nothing and returns the same if it is repeated, also at the same moment', async () => {
    const made = await task({ priority: 'low' })
    const changed = await patch(team.member, made, { priority: 'high' })
    const both = await Promise.all(times(4, () => undo(team.member, changeOf(changed))))
    const [{ body: first }] = both as [Answer<Undone>]
    for (const { status, body } of both) expect([status, body]).toEqual([200, first])
    const { version } = await current(made)
    expect(version).toBe(3)
    await patch(team.owner, made, { priority: 'high' })
    const again = await undo(team.member, changeOf(changed))
    expect(again.body).toEqual(first)
    await expectNoEvents(t, again)
    expect(await current(made)).toMatchObject({ priority: 'high', version: 4 })
  })

  test('lists a task that was deleted, or that the person no longer sees', async () => {
    const project = await newProject(team.owner, { visibility: 'private' })
    await team.owner.fetch('POST', `/api/projects/${project.id}/share`, {})
    const [one, two] = [await newTask(team.member, project), await newTask(team.member, team.project)]
    const body = { tasks: [{ id: one.id }, { id: two.id }], change: { priority: 'high' } }
    const changed = await team.member.fetch('POST', '/api/tasks/batch', body)
    await team.owner.fetch('DELETE', `/api/projects/${project.id}/share`)
    await remove(team.owner, two)
    const reason = 'The task was deleted, or you no longer have access to it.'
    expect(await undone(team.member, changed)).toMatchObject({
      restored: [],
      kept: [
        { id: two.id, key: null, reason },
        { id: one.id, key: null, reason },
      ],
    })
  })

  test('is refused to a person who has become a viewer', async () => {
    const { project, owner, member, id } = await newTeam()
    const made = await newTask(member, project)
    const changed = await patch(member, made, { priority: 'high' })
    await owner.fetch('PATCH', `/api/teams/${id}/members/${member.userId}`, { role: 'viewer' })
    await expectRefusal(t, await undo(member, changeOf(changed)), 403, 'forbidden')
    expect((await get(owner, made)).body.priority).toBe('high')
  })

  test('returns 404 for the change of another person, of another team, and after an hour', async () => {
    const changed = await patch(team.member, await task(), { priority: 'high' })
    const { id: elsewhere } = await newTeam()
    const path = `/api/changes/${changeOf(changed)}/undo`
    const refused = [
      await undo(team.owner, changeOf(changed)),
      await undo(team.stranger, changeOf(changed)),
      await team.member.fetch('POST', path, undefined, { 'x-organization-id': elsewhere }),
    ]
    for (const answer of refused) await expectRefusal(t, answer, 404, 'not_found')
    clock.forward({ minutes: 61 })
    const late = await expectRefusal(t, await undo(team.member, changeOf(changed)), 404, 'not_found')
    expect(late.detail).toBe(`Change ${changeOf(changed)} not found among your changes of the last hour.`)
    await purgeExpired(systemCtx(t), {})
    expect(await t.app.db.$count(changes, eq(changes.id, changeOf(changed)))).toBe(0)
    expect(await t.app.db.$count(changeItems, eq(changeItems.changeId, changeOf(changed)))).toBe(0)
  })
})

describe('GET /api/changes', () => {
  test('returns the own changes of the last hour, newest first and by pages', async () => {
    const { project, member } = await newTeam()
    const made = await newTask(member, project)
    await patch(member, made, { priority: 'high', dueAt: '2026-12-24' })
    clock.forward({ minutes: 50 })
    await patch(member, made, { status: 'in_progress' })
    await patch(member, made, { assignee: null, title: 'New' })
    await patch(member, made, { assignee: 'me' })
    const page = await member.fetch<ChangePage>('GET', '/api/changes?limit=2&total=true')
    expect(page.body).toMatchObject({
      total: 4,
      items: [
        { label: `${made.key}: assignee Edsger`, tasks: 1, state: 'done', undoneAt: null },
        { label: `${made.key}: title` },
      ],
    })
    const rest = await list(member, `limit=2&cursor=${page.body.nextCursor}`)
    const labels = rest.map(({ label }) => label)
    expect(labels).toEqual([`${made.key}: state In progress`, `${made.key}: priority High, due 2026-12-24`])
    clock.forward({ minutes: 15 })
    expect(await list(member)).toHaveLength(3)
  })

  test('with recent=true returns what this credential changed in the last 10 minutes and has not undone', async () => {
    const { project, member } = await newTeam()
    const made = await newTask(member, project)
    const key = await apiKey(t, member)
    const withKey = inside(
      {
        ...member,
        fetch: (how, path, body, headers = {}) =>
          call(t, how, path, body, { authorization: `Bearer ${key}`, ...headers }),
      },
      project.organizationId,
    )
    await patch(member, made, { priority: 'high' })
    clock.forward({ minutes: 11 })
    const ours = await patch(member, made, { priority: 'low' })
    const theirs = await patch(withKey, made, { priority: 'critical' })
    const ids = async (who: Person) => (await list(who, 'recent=true')).map(({ id }) => id)
    expect(await ids(member)).toEqual([changeOf(ours)])
    expect(await ids(withKey)).toEqual([changeOf(theirs)])
    await undone(withKey, theirs)
    expect(await ids(withKey)).toEqual([])
  })
})

describe('X-Change-Id', () => {
  test('is sent if something was recorded: not for equal values, comments, refusals or agents', async () => {
    const made = await task({ priority: 'high' })
    expect(changeOf(await patch(team.member, made, { priority: 'high' }))).toBeNull()
    expect(changeOf(await patch(team.member, made, { comment: 'Hello' }))).toBeNull()
    expect(changeOf(await patch(team.member, made, { status: 'done' }, { 'if-match': '"99"' }))).toBeNull()
    expect(changeOf(await complete(team.member, made))).toBeString()
    const agent = await connect(team.member, { organizationId: team.id })
    const count = () => t.app.db.$count(changes, eq(changes.userId, team.member.userId))
    const before = await count()
    const result = await agent.call('update_task', { task: made.key, priority: 'low' })
    expect(result.isError).toBeFalsy()
    expect(await current(made)).toMatchObject({ priority: 'low' })
    expect(await count()).toBe(before)
  })
})
