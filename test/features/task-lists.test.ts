import { describe, expect, test } from 'bun:test'
import { type Person, person, sharedApp, unique } from '../support/app.ts'

const t = await sharedApp()

interface Page {
  items: { key: string; title: string; version: number; id: string }[]
  nextCursor: string | null
  total?: number
}

async function newProject(who: Person): Promise<{ id: string; slug: string }> {
  return (await who.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: unique('Lantern') })).body
}

async function world() {
  const ada = await person(t)
  const project = await newProject(ada)
  const make = async (title: string, fields: object = {}) =>
    (await ada.fetch<Page['items'][number]>('POST', `/api/projects/${project.slug}/tasks`, { title, ...fields })).body
  const titles = async (query: string) => {
    const { status, body } = await ada.fetch<Page>('GET', `/api/tasks?projectId=${project.id}&order=asc&${query}`)
    expect({ query, status }).toEqual({ query, status: 200 })
    return body.items.map(({ title }) => title).toSorted()
  }
  return { ada, project, make, titles }
}

describe('the filters of a task list', () => {
  test('take several values with commas, and none', async () => {
    const { ada, project, make, titles } = await world()
    const epic = (await ada.fetch<{ id: string }>('POST', `/api/projects/${project.slug}/epics`, { title: 'E' })).body
    const path = `/api/projects/${project.slug}/epics/${epic.id}/stories`
    const story = (await ada.fetch<{ id: string }>('POST', path, { title: 'S' })).body
    await make('a', { priority: 'high', labels: ['db', 'red'], assignee: 'me', dueAt: '2027-01-10' })
    await make('b', { priority: 'low', labels: ['web'], status: 'backlog', dueAt: '2027-02-10', storyId: story.id })
    const c = await make('c', { priority: 'critical', labels: ['x, y'] })
    expect(await titles('status=todo,backlog')).toEqual(['a', 'b', 'c'])
    expect(await titles('priority=high,low')).toEqual(['a', 'b'])
    expect(await titles('label=red,web')).toEqual(['a', 'b'])
    expect(await titles(`label=${encodeURIComponent('x, y')}`)).toEqual(['c'])
    expect(await titles('assignee=none')).toEqual(['b', 'c'])
    expect(await titles('assignee=none,me')).toEqual(['a', 'b', 'c'])
    expect(await titles(`epicId=${epic.id}`)).toEqual(['b'])
    expect(await titles('dueBefore=2027-02-01')).toEqual(['a'])
    expect(await titles('dueAfter=2027-01-10')).toEqual(['a', 'b'])
    expect(await titles('dueAfter=2027-01-11&dueBefore=2027-03-01')).toEqual(['b'])
    await ada.fetch('POST', `/api/tasks/${c.id}/claim`, {})
    expect(await titles('leased=true')).toEqual(['c'])
    expect(await titles('leased=false')).toEqual(['a', 'b'])
    expect(await titles('holder=me')).toEqual(['c'])
    expect(await titles('holder=none')).toEqual(['a', 'b'])
    expect(await titles('holder=none,me')).toEqual(['a', 'b', 'c'])
    const wrong = await ada.fetch('GET', '/api/tasks?status=todo,soon')
    expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([
      422,
      expect.stringContaining('must be one of: backlog'),
    ])
    expect((await ada.fetch('GET', '/api/tasks?assignee=me,nobody-at-all')).status).toBe(404)
  })

  test('find the tasks of an archived agent', async () => {
    const { ada, make, titles } = await world()
    const agent = (await ada.fetch<{ id: string; slug: string }>('POST', '/api/agents', { name: 'Reviewer' })).body
    await make('a', { assignee: agent.slug })
    await make('b')
    await ada.fetch('PUT', `/api/agents/${agent.id}`, { status: 'archived' })
    expect(await titles(`assignee=${agent.id}`)).toEqual(['a'])
    expect(await titles(`holder=${agent.slug}`)).toEqual([])
  })

  test('combine with the orders by priority and due date across all pages', async () => {
    const { ada, project, make } = await world()
    for (const [title, priority, dueAt] of [
      ['m1', 'medium', null],
      ['c', 'critical', '2027-03-01'],
      ['l', 'low', '2027-01-01'],
      ['m2', 'medium', null],
      ['h', 'high', '2027-02-01'],
    ] as const)
      await make(title, { priority, dueAt })
    const all = async (sort: string): Promise<string> => {
      const seen: string[] = []
      let cursor = ''
      for (;;) {
        const path = `/api/tasks?projectId=${project.id}&limit=2&sort=${sort}${cursor && `&cursor=${cursor}`}`
        const { body, status } = await ada.fetch<Page>('GET', path)
        expect(status).toBe(200)
        seen.push(...body.items.map(({ title }) => title))
        if (!body.nextCursor) return seen.join(' ')
        cursor = body.nextCursor
      }
    }
    expect(await all('priority')).toMatch(/^c h m\d m\d l$/)
    expect(await all('priority&order=asc')).toMatch(/^l m\d m\d h c$/)
    expect(await all('dueAt')).toMatch(/^l h c m\d m\d$/)
    expect(await all('dueAt&order=desc')).toMatch(/^m\d m\d c h l$/)
  })

  test('limit a board to the named columns', async () => {
    const { ada, project, make } = await world()
    await make('a')
    await make('b', { status: 'backlog' })
    const { body } = await ada.fetch<{ groups: { value: string; total: number }[] }>(
      'GET',
      `/api/tasks?group=status&projectId=${project.id}&status=todo,backlog,cancelled`,
    )
    expect(body.groups.map(({ value, total }) => `${value} ${total}`)).toEqual(['backlog 1', 'todo 1', 'cancelled 0'])
  })
})

