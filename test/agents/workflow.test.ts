import { expect } from 'bun:test'
import { member } from '../support/app.ts'
import { type Agent, type Facts, job } from './harness.ts'

const newFeature = async (agent: Agent, more: object = {}): Promise<Facts> => {
  const { slug } = await agent.call('create_project', { name: 'Folder lock' })
  return agent.call('create_feature', { project: slug, title: 'One process for each folder', ...more })
}
/** Brings exactly what was asked for, by its words: `evidence.files or evidence.commits`. */
function supplied(items: string[], step: number): object {
  const given: Record<string, unknown> = { summary: `What was done in step ${step}` }
  for (const item of items) {
    const part = /evidence[./](\w+)/.exec(item)?.[1] as string
    if (part === 'tests') given[part] = { command: 'bun test', passed: step, failed: 0 }
    else if (part !== 'summary') given[part] = [`${part} of step ${step}`]
  }
  return given
}
/** As far as the review, by what each answer says about the next gate. */
async function toReview(agent: Agent, feature: Facts): Promise<Facts> {
  let at = feature
  for (let step = 1; at.status !== 'in_review' && step < 9; step++) {
    const { missing } = at.next as { missing?: { item: string }[] }
    const evidence =
      missing &&
      supplied(
        missing.map((m) => m.item),
        feature.version + step,
      )
    at = await agent.call('advance_feature', { feature: at.id, ...(evidence && { evidence }) })
  }
  expect(at.status).toBe('in_review')
  return at
}

job(
  'takes a feature through all gates, each of which names what is missing',
  { calls: 12, tokens: 1960 },
  async (crew) => {
    const author = await crew.agent('author')
    const { id } = await newFeature(author)
    let feature = await author.call('advance_feature', { feature: id })
    const states = [feature.status]
    for (let step = 1; feature.status !== 'in_review' && step < 9; step++) {
      const refused = await author.refused('advance_feature', { feature: id })
      expect(refused.code).toBe('conflict.gate')
      feature = await author.call('advance_feature', {
        feature: id,
        evidence: supplied(
          (refused.errors ?? []).map((e) => e.pointer),
          step,
        ),
      })
      states.push(feature.status)
    }
    expect(states).toEqual(['in_progress', 'in_testing', 'in_docs', 'in_review'])
    const own = await author.refused('submit_review', { feature: id, verdict: 'approved' })
    expect(own.text).toContain(`only in person, at a browser. Page: /features/${id}`)
    const reviewer = await crew.agent('reviewer', { of: await member(crew.t, crew.owner, 'member') })
    const { items } = await reviewer.call('list_features', { status: 'in_review' })
    expect(await reviewer.call('submit_review', { feature: items[0]?.id, verdict: 'approved' })).toMatchObject({
      status: 'done',
    })
  },
)

job('knows each gate from the result before it, without a refusal', { calls: 6, tokens: 860 }, async (crew) => {
  const author = await crew.agent('author')
  await toReview(author, await newFeature(author))
})

job('makes requested changes, and is approved', { calls: 14, tokens: 2350 }, async (crew) => {
  await crew.owner.fetch('POST', '/api/projects', { name: 'Folder lock' })
  const author = await crew.agent('author')
  const { items: projects } = await author.call('list_projects')
  const made = await author.call('create_feature', { title: 'One process for each folder', project: projects[0]?.slug })
  await toReview(author, made)
  const reviewer = await crew.agent('reviewer', { of: await member(crew.t, crew.owner, 'member') })
  const { items } = await reviewer.call('list_features', { status: 'in_review' })
  await reviewer.call('submit_review', {
    feature: items[0]?.id,
    verdict: 'changes_requested',
    comments: 'Name the other process.',
  })
  const back = await author.call('get_feature', { feature: made.id })
  expect(back).toMatchObject({ reviews: [{ verdict: 'changes_requested', comments: 'Name the other process.' }] })
  await toReview(author, back)
  expect(await reviewer.call('submit_review', { feature: items[0]?.id, verdict: 'approved' })).toMatchObject({
    status: 'done',
  })
})
