import { beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ProjectDetail } from '../../src/features/projects/schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { checkReadiness } from '../../src/features/upkeep/readiness.ts'
import type { Person } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'
import {
  complete,
  newEpic,
  newProject,
  newStory,
  newTask,
  newTeam,
  next,
  patch,
  remove,
  restore,
  start,
  t,
} from './tasks-support.ts'

beforeAll(start)

/** Returns the tasks of these teams whose columns differ from what their dependencies and parts say. */
async function wrong(...teams: string[]): Promise<unknown[]> {
  const isOpen = (name: string) => `${name}.deleted_at is null and ${name}.status not in ('done', 'cancelled')`
  const { rows } = await t.app.driver.query(
    `with counted as (select t.*,
      (select count(*) from task_dependencies d join tasks b on b.id = d.blocked_by_id where d.task_id = t.id
        and d.kind = 'blocks' and b.organization_id = t.organization_id and ${isOpen('b')}) as blockers,
      (select count(*) from tasks p where p.parent_id = t.id and ${isOpen('p')}) as parts,
      (select count(*) from task_dependencies d join tasks w on w.id = d.task_id where d.blocked_by_id = t.id
        and d.kind = 'blocks' and w.organization_id = t.organization_id and ${isOpen('w')}) as waiters
      from tasks t where organization_id = any($1::uuid[]))
    select title, status, has_open_blockers, blockers, has_open_parts, parts, open_waiters, waiters from counted
    where has_open_blockers <> (blockers > 0) or has_open_parts <> (parts > 0) or open_waiters <> waiters`,
    [`{${teams.join(',')}}`],
  )
  return rows
}

/** Returns the numbers that a project shows, if they differ from those of its list of tasks. */
async function miscounted({ who, project }: World): Promise<unknown> {
  const total = async (filter: string) =>
    (await who.fetch<{ total: number }>('GET', `/api/tasks?projectId=${project.id}&total=true&limit=1${filter}`)).body
      .total
  const { stats } = (await who.fetch<ProjectDetail>('GET', `/api/projects/${project.id}`)).body
  const real = { tasks: await total(''), tasksDone: await total('&status=done') }
  return stats.tasks === real.tasks && stats.tasksDone === real.tasksDone ? undefined : { stats, real }
}

/** Waits until a transaction waits for a lock. */
async function someoneWaits(): Promise<void> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const deadline = Date.now() + 60_000
  while ((await t.app.driver.query(waiting)).rows.length === 0) {
    if (Date.now() > deadline) throw new Error('nobody waited for a lock')
    await Bun.sleep(5)
  }
}

const statuses = ['backlog', 'todo', 'in_progress', 'blocked', 'in_review', 'done', 'cancelled']
const MANY = 8
const which = fc.nat(MANY - 1)
const oneAct = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('move' as const), task: which, to: fc.constantFrom(...statuses) }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('complete' as const), task: which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('block' as const),
      task: which,
      by: fc.uniqueArray(which, { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('part' as const), task: which, of: fc.option(which) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('remove' as const), task: which }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('restore' as const), task: which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('add' as const),
      parent: which,
      by: fc.uniqueArray(which, { maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('removeStory' as const, 'restoreStory' as const) }) },
)
type Act = typeof oneAct extends fc.Arbitrary<infer A> ? A : never

interface World {
  who: Person
  project: { id: string }
  story: string
  tasks: Task[]
}

/** Does something that may be refused: a deleted task, a cycle, or a blocker in the way. */
function act({ who, project, story, tasks }: World, what: Act): Promise<{ status: number; body: unknown }> {
  const at = (i: number) => tasks[i] as Task
  const keys = (list: number[]) => list.map((i) => at(i).id)
  switch (what.does) {
    case 'move':
      return patch(who, at(what.task), { status: what.to })
    case 'complete':
      return complete(who, at(what.task), { force: true })
    case 'block':
      return patch(who, at(what.task), { blockedBy: keys(what.by) })
    case 'part':
      return patch(who, at(what.task), { parentId: what.of === null ? null : at(what.of).id })
    case 'remove':
      return remove(who, at(what.task))
    case 'restore':
      return restore(who, at(what.task))
    case 'add':
      return who.fetch('POST', `/api/projects/${project.id}/tasks`, {
        title: 'one more',
        parentId: at(what.parent).id,
        blockedBy: keys(what.by),
      })
    case 'removeStory':
      return who.fetch('DELETE', story)
    case 'restoreStory':
      return who.fetch('POST', `${story}/restore`)
  }
}

async function newWorld(): Promise<World & { team: string }> {
  const { id, owner, project } = await newTeam()
  const story = await newStory(owner, await newEpic(owner, project))
  const tasks: Task[] = []
  for (let i = 0; i < MANY; i++)
    tasks.push(await newTask(owner, project, { title: `T${i}`, ...(i % 3 === 0 && { storyId: story.id }) }))
  return {
    team: id,
    who: owner,
    project,
    story: `/api/projects/${project.id}/epics/${story.epicId}/stories/${story.id}`,
    tasks,
  }
}