describe('the counts of a task list', () => {
  const by = async (who: Person, projectId: string, query: string) => {
    const path = `/api/tasks/counts?projectId=${projectId}&by=${query}`
    const { body } = await who.fetch<{ total: number; counts: { value: string | null; name?: string; n: number }[] }>(
      'GET',
      path,
    )
    return [body.total, Object.fromEntries(body.counts.map(({ value, name, n }) => [name ?? value ?? 'none', n]))]
  }

  test('contain the number of tasks for each property, within the filters', async () => {
    const { ada, project, make } = await world()
    await make('a', { labels: ['db', 'red'], assignee: 'me' })
    await make('b', { labels: ['db'], priority: 'high', status: 'backlog' })
    const c = await make('c')
    await ada.fetch('POST', `/api/tasks/${c.id}/claim`, {})
    const id = project.id
    expect(await by(ada, id, 'status')).toEqual([3, { todo: 1, backlog: 1, in_progress: 1 }])
    expect(await by(ada, id, 'label')).toEqual([3, { db: 2, red: 1 }])
    expect(await by(ada, id, 'label&status=backlog')).toEqual([1, { db: 1 }])
    expect(await by(ada, id, 'status&label=db')).toEqual([2, { todo: 1, backlog: 1 }])
    expect(await by(ada, id, 'priority')).toEqual([3, { medium: 2, high: 1 }])
    expect(await by(ada, id, 'assignee')).toEqual([3, { [ada.userId]: 2, none: 1 }])
    expect(await by(ada, id, 'holder')).toEqual([3, { [ada.userId]: 1 }])
    expect(await by(ada, id, 'epic')).toEqual([3, { none: 3 }])
    const eve = await person(t)
    expect((await eve.fetch('GET', `/api/tasks/counts?projectId=${id}&by=status`)).status).toBe(404)
  })
})

