import { beforeAll, expect, test } from 'bun:test'
import type { Problem } from '../../src/errors.ts'
import { type TaskAction, type TaskDetail, taskActions } from '../../src/features/tasks/schema.ts'
import { apiKey, call } from '../support/app.ts'
import {
  claim,
  comment,
  complete,
  connect,
  factsOf,
  get,
  newEpic,
  newStory,
  newTask,
  newTeam,
  patch,
  release,
  remove,
  start,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
beforeAll(async () => {
  await start()
  team = await newTeam()
})

type Can = TaskDetail['can']
const everything = Object.fromEntries(taskActions.map((action) => [action, true])) as Record<TaskAction, true>
const refusedWith = ({ body }: { body: unknown }) => {
  const { code, detail } = body as Problem
  return { code, detail }
}
const codesOf = (can: Can) =>
  Object.fromEntries(Object.entries(can).map(([action, may]) => [action, may === true ? true : may.code]))

/** Calls with an API key of somebody in the team. */
async function keyOf(who: Team['member'], scopes?: string[]) {
  const headers = { authorization: `Bearer ${await apiKey(t, who, scopes)}`, 'x-organization-id': team.id }
  return <T>(method: string, path: string, body?: object) => call<T>(t, method, path, body, headers)
}

test('`can` allows a member every action on a free task', async () => {
  const task = await newTask(team.owner, team.project)
  expect((await get(team.member, task)).body.can).toEqual(everything)
})

test('`can` gives a viewer the refusal of each action', async () => {
  const task = await newTask(team.owner, team.project)
  const { can } = (await get(team.viewer, task)).body
  expect(codesOf(can)).toEqual(Object.fromEntries(taskActions.map((action) => [action, 'forbidden'])))
  expect(can.update).toEqual(refusedWith(await patch(team.viewer, task, { title: 'Mine' })))
  expect(can.complete).toEqual(refusedWith(await complete(team.viewer, task)))
  expect(can.claim).toEqual(refusedWith(await claim(team.viewer, task)))
  expect(can.release).toEqual(refusedWith(await release(team.viewer, task)))
  expect(can.comment).toEqual(refusedWith(await comment(team.viewer, task, 'Hm')))
  expect(can.remove).toEqual(refusedWith(await remove(team.viewer, task)))
})

test('`can` on a task of another holder lets people work on it but not claim it, and keys comment', async () => {
  const task = await newTask(team.owner, team.project)
  await claim(team.member, task)
  expect((await get(team.member, task)).body.can).toEqual(everything)
  expect(codesOf((await get(team.other, task)).body.can)).toEqual({ ...everything, claim: 'conflict.lease_held' })

  const key = await keyOf(team.other)
  const { can } = (await key<TaskDetail>('GET', `/api/tasks/${task.id}`)).body
  const held = 'conflict.lease_held'
  expect(codesOf(can)).toEqual({
    ...everything,
    update: held,
    complete: held,
    claim: held,
    release: held,
    remove: held,
    verify: 'forbidden',
  })
  const refused = await Promise.all([
    key('PATCH', `/api/tasks/${task.id}`, { title: 'Mine' }),
    key('POST', `/api/tasks/${task.id}/complete`, {}),
    key('POST', `/api/tasks/${task.id}/claim`, {}),
    key('POST', `/api/tasks/${task.id}/release`),
    key('DELETE', `/api/tasks/${task.id}`),
  ])
  expect(refused.map((answer) => refusedWith(answer).code)).toEqual(refused.map(() => held))
  expect((await key('POST', `/api/tasks/${task.id}/comments`, { body: 'When?' })).status).toBe(201)
})

test('`can` names the scope that a read-only key lacks', async () => {
  const task = await newTask(team.owner, team.project)
  const key = await keyOf(team.member, ['read'])
  const { can } = (await key<TaskDetail>('GET', `/api/tasks/${task.id}`)).body
  const tried = await key<Problem>('PATCH', `/api/tasks/${task.id}`, { title: 'Mine' })
  expect(can.update).toEqual(refusedWith(tried))
  expect(tried.body.scope).toBe('tasks:write')
  expect(codesOf(can)).toEqual(Object.fromEntries(taskActions.map((action) => [action, 'forbidden'])))
})

test('`can` refuses to complete or claim a blocked task, and to claim a closed one', async () => {
  const first = await newTask(team.owner, team.project)
  const second = await newTask(team.owner, team.project, { blockedBy: [first.id] })
  const waiting = (await get(team.member, second)).body.can
  expect(codesOf(waiting)).toEqual({ ...everything, complete: 'conflict.blocked', claim: 'conflict.blocked' })
  expect(waiting.complete).toMatchObject(refusedWith(await complete(team.member, second)))
  await complete(team.member, first)
  expect((await get(team.member, second)).body.can).toEqual(everything)
  expect(codesOf((await get(team.member, first)).body.can)).toEqual({ ...everything, claim: 'conflict' })
})

test('`can` of a blocked task names the blockers, who works on them, and the ways out', async () => {
  const [held, free, done] = [
    await newTask(team.owner, team.project, { assignee: team.owner.userId }),
    await newTask(team.owner, team.project, { assignee: team.owner.userId }),
    await newTask(team.owner, team.project),
  ]
  const { key } = await newTask(team.owner, team.project, { blockedBy: [held.id, free.id, done.id] })
  await complete(team.member, done)
  await claim(team.member, held)
  const { can } = (await get(team.other, { id: key })).body
  const owner = { type: 'user', id: team.owner.userId }
  expect(can.complete).toMatchObject({
    code: 'conflict.blocked',
    by: [
      { key: held.key, title: held.title, holder: { type: 'user', id: team.member.userId } },
      { key: free.key, title: free.title, holder: null, heldSince: null, assignee: owner },
    ],
    next: [
      { command: `tutti tasks done ${held.key}`, page: `/tasks/${held.key}` },
      { command: `tutti tasks done ${free.key}` },
      { route: `PATCH /api/tasks/${key}`, command: `tutti tasks unblock ${key} ${held.key}` },
      { command: `tutti tasks unblock ${key} ${free.key}` },
    ],
  })
  const { by = [] } = can.complete as Exclude<Can['complete'], true>
  expect(Date.parse(by[0]?.heldSince ?? '')).toBeGreaterThan(0)
  expect(can.claim).toMatchObject({ by })
  await release(team.member, held)
  const after = (await get(team.other, { id: key })).body.can.complete as Exclude<Can['complete'], true>
  expect(after.by?.map(({ holder }) => holder)).toEqual([null, null])
})

test('`can` is returned by the nested route too, and never over MCP', async () => {
  const epic = await newEpic(team.owner, team.project)
  const story = await newStory(team.owner, epic)
  const task = await newTask(team.owner, team.project, { storyId: story.id })
  const path = `/api/projects/${team.project.id}/epics/${epic.id}/stories/${story.id}/tasks/${task.id}`
  expect((await team.viewer.fetch<TaskDetail>('GET', path)).body.can.update).toMatchObject({ code: 'forbidden' })

  const client = await connect(team.member)
  const shown = factsOf<Record<string, unknown>>(await client.call('get_task', { task: task.key }))
  expect(shown).toMatchObject({ key: task.key })
  expect(shown).not.toHaveProperty('can')
})

test('a refusal names the subject, the role and the next step', async () => {
  expect((await team.member.fetch<Problem>('GET', '/api/tasks/NIX-7')).body).toMatchObject({
    detail: 'Task NIX-7 not found.',
    subject: { kind: 'task', ref: 'NIX-7' },
  })
  const task = await newTask(team.owner, team.project)
  expect((await team.viewer.fetch<Problem>('PATCH', `/api/tasks/${task.id}`, { title: 'Mine' })).body).toMatchObject({
    role: { needed: 'member', held: 'viewer' },
  })
  await complete(team.member, task)
  expect((await team.member.fetch<Problem>('POST', `/api/tasks/${task.id}/claim`, {})).body.next).toEqual([
    { tool: 'next_task', route: 'POST /api/tasks/next', command: 'tutti tasks next' },
  ])
})
