import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { newId } from '../../src/db/columns.ts'
import { observe } from '../../src/features/repositories/observe.ts'
import type { Repository } from '../../src/features/repositories/schema.ts'
import type { FeatureDetail } from '../../src/features/workflow/schema.ts'
import { featureEvidence } from '../../src/features/workflow/table.ts'
import { ways } from '../mcp/support.ts'
import { mcpToken, type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { type FakeCodeHost, type FakeRepository, fakeRepositoryHost, SHA } from '../support/code-host.ts'
import { expectRefusal, ownApp, times, watch } from './support.ts'

const TOKEN = 'pat_averysecrettokenofadas5555'

describe.each(['github', 'gitlab'] as const)('evidence that %s can confirm', (kind) => {
  let host: FakeCodeHost
  let t: TestApp
  let ada: Person
  let there: FakeRepository
  let project: { id: string }
  let feature: string
  let repository: Repository
  const newFeature = async () =>
    (await ada.fetch<{ id: string }>('POST', `/api/projects/${project.id}/features`, { title: unique('Lock') })).body.id
  const events: { type: string; subjectId: string | null; data: Record<string, unknown> }[] = []
  let wake: () => void = () => undefined
  beforeAll(async () => {
    host = fakeRepositoryHost(kind)
    host.tokens.add(TOKEN)
    t = watch(await ownApp(undefined, { ...host.settings, background: 'on' }))
    t.app.bus.subscribe((event) => {
      events.push(event)
      wake()
    })
  })
  afterAll(() => t.close())
  beforeEach(async () => {
    host.fault = undefined
    ada = await person(t)
    const slug = `${unique('tutti')}/engine`
    there = host.add(slug, { private: true })
    project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine') })).body
    await ada.fetch('PUT', `/api/settings/integrations/user/${kind}`, { secret: TOKEN })
    repository = (await ada.fetch<Repository>('POST', '/api/repos', { repo: slug, projectId: project.id })).body
    feature = await newFeature()
    await ada.fetch('POST', `/api/features/${feature}/advance`, {})
  })
  const advance = async (evidence: object) => {
    const answer = await ada.fetch('POST', `/api/features/${feature}/advance`, {
      evidence: { summary: 'Done', ...evidence },
    })
    expect(answer.status).toBe(200)
  }
  const show = async (id = feature) => (await ada.fetch<FeatureDetail>('GET', `/api/features/${id}`)).body
  const levels = async () => (await show()).evidence.map(({ level }) => level)
  /** The job has done what it does. */
  async function settled(): Promise<void> {
    for (;;) {
      const { rows } = await t.app.driver.query("select count(*)::int from jobs where name = 'repos.observe'")
      if (rows[0]?.[0] === 0) return
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, 50)
      })
    }
  }

  test('is observed for an existing commit, pull request and run', async () => {
    there.pulls.push({ number: 1, title: 'Lock', head: 'lock', base: 'main', open: false, body: '', reviewers: [] })
    there.runs.set(42, 'success')
    const [pull, run] =
      kind === 'github'
        ? [`${repository.url}/pull/1`, `${repository.url}/actions/runs/42`]
        : ['!1', `${repository.url}/-/pipelines/42`]
    await advance({ commits: [SHA.slice(0, 9)], pullRequests: [pull], links: [run, 'https://ci.example.com/7'] })
    await settled()
    expect(await levels()).toEqual(['observed'])
    const told = events.filter((event) => event.type === 'feature.observed' && event.subjectId === feature)
    expect(told).toMatchObject([{ data: { gate: 'code_complete', seen: [SHA.slice(0, 9), pull, run] } }])
  })

  const runAddress = (id: number) =>
    kind === 'github' ? `${repository.url}/actions/runs/${id}` : `${repository.url}/-/pipelines/${id}`

  test.each([
    ['an unknown commit', { commits: ['abcdef1'] }, 'abcdef1'],
    ['one of two commits', { commits: [SHA, 'abcdef1'] }, 'abcdef1'],
    ['an unknown pull request', { commits: [SHA], pullRequests: ['#9'] }, '#9'],
  ])('is marked missing for %s', async (_name, evidence, item) => {
    await advance(evidence)
    await settled()
    expect((await show()).evidence).toMatchObject([{ level: 'missing', missing: [{ item, reason: 'not_found' }] }])
  })

  test('is marked missing for a failed or unknown CI run, and stays reported for a running one', async () => {
    there.runs.set(43, kind === 'github' ? 'failure' : 'failed')
    there.runs.set(45, kind === 'github' ? '' : 'running')
    for (const [id, expected] of [
      [43, { level: 'missing', missing: [{ item: runAddress(43), reason: 'failed' }] }],
      [44, { level: 'missing', missing: [{ item: runAddress(44), reason: 'not_found' }] }],
      [45, { level: 'reported', missing: null }],
    ] as const) {
      await advance({ commits: [SHA], testRuns: [runAddress(id)] })
      await settled()
      expect((await show()).evidence.at(-1)).toMatchObject(expected)
    }
  })

  test.each([
    ['a pull request of another host', { commits: [SHA], pullRequests: ['https://evil.example/tutti/engine/pull/1'] }],
    ['a commit that is a path', { commits: ['../../user'] }],
  ])('stays reported: %s', async (_name, evidence) => {
    await advance(evidence)
    await settled()
    expect(await levels()).toEqual(['reported'])
  })

  test('reopens its gate for an unknown commit, even after later gates were passed', async () => {
    const held = Promise.withResolvers<undefined>()
    host.fault = () => held.promise
    const code = { summary: 'Lock added', commits: ['abcdef1'] }
    await advance(code)
    await advance({ tests })
    expect((await show()).status).toBe('in_docs')
    held.resolve(undefined)
    await settled()
    const back = await show()
    expect(back).toMatchObject({
      status: 'in_progress',
      evidence: [
        { gate: 'code_complete', level: 'missing', reopenedAt: expect.any(String) },
        { gate: 'test_complete', level: 'reported', reopenedAt: expect.any(String) },
      ],
    })
    expect(back.gates.map(({ state }) => state)).toEqual(['open', 'open', 'open', 'open'])
    const told = events.filter((event) => event.type === 'feature.evidence_missing' && event.subjectId === feature)
    expect(told).toMatchObject([
      { data: { gate: 'code_complete', from: 'in_docs', to: 'in_progress', missing: ['abcdef1'] } },
    ])
    const { items } = (await ada.fetch<{ items: { title: string; reason: string }[] }>('GET', '/api/notifications'))
      .body
    expect(items[0]).toMatchObject({
      reason: 'needs_you',
      title: expect.stringContaining('Not found at the code host: abcdef1'),
    })

    // Once the commit is pushed, the same evidence passes the same gates.
    there.commits.set('abcdef1'.padEnd(40, '0'), 'Lock the folder')
    await advance(code)
    await settled()
    await advance({ tests })
    const again = await show()
    expect(again.gates.map(({ state }) => state)).toEqual(['passed', 'passed', 'open', 'open'])
    expect(again.evidence.map(({ level }) => level)).toEqual(['missing', 'reported', 'observed', 'reported'])
  })

  test('with more than twenty commits is checked for the first twenty, and never observed', async () => {
    const many = times(21, (i) => `abcde${10 + i}`)
    const before = host.asked.length
    await advance({ commits: many })
    await settled()
    expect((await show()).evidence.at(-1)).toMatchObject({
      level: 'missing',
      missing: many.slice(0, 20).map((item) => ({ item, reason: 'not_found' })),
    })
    expect(host.asked.slice(before).filter(({ path }) => path.endsWith('/branches'))).toHaveLength(1)
    for (const sha of many.slice(0, 20)) there.commits.set(sha.padEnd(40, '0'), 'Lock the folder')
    await advance({ commits: many })
    await settled()
    expect((await show()).evidence.at(-1)).toMatchObject({ level: 'reported', missing: null })
  })

  const tests = { command: 'bun test', passed: 3, failed: 0 }

  test('changes nothing if it no longer counts when it turns out to be missing', async () => {
    const [code, held] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    host.fault = ({ path }) =>
      path.includes('abcdef1') ? code.promise : path.includes('abcdef2') ? held.promise : undefined
    await advance({ commits: ['abcdef1'] })
    await advance({ tests, commits: ['abcdef2'] })
    code.resolve(undefined)
    while ((await show()).status !== 'in_progress') await Bun.sleep(10)
    await advance({ commits: [SHA] })
    await advance({ tests, commits: [SHA] })
    held.resolve(undefined)
    await settled()
    expect((await show()).status).toBe('in_docs')
    expect(await levels()).toEqual(['missing', 'reported', 'observed', 'observed'])
  })

  test('of an earlier round is marked missing without moving a feature that has newer evidence', async () => {
    const held = Promise.withResolvers<undefined>()
    host.fault = () => held.promise
    await advance({ commits: ['abcdef1'] })
    const [given] = await t.app.db.select().from(featureEvidence).where(eq(featureEvidence.featureId, feature))
    if (!given) throw new Error('no evidence')
    const evidence = { ...given.evidence, commits: [SHA] }
    const newer: typeof featureEvidence.$inferInsert = { ...given, id: newId(), evidence }
    await t.app.db.insert(featureEvidence).values(newer)
    held.resolve(undefined)
    await settled()
    expect(await show()).toMatchObject({
      status: 'in_testing',
      evidence: [{ level: 'missing' }, { level: 'reported', reopenedAt: null }],
    })
    const told = events.filter((event) => event.type === 'feature.evidence_missing' && event.subjectId === feature)
    expect(told).toMatchObject([{ data: { from: 'in_testing', to: 'in_testing', missing: ['abcdef1'] } }])
  })

  test('names the missing commit in get_feature', async () => {
    const client = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, await mcpToken(t, ada))
    const evidence = { summary: 'Lock added', commits: ['abcdef1'] }
    const passed = await client.call('advance_feature', { feature, evidence })
    expect(passed.structuredContent).toMatchObject({ status: 'in_testing' })
    await settled()
    const seen = await client.call('get_feature', { feature })
    expect(seen.structuredContent).toMatchObject({
      status: 'in_progress',
      evidence: [{ level: 'missing', missing: [{ item: 'abcdef1', reason: 'not_found' }] }],
      next: { to: 'in_testing' },
    })
    there.commits.set('abcdef1'.padEnd(40, '0'), 'Lock the folder')
    expect((await client.call('advance_feature', { feature, evidence })).structuredContent).toMatchObject({
      status: 'in_testing',
    })
    await client.close()
  })

  test('stays if a person verified it or an admin overrode the gate meanwhile', async () => {
    const held = Promise.withResolvers<undefined>()
    host.fault = () => held.promise
    await advance({ commits: ['abcdef1'] })
    const [given] = (await show()).evidence
    await ada.fetch('POST', `/api/features/${feature}/evidence/${given?.id}/verify`, {})
    const other = await newFeature()
    await ada.fetch('POST', `/api/features/${other}/advance`, {})
    await ada.fetch('POST', `/api/features/${other}/advance`, {
      evidence: { summary: 'Done', commits: ['abcdef1'] },
    })
    await ada.fetch('POST', `/api/features/${other}/override`, { status: 'done', reason: 'Shipped by hand' })
    held.resolve(undefined)
    await settled()
    expect(await show()).toMatchObject({ status: 'in_testing', evidence: [{ level: 'verified', reopenedAt: null }] })
    const overridden = await show(other)
    expect(overridden).toMatchObject({ status: 'done', evidence: [{ level: 'missing' }] })
    const verifying = await ada.fetch(
      'POST',
      `/api/features/${other}/evidence/${overridden.evidence[0]?.id}/verify`,
      {},
    )
    await expectRefusal(t, verifying, 409, 'conflict')
  })

  test('stays reported if the token cannot read the repository', async () => {
    host.fault = () => Response.json({ message: 'Not Found' }, { status: 404 })
    await advance({ commits: ['abcdef1'] })
    await settled()
    expect(await levels()).toEqual(['reported'])
  })

  test('does not delay anyone while the host is unreachable', async () => {
    const held = Promise.withResolvers<Response>()
    const arrived = Promise.withResolvers<void>()
    host.fault = () => {
      arrived.resolve()
      return held.promise
    }
    await advance({ commits: [SHA] })
    expect(await levels()).toEqual(['reported'])
    await arrived.promise
    held.resolve(Response.json({ message: 'Bad credentials' }, { status: 401 }))
    await settled()
    expect(await levels()).toEqual(['reported'])
  })
})

