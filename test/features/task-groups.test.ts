import { describe, expect, test } from 'bun:test'
import { type Person, person, sharedApp, unique } from '../support/app.ts'

const t = await sharedApp()

interface Item {
  id: string
  key: string
  title: string
}
interface Group {
  value: string | null
  name?: string
  total: number
  ready?: number
  items: Item[]
  nextCursor: string | null
}

async function world() {
  const ada = await person(t)
  const project = (await ada.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: unique('Lantern') }))
    .body
  const make = async (title: string, fields: object = {}) =>
    (await ada.fetch<Item>('POST', `/api/projects/${project.slug}/tasks`, { title, ...fields })).body
  const path = (query: string) => `/api/tasks?projectId=${project.id}&${query}`
  const titles = async (query: string) => {
    const { status, body } = await ada.fetch<{ items: Item[] }>('GET', path(query))
    expect({ query, status }).toEqual({ query, status: 200 })
    return body.items.map(({ title }) => title).toSorted()
  }
  const groups = async (query: string, who: Person = ada) => {
    const { status, body } = await who.fetch<{ groups: Group[] }>('GET', path(query))
    expect({ query, status }).toEqual({ query, status: 200 })
    return body.groups
  }
  const lines = async (query: string) =>
    (await groups(query)).map(
      ({ value, name, total, items }) =>
        `${name ?? value ?? '-'} ${total}: ${items.map(({ title }) => title).join(' ')}`,
    )
  return { ada, project, make, titles, groups, lines }
}

async function newEpic({ ada, project }: Awaited<ReturnType<typeof world>>, title: string) {
  const path = `/api/projects/${project.slug}/epics`
  const epic = (await ada.fetch<{ id: string }>('POST', path, { title })).body
  const story = (await ada.fetch<{ id: string }>('POST', `${path}/${epic.id}/stories`, { title: 'Story' })).body
  return { epicId: epic.id, storyId: story.id }
}