describe('changing several tasks', () => {
  test('changes each on its own, with a reason for each refusal', async () => {
    const { ada, make } = await world()
    const a = await make('a', { labels: ['old', 'db'] })
    const b = await make('b', { blockedBy: [a.key] })
    const c = await make('c')
    const change = { status: 'in_progress', priority: 'high', addLabels: ['new'], removeLabels: ['old'] }
    const tasks = [{ id: a.id, ifMatch: a.version }, { id: b.key }, { id: c.id, ifMatch: 7 }, { id: 'NONE-1' }]
    interface Changed {
      items: { id: string; task?: { status: string; labels: string[] }; problem?: { code: string; status: number } }[]
    }
    const { status, body } = await ada.fetch<Changed>('POST', '/api/tasks/batch', { tasks, change })
    expect(status).toBe(200)
    expect(body.items.map(({ id, task, problem }) => [id, task?.status ?? problem?.code])).toEqual([
      [a.id, 'in_progress'],
      [b.key, 'conflict.blocked'],
      [c.id, 'version_mismatch'],
      ['NONE-1', 'not_found'],
    ])
    expect(body.items[0]?.task?.labels).toEqual(['db', 'new'])
    const too = { tasks: Array.from({ length: 201 }, () => ({ id: a.id })), change }
    expect((await ada.fetch('POST', '/api/tasks/batch', too)).status).toBe(422)
  })

  test('closes and opens tasks in their order: each one counts for those that wait for it', async () => {
    const { ada, make } = await world()
    const first = await make('first')
    const second = await make('second', { blockedBy: [first.key] })
    const third = await make('third', { blockedBy: [second.key] })
    await ada.fetch('PATCH', `/api/tasks/${third.key}`, { status: 'blocked' })
    interface Changed {
      items: { task?: { status: string; version: number; blockedBy: string[] }; problem?: { code: string } }[]
    }
    const send = async (refs: string[], status: string) => {
      const input = { tasks: refs.map((id) => ({ id })), change: { status } }
      const { body } = await ada.fetch<Changed>('POST', '/api/tasks/batch', input)
      return body.items.map(({ task, problem }) => problem?.code ?? task?.status)
    }
    const blocked = 'conflict.blocked'
    expect(await send([third.id, second.id, first.id], 'done')).toEqual([blocked, blocked, 'done'])
    expect(await send([first.id], 'todo')).toEqual(['todo'])
    // By id they are read ahead, by key at their turn.
    expect(await send([first.id, second.id, third.id], 'done')).toEqual(['done', 'done', 'done'])
    expect(await send([second.id, third.id], 'backlog')).toEqual(['backlog', 'backlog'])
    expect(await send([first.id, second.id], 'in_progress')).toEqual(['in_progress', blocked])
    expect(await send([first.key, second.id, third.key], 'done')).toEqual(['done', 'done', 'done'])
    expect(await send([third.id, first.id, second.id, first.id], 'todo')).toEqual(['todo', 'todo', 'todo', 'todo'])
    const blockers = async (key: string) =>
      (await ada.fetch<{ blockedBy: string[] }>('GET', `/api/tasks/${key}`)).body.blockedBy
    expect([await blockers(second.key), await blockers(third.key)]).toEqual([[first.key], [second.key]])
  })

  test('counts a blocker of the batch also for a closed task that waits for it', async () => {
    const { ada, make } = await world()
    interface Changed {
      items: { task?: { status: string }; problem?: { code: string } }[]
    }
    const send = async (which: { id: string }[], status: string) => {
      const input = { tasks: which.map(({ id }) => ({ id })), change: { status } }
      const { body } = await ada.fetch<Changed>('POST', '/api/tasks/batch', input)
      return body.items.map(({ task, problem }) => problem?.code ?? task?.status)
    }
    const pair = async () => {
      const first = await make('first')
      return [first, await make('second', { blockedBy: [first.key] })] as const
    }
    const [a, c] = await pair()
    expect(await send([a, c], 'done')).toEqual(['done', 'done'])
    expect(await send([a, c], 'in_progress')).toEqual(['in_progress', 'conflict.blocked'])
    expect(await send([a], 'done')).toEqual(['done'])
    expect(await send([c, a], 'in_progress')).toEqual(['in_progress', 'in_progress'])
    const [b, d] = await pair()
    expect(await send([d], 'cancelled')).toEqual(['cancelled'])
    expect(await send([d, b], 'done')).toEqual(['conflict.blocked', 'done'])
    expect(await send([b], 'todo')).toEqual(['todo'])
    expect(await send([b, d], 'done')).toEqual(['done', 'done'])
  })

  test('adds and removes blockers, and keeps the others', async () => {
    const { ada, make } = await world()
    const [first, second, third] = [await make('first'), await make('second'), await make('third')]
    const a = await make('a', { blockedBy: [first.key] })
    const b = await make('b')
    const send = (change: object) =>
      ada.fetch<{ items: { task?: { blockedBy: string[] }; problem?: { code: string } }[] }>(
        'POST',
        '/api/tasks/batch',
        { tasks: [{ id: a.key }, { id: b.key }], change },
      )
    const blockers = ({ body }: Awaited<ReturnType<typeof send>>) => body.items.map(({ task }) => task?.blockedBy)
    expect(blockers(await send({ addBlockedBy: [second.id, third.key] }))).toEqual([
      [first.key, second.key, third.key],
      [second.key, third.key],
    ])
    const removed = await send({ removeBlockedBy: [second.key] })
    expect(blockers(removed)).toEqual([[first.key, third.key], [third.key]])
    await ada.fetch('POST', `/api/changes/${removed.headers.get('x-change-id')}/undo`, {})
    const { body } = await ada.fetch<{ blockedBy: string[] }>('GET', `/api/tasks/${a.key}`)
    expect(body.blockedBy).toEqual([first.key, second.key, third.key])
    const circle = await send({ addBlockedBy: [b.key] })
    expect(circle.body.items.map(({ task, problem }) => problem?.code ?? task?.blockedBy)).toEqual([
      [first.key, second.key, third.key, b.key],
      'conflict.cycle',
    ])
  })

  test('with an idempotency key is done once', async () => {
    const { ada, make } = await world()
    const a = await make('a')
    const send = () =>
      ada.fetch<{ items: { task: { version: number } }[] }>(
        'POST',
        '/api/tasks/batch',
        { tasks: [{ id: a.id }], change: { priority: 'low' } },
        { 'idempotency-key': 'same-batch' },
      )
    const first = await send()
    expect((await send()).body).toEqual(first.body)
    expect(first.body.items[0]?.task.version).toBe(2)
  })
})
