import { describe, expect, test } from 'bun:test'
import { member, type Person, person, sharedApp, unique } from '../support/app.ts'
import { indexed } from './search-support.ts'

const t = await sharedApp()

interface Similar {
  items: { key: string; title: string; status: string; score: number }[]
}

async function newProject(who: Person, fields: object = {}) {
  const made = await who.fetch<{ id: string; slug: string }>('POST', '/api/projects', {
    name: unique('Lantern'),
    ...fields,
  })
  const make = (title: string) => who.fetch<{ key: string }>('POST', `/api/projects/${made.body.slug}/tasks`, { title })
  return { ...made.body, make }
}
const similar = async (who: Person, title: string, project?: string) => {
  const query = new URLSearchParams({ title, ...(project && { project }) })
  const { status, body } = await who.fetch<Similar>('GET', `/api/tasks/similar?${query}`)
  expect(status).toBe(200)
  return body.items
}

describe('GET /api/tasks/similar', () => {
  test('returns tasks with a similar title, best first, with their state and score', async () => {
    const ada = await person(t)
    const { slug, make } = await newProject(ada)
    await make('Covers are fetched again after flight mode')
    await make('Fetch covers after flight mode')
    await make('Larger touch targets in the reader bar')
    await indexed(t)
    const found = await similar(ada, 'Covers are fetched again after the flight mode', slug)
    expect(found.map(({ title }) => title)).toEqual([
      'Covers are fetched again after flight mode',
      'Fetch covers after flight mode',
    ])
    expect(found[0]).toMatchObject({ status: 'todo' })
    expect(found.every(({ score }) => score >= 0.6 && score <= 1)).toBe(true)
    expect(await similar(ada, 'Night theme follows the sun', slug)).toEqual([])
  })

  test('returns at most three tasks', async () => {
    const ada = await person(t)
    const { slug, make } = await newProject(ada)
    for (const n of [1, 2, 3, 4]) await make(`Resume a broken download ${n}`)
    await indexed(t)
    expect(await similar(ada, 'Resume a broken download', slug)).toHaveLength(3)
  })

  test('omits tasks of other projects, private projects and other teams', async () => {
    const ada = await person(t)
    const grace = await member(t, ada, 'member')
    const [open, secret] = [await newProject(ada), await newProject(ada, { visibility: 'private' })]
    await open.make('Checksum every block on disk')
    await secret.make('Checksum each block on disk')
    await indexed(t)
    const title = 'Checksum every block on the disk'
    expect(await similar(ada, title)).toHaveLength(2)
    expect(await similar(ada, title, secret.slug)).toHaveLength(1)
    expect((await similar(grace, title)).map((task) => task.title)).toEqual(['Checksum every block on disk'])
    expect(await similar(await person(t), title)).toEqual([])
  })

  test('omits a task that was deleted a moment ago', async () => {
    const ada = await person(t)
    const { slug, make } = await newProject(ada)
    const { key } = (await make('Trim the font bundle')).body
    await indexed(t)
    await ada.fetch('DELETE', `/api/tasks/${key}`)
    expect(await similar(ada, 'Trim the font bundle', slug)).toEqual([])
  })
})
