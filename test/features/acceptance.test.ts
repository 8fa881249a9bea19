import { beforeAll, describe, expect, test } from 'bun:test'
import type { Task, TaskCompleted } from '../../src/features/tasks/schema.ts'
import { expectEvent, expectRefusal } from './support.ts'
import {
  complete,
  connect,
  factsOf,
  get,
  newEpic,
  newProject,
  newStory,
  newTask,
  newTeam,
  patch,
  refused,
  start,
  type Team,
  t,
} from './tasks-support.ts'

let team: Team
beforeAll(async () => {
  await start()
  team = await newTeam()
})

const criteria = ['A second process is refused', 'Documented']
const task = (input: object = {}, project = team.project) =>
  newTask(team.owner, project, { acceptance: criteria, ...input })
const open = (text: string) => ({ text, done: false })
const doneOf = async (made: Task) => (await get(team.owner, made)).body.acceptance.map(({ done }) => done)

describe('open acceptance criteria', () => {
  test('stop an agent from completing the task, which lists them; it ticks them in the same call', async () => {
    const agent = await connect(team.owner, { organizationId: team.id })
    const made = await task()
    for (const [tool, args] of [
      ['complete_task', {}],
      ['update_task', { status: 'done' }],
    ] as const) {
      const result = await agent.call(tool, { task: made.key, ...args })
      const text = refused(result)
      expect(text).toStartWith('conflict.acceptance_open: ')
      for (const criterion of criteria) expect(text).toContain(criterion)
    }
    expect((await get(team.owner, made)).body.status).toBe('todo')
    // One of them is not enough.
    expect(refused(await agent.call('complete_task', { task: made.key, accepted: [2] }))).not.toContain('Documented')
    const done = factsOf<TaskCompleted>(await agent.call('complete_task', { task: made.key, accepted: 'all' }))
    expect(done).toMatchObject({ key: made.key, status: 'done' })
    expect(done).not.toHaveProperty('openCriteria')
    expect(await doneOf(made)).toEqual([true, true])
    await agent.close()
  })

  test.each([
    ['numbers', [1, 2]],
    ['texts', ['documented', 'A second process is refused ']],
    ['both, as a client that sends strings', ['1', 'Documented']],
    ['a list of all', ['all']],
  ])('are ticked by %s', async (_, accepted) => {
    const agent = await connect(team.owner, { organizationId: team.id })
    const made = await task()
    factsOf(await agent.call('update_task', { task: made.key, status: 'done', accepted }))
    expect(await doneOf(made)).toEqual([true, true])
    await agent.close()
  })

  test('are refused by name if they do not exist', async () => {
    const made = await task()
    for (const accepted of [[3], ['Fast']]) {
      const answer = await complete(team.owner, made, { accepted })
      expect((await expectRefusal(t, answer, 422, 'invalid')).errors?.[0]?.pointer).toBe('/accepted')
    }
  })

  test('do not stop a person, who is notified of them; they stay visible', async () => {
    const made = await task()
    const done = await complete(team.member, made, { accepted: [1] })
    expect(done.body).toMatchObject({ status: 'done', openCriteria: ['Documented'] })
    expect(await doneOf(made)).toEqual([true, false])
    const other = await task()
    expect((await patch(team.member, other, { status: 'done', after: null })).body).toMatchObject({
      status: 'done',
      openCriteria: criteria,
    })
  })

  test('stop everyone on every path to done if the project enforces them, and no one if it warns', async () => {
    const strict = await newProject(team.owner, { settings: { acceptance: 'enforce' } })
    const made = await task({}, strict)
    expect((await get(team.owner, made)).body.can?.complete).toMatchObject({ code: 'conflict.acceptance_open' })
    const answer = await complete(team.owner, made)
    expect(await expectRefusal(t, answer, 409, 'conflict.acceptance_open')).toMatchObject({ open: criteria })
    await expectRefusal(t, await patch(team.owner, made, { status: 'done' }), 409, 'conflict.acceptance_open')
    const story = await newStory(team.owner, await newEpic(team.owner, strict))
    const nested = await task({ storyId: story.id }, strict)
    const path = `/api/projects/${strict.id}/epics/${story.epicId}/stories/${story.id}/tasks/${nested.id}`
    await expectRefusal(t, await team.owner.fetch('PUT', path, { status: 'done' }), 409, 'conflict.acceptance_open')
    // Criteria that the same change ticks or removes are not open.
    const ticked = criteria.map((text) => ({ text, done: true }))
    expect((await patch(team.owner, made, { status: 'done', acceptance: ticked })).status).toBe(200)
    expect((await patch(team.owner, nested, { status: 'done', acceptance: [] })).status).toBe(200)

    const lenient = await newProject(team.owner, { settings: { acceptance: 'warn' } })
    const agent = await connect(team.owner, { organizationId: team.id })
    const left = await task({}, lenient)
    expect(factsOf<TaskCompleted>(await agent.call('complete_task', { task: left.key }))).toMatchObject({
      openCriteria: criteria,
    })
    await agent.close()
  })

  test('cannot be removed by an agent while it completes the task; an earlier removal is an event', async () => {
    const agent = await connect(team.owner, { organizationId: team.id })
    const made = await task()
    for (const args of [{ acceptance: [] }, { acceptance: ['Documented'], accepted: 'all' }]) {
      const text = refused(await agent.call('update_task', { task: made.key, status: 'done', ...args }))
      expect(text).toStartWith('conflict.acceptance_open: ')
      expect(text).toContain('1. «A second process is refused»')
      expect(text).toContain('Leave acceptance out')
    }
    expect((await get(team.owner, made)).body).toMatchObject({ status: 'todo', acceptance: criteria.map(open) })
    const acceptance = criteria.map((text) => ({ text: text.toUpperCase(), done: true }))
    factsOf(await agent.call('update_task', { task: made.key, status: 'done', acceptance }))
    const other = await task()
    const removal = await patch(team.member, other, { acceptance: [] })
    expect((await expectEvent(t, removal, 'task.updated')).data).toMatchObject({ fields: ['acceptance'] })
    factsOf(await agent.call('update_task', { task: other.key, status: 'done' }))
    await agent.close()
  })

  test('keep their ticks when they are sent again as texts, and are unticked by done: false', async () => {
    const agent = await connect(team.owner, { organizationId: team.id })
    const made = await task({ acceptance: [{ text: 'Documented', done: true }] })
    factsOf(await agent.call('update_task', { task: made.key, acceptance: ['Documented', 'Fast'] }))
    expect(await doneOf(made)).toEqual([true, false])
    factsOf(await agent.call('update_task', { task: made.key, acceptance: [{ text: 'Documented', done: false }] }))
    expect(await doneOf(made)).toEqual([false])
    await agent.close()
  })
})

