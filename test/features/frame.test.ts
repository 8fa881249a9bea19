import { expect, test } from 'bun:test'
import type { Frame } from '../../src/features/home/schema.ts'
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