describe('a filter of a task list with !', () => {
  test('finds the tasks without these values', async () => {
    const here = await world()
    const { ada, make, titles } = here
    const { epicId, storyId } = await newEpic(here, 'Offline')
    await make('a', { labels: ['docs', 'web'], assignee: 'me', priority: 'high' })
    await make('b', { labels: ['db'], status: 'backlog', storyId })
    const c = await make('c', { priority: 'low' })
    expect(await titles('label=!docs')).toEqual(['b', 'c'])
    expect(await titles('label=!docs,!db')).toEqual(['c'])
    expect(await titles('status=!backlog')).toEqual(['a', 'c'])
    expect(await titles('status=!backlog, !todo')).toEqual([])
    expect(await titles('priority=!high,!low')).toEqual(['b'])
    expect(await titles('assignee=!me')).toEqual(['b', 'c'])
    expect(await titles('assignee=!none')).toEqual(['a'])
    expect(await titles(`epicId=!${epicId}`)).toEqual(['a', 'c'])
    expect(await titles(`epicId=${epicId}`)).toEqual(['b'])
    await ada.fetch('POST', `/api/tasks/${c.id}/claim`, {})
    expect(await titles('holder=!me')).toEqual(['a', 'b'])
    expect(await titles('holder=!none')).toEqual(['c'])
    await make('d', { blockedBy: [c.key] })
    expect(await titles('status=blocked')).toEqual(['d'])
    expect(await titles('status=!blocked')).toEqual(['a', 'b', 'c'])
  })

  test('is refused with 422 if only some values have a !', async () => {
    const { ada } = await world()
    for (const query of [
      'label=docs,!web',
      'status=!done,todo',
      'assignee=me,!none',
      'priority=low,!high',
      'label=!',
    ]) {
      const { status, body } = await ada.fetch('GET', `/api/tasks?${query}`)
      const [name] = query.split('=')
      expect([query, status, body.detail]).toEqual([
        query,
        422,
        `Write ! before every value of ${name}, or before none: !first,!second.`,
      ])
    }
    const wrong = await ada.fetch('GET', '/api/tasks?epicId=soon')
    expect([wrong.status, wrong.body.detail]).toEqual([422, 'epicId is not a valid uuid.'])
  })

  test('applies to counts and the graph', async () => {
    const { ada, project, make } = await world()
    const a = await make('a', { labels: ['docs'] })
    await make('b', { blockedBy: [a.key] })
    const counts = await ada.fetch('GET', `/api/tasks/counts?projectId=${project.id}&by=status&label=!docs`)
    expect(counts.body).toEqual({ total: 1, counts: [{ value: 'todo', n: 1 }] })
    const { body } = await ada.fetch<{ nodes: { title: string; matches: boolean }[] }>(
      'GET',
      `/api/projects/${project.slug}/graph?label=!docs`,
    )
    expect(body.nodes.map(({ title, matches }) => [title, matches])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })
})

describe('the filter updatedAfter', () => {
  test('takes a date or how long ago', async () => {
    const { ada, make, titles } = await world()
    const old = await make('old')
    await make('new')
    await t.app.driver.query(`update tasks set updated_at = now() - interval '8 days' where id = $1::uuid`, [old.id])
    expect(await titles('updatedAfter=-7d')).toEqual(['new'])
    expect(await titles('updatedAfter=-2w')).toEqual(['new', 'old'])
    expect(await titles('updatedAfter=-12h')).toEqual(['new'])
    expect(await titles('updatedAfter=2020-01-01')).toEqual(['new', 'old'])
    const { status, body } = await ada.fetch<{ errors: { message: string }[] }>('GET', '/api/tasks?updatedAfter=7d')
    expect([status, body.errors[0]?.message]).toEqual([
      422,
      'updatedAfter is not a valid date, time or offset, such as -7d.',
    ])
  })
})

describe('a grouped list of tasks', () => {
  test('has a group with its total for each value, and one without a value', async () => {
    const here = await world()
    const { ada, project, make, lines } = here
    const { storyId } = await newEpic(here, 'Offline')
    await make('a', { labels: ['docs', 'web'], assignee: 'me', priority: 'high' })
    await make('b', { labels: ['web'], storyId })
    const c = await make('c', { priority: 'low', status: 'backlog' })
    await ada.fetch('POST', `/api/tasks/${c.id}/claim`, {})
    expect(await lines('group=status&status=todo,in_progress,done')).toEqual([
      'todo 2: a b',
      'in_progress 1: c',
      'done 0: ',
    ])
    await make('d', { blockedBy: [c.key] })
    expect(await lines('group=status&status=blocked')).toEqual(['todo 1: d', 'blocked 0: '])
    expect(await lines('group=status&status=!blocked,!done,!cancelled')).toEqual([
      'backlog 0: ',
      'todo 2: a b',
      'in_progress 1: c',
      'in_review 0: ',
    ])
    await ada.fetch('DELETE', `/api/tasks/${(await here.groups('group=status&in=todo&limit=3'))[0]?.items[2]?.id}`)
    expect(await lines('group=priority')).toEqual(['high 1: a', 'medium 1: b', 'low 1: c'])
    expect(await lines('group=label')).toEqual(['web 2: a b', 'docs 1: a', '- 1: c'])
    expect(await lines('group=label&label=!docs')).toEqual(['web 1: b', '- 1: c'])
    expect(await lines('group=epic')).toEqual(['Offline 1: b', '- 2: a c'])
    const [first] = await here.groups('group=holder')
    expect(await lines('group=holder')).toEqual([`${first?.name} 1: c`, '- 2: a b'])
    expect(first).toMatchObject({ value: ada.userId, name: expect.any(String) })
    expect((await lines('group=assignee&status=todo')).map((line) => line.split(': ')[1])).toEqual(['a', 'b'])
    const { body } = await ada.fetch('GET', `/api/tasks?group=label&total=true&projectId=${project.id}`)
    expect(body.total).toBe(3)
    const byProject = await here.groups('group=project')
    expect(byProject).toMatchObject([{ value: project.id, name: expect.stringContaining('Lantern'), total: 3 }])
    expect(await here.titles('group=none')).toEqual(['a', 'b', 'c'])
  })

  test('continues each group on its own, in the order of the list', async () => {
    const { make, groups } = await world()
    for (const [n, priority] of ['low', 'high', 'critical', 'medium', 'low'].entries())
      await make(`t${n}`, { priority, labels: ['x'], dueAt: `2027-01-0${9 - n}` })
    await make('other')
    const titles = async (query: string) => {
      const seen: string[] = []
      let cursor = ''
      for (;;) {
        const [group] = await groups(`group=label&in=x&limit=2&${query}${cursor && `&cursor=${cursor}`}`)
        expect(group).toMatchObject({ value: 'x', total: 5 })
        seen.push(...(group?.items.map(({ title }) => title) ?? []))
        if (!group?.nextCursor) return seen.join(' ')
        cursor = group.nextCursor
      }
    }
    expect(await titles('')).toBe('t0 t1 t2 t3 t4')
    expect(await titles('sort=priority')).toMatch(/^t2 t1 t3 t[04] t[04]$/)
    expect(await titles('sort=dueAt')).toBe('t4 t3 t2 t1 t0')
    expect(await titles('sort=updatedAt')).toBe('t4 t3 t2 t1 t0')
    expect((await groups('group=label&in=')).map(({ value, total }) => [value, total])).toEqual([[null, 1]])
  })

  test('can be sorted by completion, newest first and open tasks last', async () => {
    const { ada, project, make } = await world()
    const [a, b] = [await make('a'), await make('b')]
    await make('open')
    await make('open too')
    await ada.fetch('POST', `/api/tasks/${b.id}/complete`, {})
    await ada.fetch('POST', `/api/tasks/${a.id}/complete`, {})
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const query = `projectId=${project.id}&sort=completedAt&limit=1${cursor && `&cursor=${cursor}`}`
      const { body } = await ada.fetch<{ items: Item[]; nextCursor: string | null }>('GET', `/api/tasks?${query}`)
      seen.push(...body.items.map(({ title }) => title))
      if (!body.nextCursor) break
      cursor = body.nextCursor
    }
    expect(seen.slice(0, 2)).toEqual(['a', 'b'])
    expect(seen.slice(2).toSorted()).toEqual(['open', 'open too'])
  })

  test('leaves out the tasks of folded states, and counts those that can be started', async () => {
    const { ada, make, groups } = await world()
    const a = await make('a')
    await make('b', { blockedBy: [a.key] })
    const c = await make('c')
    await ada.fetch('POST', `/api/tasks/${c.id}/complete`, {})
    const found = await groups('group=status&folded=done,cancelled&countReady=true')
    expect(found.filter(({ total }) => total > 0)).toMatchObject([
      { value: 'todo', total: 2, ready: 1, items: [{ title: 'a' }, { title: 'b' }] },
      { value: 'done', total: 1, ready: 0, items: [], nextCursor: null },
    ])
    await ada.fetch('PATCH', `/api/tasks/${a.key}`, { status: 'cancelled' })
    expect(await groups('group=status&in=cancelled')).toMatchObject([{ value: 'cancelled', items: [{ title: 'a' }] }])
  })

  test('contains only what the reader can see', async () => {
    const here = await world()
    await here.make('a', { labels: ['secret'] })
    const eve = await person(t)
    for (const by of ['status', 'label', 'assignee', 'project', 'epic', 'holder', 'priority']) {
      const { status, body } = await eve.fetch<{ groups?: Group[] }>(
        'GET',
        `/api/tasks?group=${by}&projectId=${here.project.id}`,
      )
      expect([by, status, body.groups?.reduce((sum, { total }) => sum + total, 0)]).toEqual([by, 200, 0])
    }
  })
})
