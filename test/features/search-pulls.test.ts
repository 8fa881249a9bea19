import { beforeAll, describe, expect, test } from 'bun:test'
import type { Repository } from '../../src/features/repositories/schema.ts'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { apiKey, call, member, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { type FakeCodeHost, fakeRepositoryHost } from '../support/code-host.ts'
import { indexed, matches, newProject, newWord, plain, search, titles } from './search-support.ts'

let t: TestApp
let host: FakeCodeHost
let ada: Person
beforeAll(async () => {
  host = fakeRepositoryHost('gitea')
  t = await testApp({ ...host.settings, background: 'off' })
  atEnd(() => t.close())
  ada = await person(t)
  host.tokens.add('pat_asecrettokenforpulls1234')
  await ada.fetch('PUT', '/api/settings/integrations/user/gitea', { secret: 'pat_asecrettokenforpulls1234' })
})

describe('the title of a pull request', () => {
  test('finds the task whose key is in its branch, and the feature that it was opened for', async () => {
    const [word, other] = [newWord(), newWord()]
    const { id: projectId } = await newProject(ada)
    const task = (await ada.fetch<TaskDetail>('POST', `/api/projects/${projectId}/tasks`, { title: 'Resume' })).body
    const feature = await ada.fetch<{ id: string }>('POST', `/api/projects/${projectId}/features`, { title: 'Offline' })
    const slug = `${unique('tutti')}/engine`
    const there = host.add(slug)
    const head = `${task.key.toLowerCase()}-resume`
    there.pulls.push({ number: 7, title: `Fix ${word}`, head, base: 'main', open: true, body: '', reviewers: [] })
    const { body: repository } = await ada.fetch<Repository>('POST', '/api/repos', { repo: slug, projectId })
    const opened = { title: `Add ${other}`, head: 'lock', featureId: feature.body.id }
    expect((await ada.fetch('POST', `/api/repos/${repository.id}/pulls`, opened)).status).toBe(200)
    await indexed(t)

    const found = await search(ada, word)
    expect(titles(found)).toEqual(['Resume'])
    const text = found.items[0]?.items[0]?.highlight.text ?? []
    expect([plain(text), matches(text)]).toEqual([`Pull request: Fix ${word}`, [word]])
    expect(titles(await search(ada, other), 'feature')).toEqual(['Offline'])
    // Filters apply to the records that it finds.
    expect(titles(await search(ada, `${word} is:open`))).toEqual(['Resume'])
    expect(titles(await search(ada, `${word} is:done`))).toEqual([])
  })

  test('finds a task behind many newer pull requests that name none', async () => {
    const word = newWord()
    const { id: projectId } = await newProject(ada)
    const other = await newProject(ada)
    const task = (await ada.fetch<TaskDetail>('POST', `/api/projects/${projectId}/tasks`, { title: 'Older' })).body
    // A sync would store fewer of them.
    const addRepository = async (heads: string[], age: string) => {
      const slug = `${unique('tutti')}/engine`
      host.add(slug)
      const { body } = await ada.fetch<Repository>('POST', '/api/repos', { repo: slug })
      const pulls = JSON.stringify(heads.map((head, i) => ({ number: i + 1, title: `Bump ${word}`, head })))
      const store = 'update repositories set pulls = $2::text::jsonb, updated_at = now() - $3::interval where id = $1'
      await t.app.driver.query(store, [body.id, pulls, age])
    }
    await addRepository([`${task.key}-x`], '2 days')
    await addRepository(Array(60).fill('bump'), '1 day')
    await indexed(t)
    expect(titles(await search(ada, word))).toEqual(['Older'])
    expect(titles(await search(ada, word, `&projectId=${projectId}`))).toEqual(['Older'])
    expect(titles(await search(ada, word, `&projectId=${other.id}`))).toEqual([])
    expect(titles(await search(ada, word, '&kinds=note'))).toEqual([])
  })

  test('finds nothing for other teams, and for keys that cannot read repositories', async () => {
    const word = newWord()
    const { id: projectId } = await newProject(ada, { visibility: 'private' })
    const task = (await ada.fetch<TaskDetail>('POST', `/api/projects/${projectId}/tasks`, { title: 'Hidden' })).body
    const slug = `${unique('tutti')}/engine`
    const pull = { number: 1, head: 'lock', base: 'main', open: true, body: '', reviewers: [] }
    host.add(slug).pulls.push({ ...pull, title: `${task.key} ${word}` })
    expect((await ada.fetch('POST', '/api/repos', { repo: slug })).status).toBe(201)
    await indexed(t)
    expect(titles(await search(ada, word))).toEqual(['Hidden'])
    expect(titles(await search(await person(t), word))).toEqual([])
    // Everyone in the team sees the repository, but the project of the task is private.
    expect(titles(await search(await member(t, ada, 'member'), word))).toEqual([])
    const key = await apiKey(t, ada, ['search:read', 'tasks:read'])
    const withKey = await call<{ items: unknown[] }>(t, 'GET', `/api/search?q=${word}`, undefined, {
      authorization: `Bearer ${key}`,
    })
    expect([withKey.status, withKey.body.items]).toEqual([200, []])
  })
})
