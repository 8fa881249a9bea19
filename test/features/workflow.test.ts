import { beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import { defaultWorkflow } from '../../src/features/projects/workflow/workflow.ts'
import { type Evidence, type FeatureKind, kinds } from '../../src/features/projects/workflow/workflow-schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import * as advancing from '../../src/features/workflow/advancing.ts'
import { get as getFeature } from '../../src/features/workflow/detail.ts'
import type { Feature, FeaturePage } from '../../src/features/workflow/schema.ts'
import * as workflow from '../../src/features/workflow/service.ts'
import { factsOf } from '../mcp/support.ts'
import { apiKey, call, mcpToken, type Person, unique } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'
import { deviceSession } from './accounts-support.ts'
import { ctxOf, expectEvent, expectEvents, expectRefusal, ids, statuses, times } from './support.ts'
import {
  advance,
  connected,
  get,
  make,
  missingOf,
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
  toReview,
} from './workflow-support.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })
beforeAll(start)

describe('a gate', () => {
  test('refuses without its evidence, stores the evidence, and names the next state, up to done', async () => {
    const { author, member, project } = await newTeam()
    const { id } = await make(author, project)
    expect((await advance(author, id)).body).toMatchObject({
      status: 'in_progress',
      version: 2,
      next: { to: 'in_testing' },
    })

    const empty = await advance(author, id)
    const problem = await expectRefusal(t, empty, 409, 'conflict.gate')
    expect(missingOf(empty)).toEqual(['/evidence/summary', '/evidence/files'])
    expect(problem.detail).toContain('what changed')
    const advancing = {
      tool: 'advance_feature',
      route: 'POST /api/features/{id}/advance',
      command: 'tutti features advance <feature>',
    }
    expect(problem.next).toEqual([advancing, advancing])
    expect(problem.missing?.map(({ item }) => item)).toEqual([
      'evidence.summary',
      'evidence.files or evidence.commits or evidence.pullRequests',
    ])
    expect(missingOf(await advance(author, id, { summary: 'x', testRuns: ['y'] }))).toEqual(['/evidence/files'])

    const code = { ...shown.tests(), ...shown.code() }
    const passed = await advance(author, id, code)
    expect(passed.body).toMatchObject({ status: 'in_testing', next: { to: 'in_docs' } })
    expect(passed.body.gates[0]).toEqual({ gate: 'code_complete', state: 'passed' })
    expect(await expectEvent(t, passed, 'feature.advanced')).toMatchObject({
      subjectId: id,
      projectId: project.id,
      data: { from: 'in_progress', to: 'in_testing', gate: 'code_complete' },
    })
    // The same call again carries it no further.
    await expectRefusal(t, await advance(author, id, code), 409, 'conflict')
    expect((await advance(author, id, shown.tests())).body.status).toBe('in_docs')
    expect(missingOf(await advance(author, id, { summary: 'no document' }))).toEqual(['/evidence/files'])
    expect((await advance(author, id, shown.docs())).body.status).toBe('in_review')
    expect(missingOf(await advance(author, id))).toEqual(['/review'])

    const approved = await review(member, id, 'approved', 'Good')
    expect(approved.body).toMatchObject({ status: 'done', next: null })
    expect(approved.body.gates.map((g) => g.state)).toEqual(times(4, () => 'passed'))
    expect(await expectEvent(t, approved, 'feature.reviewed')).toMatchObject({
      data: { from: 'in_review', to: 'done', verdict: 'approved' },
    })
    await expectRefusal(t, await advance(author, id), 409, 'conflict')

    const { evidence, reviews } = (await get(author, id)).body
    expect(evidence.map(({ gate, level, actor }) => ({ gate, level, actor }))).toEqual(
      ['code_complete', 'test_complete', 'docs_complete'].map((gate) => ({
        gate,
        level: 'reported',
        actor: { type: 'user', id: people.author.userId, name: 'Alan' },
      })),
    )
    expect(evidence[0]?.evidence).toEqual(code)
    expect(reviews).toMatchObject([
      { verdict: 'approved', comments: 'Good', actor: { type: 'user', id: people.member.userId, name: 'Edsger' } },
    ])
  })

  test('is skipped by a bug, which needs no documents', async () => {
    const { author, member, project } = await newTeam()
    const { id, gates } = await make(author, project, { kind: 'bug' })
    expect(gates[2]).toEqual({ gate: 'docs_complete', state: 'skipped' })
    await advance(author, id)
    await advance(author, id, shown.code())
    const { body } = await get(author, id)
    expect(body).toMatchObject({ status: 'in_testing', next: { to: 'in_review' } })
    expect((await advance(author, id, shown.tests())).body.status).toBe('in_review')
    expect((await review(member, id, 'approved')).body.status).toBe('done')
  })

  test('refuses evidence that it does not ask for', async () => {
    const { author, project } = await newTeam()
    const { id } = await make(author, project)
    await expectRefusal(t, await advance(author, id, shown.code()), 409, 'conflict')
    await expectRefusal(t, await patch(author, id, { evidence: shown.code() }), 422, 'invalid')
  })

  test('is passed again after a review requested changes, also with the same evidence', async () => {
    const { author, member, project } = await newTeam()
    const feature = await make(author, project, { assignee: people.author.email.toUpperCase() })
    await toReview(author, feature)
    const back = await review(member, feature.id, 'changes_requested', 'Name the process')
    expect(back.body).toMatchObject({ status: 'needs_edits', next: { to: 'in_progress', missing: [] } })
    expect(back.body.gates.map((g) => g.state)).toEqual(times(4, () => 'open'))
    await expectEvents(t, back, 'feature.reviewed', 'notification.created')
    expect(await noticesTo(people.author, feature)).toContain('needs_you')
    await expectRefusal(t, await review(member, feature.id, 'approved'), 409, 'conflict')
    expect((await advance(author, feature.id)).body.status).toBe('in_progress')
    await expectRefusal(t, await advance(author, feature.id), 409, 'conflict.gate')
    const old = (await get(author, feature.id)).body.evidence[0]?.evidence as Evidence
    expect((await advance(author, feature.id, old)).body.gates.map((g) => g.state)).toEqual([
      'passed',
      'open',
      'open',
      'open',
    ])
  })

  test('test_complete accepts a test result or a CI run, and nothing else', async () => {
    const { author, project } = await newTeam()
    const inTesting = async () => {
      const { id } = await make(author, project)
      await advance(author, id)
      await advance(author, id, shown.code())
      return id
    }
    const id = await inTesting()
    const summary = 'All pass'
    for (const evidence of [
      { summary, files: ['test/lock.test.ts'] },
      { summary, commits: ['3f98b0f'] },
      { summary, testRuns: ['214 pass'] },
      { summary, links: ['https://docs.example.com/lock'] },
      { summary, tests: { command: 'bun test', passed: 0, failed: 0 } },
      { summary, tests: { command: 'bun test', passed: 213, failed: 1 } },
    ]) {
      const refused = await advance(author, id, evidence)
      await expectRefusal(t, refused, 409, 'conflict.gate')
      expect(missingOf(refused)).toEqual(['/evidence/tests'])
    }
    await expectRefusal(
      t,
      await advance(author, id, { summary, tests: { command: 'bun test' } } as unknown as Evidence),
      422,
      'invalid',
    )
    const tests = { command: 'bun test', passed: 214, failed: 0 }
    expect((await advance(author, id, { summary, tests })).body.status).toBe('in_docs')
    expect((await get(author, id)).body.evidence[1]?.evidence).toEqual({ summary, tests })
    const run = 'https://ci.example.com/run/42'
    for (const evidence of [
      { summary, testRuns: [run] },
      { summary, links: [run] },
    ])
      expect((await advance(author, await inTesting(), evidence)).body.status).toBe('in_docs')
  })

  test('before done stays closed while a task of the feature is open, unless an admin overrides it', async () => {
    const { author, member, admin, project } = await newTeam()
    const tasks = await Promise.all(
      times(
        4,
        async (i) =>
          (await author.fetch<Task>('POST', `/api/projects/${project.id}/tasks`, { title: `Task ${i}` })).body,
      ),
    )
    const [finished, cancelled, deleted, open] = tasks as [Task, Task, Task, Task]
    const feature = await make(author, project, { taskIds: tasks.map(({ id }) => id) })
    const forced = await make(author, project, { taskIds: [open.id] })
    await toReview(author, feature)
    await toReview(author, forced)
    const { missing } = await expectRefusal(t, await review(member, feature.id, 'approved'), 409, 'conflict.gate')
    expect(missing?.map(({ item }) => item)).toEqual(tasks.map(({ key }) => `task ${key}`).sort())
    await author.fetch('POST', `/api/tasks/${finished.key}/complete`, { notes: 'Done' })
    await author.fetch('PATCH', `/api/tasks/${cancelled.key}`, { status: 'cancelled' })
    await author.fetch('DELETE', `/api/tasks/${deleted.key}`)
    const refused = await review(member, feature.id, 'approved')
    const problem = await expectRefusal(t, refused, 409, 'conflict.gate')
    expect(problem.detail).toContain(`«Task 3», which is todo, to be done or cancelled (task ${open.key})`)
    expect(problem.next).toEqual([
      {
        tool: 'complete_task',
        route: `POST /api/tasks/${open.key}/complete`,
        command: `tutti tasks complete ${open.key}`,
      },
    ])
    expect((await get(author, feature.id)).body).toMatchObject({
      status: 'in_review',
      reviews: [],
      next: { to: 'done', missing: [{ item: 'review' }, { item: `task ${open.key}` }] },
    })
    const overridden = await override(admin, forced.id, 'done', 'The last task moved to the next release')
    expect(overridden.body.status).toBe('done')
    await author.fetch('POST', `/api/tasks/${open.key}/complete`, { notes: 'Done' })
    expect((await review(member, feature.id, 'approved')).body.status).toBe('done')
    // Reopening a task later does not reopen the feature.
    await author.fetch('PATCH', `/api/tasks/${open.key}`, { status: 'todo' })
    expect((await get(author, feature.id)).body).toMatchObject({ status: 'done', next: null })
  })

  test('does not stop a review that requests changes while tasks are open', async () => {
    const { author, member, project } = await newTeam()
    const task = await author.fetch<Task>('POST', `/api/projects/${project.id}/tasks`, { title: 'Open' })
    const feature = await make(author, project, { taskIds: [task.body.key] })
    await toReview(author, feature)
    expect((await review(member, feature.id, 'changes_requested')).body.status).toBe('needs_edits')
  })

  test('applies to a status in PUT or PATCH too', async () => {
    const { author, project } = await newTeam()
    const { id } = await make(author, project)
    const put = (change: object) => author.fetch<Feature>('PUT', `/api/projects/${project.slug}/features/${id}`, change)
    for (const status of ['done', 'in_testing', 'in_review', 'needs_edits', 'nowhere', '']) {
      await expectRefusal(t, await patch(author, id, { status }), 409, 'conflict')
      await expectRefusal(t, await put({ status }), 409, 'conflict')
    }
    const moved = await put({ status: 'in_progress', priority: 'high' })
    expect(moved.body).toMatchObject({ status: 'in_progress', priority: 'high', version: 2 })
    await expectEvents(t, moved, 'feature.updated', 'feature.advanced')
    await expectRefusal(t, await patch(author, id, { status: 'in_testing', title: 'Not kept' }), 409, 'conflict.gate')
    expect((await get(author, id)).body.title).not.toBe('Not kept')
    expect((await patch(author, id, { status: 'in_testing', evidence: shown.code() })).body.status).toBe('in_testing')
    expect((await patch(author, id, { status: 'in_testing' })).body.status).toBe('in_testing')
    await patch(author, id, { status: 'in_docs', evidence: shown.tests() })
    await patch(author, id, { status: 'in_review', evidence: shown.docs() })
    for (const status of ['done', 'needs_edits']) {
      const refused = await patch(author, id, { status, evidence: shown.docs() })
      await expectRefusal(t, refused, 409, 'conflict.gate')
      expect(missingOf(refused)).toEqual(['/review'])
    }
  })

  test('fixes the kind of the feature once work has begun', async () => {
    const { author, project } = await newTeam()
    const { id } = await make(author, project)
    expect((await patch(author, id, { kind: 'bug' })).body.kind).toBe('bug')
    expect((await patch(author, id, { kind: 'feature' })).body.gates[2]?.state).toBe('open')
    await advance(author, id)
    await expectRefusal(t, await patch(author, id, { kind: 'chore' }), 409, 'conflict')
    expect((await patch(author, id, { kind: 'feature', title: 'Same kind' })).body.title).toBe('Same kind')
  })

  test('accepts evidence as verified only from a signed-in person', async () => {
    const { author, project } = await newTeam()
    const { id } = await make(author, project)
    await advance(author, id)
    // The command line's session lies on the machine where agents work.
    const { token: device } = await deviceSession(t, people.author.userId)
    for (const token of [await apiKey(t, people.author), device]) {
      const said = { evidence: shown.code(), level: 'verified' }
      await expectRefusal(
        t,
        await call(t, 'POST', `/api/features/${id}/advance`, said, {
          authorization: `Bearer ${token}`,
          'x-organization-id': author.organizationId,
        }),
        403,
        'forbidden',
      )
    }
    await expectRefusal(t, await advance(author, id, shown.code(), { level: 'observed' }), 422, 'invalid')
    await advance(author, id, shown.code(), { level: 'verified' })
    expect((await get(author, id)).body.evidence.map((e) => e.level)).toEqual(['verified'])
  })

  test('is passed by one of many simultaneous calls', async () => {
    const { author, member, project } = await newTeam()
    const { id } = await make(author, project)
    expect(
      statuses(await Promise.all(times(5, () => patch(author, id, { status: 'in_progress' }, { 'if-match': '"1"' })))),
    ).toEqual([200, 412, 412, 412, 412])
    const code = shown.code()
    const answers = await Promise.all(times(5, () => advance(author, id, code)))
    expect(answers.filter((a) => a.status === 200)).toHaveLength(1)
    expect((await get(author, id)).body).toMatchObject({
      status: 'in_testing',
      version: 3,
      evidence: [{ gate: 'code_complete' }],
    })
    await advance(author, id, shown.tests())
    await advance(author, id, shown.docs())
    const verdicts = await Promise.all(times(6, (i) => review(member, id, i % 2 ? 'approved' : 'changes_requested')))
    expect(verdicts.filter((a) => a.status === 200)).toHaveLength(1)
    expect((await get(author, id)).body.reviews).toHaveLength(1)
  })
})

describe('a review', () => {
  test('is refused to the author, unless the project allows it', async () => {
    const { author, owner, viewer, stranger, project } = await newTeam()
    const feature = await make(author, project)
    await expectRefusal(t, await review(owner, feature.id, 'approved'), 409, 'conflict')
    await toReview(author, feature)
    for (const verdict of ['approved', 'changes_requested'])
      await expectRefusal(t, await review(author, feature.id, verdict), 403, 'forbidden')
    await expectRefusal(t, await review(viewer, feature.id, 'approved'), 403, 'forbidden')
    await expectRefusal(t, await review(stranger, feature.id, 'approved'), 404, 'not_found')
    expect((await get(author, feature.id)).body.reviews).toEqual([])

    await owner.fetch('PUT', `/api/projects/${project.id}`, { settings: { allowSelfReview: true } })
    expect((await review(author, feature.id, 'approved')).body.status).toBe('done')
  })

  test('is refused to everyone who submitted evidence, and allowed to the creator', async () => {
    const { author, member, owner, project } = await newTeam()
    const feature = await make(owner, project)
    await advance(author, feature.id)
    await advance(author, feature.id, shown.code())
    await advance(member, feature.id, shown.tests())
    await advance(author, feature.id, shown.docs())
    await expectRefusal(t, await review(author, feature.id, 'approved'), 403, 'forbidden')
    await expectRefusal(t, await review(member, feature.id, 'approved'), 403, 'forbidden')
    expect((await review(owner, feature.id, 'approved')).body.status).toBe('done')
  })

  test('is requested from the creator, or from managers of the team', async () => {
    const { author, member, project } = await newTeam()
    const idea = await make(member, project)
    await toReview(author, idea)
    expect(await noticesTo(people.member, idea)).toEqual(['review'])
    expect(await noticesTo(people.owner, idea)).toEqual([])
    const own = await make(author, project)
    await toReview(author, own)
    expect(await noticesTo(people.author, own)).toEqual([])
    expect(await noticesTo(people.owner, own)).toEqual(['review'])
    expect(await noticesTo(people.admin, own)).toEqual(['review'])
    expect(await noticesTo(people.viewer, own)).toEqual([])
  })
})

describe('an override', () => {
  test('lets an admin set any state, with a reason that is stored', async () => {
    const { admin, project, author, member, viewer, stranger } = await newTeam()
    const { id } = await make(author, project)
    for (const who of [author, member, viewer])
      await expectRefusal(t, await override(who, id, 'done'), 403, 'forbidden')
    await expectRefusal(t, await override(stranger, id, 'done'), 404, 'not_found')
    await expectRefusal(t, await override(admin, id, 'done', '  '), 422, 'invalid')
    await expectRefusal(t, await override(admin, id, 'nowhere'), 422, 'invalid')
    const done = await override(admin, id, 'done', 'Shipped before this board existed')
    expect(done.body).toMatchObject({ status: 'done', version: 2 })
    const open = await make(author, project)
    const listed = async (query: string) =>
      ids((await viewer.fetch<FeaturePage>('GET', `/api/projects/${project.slug}/features?${query}`)).body)
    expect([await listed('open=true'), await listed('open=false')]).toEqual([[open.id], [id]])
    // Another workflow closes them in another state.
    const transitions = [{ from: 'done', to: 'todo' }]
    const settings = { workflow: { initial: 'done', states: ['done', 'todo'], transitions } }
    expect((await admin.fetch('PUT', `/api/projects/${project.slug}`, { settings })).status).toBe(200)
    expect([await listed('open=true'), await listed('open=false')]).toEqual([[id], [open.id]])
    // It does not pretend that the gates were passed.
    expect(done.body.gates.map((g) => g.state)).toEqual(times(4, () => 'open'))
    expect(await expectEvent(t, done, 'feature.overridden')).toMatchObject({
      actor: { kind: 'session', id: people.admin.userId },
      data: { from: 'todo', to: 'done', reason: 'Shipped before this board existed' },
    })
  })
})

describe('a feature over MCP', () => {
  test('tells an agent what is missing and the next call, for wrong tests and open tasks', async () => {
    const { author, member, project } = await newTeam()
    const organizationId = project.organizationId
    const [mine, theirs] = [
      await mcpToken(t, author, { organizationId, projectId: project.id }),
      await mcpToken(t, member, { organizationId, projectId: project.id }),
    ]
    const { id, key } = await connected(mine, async (client) => {
      const { key } = (await client.call('create_task', { title: 'Write the lock' })).structuredContent as {
        key: string
      }
      const made = await client.call('create_feature', { title: 'Lock', kind: 'bug', tasks: [key] })
      const { id } = made.structuredContent as { id: string }
      await client.call('advance_feature', { feature: id })
      const tested = await client.call('advance_feature', { feature: id, evidence: shown.code() })
      expect(tested.structuredContent?.next).toMatchObject({
        missing: [{}, { item: 'evidence.tests or evidence.testRuns or evidence.links' }],
      })
      const evidence = { summary: 'All pass', files: ['src/lock.ts'], commits: ['abcdef1'] }
      const refused = await client.call('advance_feature', { feature: id, evidence })
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'conflict.gate' } })
      expect(refused.content[0]?.text).toContain('a test result { command, passed ≥ 1, failed: 0 } or the address of a')
      expect(refused.content[0]?.text).toContain('evidence.tests')
      const tests = { command: 'bun test', passed: 3, failed: 0 }
      const passed = await client.call('advance_feature', { feature: id, evidence: { ...evidence, tests } })
      expect(passed.structuredContent).toMatchObject({
        status: 'in_review',
        next: { to: 'done', missing: [{ item: 'review' }, { item: `task ${key}`, tool: 'complete_task' }] },
      })
      return { id, key }
    })
    await connected(theirs, async (client) => {
      const approve = () => client.call('submit_review', { feature: id, verdict: 'approved' })
      const refused = await approve()
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'conflict.gate' } })
      expect(refused.content[0]?.text).toContain(`to be done or cancelled (task ${key})`)
      expect(refused.content[0]?.text).toContain('complete_task')
      expect((await client.call('complete_task', { task: key, notes: 'Done' })).isError).not.toBe(true)
      expect((await approve()).structuredContent).toMatchObject({ status: 'done' })
    })
  })

  test('is in the token’s project by default, and reviewed by another agent', async () => {
    const { author, member, project } = await newTeam()
    const organizationId = project.organizationId
    const feature = await connected(
      await mcpToken(t, author, { organizationId, projectId: project.id }),
      async (client) => {
        const made = factsOf<Feature>(await client.call('create_feature', { title: 'Lock' }))
        expect((await get(author, made.id)).body.projectId).toBe(project.id)
        await make(author, await newProject(author))
        expect(ids(factsOf<FeaturePage>(await client.call('list_features')))).toEqual([made.id])
        return made
      },
    )
    await toReview(author, feature)
    await connected(await mcpToken(t, member, { organizationId }), async (client) => {
      expect(await client.call('create_feature', { title: 'x' })).toMatchObject({
        isError: true,
        structuredContent: { code: 'invalid', errors: [{ pointer: '/project' }] },
      })
      const done = await client.call('submit_review', { feature: feature.id, verdict: 'approved', comments: 'Fine' })
      expect(done.structuredContent).toMatchObject({ status: 'done' })
    })
    expect((await get(author, feature.id)).body.reviews).toMatchObject([
      { comments: 'Fine', actor: { type: 'agent', id: people.member.userId } },
    ])
  })
})

