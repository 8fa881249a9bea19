import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { and, eq } from 'drizzle-orm'
import type { Problem } from '../../src/errors.ts'
import type { ChangeProgress, Undone } from '../../src/features/changes/schema.ts'
import { changes } from '../../src/features/changes/table.ts'
import type { LiveEvents } from '../../src/features/hub/schema.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { CreatedMany } from '../../src/features/tasks/many/many-schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { jobs } from '../../src/jobs/table.ts'
import { apiKey, call, member, type Person, person, systemCtx, type TestApp } from '../support/app.ts'
import { ownApp } from './support.ts'
import { newProject, newTask, newTeam, startOn, type Team } from './tasks-support.ts'

/** Jobs run only where a test runs them, on a database of its own: another app of the process would run them too. */
let t: TestApp
let team: Team
beforeAll(async () => {
  t = await ownApp()
  await startOn(t)
  team = await newTeam()
})
afterAll(() => t.close())

const projectWith = async (n: number, task: object = {}): Promise<Project> => {
  const project = await newProject(team.owner)
  for (let left = n; left > 0; left -= 50) {
    const list = Array.from({ length: Math.min(left, 50) }, (_, i) => ({ title: `Task ${i}`, ...task }))
    await team.owner.fetch<CreatedMany>('POST', `/api/projects/${project.id}/tasks/batch`, { tasks: list })
  }
  return project
}

const begin = (who: Person, body: object, headers = {}) =>
  who.fetch<ChangeProgress & Problem>('POST', '/api/tasks/batch', body, headers)
const progress = async (who: Person, id: string) => (await who.fetch<ChangeProgress>('GET', `/api/changes/${id}`)).body
const tasksOf = async ({ id }: { id: string }, query = ''): Promise<Task[]> =>
  (await team.owner.fetch<{ items: Task[] }>('GET', `/api/tasks?projectId=${id}&limit=200&${query}`)).body.items
const countOf = async ({ id }: { id: string }, query: string): Promise<number> =>
  (await team.owner.fetch<{ total: number }>('GET', `/api/tasks?projectId=${id}&limit=1&total=true&${query}`)).body
    .total

/** Runs the waiting jobs of a change; with `steps` a job is stopped before its next step. */
async function runJobs(id: string, steps = Number.POSITIVE_INFINITY): Promise<void> {
  const waiting = (await t.app.db.select().from(jobs)).filter(({ data }) => data.id === id)
  for (const { id: job, name, data } of waiting) {
    let asked = 0
    // A job asks before each step.
    const signal = {
      get aborted() {
        return asked++ >= steps
      },
    } as AbortSignal
    const definition = t.app.features.flatMap((feature) => feature.jobs ?? []).find((one) => one.name === name)
    await definition?.run(t.app, data, signal)
    if (asked <= steps) await t.app.db.delete(jobs).where(eq(jobs.id, job))
  }
}

