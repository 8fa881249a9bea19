import { beforeAll, describe, expect, test } from 'bun:test'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Agent } from '../../src/features/agents/schema.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { TreeTask as Task, Tree } from '../../src/features/planning/schema.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import { defaultWorkflow } from '../../src/features/projects/workflow/workflow.ts'
import type { Workflow } from '../../src/features/projects/workflow/workflow-schema.ts'
import type { Feature, FeaturePage } from '../../src/features/workflow/schema.ts'
import * as workflow from '../../src/features/workflow/service.ts'
import { mcpToken, type Person, systemCtx, unique } from '../support/app.ts'
import { expectEvent, expectRefusal, ids, inside, statuses, times } from './support.ts'
import {
  advance,
  connected,
  get,
  make,
  newProject,
  newTeam,
  noticesTo,
  override,
  patch,
  people,
  review,
  shown,
  start,
  t,
} from './workflow-support.ts'

beforeAll(start)

describe('creating a feature', () => {
  test('needs only a title; the feature starts in the first state with every gate open', async () => {
    const { author, viewer, project } = await newTeam()
    const made = await author.fetch<Feature>('POST', `/api/projects/${project.slug}/features`, { title: ' Lock ' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/features/${made.body.id}`)
    expect(made.body).toEqual({
      id: made.body.id,
      createdAt: made.body.createdAt,
      updatedAt: made.body.createdAt,
      version: 1,
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: people.author.userId,
      title: 'Lock',
      description: null,
      kind: 'feature',
      priority: 'medium',
      status: 'todo',
      assignee: null,
      taskIds: [],
      specId: null,
      blockedBy: [],
      gates: ['code_complete', 'test_complete', 'docs_complete', 'review'].map((gate) => ({
        gate,
        state: 'open' as const,
      })),
      next: { to: 'in_progress', missing: [] },
    })
    expect(await expectEvent(t, made, 'feature.created')).toMatchObject({
      subjectId: made.body.id,
      organizationId: project.organizationId,
      projectId: project.id,
      data: { title: 'Lock', status: 'todo', version: 1 },
    })
    const byRole = { code: 'forbidden' as const, detail: expect.stringContaining('needs the role member') }
    expect((await get(viewer, made.body.id)).body).toEqual({
      ...made.body,
      states: defaultWorkflow.states,
      project: { id: project.id, name: project.name, slug: project.slug },
      workflow: defaultWorkflow,
      tasks: [],
      blockers: [],
      links: [],
      can: {
        update: byRole,
        advance: byRole,
        remove: byRole,
        verify: byRole,
        review: byRole,
        override: { code: 'forbidden', detail: expect.stringContaining('needs the role admin') },
      },
      spec: null,
      evidence: [],
      reviews: [],
      pullRequests: [],
    })
    expect((await get(viewer, made.body.id.slice(0, 32))).body.id).toBe(made.body.id)
  })

  test('links tasks of its project, by id, key or prefix', async () => {
    const { author, project } = await newTeam()
    const other = await newProject(author)
    const plan = (of: Project) =>
      author.fetch<Tree>('POST', `/api/projects/${of.id}/plan`, {
        epics: [{ title: 'E', stories: [{ title: 'S', tasks: [{ title: 'A' }, { title: 'B' }, { title: 'C' }] }] }],
      })
    const tasksOf = async (of: Project) =>
      ((await plan(of)).body.epics[0]?.stories[0]?.tasks ?? []) as [Task, Task, Task]
    const [a, b, c] = await tasksOf(project)
    const [foreign] = await tasksOf(other)
    const feature = await make(author, project, { taskIds: [b.key, a.id, c.id.slice(0, 32)] })
    expect(feature.taskIds).toEqual([b.id, a.id, c.id])
    for (const ref of [foreign.id, foreign.key, `${project.key}-99`, 'zz'])
      await expectRefusal(t, await patch(author, feature.id, { taskIds: [ref] }), 404, 'not_found')
    expect((await patch(author, feature.id, { taskIds: [] })).body.taskIds).toEqual([])
  })

  test('is for members of the project’s team, and refused in an archived project', async () => {
    const { viewer, member, stranger, project } = await newTeam()
    const send = (who: Person) => who.fetch('POST', `/api/projects/${project.id}/features`, { title: 'x' })
    await expectRefusal(t, await send(viewer), 403, 'forbidden')
    await expectRefusal(t, await send(stranger), 404, 'not_found')
    const feature = await make(member, project)
    await member.fetch('POST', `/api/projects/${project.id}/archive`)
    await expectRefusal(t, await send(member), 409, 'conflict')
    await expectRefusal(t, await advance(member, feature.id), 409, 'conflict')
    expect((await get(member, feature.id)).status).toBe(200)
  })
})

describe('dependencies between features', () => {
  test('must be closed before a feature moves on; deleted ones no longer count', async () => {
    const { author, admin, project } = await newTeam()
    const [first, second] = [await make(author, project), await make(author, project)]
    const feature = await make(author, project, { blockedBy: [first.id, second.id.slice(0, 32)] })
    expect(feature.blockedBy.sort()).toEqual([first.id, second.id].sort())
    const refused = await advance(author, feature.id)
    const problem = await expectRefusal(t, refused, 409, 'conflict.gate')
    expect(problem.errors).toHaveLength(2)
    expect(problem.detail).toContain(`«${first.title}»`)
    await expectRefusal(t, await patch(author, feature.id, { status: 'in_progress' }), 409, 'conflict.gate')
    await override(admin, first.id, 'done')
    expect((await get(author, feature.id)).body.next?.missing).toHaveLength(1)
    await author.fetch('DELETE', `/api/projects/${project.id}/features/${second.id}`)
    expect((await advance(author, feature.id)).body).toMatchObject({ status: 'in_progress', blockedBy: [first.id] })
  })

  test('are refused if they form a circle, which the refusal names', async () => {
    const { author, project } = await newTeam()
    const a = await make(author, project, { title: 'A' })
    const b = await make(author, project, { title: 'B', blockedBy: [a.id] })
    const c = await make(author, project, { title: 'C', blockedBy: [b.id] })
    const refused = await patch(author, a.id, { blockedBy: [c.id] })
    const { errors, detail } = await expectRefusal(t, refused, 422, 'invalid')
    expect(errors).toMatchObject([{ pointer: '/blockedBy', code: 'cycle' }])
    expect(detail).toContain('«A» → «C» → «B» → «A»')
    await expectRefusal(t, await patch(author, a.id, { blockedBy: [a.id] }), 422, 'invalid')
    expect((await patch(author, c.id, { blockedBy: [] })).body.blockedBy).toEqual([])
    expect((await patch(author, a.id, { blockedBy: [c.id] })).status).toBe(200)
  })

  test('are refused for one of two simultaneous changes that form a circle', async () => {
    const { author, project } = await newTeam()
    for (const _ of times(8, (i) => i)) {
      const [a, b] = [await make(author, project), await make(author, project)]
      const answers = await Promise.all([
        patch(author, a.id, { blockedBy: [b.id] }),
        patch(author, b.id, { blockedBy: [a.id] }),
      ])
      expect(statuses(answers)).toEqual([200, 422])
    }
  })

  test('stay within a project', async () => {
    const { author, stranger, project } = await newTeam()
    const [feature, elsewhere] = [await make(author, project), await make(author, await newProject(author))]
    const foreign = await make(stranger, await newProject(stranger))
    for (const ref of [elsewhere.id, foreign.id, Bun.randomUUIDv7()])
      await expectRefusal(t, await patch(author, feature.id, { blockedBy: [ref] }), 404, 'not_found')
  })
})

describe('the assignee of a feature', () => {
  test('is me, a member by id or e-mail, or an agent by id or slug; null clears it', async () => {
    const { author, project } = await newTeam()
    const agent = (await author.fetch<Agent>('POST', '/api/agents', { name: 'Coder', scope: 'team' })).body
    const feature = await make(author, project)
    const assign = async (ref: string | null) => (await patch(author, feature.id, { assignee: ref })).body.assignee
    const member = { type: 'user', id: people.member.userId, name: 'Edsger' }
    expect(await assign('me')).toEqual({ type: 'user', id: people.author.userId, name: 'Alan' })
    expect(await assign(people.member.userId)).toEqual(member as never)
    expect(await assign(null)).toBeNull()
    expect(await assign(people.member.email.toUpperCase())).toEqual(member as never)
    for (const ref of [agent.id, agent.slug, agent.id.slice(0, 32)])
      expect(await assign(ref)).toEqual({ type: 'agent', id: agent.id, name: 'Coder' })
    // A person is not notified of their own change; the member was notified at each assignment.
    expect(await noticesTo(people.author, feature)).toEqual([])
    expect(await noticesTo(people.member, feature)).toEqual(['assignment', 'assignment'])
  })

  test('cannot be someone outside the team or someone who cannot see the feature', async () => {
    const { author, owner, stranger, project } = await newTeam()
    const feature = await make(author, project)
    const theirs = (await stranger.fetch<Agent>('POST', '/api/agents', { name: 'Spy', scope: 'team' })).body
    const personal = (await author.fetch<Agent>('POST', '/api/agents', { name: 'Mine', scope: 'personal' })).body
    for (const ref of [
      people.stranger.userId,
      people.stranger.email,
      theirs.id,
      theirs.slug,
      'nobody@example.com',
      'zz',
    ])
      await expectRefusal(t, await patch(author, feature.id, { assignee: ref }), 404, 'not_found')
    await expectRefusal(t, await patch(author, feature.id, { assignee: personal.id }), 422, 'invalid')
    const secret = await newProject(owner, { visibility: 'private' })
    const hidden = await make(owner, secret)
    await expectRefusal(t, await patch(owner, hidden.id, { assignee: people.member.userId }), 422, 'invalid')
    expect((await patch(owner, hidden.id, { assignee: people.admin.userId })).status).toBe(200)
  })
})

describe('a feature', () => {
  test('is visible to everyone who sees the project, and its path must name that project', async () => {
    const { author, owner, member, viewer, stranger, project } = await newTeam()
    const [other, secret] = [await newProject(author), await newProject(owner, { visibility: 'private' })]
    const [feature, hidden] = [await make(author, project), await make(owner, secret)]
    for (const who of [author, owner, viewer]) expect((await get(who, feature.id)).status).toBe(200)
    expect((await get(stranger, feature.id)).status).toBe(404)
    expect((await get(member, hidden.id)).status).toBe(404)
    const at = (of: Project) => `/api/projects/${of.slug}/features/${feature.id}`
    expect((await viewer.fetch('GET', at(project))).status).toBe(200)
    for (const [method, body] of [['GET'], ['PUT', { title: 'x' }], ['DELETE']] as const)
      await expectRefusal(t, await author.fetch(method, at(other), body), 404, 'not_found')
    await expectRefusal(t, await stranger.fetch('PUT', at(project), { title: 'x' }), 404, 'not_found')
    await expectRefusal(t, await viewer.fetch('DELETE', at(project)), 403, 'forbidden')
    const gone = await author.fetch('DELETE', at(project))
    expect(gone.body).toEqual({ id: feature.id, deleted: true })
    await expectEvent(t, gone, 'feature.deleted')
    expect((await get(author, feature.id)).status).toBe(404)
  })

  test('of a shared workspace can be changed by another team as its role allows, while it is shared', async () => {
    const { owner, author, project } = await newTeam()
    const { id: guests } = (await people.owner.fetch<Organization>('POST', '/api/teams', { name: unique('guests') }))
      .body
    await addMember(systemCtx(t), { id: guests, userId: people.stranger.userId, role: 'member' })
    const guest = inside(people.stranger, guests)
    const { id: workspaceId } = (
      await owner.fetch<{ id: string }>('POST', '/api/workspaces', { name: unique('space') })
    ).body
    await owner.fetch('POST', `/api/projects/${project.id}/share`, { workspaceId })
    const feature = await make(author, project)
    const share = async (role: string) => {
      await owner.fetch('DELETE', `/api/workspaces/${workspaceId}/teams/${guests}`)
      expect((await owner.fetch('POST', `/api/workspaces/${workspaceId}/teams`, { teamId: guests, role })).status).toBe(
        201,
      )
    }
    expect((await get(guest, feature.id)).status).toBe(404)
    await share('viewer')
    expect((await get(guest, feature.id)).status).toBe(200)
    await expectRefusal(t, await advance(guest, feature.id), 403, 'forbidden')
    await share('editor')
    expect((await advance(guest, feature.id)).body.status).toBe('in_progress')
    expect((await patch(guest, feature.id, { assignee: 'me' })).body.assignee?.id).toBe(people.stranger.userId)
    const listed = await guest.fetch<FeaturePage>('GET', `/api/projects/${project.id}/features`)
    expect(ids(listed.body)).toEqual([feature.id])
    await expectRefusal(t, await override(guest, feature.id, 'done'), 403, 'forbidden')
    await owner.fetch('DELETE', `/api/workspaces/${workspaceId}/teams/${guests}`)
    await expectRefusal(t, await advance(guest, feature.id, shown.code()), 404, 'not_found')
  })

  test('is listed with its gates, without bodies, and filtered', async () => {
    const { author, viewer, owner, project } = await newTeam()
    const word = unique('word').replaceAll('-', '')
    const a = await make(author, project, { description: `secret sauce ${word}` })
    const b = await make(author, project, { kind: 'bug', title: word })
    const hidden = await make(owner, await newProject(owner, { visibility: 'private' }), { title: word })
    await advance(author, b.id)
    await advance(author, b.id, shown.code())
    const list = async (who: Person, query = '') =>
      (await who.fetch<FeaturePage>('GET', `/api/projects/${project.slug}/features${query}`)).body
    const all = await list(viewer, '?total=true')
    expect([ids(all), all.total]).toEqual([[a.id, b.id].sort(), 2])
    expect(all.items.find((f) => f.id === b.id)?.gates.map((g) => g.state)).toEqual([
      'passed',
      'open',
      'skipped',
      'open',
    ])
    expect(JSON.stringify(all)).not.toContain('secret sauce')
    expect(ids(await list(viewer, '?status=in_testing'))).toEqual([b.id])
    expect(ids(await list(viewer, '?kind=feature'))).toEqual([a.id])
    expect(ids(await list(viewer, `?search=${word}`))).toEqual([a.id, b.id].sort())
    const first = await list(viewer, '?limit=1&sort=title&order=asc')
    const rest = await list(
      viewer,
      `?limit=1&sort=title&order=asc&cursor=${encodeURIComponent(first.nextCursor as string)}`,
    )
    expect([...first.items, ...rest.items].map((f) => f.id).sort()).toEqual([a.id, b.id].sort())

    const ofTeam = async (who: Person) => {
      const ctx = await who.ctx()
      return ids(
        await workflow.list(
          { ...ctx, actor: { ...ctx.actor, organizationId: project.organizationId } },
          { search: word },
        ),
      )
    }
    expect(await ofTeam(people.viewer)).toEqual([a.id, b.id].sort())
    expect(await ofTeam(people.owner)).toEqual([a.id, b.id, hidden.id].sort())
  })
})

describe('the workflow of a project', () => {
  const short: Workflow = {
    initial: 'open',
    states: ['open', 'checked', 'closed'],
    transitions: [
      { from: 'open', to: 'checked', gate: 'seen' },
      { from: 'checked', to: 'closed', by: 'approved' },
      { from: 'checked', to: 'open', by: 'changes_requested' },
    ],
    gates: [{ name: 'seen', needs: [{ anyOf: ['links'], what: 'a link to what was seen' }] }],
  }

  test('replaces the default workflow', async () => {
    const { author, member } = await newTeam()
    const project = await newProject(author, { settings: { workflow: short } })
    const { id, status, gates } = await make(author, project)
    expect([status, gates.map((g) => g.gate)]).toEqual(['open', ['seen', 'review']])
    const refused = await expectRefusal(t, await advance(author, id, shown.code()), 409, 'conflict.gate')
    expect(refused.detail).toContain('a link to what was seen')
    expect((await advance(author, id, { summary: 'x', links: ['https://example.com'] })).body.status).toBe('checked')
    expect((await review(member, id, 'changes_requested')).body.status).toBe('open')
    expect((await advance(author, id, { summary: 'y', links: ['https://example.com'] })).body.status).toBe('checked')
    expect((await review(member, id, 'approved')).body).toMatchObject({ status: 'closed', next: null })
  })

  test('is refused if it cannot work, when a project is created and when it is changed', async () => {
    const { owner, project } = await newTeam()
    for (const [workflow, pointer] of [
      [{ ...short, initial: 'nowhere' }, '/settings/workflow/initial'],
      [{ ...short, transitions: [{ from: 'open', to: 'nowhere' }] }, '/settings/workflow/transitions/0/to'],
      [{ ...short, states: ['open'], transitions: [{ from: 'open', to: 'open' }] }, '/settings/workflow/transitions'],
      ['x', '/settings/workflow'],
    ] as const)
      for (const answer of [
        await owner.fetch('POST', '/api/projects', { name: 'x', settings: { workflow } }),
        await owner.fetch('PUT', `/api/projects/${project.id}`, { settings: { workflow } }),
      ])
        expect((await expectRefusal(t, answer, 422, 'invalid')).errors?.[0]?.pointer).toBe(pointer)
    const answer = await owner.fetch('PUT', `/api/projects/${project.id}`, { settings: { allowSelfReview: 'yes' } })
    await expectRefusal(t, answer, 422, 'invalid')
  })

  test('is changed by the project’s creator or a manager of the team, never by an agent', async () => {
    const { author, member, admin, project } = await newTeam()
    const own = await newProject(author)
    const put = (who: Person, of: Project, settings: object) =>
      who.fetch<Project>('PUT', `/api/projects/${of.id}`, { settings })
    for (const settings of [{ workflow: short }, { allowSelfReview: true }]) {
      await expectRefusal(t, await put(member, project, settings), 403, 'forbidden')
      expect((await put(author, own, settings)).status).toBe(200)
      expect((await put(admin, project, settings)).status).toBe(200)
      // What stays as it is may be sent along by anybody.
      expect((await put(member, project, { ...settings, colour: 'red' })).status).toBe(200)
      await expectRefusal(t, await put(member, project, {}), 403, 'forbidden')
    }
    await connected(await mcpToken(t, admin, { organizationId: project.organizationId }), async (client) => {
      const refused = await client.call('update_project', { project: project.id, settings: { workflow: short } })
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'forbidden' } })
      // Nor does it begin one without gates.
      for (const settings of [{ workflow: short }, { allowSelfReview: true }]) {
        const made = await client.call('create_project', { name: unique('project'), settings })
        expect(made).toMatchObject({ isError: true, structuredContent: { code: 'forbidden' } })
      }
      expect(
        (await client.call('create_project', { name: unique('project'), settings: { colour: 'red' } })).isError,
      ).not.toBe(true)
    })
  })

  test('that lacks a feature’s state lets the feature leave that state by override', async () => {
    const { author, admin, project } = await newTeam()
    const feature = await make(author, project)
    await admin.fetch('PUT', `/api/projects/${project.id}`, { settings: { workflow: short } })
    expect((await get(author, feature.id)).body).toMatchObject({ status: 'todo', next: null })
    await expectRefusal(t, await advance(author, feature.id), 409, 'conflict')
    expect((await override(admin, feature.id, 'open')).body.status).toBe('open')
  })
})
