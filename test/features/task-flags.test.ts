import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TaskGroups } from '../../src/features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../src/features/tasks/schema.ts'
import type { Person } from '../support/app.ts'
import { clock, complete, newProject, newTask, newTeam, patch, startOnClock, type Team } from './tasks-support.ts'

let team: Team
let stop: () => Promise<void>
beforeAll(async () => {
  stop = await startOnClock()
  team = await newTeam()
})
afterAll(() => stop())

const items = async (who: Person, projectId: string): Promise<Map<string, TaskItem>> => {
  const path = `/api/tasks?projectId=${projectId}&limit=200&with=flags,parts,frees`
  const { body } = await who.fetch<{ items: TaskItem[] }>('GET', path)
  return new Map(body.items.map((item) => [item.title, item]))
}
const board = async (projectId: string, query: string) =>
  (await team.owner.fetch<TaskGroups>('GET', `/api/tasks?projectId=${projectId}&group=status&${query}`)).body.groups

/** A workflow with one gate and one review. */
const lookedAt = {
  initial: 'open',
  states: ['open', 'checked', 'closed'],
  transitions: [
    { from: 'open', to: 'checked', gate: 'seen' },
    { from: 'checked', to: 'closed', by: 'approved' },
    { from: 'checked', to: 'open', by: 'changes_requested' },
  ],
  gates: [{ name: 'seen', needs: [{ anyOf: ['links'], what: 'a link to what was seen' }] }],
}

describe('GET /api/tasks?with=', () => {
  test('adds flags for the caller, the progress of parts, and how many tasks wait', async () => {
    const project = await newProject(team.owner)
    const make = (title: string, input: object = {}) => newTask(team.owner, project, { title, ...input })
    const whole = await make('whole')
    await complete(team.owner, await make('part', { parentId: whole.id }))
    await make('open part', { parentId: whole.id })
    const blocker = await make('blocker')
    await make('blocked', { blockedBy: [blocker.id] })
    const asked = await make('asked', { assignee: team.member.userId, status: 'backlog' })
    await team.owner.fetch('POST', `/api/tasks/${asked.id}/comments`, { body: 'Which port?', asks: true })
    const review = await make('review', { assignee: team.member.userId })
    await patch(team.owner, review, { status: 'in_review' })
    const mine = await items(team.member, project.id)
    expect(mine.get('whole')).toMatchObject({ parts: { done: 1, total: 2 } })
    expect(mine.get('blocker')).toMatchObject({ flags: ['ready'], freesCount: 1, parts: null })
    expect(mine.get('blocked')).toMatchObject({ flags: [], freesCount: 0 })
    expect(mine.get('asked')?.flags).toEqual(['asks_you'])
    expect(mine.get('review')?.flags).toEqual(['waits_for_you'])
    const others = await items(team.owner, project.id)
    expect([others.get('asked')?.flags, others.get('review')?.flags]).toEqual([[], []])
    await complete(team.owner, blocker)
    expect((await items(team.member, project.id)).get('blocker')?.freesCount).toBe(0)
  })

  test('flags tasks of a feature whose review requested changes, and tasks with a proposed decision', async () => {
    const project = await newProject(team.owner, { settings: { workflow: lookedAt } })
    const make = (title: string) => newTask(team.owner, project, { title, status: 'backlog' })
    const [reworked, closed, undecided, decided, plain] = [
      await make('reworked'),
      await make('closed'),
      await make('undecided'),
      await make('decided'),
      await make('plain'),
    ]
    const input = { title: 'Store', kind: 'feature', taskIds: [reworked.id, closed.id] }
    const path = `/api/projects/${project.id}/features`
    const { id } = (await team.owner.fetch<{ id: string }>('POST', path, input)).body
    const submit = async (link: string) => {
      const evidence = { summary: 'Seen', links: [link] }
      expect((await team.owner.fetch('POST', `/api/features/${id}/advance`, { evidence })).status).toBe(200)
    }
    await submit('https://example.com/1')
    await complete(team.owner, closed)
    const decision = async (task: { id: string }, status: string) => {
      const input = { title: 'Which store?', decision: 'Blocks', projectId: project.id, status }
      const { body } = await team.owner.fetch<{ id: string }>('POST', '/api/decisions', input)
      const link = { fromType: 'decision', fromId: body.id, toType: 'task', toId: task.id }
      expect((await team.owner.fetch('POST', '/api/links', link)).status).toBe(201)
      return body.id
    }
    const proposed = await decision(undecided, 'proposed')
    await decision(decided, 'accepted')
    const flags = async (who: Person) => {
      const found = await items(who, project.id)
      return [reworked, closed, undecided, decided, plain].map(({ title }) => found.get(title)?.flags)
    }
    expect(await flags(team.member)).toEqual([[], [], ['needs_decision'], [], []])
    await team.member.fetch('POST', `/api/features/${id}/reviews`, { verdict: 'changes_requested' })
    expect(await flags(team.member)).toEqual([['changes_asked'], [], ['needs_decision'], [], []])
    const grouped = (await board(project.id, 'with=flags')).flatMap((group) => group.items)
    expect(grouped.find(({ id }) => id === reworked.id)?.flags).toEqual(['changes_asked'])
    // Submitted again and decided, nothing is left.
    await submit('https://example.com/2')
    await team.owner.fetch('PATCH', `/api/decisions/${proposed}`, { status: 'accepted' })
    expect(await flags(team.member)).toEqual([[], [], [], [], []])
  })

  test('adds nothing that was not asked for', async () => {
    const { body } = await team.owner.fetch<{ items: TaskItem[] }>('GET', '/api/tasks?limit=1')
    expect(Object.keys(body.items[0] as TaskItem).filter((name) => /flags|parts|frees/.test(name))).toEqual([])
  })
})

describe('GET /api/tasks?group=status', () => {
  test('lists what was done last first, and with doneAfter counts the older tasks', async () => {
    const project = await newProject(team.owner)
    const made = []
    for (const title of ['first', 'second', 'third']) made.push(await newTask(team.owner, project, { title }))
    for (const task of [made[2], made[0]]) {
      await complete(team.owner, task as { id: string })
      clock.forward({ minutes: 1 })
    }
    const since = clock.now().toISOString()
    await complete(team.owner, made[1] as { id: string })
    const doneIn = async (query: string) => (await board(project.id, query)).find(({ value }) => value === 'done')
    expect((await doneIn(''))?.items.map(({ title }) => title)).toEqual(['second', 'first', 'third'])
    const recent = await doneIn(`doneAfter=${since}&with=flags`)
    expect([recent?.total, recent?.older, recent?.items.map(({ title }) => title)]).toEqual([1, 2, ['second']])
    const page = await doneIn('limit=2')
    const next = await doneIn(`limit=2&status=done&cursor=${page?.nextCursor}`)
    expect(next?.items.map(({ title }) => title)).toEqual(['third'])
  })
})
