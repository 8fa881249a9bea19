import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Progress, Tree } from '../../src/features/planning/schema.ts'
import type { Project, ProjectDetail, ProjectPage } from '../../src/features/projects/schema.ts'
import type { Epic, Story } from '../../src/features/stories/schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { checkTaskCounts } from '../../src/features/upkeep/counts.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import type { FeaturePage } from '../../src/features/workflow/schema.ts'
import { systemCtx } from '../support/app.ts'
import {
  claim,
  clock,
  complete,
  newAgent,
  newProject,
  newTask,
  newTeam,
  patch,
  remove,
  restore,
  startOnClock,
  type Team,
  t,
} from './tasks-support.ts'

/** The burn-up of a project and the numbers in the list of projects, on a clock that does not pass midnight. */
let close: () => Promise<void>
beforeAll(async () => {
  close = await startOnClock()
})
afterAll(() => close())

const progressOf = async ({ owner }: Team, { id }: Project, days = 3) =>
  (await owner.fetch<Progress>('GET', `/api/projects/${id}/progress?days=${days}`)).body
const last = async (team: Team, project: Project) => (await progressOf(team, project)).days.at(-1)
const rowsOf = async ({ id }: Project) =>
  (await t.app.driver.query('select count(*)::int from task_days where project_id = $1::uuid', [id])).rows[0]?.[0]
/** Lets a task have been created and completed that many days ago. */
const happened = (task: Task, created: number, done: number | null) =>
  t.app.driver.query(
    `update tasks set created_at = $4::timestamptz - make_interval(days => $2),
      completed_at = $4::timestamptz - make_interval(days => $3) where id = $1::uuid`,
    [task.id, created, done, clock.now().toISOString()],
  )

describe('the progress of a project', () => {
  test('contains, for each day, the number of tasks and how many were completed by people and by agents', async () => {
    const team = await newTeam()
    const { owner, project } = team
    const agent = await newAgent(owner)
    const [a, b, c, d] = [0, 1, 2, 3].map(() => newTask(owner, project))
    const [first, second, third, fourth] = [await a, await b, await c, await d] as [Task, Task, Task, Task]
    await complete(owner, first)
    await patch(owner, second, { assignee: agent.slug })
    await complete(owner, second)
    // As in rows of versions that did not store who completed a task: its assignee counts.
    await t.app.driver.query('update tasks set completed_by_type = null where id = $1::uuid', [second.id])
    await happened(first, 40, 2)
    await happened(second, 1, 1)
    await patch(owner, fourth, { status: 'cancelled' })
    const { days } = await progressOf(team, project)
    expect(days.map(({ day: _, ...sums }) => sums)).toEqual([
      { scope: 1, done: 1, people: 1, agents: 0 },
      { scope: 2, done: 2, people: 1, agents: 1 },
      { scope: 3, done: 2, people: 1, agents: 1 },
    ])
    expect(days.at(-1)?.day).toBe(clock.now().toISOString().slice(0, 10))
    await remove(owner, third)
    expect(await last(team, project)).toMatchObject({ scope: 2 })
    await restore(owner, third)
    await patch(owner, fourth, { status: 'todo' })
    await patch(owner, first, { status: 'in_progress' })
    expect(await last(team, project)).toMatchObject({ scope: 4, done: 1, people: 0, agents: 1 })
    expect(await checkTaskCounts(t.app.driver, false)).toMatchObject({ ok: true })
    expect((await progressOf(team, project, 366)).days).toHaveLength(366)
    expect((await owner.fetch('GET', `/api/projects/${project.id}/progress?days=367`)).status).toBe(422)
    expect((await team.stranger.fetch('GET', `/api/projects/${project.id}/progress`)).status).toBe(404)
  })

  test('is stored in few rows, which doctor corrects', async () => {
    const team = await newTeam()
    const { owner, project } = team
    const task = await newTask(owner, project)
    for (const status of Array.from({ length: 140 }, (_, i) => (i % 2 === 0 ? 'done' : 'todo')))
      await t.app.driver.query('update tasks set status = $2 where id = $1::uuid', [task.id, status])
    expect(await last(team, project)).toMatchObject({ scope: 1, done: 0 })
    expect(await rowsOf(project)).toBeLessThan(141)
    await happened(task, 5, null)
    await t.app.driver.query('update task_days set day = day - 5 where project_id = $1::uuid', [project.id])
    await checkTaskCounts(t.app.driver, true)
    await purgeExpired(systemCtx(t), {})
    expect(await rowsOf(project)).toBe(1)
    await t.app.driver.query('update task_days set scope = 7 where project_id = $1::uuid', [project.id])
    expect(await checkTaskCounts(t.app.driver, false)).toMatchObject({ ok: false })
    expect(await checkTaskCounts(t.app.driver, true)).toMatchObject({ ok: true })
    expect(await last(team, project)).toMatchObject({ scope: 1 })
  })
})

