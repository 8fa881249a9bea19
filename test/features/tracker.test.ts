import { afterAll, beforeAll, expect, test } from 'bun:test'
import { siteSettings } from '../../src/features/settings/table.ts'
import type { TrackedIssuePage, TrackedRepositoryList, TrackerSynced } from '../../src/features/tracker/schema.ts'
import { trackedIssues } from '../../src/features/tracker/table.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { fakeRepositoryHost } from '../support/code-host.ts'
import { expectRefusal, watch } from './support.ts'

const host = fakeRepositoryHost('github')
const TOKEN = 'pat_of_the_tracker_0001'
let t: TestApp
let admin: Person
beforeAll(async () => {
  host.tokens.add(TOKEN)
  host.add('tutti/tutti', {
    issues: [
      { number: 1, title: 'Search finds nothing', open: true, labels: ['bug'], at: '2026-11-01T10:00:00Z' },
      { number: 2, title: 'A pull request', open: true, labels: [], at: '2026-11-01T11:00:00Z', isPull: true },
      { number: 3, title: 'Done', open: false, labels: [], at: '2026-11-02T10:00:00Z' },
    ],
  })
  t = watch(await testApp({ ...host.settings, background: 'off' }))
  await t.app.db.delete(siteSettings)
  await t.app.db.delete(trackedIssues)
  admin = await person(t, { admin: true })
})
afterAll(async () => {
  await t.app.db.delete(siteSettings)
  await t.close()
})

const set = (body: object) => admin.fetch('PATCH', '/api/admin/settings/tracker', body)
const sync = (body: object = {}) => admin.fetch<TrackerSynced>('POST', '/api/admin/github/sync', body)
const issues = async (query = '') =>
  (await admin.fetch<TrackedIssuePage>('GET', `/api/admin/github/issues${query}`)).body.items

test('the issue tracker needs a token', async () => {
  await set({ repositories: ['tutti/tutti', 'tutti/gone'] })
  await expectRefusal(t, await sync(), 403, 'forbidden')
  expect((await admin.fetch('GET', '/api/admin/github/repos?available=true')).status).toBe(403)
  await set({ token: TOKEN })
})

test('the issue tracker mirrors issues, not pull requests; a failed issue stops no other', async () => {
  const { body } = await sync()
  expect(body.items).toMatchObject([
    { repo: 'tutti/tutti', added: 2, changed: 0, error: null },
    { repo: 'tutti/gone', added: 0, changed: 0, error: expect.stringContaining('nothing by this name') },
  ])
  expect(JSON.stringify(body)).not.toContain(TOKEN)
  expect(await issues()).toMatchObject([
    { number: 3, state: 'closed' },
    { number: 1, state: 'open', labels: ['bug'], author: 'ada', url: `${host.url}/tutti/tutti/issues/1` },
  ])
  expect((await issues('?state=open&repo=tutti/tutti')).map(({ number }) => number)).toEqual([1])
  expect((await issues('?search=done')).map(({ number }) => number)).toEqual([3])
  const repos = (await admin.fetch<TrackedRepositoryList>('GET', '/api/admin/github/repos')).body.items
  expect(repos).toMatchObject([
    { repo: 'tutti/tutti', tracked: true, open: 1, closed: 1, error: null, syncedAt: expect.any(String) },
    { repo: 'tutti/gone', open: 0, closed: 0, syncedAt: null, error: expect.any(String) },
  ])
})

test('the issue tracker continues with the issues that changed since the last sync', async () => {
  const [first] = host.repositories.get('tutti/tutti')?.issues ?? []
  if (first) Object.assign(first, { open: false, at: '2026-11-03T10:00:00Z' })
  expect((await sync({ repo: 'tutti/tutti' })).body.items).toMatchObject([{ added: 0, changed: 1 }])
  expect(host.asked.at(-1)?.query.get('since')).toBe('2026-11-02T10:00:00.000Z')
  expect((await sync({ repo: 'tutti/tutti' })).body.items).toMatchObject([{ added: 0, changed: 0 }])
  expect((await sync({ repo: 'tutti/other' })).status).toBe(404)
})

test('the issue tracker lists repositories that the token can read, for administrators', async () => {
  for (const available of ['1', 'true']) {
    const path = `/api/admin/github/repos?available=${available}`
    const { body } = await admin.fetch<TrackedRepositoryList>('GET', path)
    expect(body.items.map(({ repo, tracked }) => [repo, tracked])).toEqual([['tutti/tutti', true]])
  }
  const named = (await admin.fetch<TrackedRepositoryList>('GET', '/api/admin/github/repos?available=0')).body.items
  expect(named.map(({ repo }) => repo)).toEqual(['tutti/tutti', 'tutti/gone'])
  const ada = await person(t)
  for (const path of ['repos', 'issues'])
    await expectRefusal(t, await ada.fetch('GET', `/api/admin/github/${path}`), 403, 'forbidden')
})
