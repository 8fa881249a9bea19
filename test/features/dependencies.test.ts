import { beforeAll, describe, expect, test } from 'bun:test'
import type { Task } from '../../src/features/tasks/schema.ts'
import { findCycle } from '../../src/records/cycles.ts'
import { apiKey, call } from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { expectEvent, expectEvents, expectRefusal, times } from './support.ts'
import {
  claim,
  complete,
  connect,
  detailOf,
  get,
  keys,
  newProject,
  newTask,
  newTeam,
  noticesTo,
  patch,
  refused,
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

const chain = async (): Promise<[Task, Task]> => {
  const first = await newTask(team.member, team.project)
  return [first, await newTask(team.member, team.project, { blockedBy: [first.key] })]
}

describe('a blocked task', () => {
  test('cannot be started, reviewed or completed by any route, and names its blockers', async () => {
    const [first, second] = await chain()
    expect(second.blockedBy).toEqual([first.key])
    for (const status of ['in_progress', 'in_review', 'done']) {
      const problem = await expectRefusal(t, await patch(team.owner, second, { status }), 409, 'conflict.blocked')
      expect(problem.detail).toContain(`${second.key} cannot become ${status}: it waits for ${first.key}`)
    }
    await expectRefusal(t, await claim(team.member, second), 409, 'conflict.blocked')
    await expectRefusal(t, await complete(team.member, second), 409, 'conflict.blocked')
    const agent = await connect(team.member)
    for (const [tool, more] of [
      ['update_task', { status: 'in_progress' }],
      ['complete_task', {}],
      ['claim_task', {}],
    ] as const)
      expect(refused(await agent.call(tool, { task: second.key, ...more }))).toContain(`waits for ${first.key}`)
    await agent.close()
    expect((await get(team.member, second)).body).toMatchObject({ status: 'todo', version: 1 })
    for (const status of ['backlog', 'blocked', 'cancelled', 'todo'])
      expect((await patch(team.member, second, { status })).status).toBe(200)
  })

  test('is listed at its blockers and names them, closed ones too', async () => {
    const [first, second] = await chain()
    await complete(team.member, first)
    const [a, b] = [(await get(team.viewer, first)).body, (await get(team.viewer, second)).body]
    expect(a.frees).toEqual([{ id: second.id, key: second.key, title: second.title, status: 'todo', kind: 'blocks' }])
    const { id, key, title } = first
    expect(b.waitsFor).toEqual([{ id, key, title, status: 'done', kind: 'blocks', completionNotes: null }])
    expect(b.blockedBy).toEqual([])
  })

  test('can be closed by a person who forces it, which is recorded, and by no one else', async () => {
    const [first, second] = await chain()
    const key = await apiKey(t, team.member)
    const byKey = (path: string, body: object) =>
      call(t, 'POST', path, body, { authorization: `Bearer ${key}`, 'x-organization-id': team.id })
    expect((await byKey(`/api/tasks/${second.id}/complete`, { force: true })).status).toBe(403)
    expect((await complete(team.viewer, second, { force: true })).status).toBe(403)
    const closed = await complete(team.member, second, { force: true })
    expect(closed.body).toMatchObject({ status: 'done', blockedBy: [first.key] })
    expect((await expectEvent(t, closed, 'task.completed')).data).toMatchObject({
      forced: true,
      openBlockers: [first.key],
    })
  })

  test('becomes free when its last blocker is closed, cancelled or deleted, and its assignee is notified', async () => {
    for (const close of [
      (task: Task) => complete(team.member, task),
      (task: Task) => patch(team.member, task, { status: 'cancelled' }),
      (task: Task) => remove(team.member, task),
    ]) {
      const blockers = [await newTask(team.member, team.project), await newTask(team.member, team.project)]
      const waiting = await newTask(team.member, team.project, {
        blockedBy: keys(blockers),
        assignee: team.other.userId,
      })
      await patch(team.member, waiting, { status: 'blocked' })
      await close(blockers[0] as Task)
      expect(await noticesTo(team.other, waiting)).toEqual(['assignment'])
      await close(blockers[1] as Task)
      expect(await noticesTo(team.other, waiting)).toEqual(['assignment', 'freed'])
      expect((await get(team.member, waiting)).body).toMatchObject({ status: 'todo', blockedBy: [], version: 3 })
    }
  })

  test('is named in the answer and the event that frees or blocks it', async () => {
    const [first, second] = await chain()
    const done = await patch(team.member, first, { status: 'done' })
    expect(done.body.freed).toMatchObject([{ id: second.id, key: second.key, title: second.title }])
    await expectEvents(t, done, 'task.completed', 'task.freed')
    const again = await patch(team.member, first, { status: 'todo' })
    expect(keys(again.body.blocked)).toEqual([second.key])
    await expectRefusal(t, await claim(team.member, second), 409, 'conflict.blocked')
  })

  test('becomes free when two people close its last two blockers at the same moment', async () => {
    for (const _ of times(8, (i) => i)) {
      const blockers = await Promise.all([newTask(team.member, team.project), newTask(team.member, team.project)])
      const waiting = await newTask(team.member, team.project, {
        blockedBy: keys(blockers),
        assignee: team.other.userId,
      })
      await patch(team.member, waiting, { status: 'blocked' })
      const closed = await Promise.all([complete(team.member, blockers[0]), complete(team.owner, blockers[1])])
      expect(closed.flatMap((c) => keys(c.body.freed))).toEqual([waiting.key])
      expect((await get(team.member, waiting)).body.status).toBe('todo')
    }
  })

  test('is not started by a claim at the moment it is blocked, unless the claim came first', async () => {
    for (const _ of times(8, (i) => i)) {
      const [blocker, task] = await Promise.all([
        newTask(team.member, team.project),
        newTask(team.member, team.project),
      ])
      const [set, taken] = await Promise.all([
        patch(team.owner, task, { blockedBy: [blocker.key] }),
        claim(team.other, task),
      ])
      expect([200, 412]).toContain(set.status)
      if (taken.status !== 200) await expectRefusal(t, taken, 409, 'conflict.blocked')
      // Both only when the claim came first: then the change was made to what had begun already.
      if (set.status === 200 && taken.status === 200) expect(taken.body.version).toBeLessThan(set.body.version)
    }
  })
})

describe('circular dependencies', () => {
  test('are refused with the tasks of the circle, and change nothing', async () => {
    const [a, b] = await chain()
    const c = await newTask(team.member, team.project, { blockedBy: [b.key] })
    const problem = await expectRefusal(t, await patch(team.member, a, { blockedBy: [c.key] }), 409, 'conflict.cycle')
    expect(problem.detail).toContain(`${a.key} → ${c.key} → ${b.key} → ${a.key}`)
    expect(detailOf(await patch(team.member, a, { blockedBy: [a.key] }))).toContain(`${a.key} → ${a.key}`)
    expect((await get(team.member, a)).body.blockedBy).toEqual([])
  })

  test('are not created by two simultaneous changes that are valid alone', async () => {
    for (const _ of times(10, (i) => i)) {
      const [a, b] = await Promise.all([newTask(team.member, team.project), newTask(team.member, team.project)])
      const answers = await Promise.all([
        patch(team.member, a, { blockedBy: [b.key] }),
        patch(team.owner, b, { blockedBy: [a.key] }),
      ])
      expect(answers.map((r) => r.status).sort()).toEqual([200, 409])
    }
  })

  test('are found quickly in a graph with very many paths', async () => {
    // Twelve layers of three, each waiting for all three before it: half a million ways.
    const project = await newProject(team.member)
    let before: string[] = []
    for (const layer of times(12, (i) => i)) {
      const made = await Promise.all(
        times(3, () => newTask(team.member, project, { title: `Layer ${layer}`, blockedBy: before })),
      )
      before = keys(made)
    }
    const [first] = (
      await team.member.fetch<{ items: Task[] }>(
        'GET',
        `/api/tasks?projectId=${project.id}&sort=number&order=asc&limit=1`,
      )
    ).body.items
    const began = performance.now()
    await expectRefusal(t, await patch(team.member, first as Task, { blockedBy: before }), 409, 'conflict.cycle')
    expect(performance.now() - began).toBeLessThan(allowing(5000))
  })

  test('are not counted through a deleted task, which cannot be restored while it would close a circle', async () => {
    const [a, b] = await chain()
    const c = await newTask(team.member, team.project, { blockedBy: [b.key] })
    await remove(team.member, b)
    expect((await patch(team.member, a, { blockedBy: [c.key] })).status).toBe(200)
    const back = () => team.admin.fetch('POST', `/api/tasks/${b.id}/restore`)
    expect((await expectRefusal(t, await back(), 409, 'conflict.cycle')).detail).toContain(' → ')
    await patch(team.member, a, { blockedBy: [] })
    expect((await back()).status).toBe(200)
  })
})

describe('a dependency across projects', () => {
  test('on a task of a private project blocks everyone, but shows others only that there is a blocker', async () => {
    const secret = await newProject(team.owner, { visibility: 'private' })
    const hidden = await newTask(team.owner, secret, { title: 'The merger' })
    const task = await newTask(team.owner, team.project, { blockedBy: [hidden.key] })
    const seen = await get(team.member, task)
    expect(seen.body).toMatchObject({ blockedBy: ['hidden'], waitsFor: [] })
    expect((await get(team.owner, task)).body).toMatchObject({ blockedBy: [hidden.key], waitsFor: [{ id: hidden.id }] })
    const refused = await claim(team.member, task)
    await expectRefusal(t, refused, 409, 'conflict.blocked')
    const listed = await team.member.fetch('GET', `/api/tasks?projectId=${team.project.id}&limit=200`)
    const tree = await team.member.fetch('GET', `/api/projects/${team.project.id}/tree`)
    for (const { body } of [seen, refused, listed, tree]) {
      expect(JSON.stringify(body)).not.toContain('merger')
      expect(JSON.stringify(body)).not.toContain(hidden.key)
      expect(JSON.stringify(body)).toMatch(/hidden|cannot see/)
    }
    // Who sends back what they read removes nothing.
    const open = await newTask(team.owner, team.project)
    expect((await patch(team.member, task, { blockedBy: ['hidden', open.key] })).body.blockedBy).toEqual([
      open.key,
      'hidden',
    ])
    expect((await get(team.owner, task)).body.blockedBy.sort()).toEqual([hidden.key, open.key].sort())
    await patch(team.member, task, { blockedBy: ['hidden'] })
    const other = await newTask(team.owner, secret, { title: 'The merger, part two', blockedBy: [task.key] })
    await patch(team.owner, task, { blockedBy: [] })
    const done = await complete(team.member, task)
    expect(JSON.stringify(done.body)).not.toContain('merger')
    expect((await get(team.owner, other)).body.blockedBy).toEqual([])
  })

  test('does not name tasks of private projects in the activity feed', async () => {
    const secret = await newProject(team.owner, { visibility: 'private' })
    const hidden = await newTask(team.owner, secret, { title: 'The merger' })
    const task = await newTask(team.owner, team.project, { blockedBy: [hidden.key] })
    await team.owner.fetch('POST', `/api/tasks/${task.id}/relations`, { task: hidden.key, kind: 'relates' })
    await complete(team.owner, hidden)
    const feed = await team.member.fetch<{ items: { type: string }[] }>('GET', `/api/activities?taskId=${task.id}`)
    expect(feed.body.items.map(({ type }) => type)).toEqual(['task.freed', 'task.related', 'task.created'])
    expect(JSON.stringify(feed.body)).not.toContain(hidden.key)
  })

  test('does not notify people who have left the team', async () => {
    const own = await newTeam()
    const first = await newTask(own.owner, own.project)
    const waiting = await newTask(own.owner, own.project, { blockedBy: [first.key], assignee: own.other.userId })
    expect((await own.owner.fetch('DELETE', `/api/teams/${own.id}/members/${own.other.userId}`)).status).toBe(200)
    await complete(own.owner, first)
    expect(await noticesTo(own.other, waiting)).toEqual(['assignment'])
  })

  test('is refused for a task of another team, even to members of both', async () => {
    const theirs = await newTeam()
    const task = await newTask(theirs.owner, await newProject(theirs.owner, { key: 'QXZ' }))
    const mine = await newTask(team.owner, team.project)
    expect((await patch(team.owner, mine, { blockedBy: [task.id] })).status).toBe(422)
    expect((await patch(team.owner, mine, { blockedBy: [task.key] })).status).toBe(404)
    expect((await patch(team.stranger, mine, { blockedBy: [] })).status).toBe(404)
  })
})

test('links that are no dependencies are added, seen from both ends, and removed again', async () => {
  const [a, b] = await Promise.all([newTask(team.member, team.project), newTask(team.member, team.project)])
  const tie = (kind: string | null) => team.member.fetch('POST', `/api/tasks/${a.id}/relations`, { task: b.key, kind })
  await expectEvent(t, await tie('duplicates'), 'task.related')
  await tie('relates')
  for (const task of [a, b])
    expect((await get(team.viewer, task)).body.related.map((r) => r.kind).sort()).toEqual(['duplicates', 'relates'])
  expect((await claim(team.member, a)).status).toBe(200)
  await expectEvent(t, await tie(null), 'task.unrelated')
  expect((await get(team.viewer, b)).body.related).toEqual([])
  expect((await tie('blocks')).status).toBe(422)
  expect(
    (await team.member.fetch('POST', `/api/tasks/${a.id}/relations`, { task: a.key, kind: 'relates' })).status,
  ).toBe(422)
})

test('circleIn finds one circle among many edges, and visits each node once', () => {
  const chain = times(2000, (i) => times(Math.min(i, 10), (j) => ({ from: `${i}`, to: `${i - j - 1}` }))).flat()
  const began = performance.now()
  expect(findCycle(chain)).toBeUndefined()
  // From each anew it takes a minute.
  expect(performance.now() - began).toBeLessThan(allowing(5000))
  const circle = ['700', '800', 'x'].map((from, i, all) => ({ from, to: all[(i + 1) % 3] as string }))
  const found = findCycle([...chain, ...circle]) as ReadonlySet<string>
  expect(found.has('x')).toBe(true)
  expect(findCycle([...chain, { from: '5', to: '5' }])).toEqual(new Set(['5']))
  expect(findCycle([])).toBeUndefined()
})