describe('POST /api/tasks/batch with where', () => {
  test('changes all tasks that match, in a job that reports its progress', async () => {
    const project = await projectWith(60, { labels: ['x'] })
    const other = await newTask(team.owner, project)
    const where = { projectId: project.id, label: 'x' }
    const begun = await begin(team.member, { where, expect: 60, change: { priority: 'high', addLabels: ['y'] } })
    expect([begun.status, begun.headers.get('location')]).toEqual([201, `/api/changes/${begun.body.id}`])
    expect(begun.body).toMatchObject({ state: 'running', running: true, total: 60, done: 0, refused: 0 })
    await runJobs(begun.body.id, 1)
    expect(await progress(team.member, begun.body.id)).toMatchObject({ running: true, done: 25 })
    await runJobs(begun.body.id)
    expect(await progress(team.member, begun.body.id)).toMatchObject({
      state: 'done',
      running: false,
      done: 60,
      tasks: 60,
      label: '60 tasks: priority High, labels',
    })
    expect(await countOf(project, 'priority=high&label=y')).toBe(60)
    expect((await tasksOf(project)).find(({ id }) => id === other.id)).toMatchObject({ priority: 'medium', version: 1 })
    expect((await tasksOf(project, 'label=x')).map(({ version }) => version)).toEqual(Array(60).fill(2))
  })

  test('changes the tasks that matched at the request, whatever they become', async () => {
    const project = await projectWith(30)
    const { body } = await begin(team.member, {
      where: { projectId: project.id, status: 'todo' },
      expect: 30,
      change: { status: 'backlog' },
    })
    await newTask(team.owner, project)
    await runJobs(body.id)
    expect(await progress(team.member, body.id)).toMatchObject({ state: 'done', done: 30 })
    expect(await countOf(project, 'status=todo')).toBe(1)
  })

  test('returns 409 with the number that match if another was expected, and changes nothing', async () => {
    const project = await projectWith(2)
    const { status, body } = await begin(team.member, {
      where: { projectId: project.id },
      expect: 3,
      change: { priority: 'high' },
    })
    expect([status, body.count, body.detail]).toEqual([409, 2, '2 tasks match now, not 3. Nothing was changed.'])
    expect(await countOf(project, 'priority=high')).toBe(0)
  })

  test('lists tasks that are refused, and changes the others', async () => {
    const project = await projectWith(1)
    const [blocker] = (await tasksOf(project)) as [Task]
    const blocked = await newTask(team.owner, project, { blockedBy: [blocker.id], assignee: 'me' })
    const { body } = await begin(team.member, {
      where: { projectId: project.id },
      expect: 2,
      change: { status: 'in_progress' },
    })
    await runJobs(body.id)
    const { done, refused, problems } = await progress(team.member, body.id)
    expect([done, refused]).toEqual([1, 1])
    expect(problems).toEqual([{ id: blocked.id, detail: expect.stringContaining(`${blocked.key} cannot become`) }])
  })

  test('notifies each person once, and not the person who makes the change', async () => {
    const project = await projectWith(30)
    const where = { projectId: project.id }
    const { body } = await begin(team.member, { where, expect: 30, change: { assignee: team.other.userId } })
    const notices = () =>
      t.app.db
        .select({ title: notifications.title, reason: notifications.reason })
        .from(notifications)
        .where(and(eq(notifications.userId, team.other.userId), eq(notifications.fromId, team.member.userId)))
    const before = (await notices()).length
    await runJobs(body.id)
    expect((await notices()).slice(before)).toEqual([{ title: '30 tasks were assigned to you', reason: 'assignment' }])
    const mine = await begin(team.member, { where, expect: 30, change: { assignee: team.member.userId } })
    await runJobs(mine.body.id)
    expect(await notices()).toHaveLength(before + 1)
  })

  test('ends although a person to notify was deleted meanwhile', async () => {
    const project = await projectWith(30)
    const gone = await member(t, team.owner, 'member')
    const change = { assignee: gone.userId }
    const { body } = await begin(team.member, { where: { projectId: project.id }, expect: 30, change })
    await runJobs(body.id, 1)
    await t.app.driver.query('delete from users where id = $1', [gone.userId])
    await runJobs(body.id)
    expect(await progress(team.member, body.id)).toMatchObject({ state: 'done', done: 25, refused: 5 })
  })

  test('is refused without a filter, a number or a field, and with a list of tasks beside it', async () => {
    const project = await projectWith(1)
    const where = { projectId: project.id }
    const change = { priority: 'high' }
    const pointer = async (body: object) => {
      const answer = await begin(team.member, body)
      return [answer.status, answer.body.errors?.[0]?.pointer]
    }
    expect(await pointer({ change })).toEqual([422, '/tasks'])
    expect(await pointer({ where, change })).toEqual([422, '/expect'])
    expect(await pointer({ where, expect: 1, change: {} })).toEqual([422, '/change'])
    expect(await pointer({ where, expect: 1, change: { comment: 'x' } })).toEqual([422, '/change/comment'])
    expect(await pointer({ where, expect: 5001, change })).toEqual([422, '/expect'])
    expect(await pointer({ where, tasks: [{ id: 'TUT-1' }], change })).toEqual([422, '/where'])
    expect(await pointer({ where: { color: 'red' }, expect: 1, change })).toEqual([422, '/where/color'])
  })

  test('is refused to viewers, and does not find a project of another team', async () => {
    const project = await projectWith(1)
    const stranger = await person(t)
    const body = { where: { projectId: project.id }, expect: 1, change: { priority: 'high' } }
    expect((await begin(team.viewer, body)).status).toBe(403)
    const elsewhere = await newProject(stranger)
    expect((await begin(team.member, { ...body, where: { projectId: elsewhere.id } })).status).toBe(404)
    const { body: change } = await begin(team.member, body)
    for (const path of ['', '/stop', '/undo']) {
      const answer = await stranger.fetch(path ? 'POST' : 'GET', `/api/changes/${change.id}${path}`)
      expect([path, answer.status]).toEqual([path, 404])
    }
    expect((await team.owner.fetch('GET', `/api/changes/${change.id}`)).status).toBe(404)
    await runJobs(change.id)
  })

  test('returns the same change for the same Idempotency-Key', async () => {
    const project = await projectWith(1)
    const body = { where: { projectId: project.id }, expect: 1, change: { priority: 'high' } }
    const key = { 'idempotency-key': crypto.randomUUID() }
    const [one, two] = [await begin(team.member, body, key), await begin(team.member, body, key)]
    expect([two.status, two.body.id]).toEqual([201, one.body.id])
    await runJobs(one.body.id)
    expect((await tasksOf(project))[0]?.version).toBe(2)
  })
})

