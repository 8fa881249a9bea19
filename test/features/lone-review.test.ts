import { beforeAll, expect, test } from 'bun:test'

import { apiKey, mcpToken, person } from '../support/app.ts'
import { expectRefusal } from './support.ts'
import { connected, get, make, newProject, newTeam, people, review, start, t, toReview } from './workflow-support.ts'

const tests = { command: 'bun test', passed: 3, failed: 0 }
beforeAll(start)

test('the only member of a team can review their own work, at a browser only', async () => {
  const ada = await person(t)
  const feature = await make(ada, await newProject(ada))
  await toReview(ada, feature)
  const path = `/api/features/${feature.id}/reviews`
  const key = { authorization: `Bearer ${await apiKey(t, ada)}` }
  const byKey = await ada.fetch('POST', path, { verdict: 'approved' }, key)
  const refused = await expectRefusal(t, byKey, 403, 'forbidden')
  expect(refused.detail).toContain('only in person, at a browser')
  expect(refused.next).toEqual([{ page: `/features/${feature.id}` }])
  expect((await get(ada, feature.id)).body.can).toMatchObject({ review: true, override: true, verify: true })
  expect((await review(ada, feature.id, 'approved', 'Good')).body.status).toBe('done')
})

test('the work of an agent is reviewed by its person at a browser; the agent gets the page’s address', async () => {
  const ada = await person(t)
  const project = await newProject(ada)
  const feature = await make(ada, project)
  await connected(await mcpToken(t, ada), async (client) => {
    const evidence = (n: number) => ({ summary: `Round ${n}`, files: [`src/${n}.ts`], tests })
    await client.call('advance_feature', { feature: feature.id })
    for (const n of [1, 2, 3]) await client.call('advance_feature', { feature: feature.id, evidence: evidence(n) })
    const own = await client.call('submit_review', { feature: feature.id, verdict: 'approved' })
    expect(own.isError).toBe(true)
    expect(JSON.stringify(own)).toContain(`/features/${feature.id}`)
  })
  const found = (await get(ada, feature.id)).body
  expect([found.status, found.can.review]).toEqual(['in_review', true])
  expect((await review(ada, feature.id, 'approved')).body.status).toBe('done')
})

test('another agent of the same person can request changes, but cannot approve', async () => {
  const ada = await person(t)
  const feature = await make(ada, await newProject(ada))
  await connected(await mcpToken(t, ada, { name: 'builder' }), async (builder) => {
    await builder.call('advance_feature', { feature: feature.id })
    for (const n of [1, 2, 3])
      await builder.call('advance_feature', {
        feature: feature.id,
        evidence: { summary: `Round ${n}`, files: [`src/${n}.ts`], tests },
      })
    const own = await builder.call('submit_review', { feature: feature.id, verdict: 'changes_requested' })
    expect(own.isError).toBe(true)
  })
  await connected(await mcpToken(t, ada, { name: 'reviewer' }), async (reviewer) => {
    const approved = await reviewer.call('submit_review', { feature: feature.id, verdict: 'approved' })
    expect([approved.isError, JSON.stringify(approved)]).toEqual([true, expect.stringContaining('can request changes')])
    const objected = await reviewer.call('submit_review', {
      feature: feature.id,
      verdict: 'changes_requested',
      comment: 'Name the limits.',
    })
    expect(objected.structuredContent).toMatchObject({ status: 'needs_edits' })
  })
  expect((await get(ada, feature.id)).body.reviews).toMatchObject([{ verdict: 'changes_requested' }])
  // What was submitted before the changes were requested can be submitted again, once.
  await connected(await mcpToken(t, ada, { name: 'builder' }), async (builder) => {
    const evidence = { summary: 'Round 1', files: ['src/1.ts'], tests }
    await builder.call('advance_feature', { feature: feature.id })
    const again = await builder.call('advance_feature', { feature: feature.id, evidence })
    expect(again.structuredContent).toMatchObject({ status: 'in_testing' })
    expect((await builder.call('advance_feature', { feature: feature.id, evidence })).isError).toBe(true)
  })
})

test('the author in a team with other members cannot approve, and is told who can change that', async () => {
  const { author, member, project } = await newTeam()
  const feature = await make(author, project)
  await toReview(author, feature)
  const refused = await expectRefusal(t, await review(author, feature.id, 'approved'), 403, 'forbidden')
  expect(refused.next).toEqual([{ page: `/projects/${project.id}` }])
  expect((await get(author, feature.id)).body.can.review).toEqual({ code: 'forbidden', detail: refused.detail })
  expect((await get(member, feature.id)).body.can).toMatchObject({ review: true, override: { code: 'forbidden' } })
  expect((await get(people.owner, feature.id)).body.can.override).toBe(true)
})

test('`can.review` gives the reason while a feature cannot be reviewed', async () => {
  const { member, project } = await newTeam()
  const feature = await make(member, project)
  expect((await get(member, feature.id)).body.can.review).toMatchObject({ code: 'conflict' })
})