describe('the stored readiness of tasks', () => {
  test('is correct after any history, also of several people at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(oneAct, { minLength: 1, maxLength: 6 }), { minLength: 4, maxLength: 8 }),
        async (history) => {
          const world = await newWorld()
          for (const together of history) {
            const answers = await Promise.all(together.map((what) => act(world, what)))
            // 503 would be a deadlock.
            expect(answers.filter(({ status }) => status >= 500).map(({ body }) => body)).toEqual([])
            expect([together, await wrong(world.team)]).toEqual([together, []])
          }
          expect(await miscounted(world)).toBeUndefined()
        },
      ),
      { numRuns: isShort ? 2 : 6, seed: 13, endOnFailure: true },
    )
  }, 300_000)

  test('is correct when the last two blockers are completed at once', async () => {
    const { id, owner, project } = await newTeam()
    for (let round = 0; round < 5; round++) {
      const [a, b] = [await newTask(owner, project), await newTask(owner, project)]
      const last = await newTask(owner, project, { blockedBy: [a.id, b.id] })
      const done = await Promise.all([complete(owner, a), complete(owner, b)])
      expect(done.map(({ status }) => status)).toEqual([200, 200])
      expect(done.flatMap(({ body }) => body.freed.map(({ key }) => key))).toEqual([last.key])
    }
    expect(await wrong(id)).toEqual([])
  })

  test('is correct when a project is deleted, restored or moved, and after permanent deletion', async () => {
    const { id, owner, project } = await newTeam()
    const other = await newTeam()
    const second = await newProject(owner)
    const blocker = await newTask(owner, second)
    const part = await newTask(owner, second, { parentId: blocker.id })
    const waiter = await newTask(owner, project, { blockedBy: [blocker.id] })
    const state = async () => {
      const { rows } = await t.app.driver.query(
        'select has_open_blockers, has_open_parts, open_waiters from tasks where id = any($1::uuid[]) order by number, id',
        [`{${waiter.id},${blocker.id}}`],
      )
      expect(await wrong(id, other.id)).toEqual([])
      return rows
    }
    const before = await state()
    expect((await owner.fetch('DELETE', `/api/projects/${second.id}`)).status).toBe(200)
    expect(await state()).not.toEqual(before)
    expect((await owner.fetch('POST', `/api/projects/${second.id}/restore`)).status).toBe(200)
    expect(await state()).toEqual(before)
    expect((await owner.fetch('PATCH', `/api/projects/${second.id}`, { organizationId: other.id })).status).toBe(200)
    expect(await state()).not.toEqual(before)
    expect((await owner.fetch('PATCH', `/api/projects/${second.id}`, { organizationId: id })).status).toBe(200)
    expect(await state()).toEqual(before)
    await t.app.driver.query('delete from tasks where id = $1::uuid', [part.id])
    await state()
    await t.app.driver.query('delete from projects where id = $1::uuid', [second.id])
    expect(await state()).toEqual([[false, false, 0]])
  })

  // The embedded database runs one transaction at a time.
  test.if(process.env.TEST_DB === 'postgres')(
    'is written with rows locked in the order of ids, so that no deadlock occurs',
    async () => {
      const { id, owner, project } = await newTeam()
      const [waiter, blocker] = [await newTask(owner, project), await newTask(owner, project)]
      expect((await patch(owner, waiter, { blockedBy: [blocker.id] })).status).toBe(200)
      const hold = await t.app.driver.begin()
      await hold.query('select 1 from tasks where id = $1::uuid for update', [waiter.id])
      const done = complete(owner, blocker)
      await someoneWaits()
      // It waits for the lower id before it holds the higher one.
      const { rows } = await hold.query('select 1 from tasks where id = $1::uuid for update skip locked', [blocker.id])
      expect(rows).toHaveLength(1)
      await hold.rollback()
      expect((await done).status).toBe(200)
      expect(await wrong(id)).toEqual([])
    },
  )

  test.if(process.env.TEST_DB === 'postgres')(
    'is written for several new tasks after the team was locked',
    async () => {
      const { id, owner, project } = await newTeam()
      const parent = await newTask(owner, project)
      const hold = await t.app.driver.begin()
      await hold.query('select 1 from organizations where id = $1::uuid for no key update', [id])
      const list = [{ title: 'One' }, { title: 'Two', blockedBy: ['One'] }]
      const made = owner.fetch('POST', `/api/projects/${project.id}/tasks/batch`, { parent: parent.key, tasks: list })
      await someoneWaits()
      // It does not hold the parent, which whoever holds the team may want.
      const { rows } = await hold.query('select 1 from tasks where id = $1::uuid for update skip locked', [parent.id])
      expect(rows).toHaveLength(1)
      await hold.rollback()
      expect((await made).status).toBe(201)
      expect(await wrong(id)).toEqual([])
    },
  )

  test.if(process.env.TEST_DB === 'postgres')(
    'is written on completion without waiting for a locked next task',
    async () => {
      const { owner, project } = await newTeam()
      const [first, second] = [await newTask(owner, project), await newTask(owner, project)]
      const hold = await t.app.driver.begin()
      await hold.query('select 1 from tasks where id = $1::uuid for update', [second.id])
      const { body } = await complete(owner, first, { claimNext: true })
      await hold.rollback()
      expect(body).toMatchObject({
        status: 'done',
        next: null,
        noNext: expect.stringContaining(`${second.key} is being`),
      })
      expect((await next(owner, { projectId: project.id })).body.task?.key).toBe(second.key)
    },
  )

  test('is corrected by doctor if someone changed the database by hand', async () => {
    const { id, owner, project } = await newTeam()
    const blocker = await newTask(owner, project)
    await newTask(owner, project, { blockedBy: [blocker.id] })
    await t.app.driver.query('update tasks set has_open_blockers = not has_open_blockers where project_id = $1::uuid', [
      project.id,
    ])
    expect(await checkReadiness(t.app.driver, false)).toMatchObject({ ok: false, said: 'wrong for 2 tasks' })
    expect(await checkReadiness(t.app.driver, true)).toMatchObject({ ok: true, said: 'corrected for 2 tasks' })
    expect(await wrong(id)).toEqual([])
    expect(await checkReadiness(t.app.driver, false)).toMatchObject({ ok: true })
  })
})
