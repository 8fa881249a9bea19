import { beforeAll, describe, expect, test } from 'bun:test'
import type { Tree } from '../../src/features/planning/schema.ts'
import { recordsChanged } from '../../src/records/synced-changes.ts'
import { type Person, person, sharedApp, type TestApp } from '../support/app.ts'

let t: TestApp
let ada: Person
let count = 0

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
})

const project = async (who = ada, body: object = {}): Promise<{ id: string; slug: string; key: string }> =>
  (
    await who.fetch<{ id: string; slug: string; key: string }>('POST', '/api/projects', {
      name: `Plan ${++count}`,
      ...body,
    })
  ).body

const plan = {
  epics: [
    {
      title: 'Storage',
      stories: [
        {
          title: 'Never lose a write',
          points: 5,
          tasks: [
            {
              ref: 'lock',
              title: 'Lock the folder',
              priority: 'high',
              acceptance: ['A second process is refused'],
              labels: ['db'],
            },
            { title: 'Real fsync', blockedBy: ['lock'] },
          ],
        },
      ],
    },
    { title: 'Papers', stories: [{ title: 'README', tasks: [] }] },
  ],
}

describe('a plan', () => {
  test('is created as a whole, in the given order, and shown by the tree', async () => {
    const { slug, key, id } = await project()
    const types: string[] = []
    const stop = t.app.bus.subscribe((e) => void (e.projectId === id && types.push(e.type)))
    const made = await ada.fetch<Tree>('POST', `/api/projects/${slug}/plan`, plan)
    stop()
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/projects/${slug}/tree`)
    // The others only name the epics, stories and tasks, for sync.
    expect(types.filter((type) => type !== recordsChanged.name)).toEqual(['plan.created'])
    const [storage, papers] = made.body.epics
    expect([storage?.title, papers?.title]).toEqual(['Storage', 'Papers'])
    const [story] = storage?.stories ?? []
    expect(story).toMatchObject({ title: 'Never lose a write', points: 5, status: 'todo', priority: 'medium' })
    expect(story?.tasks).toMatchObject([
      { title: 'Lock the folder', key: `${key}-1`, priority: 'high', blockedBy: [] },
      { title: 'Real fsync', key: `${key}-2`, blockedBy: [`${key}-1`] },
    ])
    expect((await ada.fetch<Tree>('GET', `/api/projects/${slug}/tree`)).body).toEqual(made.body)
    expect((await ada.fetch<{ stats: object }>('GET', `/api/projects/${slug}`)).body.stats).toMatchObject({
      notes: 0,
      tasks: 2,
      tasksDone: 0,
    })
  })

  test('follows the earlier one and continues its numbers, even when two are created at once', async () => {
    const { slug, key } = await project()
    const many = await Promise.all(
      Array.from({ length: 5 }, () => ada.fetch('POST', `/api/projects/${slug}/plan`, plan)),
    )
    expect(many.map((m) => m.status)).toEqual([201, 201, 201, 201, 201])
    const { body } = await ada.fetch<Tree>('GET', `/api/projects/${slug}/tree`)
    const keys = body.epics.flatMap((e) => e.stories.flatMap((s) => s.tasks.map((task) => task.key)))
    expect(keys.toSorted((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]))).toEqual(
      Array.from({ length: 10 }, (_, i) => `${key}-${i + 1}`),
    )
  })

  const withTasks = (...tasks: object[]) => ({ epics: [{ title: 'E', stories: [{ title: 'S', tasks }] }] })
  test.each([
    ['a ref nobody has', withTasks({ title: 'A', blockedBy: ['nope'] }), 'no task of this plan has this ref'],
    ['a ref twice', withTasks({ title: 'A', ref: 'x' }, { title: 'B', ref: 'x' }), 'Two tasks have the ref'],
    [
      'tasks that wait for each other',
      withTasks({ title: 'A', ref: 'a', blockedBy: ['b'] }, { title: 'B', ref: 'b', blockedBy: ['a'] }),
      'A → B → A',
    ],
    ['a task that waits for itself', withTasks({ title: 'A', ref: 'a', blockedBy: ['a'] }), 'A → A'],
    [
      'an unknown field deep inside',
      withTasks({ title: 'A', assignee: 'x' }),
      'epics.0.stories.0.tasks.0.assignee is not a known field',
    ],
    [
      'more than 500 items',
      {
        epics: [0, 1, 2].map((n) => ({
          title: `E${n}`,
          stories: [{ title: 'S', tasks: Array.from({ length: 200 }, (_, i) => ({ title: `T${i}` })) }],
        })),
      },
      'at most 500 epics, stories and tasks',
    ],
  ])('with %s is refused and creates nothing', async (_, body, reason) => {
    const { slug } = await project()
    const refused = await ada.fetch<{ detail: string }>('POST', `/api/projects/${slug}/plan`, body)
    expect(refused.status).toBe(422)
    expect(refused.body.detail).toContain(reason)
    expect((await ada.fetch<Tree>('GET', `/api/projects/${slug}/tree`)).body).toMatchObject({ epics: [], tasks: [] })
  })

  test('with very many wrong references gets suggestions for the first three', async () => {
    const { slug } = await project()
    const named = (n: number) => `${'Write down what the lock of the folder has to do'.padEnd(57, '.')}${n}`
    const list = Array.from({ length: 300 }, (_, i) => ({
      title: named(100 + i),
      ...(i < 200 && { blockedBy: [`${named(100 + i)}?`] }),
    }))
    const stories = [list.slice(0, 150), list.slice(150)].map((tasks, i) => ({ title: `S${i}`, tasks }))
    const refused = await ada.fetch<{ detail: string; errors: { message: string }[] }>(
      'POST',
      `/api/projects/${slug}/plan`,
      { epics: [{ title: 'E', stories }] },
    )
    expect(refused.status).toBe(422)
    const { detail, errors } = refused.body
    expect(detail).toContain(`Did you mean "${named(100)}"?`)
    expect(detail.split('Did you mean')).toHaveLength(4)
    expect(detail).toEndWith('197 more references are wrong.')
    expect(errors).toHaveLength(20)
    expect(errors.filter(({ message }) => message.includes('Did you mean'))).toHaveLength(3)
  })

  test('follows its project: refused when archived, moved and deleted with it', async () => {
    const { slug, id } = await project()
    await ada.fetch('POST', `/api/projects/${slug}/plan`, plan)
    await ada.fetch('POST', `/api/projects/${slug}/archive`)
    expect((await ada.fetch('POST', `/api/projects/${slug}/plan`, plan)).status).toBe(409)
    await ada.fetch('POST', `/api/projects/${slug}/restore`)
    const other = (await ada.fetch<{ id: string }>('POST', '/api/teams', { name: 'Elsewhere' })).body
    await ada.fetch('PATCH', `/api/projects/${id}`, { organizationId: other.id })
    const owners = await t.app.driver.query('select distinct organization_id from tasks where project_id = $1', [id])
    expect(owners.rows).toEqual([[other.id]])
    expect((await ada.fetch<Tree>('GET', `/api/projects/${id}/tree`)).body.epics).toHaveLength(2)
    await ada.fetch('DELETE', `/api/projects/${id}`)
    expect((await ada.fetch('GET', `/api/projects/${id}/tree`)).status).toBe(404)
    const left = await t.app.driver.query(
      'select count(*)::int from tasks where project_id = $1 and deleted_at is null',
      [id],
    )
    expect(left.rows).toEqual([[0]])
  })
})