describe('the project setting acceptance', () => {
  test('has three values, stays when other settings change, and cannot be changed by an agent', async () => {
    const project = await newProject(team.owner, { settings: { acceptance: 'enforce' } })
    const put = (settings: object) => team.owner.fetch('PUT', `/api/projects/${project.id}`, { settings })
    const { errors } = await expectRefusal(t, await put({ acceptance: 'never' }), 422, 'invalid')
    expect(errors?.[0]).toMatchObject({ pointer: '/settings/acceptance' })
    expect((await put({ colour: 'red' })).body).toMatchObject({ settings: { colour: 'red', acceptance: 'enforce' } })
    const agent = await connect(team.owner, { organizationId: team.id })
    const settings = { acceptance: 'warn' }
    expect(refused(await agent.call('update_project', { project: project.id, settings }))).toStartWith('forbidden')
    expect(factsOf<object>(await agent.call('update_project', { project: project.id, settings: { colour: 'blue' } })))
    await agent.close()
  })
})

describe('completing a task a second time', () => {
  test('adds notes and evidence and reports it; sending the same ones again changes nothing', async () => {
    const made = await newTask(team.owner, team.project)
    await complete(team.member, made, { notes: 'Locked with flock', evidence: ['1a2b3c4'] })
    const again = await complete(team.member, made, { notes: 'Also on macOS', evidence: ['1a2b3c4', '5d6e7f8'] })
    expect(again.body).toMatchObject({ already: 'added', version: 3, freed: [] })
    const notes = again.body.completionNotes as string
    for (const text of ['Locked with flock', '- 1a2b3c4', 'Also on macOS', '- 5d6e7f8'])
      expect(notes.split(text)).toHaveLength(2)
    expect((await expectEvent(t, again, 'task.updated')).data).toMatchObject({ fields: ['completionNotes'] })
    const same = await complete(team.member, made, { notes: 'Also on macOS', evidence: ['5d6e7f8'] })
    expect(same.body).toMatchObject({ already: 'unchanged', version: 3, completionNotes: notes })
  })

  test('keeps the notes of the first completion if the task was reopened in between', async () => {
    const made = await newTask(team.owner, team.project)
    await complete(team.member, made, { notes: 'First half' })
    await patch(team.member, made, { status: 'todo' })
    const again = await complete(team.member, made, { notes: 'Second half' })
    expect(again.body.completionNotes).toBe('First half\n\nSecond half')
    expect(again.body).not.toHaveProperty('already')
  })

  test('is refused when the notes become too long, and keeps the earlier notes', async () => {
    const made = await newTask(team.owner, team.project)
    await complete(team.member, made, { notes: 'a'.repeat(20_000) })
    const answer = await complete(team.member, made, { notes: 'b'.repeat(20_000) })
    expect((await expectRefusal(t, answer, 422, 'invalid')).errors?.[0]?.pointer).toBe('/notes')
    expect((await get(team.owner, made)).body.completionNotes).toBe('a'.repeat(20_000))
  })
})

describe('reopening a task', () => {
  test('clears the ticks of its acceptance criteria, which the history keeps', async () => {
    const agent = await connect(team.owner, { organizationId: team.id })
    for (const status of ['todo', 'in_progress'] as const) {
      const made = await task()
      factsOf(await agent.call('complete_task', { task: made.key, accepted: 'all' }))
      factsOf(await agent.call('update_task', { task: made.key, status }))
      expect(factsOf<Task>(await agent.call('get_task', { task: made.key })).acceptance).toEqual(criteria as never)
      expect(refused(await agent.call('complete_task', { task: made.key }))).toStartWith('conflict.acceptance_open: ')
      const { body } = await team.owner.fetch<{ items: { description: string; id: string }[] }>(
        'GET',
        `/api/activities?subjectId=${made.id}`,
      )
      expect(body.items[0]?.description).toEndWith('and cleared 2 ticks')
      const history = await team.owner.fetch<{ metadata: object }>('GET', `/api/activities/${body.items[0]?.id}`)
      expect(history.body.metadata).toMatchObject({ cleared: criteria })
    }
    await agent.close()
  })

  test('keeps ticks sent in the same call, and all ticks with keepTicks, for an undo', async () => {
    const made = await task()
    const done = () => complete(team.owner, made, { accepted: 'all' })
    await done()
    await patch(team.owner, made, { status: 'todo', accepted: [2] })
    expect(await doneOf(made)).toEqual([false, true])
    await done()
    await patch(team.owner, made, { status: 'todo', keepTicks: true })
    expect(await doneOf(made)).toEqual([true, true])
  })
})