test('a list of projects counts open, done and claimed tasks and features at gates', async () => {
  const team = await newTeam()
  const { owner, project } = team
  const other = await newProject(owner)
  const [a, b] = [await newTask(owner, project), await newTask(owner, project)]
  await complete(owner, a)
  await claim(owner, b)
  const feature = (await owner.fetch<{ id: string }>('POST', `/api/projects/${project.id}/features`, { title: 'Lock' }))
    .body
  await owner.fetch('POST', `/api/features/${feature.id}/advance`, {})
  // One that waits at no gate yet, although its gates are open.
  const planned = (await owner.fetch<{ id: string }>('POST', `/api/projects/${project.id}/features`, { title: 'Key' }))
    .body
  const listed = async (atGate: boolean) =>
    (await owner.fetch<FeaturePage>('GET', `/api/projects/${project.id}/features?atGate=${atGate}`)).body.items
  expect((await listed(true)).map(({ id }) => id)).toEqual([feature.id])
  expect((await listed(false)).map(({ id }) => id)).toEqual([planned.id])
  const { items } = (await owner.fetch<ProjectPage>('GET', '/api/projects')).body
  const work = (id: string) => items.find((item) => item.id === id)?.stats
  const expected = {
    tasks: 2,
    tasksDone: 1,
    tasksDoneByAgents: 0,
    open: 1,
    inReview: 0,
    blocked: 0,
    features: 2,
    openGates: 1,
    atWork: 1,
    agentsAtWork: 0,
  }
  expect(work(project.id)).toEqual(expected)
  expect(Object.values(work(other.id) ?? {})).toEqual(Array(10).fill(0))
  const detail = (await owner.fetch<ProjectDetail>('GET', `/api/projects/${project.id}`)).body
  expect(detail.stats).toEqual({ ...expected, notes: 0 })
})

test('the progress of an epic shows the share done by agents', async () => {
  const { owner, project } = await newTeam()
  const epic = (await owner.fetch<Epic>('POST', `/api/projects/${project.id}/epics`, { title: 'Offline' })).body
  const path = `/api/projects/${project.id}/epics/${epic.id}`
  const story = (await owner.fetch<Story>('POST', `${path}/stories`, { title: 'Read' })).body
  const [a, b] = [
    await newTask(owner, project, { storyId: story.id }),
    await newTask(owner, project, { storyId: story.id }),
  ]
  for (const task of [a, b]) await complete(owner, task)
  await t.app.driver.query("update tasks set completed_by_type = 'agent' where id = $1::uuid", [a.id])
  expect((await owner.fetch<Epic>('GET', path)).body.progress).toEqual({ tasks: 2, done: 2, agents: 1 })
  const tree = (await owner.fetch<Tree>('GET', `/api/projects/${project.id}/tree`)).body
  expect(tree.epics[0]?.stories[0]?.tasks.map(({ byAgent }) => byAgent)).toEqual([true, undefined])
  const { stats } = (await owner.fetch<ProjectDetail>('GET', `/api/projects/${project.id}`)).body
  expect([stats.tasksDone, stats.tasksDoneByAgents]).toEqual([2, 1])
})
