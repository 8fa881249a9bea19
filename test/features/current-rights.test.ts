import { describe, expect, test } from 'bun:test'
import type { Impersonation } from '../../src/features/admin/schema.ts'
import type { Agent } from '../../src/features/agents/schema.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import type { ProjectDetail } from '../../src/features/projects/schema.ts'
import type { ActivityPage } from '../../src/features/teams/schema.ts'
import type { Feature } from '../../src/features/workflow/schema.ts'
import { call, person, unique } from '../support/app.ts'
import { ada, addTeam, join, make, newProject, newTeam, put, t } from './spaces.ts'
import { inside } from './support.ts'

describe('the history of a project', () => {
  test('stays behind when the project moves to another team', async () => {
    const [from, to] = [await newTeam(), await newTeam()]
    const reader = await person(t)
    await join(to, reader, 'viewer')
    const project = await newProject(from)
    const owner = inside(ada, from.id)
    const note = (await owner.fetch<Note>('POST', '/api/notes', { title: 'Salaries', projectId: project.id })).body
    await owner.fetch('PUT', `/api/notes/${note.id}`, { projectId: null })
    expect((await owner.fetch('PATCH', `/api/projects/${project.id}`, { organizationId: to.id })).status).toBe(200)
    await inside(ada, to.id).fetch('PUT', `/api/projects/${project.id}`, { description: 'Theirs now' })
    const { recentActivity } = (await inside(reader, to.id).fetch<ProjectDetail>('GET', `/api/projects/${project.id}`))
      .body
    expect(recentActivity?.map((a) => a.type)).toEqual(['project.updated', 'project.shared'])
    expect(JSON.stringify(recentActivity)).not.toContain('Salaries')
  })

  test('does not tell the team which administrator acted as a user', async () => {
    const [admin, who] = [await person(t, { admin: true }), await person(t)]
    const { token } = (
      await admin.fetch<Impersonation>('POST', `/api/admin/users/${who.userId}/impersonate`, { reason: 'x' })
    ).body
    const acting = { authorization: `Bearer ${token}` }
    const project = (await call<ProjectDetail>(t, 'POST', '/api/projects', { name: unique('project') }, acting)).body
    const seen = (await who.fetch<ProjectDetail>('GET', `/api/projects/${project.id}`)).body.recentActivity
    const feed = (
      await who.fetch<ActivityPage>('GET', `/api/teams/${who.organizationId}/activity?type=project.created`)
    ).body.items
    for (const list of [seen, feed]) {
      expect(list).toMatchObject([{ type: 'project.created', actor: { id: who.userId }, data: { name: project.name } }])
      expect(JSON.stringify(list)).not.toContain(admin.userId)
    }
  })
})

describe('an assigned agent of another team', () => {
  test('is shown by name as long as the team can read it', async () => {
    const [team, stranger] = [await newTeam(), await person(t)]
    const project = await newProject(team)
    const owner = inside(ada, team.id)
    const own = (await owner.fetch<Agent>('POST', '/api/agents', { name: 'Ours', scope: 'team' })).body
    const theirs = (await stranger.fetch<Agent>('POST', '/api/agents', { name: 'Open', scope: 'public' })).body
    const assigned = async (agent: Agent) => {
      const path = `/api/projects/${project.id}/features`
      const { id } = (await owner.fetch<Feature>('POST', path, { title: unique('feature'), assignee: agent.id })).body
      return async () => (await owner.fetch<Feature>('GET', `/api/features/${id}`)).body.assignee
    }
    const [ofOurs, ofTheirs] = [await assigned(own), await assigned(theirs)]
    expect([await ofOurs(), await ofTheirs()]).toMatchObject([{ name: 'Ours' }, { name: 'Open' }])
    await stranger.fetch('PUT', `/api/agents/${theirs.id}`, { scope: 'personal', name: 'Secret' })
    expect([await ofOurs(), await ofTheirs()]).toMatchObject([{ name: 'Ours' }, null])
  })
})

describe('notices about a feature', () => {
  const evidence = (summary: string) => ({
    evidence: { summary, files: ['a'], tests: { command: 'b', passed: 1, failed: 0 } },
  })
  /** Assigned to the first while they saw it; sent back to them by the second. */
  async function sentBack(
    lose: (place: { team: { id: string }; project: ProjectDetail; who: string }) => Promise<unknown>,
  ) {
    const team = await newTeam()
    const [assignee, reviewer] = [await person(t), await person(t)]
    await join(team, assignee, 'member')
    await join(team, reviewer, 'admin')
    const project = (await newProject(team)) as ProjectDetail
    const author = inside(ada, team.id)
    const input = { title: unique('feature'), kind: 'bug', assignee: assignee.userId }
    const { id } = (await author.fetch<Feature>('POST', `/api/projects/${project.id}/features`, input)).body
    await lose({ team, project, who: assignee.userId })
    for (const body of [{}, evidence('code'), evidence('tests')])
      expect((await author.fetch('POST', `/api/features/${id}/advance`, body)).status).toBe(200)
    await author.fetch('PATCH', `/api/features/${id}`, { title: unique('renamed') })
    const sent = await inside(reviewer, team.id).fetch('POST', `/api/features/${id}/reviews`, {
      verdict: 'changes_requested',
    })
    expect(sent.status).toBe(200)
    // As they are stored: what the assignee is shown depends on what they see now.
    const stored = 'select reason from notifications where user_id = $1 order by created_at, id'
    return (await t.app.driver.query(stored, [assignee.userId])).rows.map(([reason]) => String(reason))
  }

  test('reach the assignee as long as they can see the feature', async () => {
    expect(await sentBack(async () => undefined)).toEqual(['assignment', 'needs_you'])
  })

  test('do not reach people who left the team or can no longer see the project', async () => {
    expect(await sentBack(({ team, who }) => ada.fetch('DELETE', `/api/teams/${team.id}/members/${who}`))).toEqual([
      'assignment',
    ])
    expect(
      await sentBack(({ project }) =>
        ada.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' }),
      ),
    ).toEqual(['assignment'])
  })

  test('reach a person who left the team but sees the project through a shared workspace of another team', async () => {
    const reasons = await sentBack(async ({ team, project, who }) => {
      const other = await newTeam()
      await join(other, { userId: who } as never, 'viewer')
      const space = await make(team)
      await put(ada, project, space.id)
      await addTeam(ada, space, other, 'viewer')
      await ada.fetch('DELETE', `/api/teams/${team.id}/members/${who}`)
    })
    expect(reasons).toEqual(['assignment', 'needs_you'])
  })

  test('request a review from its author only while they can see the feature', async () => {
    const team = await newTeam()
    const maker = await person(t)
    await join(team, maker, 'member')
    const project = await newProject(team)
    const { id } = (
      await inside(maker, team.id).fetch<Feature>('POST', `/api/projects/${project.id}/features`, {
        title: unique('feature'),
        kind: 'bug',
      })
    ).body
    await ada.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })
    for (const body of [{}, evidence('code'), evidence('tests')])
      expect((await inside(ada, team.id).fetch('POST', `/api/features/${id}/advance`, body)).status).toBe(200)
    expect((await maker.fetch<NotificationPage>('GET', '/api/notifications')).body.items).toEqual([])
  })
})