test('no sequence of API calls reaches done without passing every gate', async () => {
  const { author, project } = await newTeam()
  const token = await mcpToken(t, author, { organizationId: project.organizationId })
  const at = async (who: Person) => {
    const ctx = await who.ctx()
    return { ...ctx, actor: { ...ctx.actor, organizationId: project.organizationId } }
  }
  const callers = { author: await at(people.author), member: await at(people.member), agent: await ctxOf(t, token) }
  const evidence = fc.constantFrom('none', 'empty', 'code', 'tests', 'docs')
  const given = (what: string): Evidence | undefined =>
    what === 'none'
      ? undefined
      : what === 'empty'
        ? { summary: unique('nothing') }
        : shown[what as keyof typeof shown]()
  const who = fc.constantFrom('author' as const, 'member' as const, 'agent' as const)
  const calls = fc.oneof(
    { weight: 4, arbitrary: fc.record({ call: fc.constant('advance' as const), who, evidence }) },
    {
      weight: 2,
      arbitrary: fc.record({
        call: fc.constant('patch' as const),
        who,
        evidence,
        status: fc.constantFrom(...defaultWorkflow.states),
      }),
    },
    { weight: 1, arbitrary: fc.record({ call: fc.constant('kind' as const), who, kind: fc.constantFrom(...kinds) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        call: fc.constant('review' as const),
        who,
        verdict: fc.constantFrom('approved' as const, 'changes_requested' as const),
      }),
    },
  )
  let reached = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<FeatureKind>('feature', 'bug'),
      fc.array(calls, { minLength: 30, maxLength: 60, size: 'max' }),
      async (kind, list) => {
        const { id: ref } = await workflow.create(callers.author, { title: 'x', project: project.id, kind })
        for (const c of list) {
          const ctx = callers[c.who]
          const work =
            c.call === 'advance'
              ? advancing.advanceFeature(ctx, { ref, evidence: given(c.evidence) })
              : c.call === 'patch'
                ? workflow.update(ctx, { ref, status: c.status, evidence: given(c.evidence) })
                : c.call === 'kind'
                  ? workflow.update(ctx, { ref, kind: c.kind })
                  : advancing.reviewFeature(ctx, { ref, verdict: c.verdict })
          await work.catch((error: unknown) => {
            if (!(error instanceof AppError)) throw error
          })
        }
        const found = await getFeature(callers.author, { ref })
        if (found.status !== 'done') return
        reached++
        // Since changes were last asked for, each gate was passed, and approved by who brought none of it.
        const asked = found.reviews.findLast((r) => r.verdict === 'changes_requested')
        const round = found.evidence.filter((e) => !asked || e.id > asked.id)
        const wanted =
          found.kind === 'feature'
            ? ['code_complete', 'docs_complete', 'test_complete']
            : ['code_complete', 'test_complete']
        expect([...new Set(round.map((e) => e.gate))].sort()).toEqual(expect.arrayContaining(wanted))
        expect(round.find((e) => e.gate === 'code_complete')?.evidence.files?.length).toBeGreaterThan(0)
        const approval = found.reviews.at(-1)
        expect(approval?.verdict).toBe('approved')
        expect(
          found.evidence.some(
            (e) => e.actor.id === approval?.actor.id && !(e.actor.type === 'agent' && approval?.actor.type === 'user'),
          ),
        ).toBe(false)
      },
    ),
    { numRuns: process.env.SOAK ? 25 : isShort ? 4 : 12 },
  )
  expect(reached).toBeGreaterThan(0)
}, 300_000)
