import { describe, expect, test } from 'bun:test'
import type { Role } from '../../src/auth/policy.ts'
import type { Note, NotePage } from '../../src/features/notes/schema.ts'
import type { Project, ProjectPage } from '../../src/features/projects/schema.ts'
import * as projects from '../../src/features/projects/service.ts'
import type { Workspace, WorkspacePage, WorkspaceTeam } from '../../src/features/workspaces/schema.ts'
import { call, mcpToken, type Person, unique } from '../support/app.ts'
import { ada, addTeam, dropTeam, get, join, make, newProject, newTeam, projectsIn, put, stranger, t } from './spaces.ts'
import { ctxOf, expectRefusal, failure, ids, inside, statuses } from './support.ts'

describe('a member of another team in a shared workspace', () => {
  /** Ada's team shares a project with another one, in which Mallory has this role. */
  async function shared(teamRole: WorkspaceTeam['role'], role: Role) {
    const [team, other] = [await newTeam(), await newTeam()]
    await join(other, stranger, role)
    const space = await make(team)
    const project = await newProject(team)
    const secret = await newProject(team, { visibility: 'private' })
    const outside = await newProject(team)
    const note = (
      await inside(ada, team.id).fetch<Note>('POST', '/api/notes', { title: unique('note'), projectId: project.id })
    ).body
    const loose = (
      await inside(ada, team.id).fetch<Note>('POST', '/api/notes', { title: unique('note'), scope: 'team' })
    ).body
    for (const p of [project, secret]) await put(ada, p, space.id)
    await addTeam(ada, space, other, teamRole)
    return { team, other, space, project, secret, outside, note, loose, mallory: inside(stranger, other.id) }
  }
  const reads = ({ project, note }: { project: Project; note: Note }, who: Person) =>
    Promise.all(
      [`/api/projects/${project.id}`, `/api/projects/${project.id}/tree`, `/api/notes/${note.id}`].map((path) =>
        who.fetch('GET', path),
      ),
    )
  const plan = { epics: [{ title: 'E', stories: [{ title: 'S', tasks: [{ title: 'T' }] }] }] }
  const writes = ({ project, note }: { project: Project; note: Note }, who: Person) =>
    Promise.all([
      who.fetch('PUT', `/api/projects/${project.id}`, { description: unique('by another team') }),
      who.fetch('PUT', `/api/notes/${note.id}`, { content: unique('by another team') }),
      who.fetch('POST', '/api/notes', { title: unique('x'), projectId: project.id }),
      who.fetch('POST', `/api/projects/${project.id}/plan`, plan),
    ])

  const cases: [WorkspaceTeam['role'], Role, Role][] = [
    ['viewer', 'owner', 'viewer'],
    ['viewer', 'viewer', 'viewer'],
    ['editor', 'viewer', 'viewer'],
    ['editor', 'member', 'member'],
    ['editor', 'owner', 'member'],
    ['owner', 'viewer', 'viewer'],
    ['owner', 'admin', 'admin'],
  ]
  test.each(cases)('whose team is %s and who is %s there has the lower role: %s', async (teamRole, role, effective) => {
    const place = await shared(teamRole, role)
    const { space, project, secret, outside, note, loose, mallory } = place
    expect((await get(mallory, space)).body).toMatchObject({ role: effective, counts: { projects: 1, teams: 2 } })
    expect(statuses(await reads(place, mallory))).toEqual([200, 200, 200])
    expect(await projectsIn(mallory, space)).toEqual([project.id])
    expect(ids((await mallory.fetch<NotePage>('GET', `/api/notes?projectId=${project.id}`)).body)).toEqual([note.id])
    // Neither a private project in the workspace, nor one outside of it, nor the team's other records, nor the team itself.
    for (const path of [
      `/api/projects/${secret.id}`,
      `/api/projects/${outside.id}`,
      `/api/notes/${loose.id}`,
      `/api/teams/${place.team.id}`,
      `/api/teams/${place.team.id}/activity`,
    ])
      await expectRefusal(t, await mallory.fetch('GET', path), 404, 'not_found')
    const answers = await writes(place, mallory)
    if (effective === 'viewer') for (const answer of answers) await expectRefusal(t, answer, 403, 'forbidden')
    else expect(statuses(answers)).toEqual([200, 200, 201, 201])
  })

  test('sees in lists what they can add to the project: nothing as a viewer', async () => {
    const { project, mallory } = await shared('viewer', 'owner')
    for (const [list, action] of [
      ['repos', 'connect'],
      ['decisions', 'create'],
      ['specs', 'create'],
    ] as const) {
      const { body } = await mallory.fetch<{ can: object }>('GET', `/api/${list}?projectId=${project.id}`)
      expect(body).toMatchObject({ can: { [action]: { code: 'forbidden' } } })
    }
    const decision = { title: unique('x'), decision: 'x', projectId: project.id }
    await expectRefusal(t, await mallory.fetch('POST', '/api/decisions', decision), 403, 'forbidden')
  })

  test('loses access at once when the team is removed or lowered, or the member leaves the team', async () => {
    const ends: [string, (place: Awaited<ReturnType<typeof shared>>) => Promise<unknown>][] = [
      ['team removed', ({ space, other }) => dropTeam(ada, space, other)],
      ['workspace deleted', ({ space }) => ada.fetch('DELETE', `/api/workspaces/${space.id}`)],
      ['member removed', ({ other }) => ada.fetch('DELETE', `/api/teams/${other.id}/members/${stranger.userId}`)],
      ['owning team deleted', ({ team }) => ada.fetch('DELETE', `/api/teams/${team.id}`)],
      ['other team deleted', ({ other }) => ada.fetch('DELETE', `/api/teams/${other.id}`)],
      ['project taken out', ({ project }) => put(ada, project, null)],
      ['project unshared', ({ project }) => ada.fetch('DELETE', `/api/projects/${project.id}/share`)],
      ['project private in place', ({ project, space }) => put(ada, project, space.id, { visibility: 'private' })],
    ]
    for (const [what, end] of ends) {
      const place = await shared('editor', 'member')
      expect([what, statuses(await reads(place, stranger))]).toEqual([what, [200, 200, 200]])
      const ended = (await end(place)) as { status: number }
      expect([what, ended.status]).toEqual([what, 200])
      expect([what, statuses(await reads(place, stranger))]).toEqual([what, [404, 404, 404]])
      expect([what, statuses(await writes(place, stranger))]).toEqual([what, [404, 404, 404, 404]])
    }
    const lowered = await shared('editor', 'member')
    expect(statuses(await writes(lowered, stranger))).toEqual([200, 200, 201, 201])
    await addTeam(ada, lowered.space, lowered.other, 'viewer')
    expect(statuses(await writes(lowered, stranger))).toEqual([403, 403, 403, 403])
    await addTeam(ada, lowered.space, lowered.other, 'editor')
    await ada.fetch('PATCH', `/api/teams/${lowered.other.id}/members/${stranger.userId}`, { role: 'viewer' })
    expect(statuses(await writes(lowered, stranger))).toEqual([403, 403, 403, 403])
  }, 300_000)

  test('can only read while the workspace is archived', async () => {
    const place = await shared('editor', 'member')
    const { space, team, other, project } = place
    const archive = (status: string, who = ada) =>
      who.fetch<Workspace>('PATCH', `/api/workspaces/${space.id}`, { status })
    expect((await archive('archived')).body.status).toBe('archived')
    expect(statuses(await reads(place, stranger))).toEqual([200, 200, 200])
    expect(statuses(await writes(place, stranger))).toEqual([403, 403, 403, 403])
    // Its own team goes on as before.
    expect((await ada.fetch('PUT', `/api/projects/${project.id}`, { description: 'ours' })).status).toBe(200)
    await expectRefusal(t, await put(ada, await newProject(team), space.id), 409, 'conflict')
    await expectRefusal(t, await addTeam(ada, space, await newTeam(), 'viewer'), 409, 'conflict')
    const lists = async (query: string) =>
      ids((await ada.fetch<WorkspacePage>('GET', `/api/teams/${other.id}/workspaces${query}`)).body)
    expect(await lists('')).toEqual([])
    expect(await lists('?status=archived')).toEqual([space.id])
    // A reader cannot give themselves more rights.
    expect((await get(stranger, space)).body.role).toBe('viewer')
    await expectRefusal(t, await archive('active', stranger), 403, 'forbidden')
    await expectRefusal(
      t,
      await stranger.fetch('PATCH', `/api/workspaces/${space.id}`, { name: 'Ours' }),
      403,
      'forbidden',
    )
    expect((await archive('active')).status).toBe(200)
    expect(statuses(await writes(place, stranger))).toEqual([200, 200, 201, 201])
  })

  test('changes notes of its projects, but can neither move them to their own team nor publish them', async () => {
    const { note, project, other, mallory } = await shared('owner', 'owner')
    const mine = await newProject(other, {}, stranger)
    const change = (patch: object) => mallory.fetch<Note>('PUT', `/api/notes/${note.id}`, patch)
    for (const patch of [
      { projectId: mine.id },
      { projectId: mine.id, scope: 'public' },
      { projectId: null },
      { projectId: null, scope: 'personal' },
      { scope: 'public' },
    ])
      await expectRefusal(t, await change(patch), 403, 'forbidden')
    await expectRefusal(
      t,
      await mallory.fetch('POST', '/api/notes', { title: 'x', projectId: project.id, scope: 'public' }),
      403,
      'forbidden',
    )
    expect((await change({ title: 'By both', scope: 'team', projectId: project.id })).body).toMatchObject({
      title: 'By both',
      scope: 'team',
    })
    const own = await mallory.fetch<Note>('POST', '/api/notes', { title: 'x', projectId: project.id })
    await expectRefusal(
      t,
      await mallory.fetch('PUT', `/api/notes/${own.body.id}`, { projectId: mine.id }),
      403,
      'forbidden',
    )
    // Its own team may.
    expect((await ada.fetch<Note>('PUT', `/api/notes/${note.id}`, { projectId: mine.id })).body.organizationId).toBe(
      other.id,
    )
  })

  test('cannot archive another team’s records, whatever the role', async () => {
    for (const [teamRole, role] of [
      ['editor', 'member'],
      ['owner', 'owner'],
    ] as const) {
      const { space } = await shared(teamRole, role)
      const change = (patch: object) => stranger.fetch<Workspace>('PATCH', `/api/workspaces/${space.id}`, patch)
      await expectRefusal(t, await change({ status: 'archived' }), 403, 'forbidden')
      expect((await change({ status: 'active', name: 'Named by both' })).body).toMatchObject({
        name: 'Named by both',
        status: 'active',
      })
    }
  })

  test('sees only their own team with MCP tokens and bound keys', async () => {
    const { project, space, other, mallory } = await shared('owner', 'owner')
    const own = await newProject(other)
    await put(ada, own, space.id)
    const token = await ctxOf(t, await mcpToken(t, { ...mallory, ctx: stranger.ctx }))
    expect(await failure(projects.get(token, { ref: project.id }))).toMatchObject({ code: 'not_found' })
    expect((await projects.get(token, { ref: own.id })).id).toBe(own.id)
    const key = async (body: object) => {
      const { body: made } = await stranger.fetch<{ token: string }>('POST', '/api/settings/api-keys', {
        name: 'k',
        ...body,
      })
      return (path: string) => call<ProjectPage>(t, 'GET', path, undefined, { authorization: `Bearer ${made.token}` })
    }
    const bound = await key({ organizationId: other.id })
    expect((await bound(`/api/projects/${project.id}`)).status).toBe(404)
    expect(ids((await bound(`/api/workspaces/${space.id}/projects`)).body)).toEqual([own.id])
    const free = await key({})
    expect((await free(`/api/projects/${project.id}`)).status).toBe(200)
    expect(ids((await free(`/api/workspaces/${space.id}/projects`)).body)).toEqual(ids({ items: [own, project] }))
  })
})
