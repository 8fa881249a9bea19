import { beforeAll, describe, expect, test } from 'bun:test'
import type { Tree } from '../../src/features/planning/schema.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { Epic, EpicPage, Story, StoryPage } from '../../src/features/stories/schema.ts'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { Task, TaskChanged, TaskDetail } from '../../src/features/tasks/schema.ts'
import type { Person } from '../support/app.ts'
import { expectEvent, expectRefusal, ids, times } from './support.ts'
import {
  claim,
  complete,
  connect,
  factsOf,
  get,
  keys,
  newAgent,
  newEpic,
  newProject,
  newStory,
  newTask,
  newTeam,
  refused,
  remove,
  restore,
  start,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
beforeAll(async () => {
  await start()
  team = await newTeam()
})

const epicAt = ({ projectId, id }: Epic) => `/api/projects/${projectId}/epics/${id}`
const storyAt = ({ projectId, epicId, id }: Story) => `/api/projects/${projectId}/epics/${epicId}/stories/${id}`
const treeOf = async (who: Person, project: Project) =>
  (await who.fetch<Tree>('GET', `/api/projects/${project.id}/tree`)).body

async function outline() {
  const project = await newProject(team.owner)
  const epic = await newEpic(team.member, project)
  const story = await newStory(team.member, epic, { points: 5 })
  const made = await team.member.fetch<Task>('POST', `${storyAt(story)}/tasks`, { title: 'Lock' })
  expect(made.headers.get('location')).toBe(`${storyAt(story)}/tasks/${made.body.id}`)
  return { project, epic, story, task: made.body, taskPath: `${storyAt(story)}/tasks/${made.body.id}` }
}

describe('nested paths', () => {
  test('create, read, list, change and delete epics, stories and tasks', async () => {
    const { project, epic, story, task, taskPath } = await outline()
    expect(epic).toMatchObject({
      projectId: project.id,
      status: 'todo',
      priority: 'medium',
      progress: { tasks: 0, done: 0, agents: 0 },
      version: 1,
    })
    expect(story).toMatchObject({ epicId: epic.id, points: 5 })
    expect(task).toMatchObject({ storyId: story.id, projectId: project.id, key: `${project.key}-1` })
    expect((await team.viewer.fetch<TaskDetail>('GET', taskPath)).body.id).toBe(task.id)
    expect((await team.viewer.fetch<TaskPage>('GET', `${storyAt(story)}/tasks?total=true`)).body).toMatchObject({
      total: 1,
      items: [{ id: task.id }],
    })
    expect((await team.viewer.fetch<EpicPage>('GET', `/api/projects/${project.slug}/epics`)).body.items).toMatchObject([
      { id: epic.id },
    ])
    const later = await newStory(team.member, epic)
    const other = await newStory(team.member, await newEpic(team.member, project))
    await team.member.fetch('PUT', storyAt(later), { status: 'done' })
    const stories = async (path: string) => ids((await team.viewer.fetch<StoryPage>('GET', path)).body)
    expect(await stories(`${epicAt(epic)}/stories`)).toEqual([story.id, later.id])
    expect(await stories(`${epicAt(epic)}/stories?open=true`)).toEqual([story.id])
    expect(await stories(`/api/projects/${project.slug}/stories`)).toEqual([story.id, later.id, other.id])
    expect(await stories(`/api/projects/${project.slug}/stories?open=true`)).toEqual([story.id, other.id])
    expect((await team.stranger.fetch('GET', `/api/projects/${project.slug}/stories`)).status).toBe(404)
    await team.member.fetch('DELETE', epicAt({ ...epic, id: other.epicId }))
    const changed = await team.member.fetch<TaskChanged>('PUT', taskPath, { status: 'done' })
    expect(changed.body).toMatchObject({ status: 'done', freed: [] })
    await expectEvent(t, changed, 'task.completed')
    const renamed = await team.member.fetch<Epic>('PUT', epicAt(epic), {
      title: ' Durable ',
      status: 'in_progress',
      description: 'All of it',
    })
    expect(renamed.body).toMatchObject({
      title: 'Durable',
      status: 'in_progress',
      version: 2,
      progress: { tasks: 1, done: 1, agents: 0 },
    })
    expect((await expectEvent(t, renamed, 'epic.updated')).data).toMatchObject({
      fields: ['title', 'status', 'description'],
    })
    expect((await team.member.fetch<Story>('PUT', storyAt(story), { points: null })).body).toMatchObject({
      points: null,
      progress: { tasks: 1, done: 1, agents: 0 },
    })
    expect((await team.member.fetch('DELETE', taskPath)).body).toEqual({ id: task.id, deleted: true })
    expect((await team.member.fetch('DELETE', storyAt(story))).body).toEqual({ id: story.id, deleted: true })
    expect((await team.member.fetch('DELETE', epicAt(epic))).body).toEqual({ id: epic.id, deleted: true })
    expect(await treeOf(team.viewer, project)).toMatchObject({ epics: [], tasks: [], left: 0 })
  })

  test('need every id to belong to the one before it', async () => {
    const [a, b] = [await outline(), await outline()]
    const path = (project: Project, epic: Epic, story: Story, task: Task) =>
      `/api/projects/${project.id}/epics/${epic.id}/stories/${story.id}/tasks/${task.id}`
    const sibling = await newStory(team.member, a.epic)
    for (const wrong of [
      path(b.project, a.epic, a.story, a.task),
      path(a.project, b.epic, a.story, a.task),
      path(a.project, a.epic, b.story, a.task),
      path(a.project, a.epic, sibling, a.task),
      path(a.project, a.epic, a.story, b.task),
    ])
      for (const [method, body] of [['GET'], ['PUT', { title: 'x' }], ['DELETE']] as const)
        expect([wrong, (await team.member.fetch(method, wrong, body)).status]).toEqual([wrong, 404])
    expect((await team.member.fetch('PUT', a.taskPath, { storyId: b.story.id })).status).toBe(404)
    expect((await team.member.fetch('PUT', storyAt(a.story), { epicId: b.epic.id })).status).toBe(404)
  })

  test('move a task to another story and a story to another epic, and refuse the parent in a body', async () => {
    const { project, epic, story, task, taskPath } = await outline()
    const other = await newStory(team.member, await newEpic(team.member, project))
    expect((await team.member.fetch('POST', `${storyAt(story)}/tasks`, { title: 'x', storyId: other.id })).status).toBe(
      422,
    )
    expect((await team.member.fetch<TaskChanged>('PUT', taskPath, { storyId: other.id })).body.storyId).toBe(other.id)
    expect((await team.member.fetch('GET', taskPath)).status).toBe(404)
    expect(
      (await team.member.fetch<TaskChanged>('PATCH', `/api/tasks/${task.id}`, { storyId: null })).body.storyId,
    ).toBeNull()
    expect((await treeOf(team.member, project)).tasks).toMatchObject([{ key: task.key }])
    const moved = await team.member.fetch<Story>('PUT', storyAt(other), { epicId: epic.id })
    expect(moved.body).toMatchObject({ epicId: epic.id })
    const stories = (await team.member.fetch<StoryPage>('GET', `${epicAt(epic)}/stories`)).body.items
    expect(stories.map(({ id }) => id)).toEqual([story.id, other.id])
  })

  test('refuse changes in an archived project', async () => {
    const { project, epic, story, taskPath } = await outline()
    const paths = [epicAt(epic), storyAt(story), taskPath]
    await team.owner.fetch('POST', `/api/projects/${project.id}/archive`)
    for (const path of paths) expect((await team.owner.fetch('PUT', path, { title: 'x' })).status).toBe(409)
  })

  test('move epics and stories, even very often between the same two', async () => {
    const project = await newProject(team.owner)
    const [a, b, c] = [
      await newEpic(team.member, project),
      await newEpic(team.member, project),
      await newEpic(team.member, project),
    ]
    for (let i = 0; i < 61; i++)
      expect((await team.member.fetch('PUT', epicAt(i % 2 ? b : c), { after: a.id })).status).toBe(200)
    const order = (await team.member.fetch<EpicPage>('GET', `/api/projects/${project.id}/epics`)).body.items
    expect(order.map(({ id }) => id)).toEqual([a.id, c.id, b.id])
    expect(new Set(order.map(({ position }) => position)).size).toBe(3)
    const [x, y] = [await newStory(team.member, a), await newStory(team.member, a)]
    await team.member.fetch('PUT', storyAt(y), { after: null })
    expect((await team.member.fetch<StoryPage>('GET', `${epicAt(a)}/stories`)).body.items.map(({ id }) => id)).toEqual([
      y.id,
      x.id,
    ])
    expect((await team.member.fetch('PUT', epicAt(a), { after: x.id })).status).toBe(404)
  })
})

describe('deleting and restoring', () => {
  test('an epic includes everything in it, and restores what was deleted with it', async () => {
    const { project, epic, story, task } = await outline()
    const part = await newTask(team.member, project, { parentId: task.id })
    const earlier = await newStory(team.member, epic)
    await team.member.fetch('DELETE', storyAt(earlier))
    const waiting = await newTask(team.member, project, { blockedBy: [part.key] })
    const gone = await team.member.fetch('DELETE', epicAt(epic))
    expect(gone.status).toBe(200)
    const events = await t.app.driver.query(
      "select type, data from events where request_id = $1 and type <> 'synced_record.changed' order by seq",
      [gone.headers.get('x-request-id')],
    )
    expect(events.rows.map(([type]) => type)).toEqual(['task.freed', 'epic.deleted'])
    expect((await get(team.member, waiting)).body.blockedBy).toEqual([])
    for (const id of [task.id, part.id]) expect((await get(team.member, id)).status).toBe(404)
    await expectRefusal(t, await team.admin.fetch('POST', `${storyAt(story)}/restore`), 409, 'conflict')
    expect((await restore(team.admin, task)).status).toBe(409)
    for (const who of [team.other, team.viewer])
      expect((await who.fetch('POST', `${epicAt(epic)}/restore`)).status).toBe(403)
    expect((await team.stranger.fetch('POST', `${epicAt(epic)}/restore`)).status).toBe(404)
    const back = await team.admin.fetch<Epic>('POST', `${epicAt(epic)}/restore`)
    expect(back.body).toMatchObject({ id: epic.id, progress: { tasks: 2 } })
    expect((await expectEvent(t, back, 'epic.restored')).data).toMatchObject({ stories: 1, tasks: 2 })
    expect((await get(team.member, waiting)).body.blockedBy).toEqual([part.key])
    const [shown] = (await treeOf(team.member, project)).epics
    expect(shown?.stories).toMatchObject([
      {
        id: story.id,
        tasks: [
          { key: task.key, parentId: null },
          { key: part.key, parentId: task.id },
        ],
      },
    ])
    expect((await team.admin.fetch<Story>('POST', `${storyAt(earlier)}/restore`)).body).toMatchObject({
      id: earlier.id,
    })
    expect((await team.admin.fetch<Epic>('POST', `${epicAt(epic)}/restore`)).body.version).toBe(back.body.version)
  })

  test('is possible for thirty days', async () => {
    const { epic, story } = await outline()
    await team.member.fetch('DELETE', storyAt(story))
    await team.member.fetch('DELETE', epicAt(epic))
    for (const table of ['epics', 'stories'])
      await t.app.driver.query(`update ${table} set deleted_at = now() - interval '31 days' where project_id = $1`, [
        epic.projectId,
      ])
    expect((await team.admin.fetch('POST', `${epicAt(epic)}/restore`)).status).toBe(404)
    expect((await team.admin.fetch('POST', `${storyAt(story)}/restore`)).status).toBe(404)
  })

  test('tasks held by another agent is refused to an agent, and allowed to a person', async () => {
    const { epic, task } = await outline()
    const holder = await connect(team.member, { agentId: (await newAgent(team.owner)).id })
    factsOf(await holder.call('claim_task', { task: task.key }))
    const other = await connect(team.other)
    expect(refused(await other.call('delete_task', { task: task.key, reason: 'Not needed' }))).toContain(
      'conflict.lease_held',
    )
    expect((await team.owner.fetch('DELETE', epicAt(epic))).status).toBe(200)
    const back = await team.owner.fetch('POST', `${epicAt(epic)}/restore`)
    expect(back.status).toBe(200)
    // Begun, and nobody at it: the next one goes on.
    expect((await get(team.owner, task)).body).toMatchObject({ status: 'in_progress', lease: null })
    expect((await claim(team.other, task)).status).toBe(200)
    await Promise.all([holder.close(), other.close()])
  })

  test('a project restores everything deleted with it, under free names', async () => {
    const { project, epic, task } = await outline()
    const lost = await newTask(team.member, project)
    await remove(team.member, lost)
    const note = (
      await team.owner.fetch<{ id: string }>('POST', '/api/notes', {
        title: 'In it',
        scope: 'team',
        projectId: project.id,
      })
    ).body
    expect((await team.owner.fetch('DELETE', `/api/projects/${project.id}`)).status).toBe(200)
    const path = `/api/projects/${project.id}/restore`
    expect((await team.viewer.fetch('POST', path)).status).toBe(403)
    expect((await team.member.fetch('POST', path)).status).toBe(403)
    expect((await team.stranger.fetch('POST', path)).status).toBe(404)
    const squatter = await newProject(team.owner, { name: project.name, key: project.key })
    expect(squatter.slug).toBe(project.slug)
    const back = await team.admin.fetch<Project>('POST', path)
    expect(back.status).toBe(200)
    await expectEvent(t, back, 'project.restored')
    expect(back.body.slug).toBe(`${project.slug}-2`)
    expect(back.body.key).not.toBe(project.key)
    expect((await get(team.member, task)).body.key).toBe(`${back.body.key}-1`)
    expect((await get(team.member, lost)).status).toBe(404)
    expect((await team.member.fetch('GET', epicAt(epic))).status).toBe(200)
    expect((await team.owner.fetch('GET', `/api/notes/${note.id}`)).status).toBe(200)
    expect((await team.member.fetch<Project>('POST', path)).body.version).toBe(back.body.version)
    await team.owner.fetch('DELETE', `/api/projects/${project.id}`)
    await t.app.driver.query("update projects set deleted_at = now() - interval '31 days' where id = $1", [project.id])
    expect((await team.owner.fetch('POST', path)).status).toBe(404)
  })

  test('a private project is not reported to people who could not see it', async () => {
    const secret = await newProject(team.owner, { visibility: 'private' })
    await team.owner.fetch('DELETE', `/api/projects/${secret.id}`)
    for (const ref of [secret.id, secret.slug, secret.key])
      expect((await team.member.fetch('POST', `/api/projects/${ref}/restore`)).status).toBe(404)
    expect((await team.admin.fetch('POST', `/api/projects/${secret.slug}/restore`)).status).toBe(200)
  })
})

describe('the tree of a project', () => {
  test('names open blockers by their keys, and puts tasks without a story below the project', async () => {
    const { project, task } = await outline()
    const elsewhere = await newTask(team.member, await newProject(team.owner))
    const done = await newTask(team.member, project)
    const alone = await newTask(team.member, project, { blockedBy: [elsewhere.key, task.key, done.key] })
    await complete(team.member, done)
    const { tasks } = await treeOf(team.viewer, project)
    expect(keys(tasks)).toEqual([done.key, alone.key])
    expect(tasks[1]?.blockedBy.toSorted()).toEqual([elsewhere.key, task.key].toSorted())
  })

  test('is cut at 3,500 entries, and says how many are left', async () => {
    const project = await newProject(team.owner)
    await newTask(team.owner, project)
    // In parts: on a busy machine one statement of thousands of rows may take longer than a statement may.
    for (let from = 2; from <= 3510; from += 501)
      await t.app.driver.query(
        `insert into tasks (id, created_at, updated_at, organization_id, project_id, title, status, priority, position, number, labels, acceptance)
         select gen_random_uuid(), now(), now(), organization_id, project_id, 'Task ' || n, 'todo', 'low', n, n, '{}', '[]'
         from tasks, generate_series($2::int, least($2::int + 500, 3510)) n where project_id = $1 and number = 1`,
        [project.id, from],
      )
    const tree = await treeOf(team.viewer, project)
    expect([tree.tasks.length, tree.left]).toEqual([3500, 10])
  })

  test('of a new plan contains the created records, behind the existing ones', async () => {
    const { project, epic, task } = await outline()
    const plan = {
      epics: [
        {
          title: 'Second',
          stories: [
            {
              title: 'S',
              tasks: times(3, (i) => ({ ref: `r${i}`, title: `T${i}`, blockedBy: i ? [`r${i - 1}`] : [] })),
            },
          ],
        },
      ],
    }
    const made = (await team.member.fetch<Tree>('POST', `/api/projects/${project.slug}/plan`, plan)).body
    expect(made.epics.map(({ title }) => title)).toEqual(['Second'])
    const tasks = made.epics[0]?.stories[0]?.tasks ?? []
    expect(tasks.map(({ blockedBy }) => blockedBy)).toEqual([[], [tasks[0]?.key], [tasks[1]?.key]] as string[][])
    const whole = await treeOf(team.viewer, project)
    expect(whole.epics.map(({ title }) => title)).toEqual([epic.title, 'Second'])
    const all = (await team.viewer.fetch<TaskPage>('GET', `/api/tasks?projectId=${project.id}&sort=position&order=asc`))
      .body.items
    expect(keys(all)).toEqual([task.key, ...keys(tasks)])
    expect(new Set(all.map(({ position }) => position)).size).toBe(4)
    await expectRefusal(t, await claim(team.member, tasks[1]?.id as string), 409, 'conflict.blocked')
  })
})

test('a record added to an epic or story while it is deleted is deleted too or refused', async () => {
  const left = async (project: Project) =>
    (
      await t.app.driver.query(
        `select 'task' from tasks t join stories s on s.id = t.story_id where t.project_id = $1 and t.deleted_at is null and s.deleted_at is not null
         union all select 'story' from stories s join epics e on e.id = s.epic_id where s.project_id = $1 and s.deleted_at is null and e.deleted_at is not null
         union all select 'part' from tasks t join tasks p on p.id = t.parent_id where t.project_id = $1 and t.deleted_at is null and p.deleted_at is not null`,
        [project.id],
      )
    ).rows.flat()
  const project = await newProject(team.owner)
  const elsewhere = await newStory(team.member, await newEpic(team.member, project))
  for (let round = 0; round < 5; round++) {
    const epic = await newEpic(team.member, project)
    const story = await newStory(team.member, epic)
    const [other, whole, moving] = [
      await newTask(team.member, project),
      await newTask(team.member, project),
      await newStory(team.member, epic),
    ]
    expect((await team.member.fetch('PUT', storyAt(moving), { epicId: elsewhere.epicId })).status).toBe(200)
    const answers = await Promise.all([
      team.owner.fetch('DELETE', epicAt(epic)),
      team.member.fetch('POST', `${storyAt(story)}/tasks`, { title: 'Late' }),
      team.other.fetch('PATCH', `/api/tasks/${other.id}`, { storyId: story.id }),
      team.admin.fetch('POST', `${epicAt(epic)}/stories`, { title: 'Late' }),
      team.member.fetch('PUT', storyAt({ ...moving, epicId: elsewhere.epicId }), { epicId: epic.id }),
      remove(team.owner, whole),
      team.other.fetch('POST', `/api/projects/${project.id}/tasks`, { title: 'Part', parentId: whole.id }),
    ])
    expect(answers[0]?.status).toBe(200)
    for (const { status } of answers) expect([200, 201, 404, 412]).toContain(status)
    expect(await left(project)).toEqual([])
  }
})
