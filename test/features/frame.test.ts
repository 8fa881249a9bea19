import { describe, expect, test } from 'bun:test'
import type { Favourites, Frame } from '../../src/features/home/schema.ts'
import type { LiveEvents } from '../../src/features/hub/schema.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { RepositoryDetail, RepositoryPage } from '../../src/features/repositories/schema.ts'
import type { WorkspaceDetail, WorkspacePage } from '../../src/features/workspaces/schema.ts'
import { member, person, sharedApp, unique } from '../support/app.ts'
import { inside } from './support.ts'

const t = await sharedApp()

test('GET /api/frame returns the account, the teams, and the projects of the requested team', async () => {
  const ada = await person(t)
  const { body: other } = await ada.fetch<Organization>('POST', '/api/teams', { name: unique('Harbour') })
  await ada.fetch('POST', '/api/projects', { name: 'Here' })
  await inside(ada, other.id).fetch('POST', '/api/projects', { name: 'There' })
  const here = await ada.fetch<Frame>('GET', '/api/frame')
  const there = await ada.fetch<Frame>('GET', `/api/frame?team=${other.slug}`)
  expect(here.body.me.email).toBe(ada.email)
  expect(here.body.teams.map(({ id }) => id)).toContain(other.id)
  expect(here.body.projects.map(({ name }) => name)).toEqual(['Here'])
  expect(there.body.team.id).toBe(other.id)
  expect(there.body.projects.map(({ name }) => name)).toEqual(['There'])
  const counted = await ada.fetch<Frame['notifications']>('GET', '/api/notifications/count')
  expect(here.body.notifications).toEqual(counted.body)
  const stranger = await person(t)
  expect((await stranger.fetch('GET', `/api/frame?team=${other.slug}`)).status).toBe(404)
})

test('the cursor of GET /api/frame leads to the events since that call', async () => {
  const ada = await person(t)
  await ada.fetch('POST', '/api/projects', { name: 'Before' })
  const cursor = (await ada.fetch<Frame>('GET', '/api/frame')).headers.get('x-event-cursor')
  await ada.fetch('POST', '/api/projects', { name: 'After' })
  const query = `topics=organization:${ada.organizationId}&cursor=${cursor}`
  const { body } = await ada.fetch<LiveEvents>('GET', `/api/events?${query}`, undefined, { accept: 'application/json' })
  expect(body.events.map(({ type, data }) => [type, data.name])).toEqual([['project.created', 'After']])
})

test('GET /api/frame returns 304 with a newer cursor if only events of others happened since', async () => {
  const ada = await person(t)
  const bob = await person(t)
  const first = await ada.fetch<Frame>('GET', '/api/frame')
  await bob.fetch('POST', '/api/projects', { name: 'Elsewhere' })
  const tag = { 'if-none-match': String(first.headers.get('etag')) }
  const second = await ada.fetch('GET', '/api/frame', undefined, tag)
  expect(second.status).toBe(304)
  const [before, after] = [first, second].map(({ headers }) => headers.get('x-event-cursor'))
  expect(after).toBeString()
  expect(after).not.toBe(before as string)
  await ada.fetch('POST', '/api/projects', { name: 'Here' })
  expect((await ada.fetch('GET', '/api/frame', undefined, tag)).status).toBe(200)
})

test('`can` of a workspace and of a repository agrees with the actions', async () => {
  const ada = await person(t)
  const vera = inside(await member(t, ada, 'viewer', 'Vera'), ada.organizationId)
  const { body: other } = await ada.fetch<Organization>('POST', '/api/teams', { name: unique('Harbour') })
  const made = await ada.fetch<WorkspaceDetail>('POST', '/api/workspaces', { name: 'Pilot' })
  const path = `/api/workspaces/${made.body.id}`
  const { body: mine } = await ada.fetch<WorkspaceDetail>('GET', path)
  expect(mine.can).toEqual({ update: true, archive: true, remove: true, share: true })
  expect(mine.addable).toEqual([{ id: other.id, name: other.name }])
  expect(mine.teams[0]?.can).toMatchObject({ setRole: { code: 'conflict' }, remove: { code: 'conflict' } })
  const { body: hers } = await vera.fetch<WorkspaceDetail>('GET', path)
  for (const may of Object.values(hers.can)) expect(may).toMatchObject({ code: 'forbidden' })
  expect(hers.addable).toEqual([])
  expect((await vera.fetch('PATCH', path, { name: 'Mine' })).status).toBe(403)
  const spaces = `/api/teams/${ada.organizationId}/workspaces`
  expect((await ada.fetch<WorkspacePage>('GET', spaces)).body.can).toEqual({ create: true })
  expect((await vera.fetch<WorkspacePage>('GET', spaces)).body.can?.create).toMatchObject({ code: 'forbidden' })

  const { body: repo } = await ada.fetch<RepositoryDetail>('POST', '/api/repos', { repo: 'tutti/tutti' })
  const read = (who: typeof ada) => who.fetch<RepositoryDetail>('GET', `/api/repos/${repo.id}`)
  expect((await read(ada)).body.can).toEqual({ sync: true, remove: true })
  expect((await read(vera)).body.can?.sync).toMatchObject({ code: 'forbidden' })
  expect((await ada.fetch<RepositoryPage>('GET', '/api/repos')).body.can).toEqual({ connect: true })
  expect((await vera.fetch<RepositoryPage>('GET', '/api/repos')).body.can?.connect).toMatchObject({ code: 'forbidden' })
})