test('a Gitea run whose address has another number than the API is neither missing nor failed', async () => {
  const host = fakeRepositoryHost('gitea')
  host.tokens.add(TOKEN)
  const t = watch(await ownApp(undefined, host.settings))
  try {
    const ada = await person(t)
    const slug = `${unique('tutti')}/engine`
    host.add(slug).runs.set(43, 'failure')
    const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine') })).body
    await ada.fetch('PUT', '/api/settings/integrations/user/gitea', { secret: TOKEN })
    const { url } = (await ada.fetch<Repository>('POST', '/api/repos', { repo: slug, projectId: project.id })).body
    for (const [testRuns, level] of [
      [[], 'observed'],
      [[`${url}/actions/runs/43`], 'reported'],
      [[`${url}/actions/runs/44`], 'reported'],
    ] as const) {
      const title = unique('Lock')
      const { id } = (await ada.fetch<{ id: string }>('POST', `/api/projects/${project.id}/features`, { title })).body
      await ada.fetch('POST', `/api/features/${id}/advance`, {})
      const evidence = { summary: 'Done', commits: [SHA], testRuns }
      await ada.fetch('POST', `/api/features/${id}/advance`, { evidence })
      const shown = async () => (await ada.fetch<FeatureDetail>('GET', `/api/features/${id}`)).body
      await observe(systemCtx(t), { evidenceId: (await shown()).evidence[0]?.id as string })
      expect(await shown()).toMatchObject({ status: 'in_testing', evidence: [{ level, missing: null }] })
    }
  } finally {
    await t.close()
  }
})