describe('a change of many tasks', () => {
  /** Begins a change of 60 tasks and changes 25 of them. */
  async function half(who: Person, project: Project) {
    const { body } = await begin(who, {
      where: { projectId: project.id },
      expect: 60,
      change: { priority: 'high' },
    })
    await runJobs(body.id, 1)
    return body.id
  }

  test('stops where it is on request, and an undo restores what it changed', async () => {
    const project = await projectWith(60)
    const id = await half(team.member, project)
    const stopped = await team.member.fetch<ChangeProgress>('POST', `/api/changes/${id}/stop`)
    expect(stopped.body).toMatchObject({
      state: 'stopped',
      running: false,
      done: 25,
      stoppedBecause: 'You stopped it.',
    })
    await runJobs(id)
    expect(await countOf(project, 'priority=high')).toBe(25)
    const undone = await team.member.fetch<Undone>('POST', `/api/changes/${id}/undo`)
    expect([undone.body.state, undone.body.restored.length, undone.body.kept]).toEqual(['undone', 25, []])
    expect(await countOf(project, 'priority=medium')).toBe(60)
  })

  test('is kept with its tasks while its job waits, and as long as it can be undone', async () => {
    const project = await projectWith(60)
    const id = await half(team.member, project)
    const old = "now() - interval '2 hours'"
    await t.app.driver.query(`update changes set expires_at = ${old} where id = $1`, [id])
    await t.app.driver.query(`update change_items set created_at = ${old} where change_id = $1`, [id])
    await purgeExpired(systemCtx(t), {})
    expect(await progress(team.member, id)).toMatchObject({ running: true, done: 25 })
    await runJobs(id)
    expect(await progress(team.member, id)).toMatchObject({ state: 'done', done: 60 })
    const undone = await team.member.fetch<Undone>('POST', `/api/changes/${id}/undo`)
    expect([undone.body.state, undone.body.restored.length]).toEqual(['undone', 60])
  })

  test('stops when the credential ends', async () => {
    const project = await projectWith(60)
    const authorization = `Bearer ${await apiKey(t, team.member)}`
    const key: Person = {
      ...team.member,
      fetch: (method, path, body, headers = {}) =>
        call(t, method, path, body, { authorization, 'x-organization-id': team.id, ...headers }),
    }
    const id = await half(key, project)
    await t.app.driver.query('update api_keys set revoked_at = now() where user_id = $1', [team.member.userId])
    await runJobs(id)
    expect(await progress(team.member, id)).toMatchObject({
      state: 'stopped',
      done: 25,
      stoppedBecause: 'The login session or API key has ended.',
    })
  })

  test('stops when the person may no longer change tasks of the team', async () => {
    const project = await projectWith(60)
    const id = await half(team.other, project)
    const path = `/api/teams/${team.id}/members/${team.other.userId}`
    expect((await team.owner.fetch('PATCH', path, { role: 'viewer' })).status).toBe(200)
    await runJobs(id)
    expect(await countOf(project, 'priority=high')).toBe(25)
    expect(await progress(team.other, id)).toMatchObject({
      state: 'stopped',
      stoppedBecause: 'You may no longer change tasks of this team.',
    })
    await team.owner.fetch('PATCH', path, { role: 'member' })
  })

  test('stops and frees its place when its job has failed too often', async () => {
    const project = await projectWith(30)
    const body = { where: { projectId: project.id }, expect: 30, change: { priority: 'high' } }
    const running = [await begin(team.member, body), await begin(team.member, body), await begin(team.member, body)]
    expect((await begin(team.member, body)).body.code).toBe('conflict.in_progress')
    const [first, ...others] = running.map((answer) => answer.body.id) as [string, ...string[]]
    await runJobs(first, 1)
    const job = t.app.features.flatMap((feature) => feature.jobs ?? []).find(({ name }) => name === 'changes.run')
    // The notifications may be what failed: they are not sent.
    const about = { id: first, key: 'A-1', title: 'A' }
    const notices = { [team.other.userId]: { assigned: 1, freed: 0, first: about } }
    await t.app.db.update(changes).set({ notices }).where(eq(changes.id, first))
    await job?.onFailed?.(t.app, { id: first })
    expect(await t.app.db.$count(notifications, eq(notifications.title, 'A-1 was assigned to you'))).toBe(0)
    expect(await progress(team.member, first)).toMatchObject({
      state: 'stopped',
      running: false,
      done: 25,
      stoppedBecause: 'The server failed several times. The other tasks did not change.',
    })
    const next = await begin(team.member, body)
    expect(next.status).toBe(201)
    for (const id of [...others, next.body.id]) await runJobs(id)
  })

  test('of more than 200 tasks is undone by a job', async () => {
    const project = await projectWith(210)
    const where = { projectId: project.id }
    const { body } = await begin(team.member, { where, expect: 210, change: { priority: 'high' } })
    await runJobs(body.id)
    const undo = () => team.member.fetch<Undone>('POST', `/api/changes/${body.id}/undo`)
    expect((await undo()).body).toMatchObject({ state: 'undoing', restored: [] })
    await runJobs(body.id, 2)
    expect(await progress(team.member, body.id)).toMatchObject({ state: 'undoing', running: true, restored: 50 })
    expect((await team.member.fetch('POST', `/api/changes/${body.id}/stop`)).status).toBe(409)
    await runJobs(body.id)
    expect(await countOf(project, 'priority=medium')).toBe(210)
    const again = await undo()
    expect([again.body.state, again.body.restored.length]).toEqual(['undone', 210])
  })

  test('sends its progress only to the person who makes it', async () => {
    const project = await projectWith(60)
    const id = await half(team.member, project)
    const poll = async (who: Person, cursor = '') =>
      (
        await who.fetch<LiveEvents>(
          'GET',
          `/api/events?topics=record:${id},project:${project.id}${cursor && `&cursor=${cursor}`}`,
          undefined,
          { accept: 'application/json' },
        )
      ).body
    const [own, others] = [await poll(team.member), await poll(team.owner)]
    expect([own.refused, others.refused]).toEqual([[], [{ topic: `record:${id}`, code: 'not_found' }]])
    await runJobs(id)
    const seen = (await poll(team.member, own.cursor)).events.filter(({ type }) => type === 'change.progressed')
    expect(seen.map(({ subjectId, data }) => [subjectId, data.done, data.state])).toEqual([
      [id, 50, 'running'],
      [id, 60, 'done'],
    ])
    const theirs = (await poll(team.owner, others.cursor)).events.map(({ type }) => type)
    expect([theirs.includes('task.updated'), theirs.includes('change.progressed')]).toEqual([true, false])
  })
})