describe('favourites', () => {
  test('are records of every kind and saved views, in the order of the preference', async () => {
    const ada = await person(t)
    const make = async (path: string, body: object) => (await ada.fetch<{ id: string }>('POST', path, body)).body.id
    const project = await make('/api/projects', { name: 'Lantern', key: 'LAN' })
    const task = await make(`/api/projects/${project}/tasks`, { title: 'Read offline' })
    const note = await make('/api/notes', { title: 'Release notes', content: 'x' })
    const decision = await make('/api/decisions', { projectId: project, title: 'Use SQLite', decision: 'Yes' })
    const view = await make('/api/views', { name: 'Due this week', query: 'view=list&assignee=me', projectId: project })
    const favourites = [view, note, decision, task, project]
    expect((await ada.fetch('PATCH', '/api/settings/preferences', { favourites })).status).toBe(200)
    const { items } = (await ada.fetch<Favourites>('GET', '/api/favourites')).body
    expect(items.map(({ kind, title, key, path }) => [kind, title, key, path])).toEqual([
      ['view', 'Due this week', null, `/projects/${project}/tasks?view=list&assignee=me`],
      ['note', 'Release notes', expect.stringMatching(/^release-notes/), `/notes/${note}`],
      ['decision', 'Use SQLite', null, `/decisions/${decision}`],
      ['task', 'Read offline', 'LAN-1', '/tasks/LAN-1'],
      ['project', 'Lantern', 'LAN', `/projects/${project}`],
    ])
    expect((await ada.fetch<Frame>('GET', '/api/frame')).body.favourites).toEqual(items)
  })

  test('leave out records that were deleted or that the caller does not see', async () => {
    const [ada, stranger] = [await person(t), await person(t)]
    const note = async (who: typeof ada) =>
      (await who.fetch<{ id: string }>('POST', '/api/notes', { title: unique('note'), content: 'x' })).body.id
    const [kept, deleted, foreign] = [await note(ada), await note(ada), await note(stranger)]
    await ada.fetch('PATCH', '/api/settings/preferences', { favourites: [foreign, deleted, kept] })
    await ada.fetch('DELETE', `/api/notes/${deleted}`)
    const listed = async () => (await ada.fetch<Favourites>('GET', '/api/favourites')).body.items.map(({ id }) => id)
    expect(await listed()).toEqual([kept])
    await ada.fetch('POST', `/api/notes/${deleted}/restore`)
    expect(await listed()).toEqual([deleted, kept])
  })

  test('are at most 50', async () => {
    const ada = await person(t)
    const save = (n: number) =>
      ada.fetch('PATCH', '/api/settings/preferences', {
        favourites: Array.from({ length: n }, () => Bun.randomUUIDv7()),
      })
    expect([(await save(50)).status, (await save(51)).status]).toEqual([200, 422])
  })
})

test('GET /api/frame counts the open tasks of the caller in the requested team', async () => {
  const ada = await person(t)
  const { body: other } = await ada.fetch<Organization>('POST', '/api/teams', { name: unique('Harbour') })
  const there = inside(ada, other.id)
  const { body: project } = await there.fetch<{ id: string }>('POST', '/api/projects', { name: 'There' })
  for (const title of ['One', 'Two'])
    await there.fetch('POST', `/api/projects/${project.id}/tasks`, { title, assignee: 'me' })
  await there.fetch('POST', `/api/projects/${project.id}/tasks`, { title: 'Of no one' })
  const counted = async (query = '') => (await ada.fetch<Frame>('GET', `/api/frame${query}`)).body.myTasks
  expect([await counted(), await counted(`?team=${other.slug}`)]).toEqual([0, 2])
})
