import { beforeAll, describe, expect, test } from 'bun:test'
import type { DecisionDetail, DecisionPage } from '../../src/features/decisions/schema.ts'
import { defaultWorkflow } from '../../src/features/projects/workflow/workflow.ts'
import type { SkillDetail, SkillPage } from '../../src/features/skills/schema.ts'
import type { SpecDetail, SpecPage } from '../../src/features/specs/schema.ts'
import type { FeaturePage, SubmittedEvidence } from '../../src/features/workflow/schema.ts'
import { apiKey, call, mcpToken, type Person } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, ids } from './support.ts'
import { advance, connected, get, make, newTeam, people, shown, start, t } from './workflow-support.ts'

beforeAll(start)

const verify = (who: Person, feature: string, evidence: string) =>
  who.fetch<SubmittedEvidence>('POST', `/api/features/${feature}/evidence/${evidence}/verify`)

/** A feature with one piece of evidence at its first gate. */
async function withEvidence(who: Person, project: Awaited<ReturnType<typeof newTeam>>['project']) {
  const { id } = await make(who, project)
  await advance(who, id)
  await advance(who, id, shown.code())
  const [evidence] = (await get(who, id)).body.evidence
  if (!evidence) throw new Error('no evidence')
  return { id, evidence }
}

describe('verifying evidence', () => {
  test('is possible once, for a member in person, who is then named', async () => {
    const { author, member, admin, project } = await newTeam()
    const { id, evidence } = await withEvidence(author, project)
    expect(evidence).toMatchObject({ level: 'reported', verified: null })
    const done = await verify(member, id, evidence.id)
    const by = { type: 'user', id: people.member.userId, name: 'Edsger' }
    expect(done.body).toMatchObject({ id: evidence.id, level: 'verified', actor: evidence.actor, verified: { by } })
    expect(await expectEvent(t, done, 'feature.verified')).toMatchObject({
      subjectId: id,
      actor: { kind: 'session', id: people.member.userId },
      data: { gate: 'code_complete', evidenceId: evidence.id },
    })
    const again = await verify(admin, id, evidence.id)
    expect(again.body).toEqual(done.body)
    await expectEvents(t, again, 'workflow.verify')
    expect((await get(author, id)).body.evidence).toEqual([done.body])
  })

  test('is implied when a person submits evidence as verified', async () => {
    const { author, project } = await newTeam()
    const { id } = await make(author, project)
    await advance(author, id)
    await advance(author, id, shown.code(), { level: 'verified' })
    const [evidence] = (await get(author, id)).body.evidence
    expect(evidence?.verified?.by).toEqual({ type: 'user', id: people.author.userId, name: 'Alan' })
  })

  test('is refused to viewers, keys, tokens and strangers, for other features and in archived projects', async () => {
    const { author, member, viewer, stranger, owner, project } = await newTeam()
    const { id, evidence } = await withEvidence(author, project)
    const other = await make(author, project)
    await expectRefusal(t, await verify(viewer, id, evidence.id), 403, 'forbidden')
    await expectRefusal(t, await verify(stranger, id, evidence.id), 404, 'not_found')
    await expectRefusal(t, await verify(member, other.id, evidence.id), 404, 'not_found')
    const key = {
      authorization: `Bearer ${await apiKey(t, people.member)}`,
      'x-organization-id': member.organizationId,
    }
    const path = `/api/features/${id}/evidence/${evidence.id}/verify`
    await expectRefusal(t, await call(t, 'POST', path, undefined, key), 403, 'forbidden')
    const offered = (await get(member, id)).body.can
    expect([offered.verify, offered.advance, offered.remove]).toEqual([true, true, true])
    expect((await owner.fetch('POST', `/api/projects/${project.slug}/archive`)).status).toBe(200)
    await expectRefusal(t, await verify(member, id, evidence.id), 409, 'conflict')
    expect((await get(member, id)).body.can.verify).toMatchObject({ code: 'conflict' })
    expect((await get(member, id)).body.evidence[0]?.level).toBe('reported')
  })
})

