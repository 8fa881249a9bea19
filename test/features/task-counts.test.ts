import { beforeAll, describe, expect, test } from 'bun:test'
import type { Project, ProjectDetail } from '../../src/features/projects/schema.ts'
import type { Analytics } from '../../src/features/teams/schema.ts'
import { checkTaskCounts } from '../../src/features/upkeep/counts.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { systemCtx } from '../support/app.ts'
import { complete, newProject, newTask, newTeam, patch, remove, restore, start, type Team, t } from './tasks-support.ts'

beforeAll(start)

const numbers = async ({ owner }: Team, { id }: Project) => {
  const { tasks, tasksDone } = (await owner.fetch<ProjectDetail>('GET', `/api/projects/${id}`)).body.stats
  return [tasks, tasksDone]
}
const byStatus = async ({ owner, id }: Team) =>
  (await owner.fetch<Analytics>('GET', `/api/teams/${id}/analytics`)).body.tasks
const stored = async (project: Project) =>
  (await t.app.driver.query('select status, n from task_counts where project_id = $1::uuid', [project.id])).rows

describe('the counts of tasks', () => {
  test('follow changes of tasks and of their project', async () => {
    const team = await newTeam()
    const { owner, project } = team
    const [a, b, c] = [await newTask(owner, project), await newTask(owner, project), await newTask(owner, project)]
    await complete(owner, a)
    await complete(owner, b)
    await patch(owner, c, { status: 'in_review' })
    expect(await numbers(team, project)).toEqual([3, 2])
    expect(await byStatus(team)).toMatchObject({ todo: 0, in_review: 1, done: 2 })
    await remove(owner, a)
    expect(await numbers(team, project)).toEqual([2, 1])
    await restore(owner, a)
    expect(await numbers(team, project)).toEqual([3, 2])
    await owner.fetch('DELETE', `/api/projects/${project.id}`)
    expect(await byStatus(team)).toMatchObject({ in_review: 0, done: 0 })
    await owner.fetch('POST', `/api/projects/${project.id}/restore`)
    expect(await numbers(team, project)).toEqual([3, 2])
    expect(await byStatus(team)).toMatchObject({ in_review: 1, done: 2 })
  })

  test('belong to the team of the project, and move with it', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const moved = await newProject(team.owner)
    await newTask(team.owner, moved)
    await team.owner.fetch('PATCH', `/api/projects/${moved.id}`, { organizationId: other.id })
    expect([(await byStatus(team)).todo, (await byStatus(other)).todo]).toEqual([0, 1])
    await t.app.driver.query('delete from projects where id = $1::uuid', [moved.id])
    expect((await byStatus(other)).todo).toBe(0)
    expect(await checkTaskCounts(t.app.driver, false)).toMatchObject({ ok: true })
  })

  test('take few rows after many changes', async () => {
    const team = await newTeam()
    const { owner, project } = team
    const task = await newTask(owner, project)
    // Each statement is a transaction of its own, as a change by the web API is.
    for (const status of Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? 'done' : 'todo')))
      await t.app.driver.query('update tasks set status = $2 where id = $1::uuid', [task.id, status])
    expect(await numbers(team, project)).toEqual([1, 0])
    // 601 rows were added. Other tests may use the numbers at which they are summed up, but not all of them.
    expect((await stored(project)).length).toBeLessThan(500)
  })

  test('take few rows after one statement with many changes, and none after the project is deleted', async () => {
    const { owner, project } = await newTeam()
    const task = await newTask(owner, project)
    const columns = 'created_at, updated_at, organization_id, project_id, title, status, priority, position, labels'
    await t.app.driver.query(
      `insert into tasks (id, number, acceptance, ${columns})
        select gen_random_uuid(), n + 1000, acceptance, ${columns} from tasks, generate_series(1, 1300) n
        where id = $1::uuid`,
      [task.id],
    )
    expect((await stored(project)).length).toBeLessThan(10)
    // A change adds rows for each task.
    await t.app.driver.query("update tasks set status = 'done' where project_id = $1::uuid", [project.id])
    expect((await stored(project)).length).toBeGreaterThan(2200)
    await purgeExpired(systemCtx(t), {})
    const sums = await stored(project)
    expect([sums.length < 10, sums.reduce((n, row) => n + Number(row[1]), 0)]).toEqual([true, 1301])
    await t.app.driver.query('delete from projects where id = $1::uuid', [project.id])
    expect((await stored(project)).length).toBeLessThan(20)
    await purgeExpired(systemCtx(t), {})
    expect(await stored(project)).toEqual([])
    expect(await checkTaskCounts(t.app.driver, false)).toMatchObject({ ok: true })
  })

  test('are corrected once by two simultaneous doctors', async () => {
    const team = await newTeam()
    const { owner, project } = team
    await newTask(owner, project)
    await t.app.driver.query('update task_counts set n = 5 where project_id = $1::uuid', [project.id])
    const tx = await t.app.driver.begin()
    await tx.query('select task_counts_mend()')
    const other = checkTaskCounts(t.app.driver, true)
    await tx.commit()
    expect(await other).toMatchObject({ ok: true, said: 'the task counts are correct' })
    expect(await numbers(team, project)).toEqual([1, 0])
  })

  test('are corrected by doctor if someone changed the database by hand', async () => {
    const team = await newTeam()
    const { owner, project } = team
    await newTask(owner, project)
    await t.app.driver.query('update task_counts set n = 5 where project_id = $1::uuid', [project.id])
    expect(await numbers(team, project)).toEqual([5, 0])
    expect(await checkTaskCounts(t.app.driver, false)).toMatchObject({ ok: false, said: 'wrong for 1 project' })
    expect(await checkTaskCounts(t.app.driver, true)).toMatchObject({ ok: true, said: 'corrected 1 number of tasks' })
    expect(await numbers(team, project)).toEqual([1, 0])
    expect(await checkTaskCounts(t.app.driver, false)).toMatchObject({ ok: true })
  })
})
