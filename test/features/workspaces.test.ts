import { describe, expect, test } from 'bun:test'
import { type Role, roles } from '../../src/auth/policy.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { Workspace, WorkspacePage } from '../../src/features/workspaces/schema.ts'
import type { Person } from '../support/app.ts'
import {
  ada,
  addTeam,
  dropTeam,
  fullTeam,
  get,
  join,
  make,
  newProject,
  newTeam,
  people,
  projectsIn,
  put,
  stranger,
  t,
} from './spaces.ts'
import { expectEvents, expectRefusal, ids, inside, times } from './support.ts'

describe('a workspace', () => {
  test('is created in the current team or a given one, and shows its teams and numbers', async () => {
    const team = await newTeam()
    const made = await inside(ada, team.id).fetch<Workspace>('POST', '/api/workspaces', {
      name: '  Engines ',
      description: 'All of them',
      folders: ['engine/mill', '/srv/engine'],
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/workspaces/${made.body.id}`)
    expect(made.body).toMatchObject({
      name: 'Engines',
      description: 'All of them',
      folders: ['engine/mill', '/srv/engine'],
      status: 'active',
      organizationId: team.id,
      createdById: ada.userId,
      teams: [{ id: team.id, name: team.name, role: 'owner' }],
      counts: { teams: 1, projects: 0 },
      role: 'owner',
      version: 1,
    })
    const [event] = await expectEvents(t, made, 'workspace.created')
    expect(event).toMatchObject({ subjectId: made.body.id, organizationId: team.id, data: { name: 'Engines' } })
    const named = await make(team)
    expect((await get(ada, named)).body).toMatchObject(named)
    const list = await ada.fetch<WorkspacePage>('GET', `/api/teams/${team.id}/workspaces?total=true`)
    expect(ids(list.body)).toEqual(ids({ items: [made.body, named] }))
    expect(list.body.total).toBe(2)
    expect(ids((await ada.fetch<WorkspacePage>('GET', '/api/workspaces?limit=200')).body)).toEqual(
      expect.arrayContaining(ids(list.body)),
    )
  })

  test('is created, changed and deleted according to the caller’s role', async () => {
    const team = await fullTeam()
    const space = await make(team)
    for (const role of roles) {
      const who = people[role]
      const writes = role !== 'viewer'
      const made = await who.fetch<Workspace>('POST', `/api/teams/${team.id}/workspaces`, { name: 'x' })
      if (writes) expect(made.body).toMatchObject({ role, createdById: who.userId })
      else await expectRefusal(t, made, 403, 'forbidden')
      expect((await inside(who, team.id).fetch('POST', '/api/workspaces', { name: 'x' })).status).toBe(
        writes ? 201 : 403,
      )
      for (const method of ['PUT', 'PATCH']) {
        const changed = await who.fetch<Workspace>(method, `/api/workspaces/${space.id}`, { description: role })
        if (writes) expect(changed.body.description).toBe(role)
        else await expectRefusal(t, changed, 403, 'forbidden')
      }
      expect((await get(who, space)).body.role).toBe(role)
    }
    const gone = (who: Person, { id }: { id: string }) => who.fetch('DELETE', `/api/workspaces/${id}`)
    await expectRefusal(t, await gone(people.viewer, space), 403, 'forbidden')
    await expectRefusal(t, await gone(people.member, space), 403, 'forbidden')
    expect((await gone(people.admin, space)).body).toEqual({ id: space.id, deleted: true })
    expect((await gone(people.member, await make(team, {}, people.member))).status).toBe(200)
  })

  test.each([
    ['no name', {}],
    ['51 folders', { name: 'x', folders: times(51, (i) => `f${i}`) }],
    ['a folder of 501 characters', { name: 'x', folders: ['x'.repeat(501)] }],
    ['a status from the start', { name: 'x', status: 'archived' }],
    ['teams of its own', { name: 'x', teams: [] }],
  ])('cannot be created with %s', async (_, body) => {
    await expectRefusal(t, await ada.fetch('POST', '/api/workspaces', body), 422, 'invalid')
  })

  test('releases its projects when it is deleted, and is gone for every team', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    await join(other, stranger, 'member')
    const space = await make(team)
    await addTeam(ada, space, other, 'editor')
    const project = await newProject(team)
    await put(ada, project, space.id)
    expect((await stranger.fetch('GET', `/api/projects/${project.id}`)).status).toBe(200)
    const gone = await ada.fetch('DELETE', `/api/workspaces/${space.id}`)
    const fired = await expectEvents(t, gone, 'workspace.deleted', 'workspace.deleted')
    expect(fired.map((e) => e.organizationId).sort()).toEqual([team.id, other.id].sort())
    for (const who of [ada, stranger]) await expectRefusal(t, await get(who, space), 404, 'not_found')
    expect((await stranger.fetch('GET', `/api/projects/${project.id}`)).status).toBe(404)
    expect(
      (await inside(people.viewer, team.id).fetch<Project>('GET', `/api/projects/${project.id}`)).body.workspaceId,
    ).toBeNull()
    await expectRefusal(t, await put(ada, project, space.id), 404, 'not_found')
  })
})

describe('sharing a workspace with another team', () => {
  test('needs an admin of both teams', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    const space = await make(team)
    // Grace is admin of the owning team; of the other she is nothing, viewer, member, and then admin.
    await expectRefusal(t, await addTeam(people.admin, space, other, 'editor'), 404, 'not_found')
    await join(other, people.admin, 'viewer')
    const give = async (role: Role) => {
      const path = `/api/teams/${other.id}/members/${people.admin.userId}`
      expect((await ada.fetch('PATCH', path, { role })).body).toMatchObject({ role })
    }
    for (const role of ['viewer', 'member'] as const) {
      await give(role)
      await expectRefusal(t, await addTeam(people.admin, space, other, 'editor'), 404, 'not_found')
    }
    await give('admin')
    const shared = await addTeam(people.admin, space, other, 'editor')
    expect(shared.status).toBe(201)
    expect(shared.headers.get('location')).toBe(`/api/workspaces/${space.id}/teams/${other.id}`)
    expect(shared.body).toEqual({ id: other.id, name: other.name, role: 'editor' })
    const fired = await expectEvents(t, shared, 'workspace.shared', 'workspace.shared')
    expect(fired.map((e) => e.organizationId).sort()).toEqual([team.id, other.id].sort())
    expect((await get(ada, space)).body).toMatchObject({ counts: { teams: 2 }, version: 2 })
    // A plain member of the owning team cannot share it, whatever their role in the other team.
    const third = await newTeam()
    await join(third, people.member, 'owner')
    await expectRefusal(t, await addTeam(people.member, space, third, 'viewer'), 403, 'forbidden')
    await expectRefusal(t, await addTeam(ada, space, { id: Bun.randomUUIDv7() }, 'viewer'), 404, 'not_found')
    await expectRefusal(t, await addTeam(ada, space, team, 'viewer'), 409, 'conflict')
  })

  test('gives it a role that only the owning team can change', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    await join(other, stranger, 'admin')
    const space = await make(team)
    await addTeam(ada, space, other, 'editor')
    expect((await addTeam(people.admin, space, other, 'viewer')).body.role).toBe('viewer')
    expect((await get(stranger, space)).body).toMatchObject({ role: 'viewer', counts: { teams: 2 } })
    await expectRefusal(t, await addTeam(stranger, space, other, 'owner'), 403, 'forbidden')
  })

  test('is ended by either team; the owning team stays', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    await join(other, stranger, 'admin')
    await join(other, people.viewer, 'member')
    const space = await make(team)
    await addTeam(ada, space, other, 'owner')
    await expectRefusal(t, await dropTeam(people.member, space, other), 403, 'forbidden')
    await expectRefusal(t, await dropTeam(people.viewer, space, other), 403, 'forbidden')
    await expectRefusal(t, await dropTeam(stranger, space, team), 403, 'forbidden')
    await expectRefusal(t, await dropTeam(ada, space, team), 409, 'conflict')
    await expectRefusal(t, await dropTeam(ada, space, await newTeam()), 404, 'not_found')
    const theirs = await newProject(other)
    await put(ada, theirs, space.id)
    expect(await projectsIn(people.admin, space)).toEqual([theirs.id])
    const left = await dropTeam(stranger, space, other)
    expect(left.body).toEqual({ id: other.id, deleted: true })
    await expectEvents(t, left, 'workspace.unshared', 'workspace.unshared')
    // What it had brought along went with it.
    expect(await projectsIn(people.admin, space)).toEqual([])
    expect((await ada.fetch<Project>('GET', `/api/projects/${theirs.id}`)).body.workspaceId).toBeNull()
    await expectRefusal(t, await get(stranger, space), 404, 'not_found')
    await addTeam(ada, space, other, 'viewer')
    expect((await dropTeam(people.admin, space, other)).status).toBe(200)
  })
})

describe('a project in a workspace', () => {
  test('is added by its team if the team can write there, and removed again', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    const space = await make(team)
    const project = await newProject(team, {}, people.member)
    const entered = await put(people.member, project, space.id)
    expect(entered.body).toMatchObject({ workspaceId: space.id, visibility: 'team', version: 2 })
    await expectEvents(t, entered, 'project.shared')
    expect((await get(ada, space)).body.counts.projects).toBe(1)
    // Somebody else's, and from a team that only reads, or takes no part.
    await expectRefusal(t, await put(people.viewer, project, null), 403, 'forbidden')
    const theirs = await newProject(other)
    await expectRefusal(t, await put(ada, theirs, space.id), 404, 'not_found')
    await addTeam(ada, space, other, 'viewer')
    await expectRefusal(t, await put(ada, theirs, space.id), 403, 'forbidden')
    await addTeam(ada, space, other, 'editor')
    expect((await put(ada, theirs, space.id)).status).toBe(200)
    expect(await projectsIn(ada, space)).toEqual(ids({ items: [project, theirs] }))
    // Where it stands says nothing about who sees it besides.
    await ada.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'public' })
    expect((await put(ada, project, null)).body).toMatchObject({ workspaceId: null, visibility: 'public' })
    expect(await projectsIn(ada, space)).toEqual([theirs.id])
    await put(ada, project, space.id)
    const closed = await ada.fetch<Project>('DELETE', `/api/projects/${project.id}/share`)
    expect(closed.body).toMatchObject({ visibility: 'team', workspaceId: null })
  })

  test('that was private before it was shared is private again after DELETE .../share', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    await join(other, stranger, 'member')
    const space = await make(team)
    await addTeam(ada, space, other, 'editor')
    const [secret, open] = [await newProject(team, { visibility: 'private' }), await newProject(team)]
    for (const project of [secret, open]) {
      await put(ada, project, space.id, { visibility: 'team' })
      expect((await stranger.fetch('GET', `/api/projects/${project.id}`)).status).toBe(200)
      await ada.fetch('DELETE', `/api/projects/${project.id}/share`)
      expect((await stranger.fetch('GET', `/api/projects/${project.id}`)).status).toBe(404)
    }
    const seen = ({ id }: Project) => people.viewer.fetch('GET', `/api/projects/${id}`)
    expect([(await seen(secret)).status, (await seen(open)).status]).toEqual([404, 200])
  })

  test('that was shared before former visibilities were stored stays with its team', async () => {
    const team = await fullTeam()
    const space = await make(team)
    const project = await newProject(team, { visibility: 'public' })
    await put(ada, project, space.id)
    await t.app.driver.query('update projects set former_visibility = null where id = $1', [project.id])
    const closed = await ada.fetch<Project>('DELETE', `/api/projects/${project.id}/share`)
    expect(closed.body).toMatchObject({ visibility: 'team', workspaceId: null })
  })

  test('that moves to another team leaves the workspace, unless that team can write there', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const space = await make(team)
    const project = await newProject(team)
    const move = async ({ id }: { id: string }) =>
      (await ada.fetch<Project>('PATCH', `/api/projects/${project.id}`, { organizationId: id })).body
    await put(ada, project, space.id)
    expect(await move(other)).toMatchObject({ organizationId: other.id, workspaceId: null })
    await move(team)
    await put(ada, project, space.id)
    await addTeam(ada, space, other, 'editor')
    expect(await move(other)).toMatchObject({ organizationId: other.id, workspaceId: space.id })
  })

  test('still belongs to its team: rights of the workspace do not allow to share, move or delete it', async () => {
    const [team, other] = [await fullTeam(), await newTeam()]
    const space = await make(team)
    await addTeam(ada, space, other, 'owner')
    await join(other, people.member, 'owner')
    // Edsger makes it, leaves the team, and still sees it through the other one.
    const project = await newProject(team, {}, people.member)
    await put(people.member, project, space.id)
    await ada.fetch('DELETE', `/api/teams/${team.id}/members/${people.member.userId}`)
    const path = `/api/projects/${project.id}`
    expect((await people.member.fetch('GET', path)).status).toBe(200)
    expect((await people.member.fetch('PUT', path, { description: 'still helping' })).status).toBe(200)
    await expectRefusal(
      t,
      await people.member.fetch('POST', `${path}/share`, { visibility: 'public' }),
      403,
      'forbidden',
    )
    await expectRefusal(t, await people.member.fetch('PATCH', path, { organizationId: other.id }), 403, 'forbidden')
    await expectRefusal(t, await people.member.fetch('DELETE', `${path}/share`), 403, 'forbidden')
    await expectRefusal(t, await people.member.fetch('DELETE', path), 403, 'forbidden')
  })

  test('that is shared while its team leaves the workspace is never left behind in it', async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const space = await make(team)
    const answers: unknown[] = []
    for (let round = 0; round < 10; round++) {
      expect((await addTeam(ada, space, other, 'editor')).status).toBe(201)
      const project = await newProject(other)
      const [shared, left] = await Promise.all([put(ada, project, space.id), dropTeam(ada, space, other)])
      const { status, body } = await ada.fetch<Project>('GET', `/api/projects/${project.id}`)
      answers.push([shared.status === 404 ? 200 : shared.status, left.status, status, body.workspaceId])
    }
    expect(answers).toEqual(times(10, () => [200, 200, 200, null]))
  })

  test.skipIf(t.app.driver.kind !== 'postgres')(
    'that waits for its team to leave the workspace holds no lock that the leaving team needs',
    async () => {
      const [team, other] = [await newTeam(), await newTeam()]
      const space = await make(team)
      await addTeam(ada, space, other, 'editor')
      const project = await newProject(other)
      // The two statements of a team that leaves; the request comes between them.
      const leaving = await t.app.driver.begin()
      await leaving.query('update workspaces set version = version + 1 where id = $1', [space.id])
      const sharing = put(ada, project, space.id)
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%workspace_teams%'`
      while ((await t.app.driver.query(waiting)).rows.length === 0);
      const free = 'select 1 from workspace_teams where workspace_id = $1 for update skip locked'
      expect((await leaving.query(free, [space.id])).rows.length).toBe(2)
      await leaving.query('delete from workspace_teams where workspace_id = $1 and organization_id = $2', [
        space.id,
        other.id,
      ])
      await leaving.commit()
      await expectRefusal(t, await sharing, 404, 'not_found')
    },
  )
})