describe('the dashboard can read', () => {
  test('the workflow in use: the default one, or the project’s own', async () => {
    const { owner, viewer, stranger, project } = await newTeam()
    const path = `/api/projects/${project.slug}/workflow`
    expect((await viewer.fetch('GET', path)).body).toEqual(defaultWorkflow)
    const workflow = { initial: 'open', states: ['open', 'shut'], transitions: [{ from: 'open', to: 'shut' }] }
    expect((await owner.fetch('PUT', `/api/projects/${project.slug}`, { settings: { workflow } })).status).toBe(200)
    expect((await viewer.fetch('GET', path)).body).toEqual(workflow)
    expect((await stranger.fetch('GET', `/api/projects/${project.id}/workflow`)).status).toBe(404)
  })

  test('features filtered by assignee: me, no one, a member, an agent', async () => {
    const { author, member, project } = await newTeam()
    const { slug } = (await author.fetch<{ slug: string }>('POST', '/api/agents', { name: 'Tester', role: 'qa' })).body
    const [mine, theirs, agents, nobodys] = [
      await make(author, project, { assignee: 'me' }),
      await make(author, project, { assignee: people.member.email }),
      await make(author, project, { assignee: slug }),
      await make(author, project),
    ]
    const listed = async (who: Person, assignee: string) =>
      ids((await who.fetch<FeaturePage>('GET', `/api/projects/${project.slug}/features?assignee=${assignee}`)).body)
    expect(await listed(author, 'me')).toEqual([mine.id])
    expect(await listed(member, 'me')).toEqual([theirs.id])
    expect(await listed(author, people.member.userId)).toEqual([theirs.id])
    expect(await listed(author, slug)).toEqual([agents.id])
    expect(await listed(author, 'none')).toEqual([nobodys.id])
    expect((await author.fetch('GET', '/api/projects/none/features?assignee=nobody@example.com')).status).toBe(404)
  })

  test('a feature with its tasks, blockers and links, which results for agents leave out', async () => {
    const { author, project } = await newTeam()
    const task = (
      await author.fetch<{ id: string; key: string }>('POST', `/api/projects/${project.slug}/tasks`, { title: 'Lock' })
    ).body
    const first = await make(author, project)
    const { id } = await make(author, project, { taskIds: [task.key], blockedBy: [first.id] })
    const found = (await get(author, id)).body
    expect(found).toMatchObject({
      project: { id: project.id, slug: project.slug },
      tasks: [{ id: task.id, key: task.key, status: 'todo' }],
      blockers: [{ id: first.id, status: 'todo' }],
      links: [],
    })
    const token = await mcpToken(t, author, { organizationId: project.organizationId })
    const told = await connected(token, (client) => client.call('get_feature', { feature: id }))
    for (const field of ['blockers', 'workflow', 'can', 'links'])
      expect(Object.keys(told.structuredContent ?? {})).not.toContain(field)
  })

  test('the permissions of members and viewers for decisions, specs and skills', async () => {
    const { author, viewer, project } = await newTeam()
    const at = { projectId: project.slug }
    const make = async (path: string, body: object) => (await author.fetch<{ id: string }>('POST', path, body)).body.id
    const decision = await make('/api/decisions', { ...at, title: 'Flock', decision: 'We lock.' })
    const spec = await make('/api/specs', { ...at, title: 'Lock', content: '# Lock' })
    const skill = await make('/api/skills', { name: 'Review' })
    const no = { code: 'forbidden', detail: expect.stringContaining('needs the role member') }
    const read = async <T>(who: Person, path: string) => (await who.fetch<T & { can: unknown }>('GET', path)).body.can
    for (const [who, yes] of [
      [author, true],
      [viewer, no],
    ] as const) {
      expect(await read<DecisionDetail>(who, `/api/decisions/${decision}`)).toEqual({
        update: yes,
        comment: yes,
        supersede: yes,
      })
      expect(await read<SpecDetail>(who, `/api/specs/${spec}`)).toMatchObject({ update: yes })
      expect(await read<SkillDetail>(who, `/api/skills/${skill}`)).toMatchObject({
        update: yes,
        remove: yes,
        makePersonal: yes,
        makePublic: yes,
      })
      const lists = [
        await read<DecisionPage>(who, `/api/decisions?projectId=${project.slug}`),
        await read<SpecPage>(who, '/api/specs'),
        await read<SkillPage>(who, '/api/skills'),
        await read<FeaturePage>(who, `/api/projects/${project.slug}/features`),
      ]
      expect(lists).toEqual(lists.map(() => ({ create: yes })))
    }
    await make('/api/decisions', { ...at, title: 'Flock 2', decision: 'We lock twice.', supersedes: decision })
    expect(await read<DecisionDetail>(author, `/api/decisions/${decision}`)).toMatchObject({
      update: true,
      supersede: { code: 'conflict', detail: expect.stringContaining('already superseded') },
    })
  })
})
