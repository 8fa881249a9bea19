import { expect } from 'bun:test'
import { embedMissing } from '../../src/features/search/indexing/embed.ts'
import { indexed } from '../features/search-support.ts'
import { systemCtx, type TestApp } from '../support/app.ts'
import { type Facts, job } from './harness.ts'

/** Runs the jobs behind the writes now. */
async function embedded(t: TestApp): Promise<void> {
  await indexed(t)
  await embedMissing(systemCtx(t), {})
}

job('is told that it stored a fact before, and supersedes it', { calls: 5, tokens: 780 }, async ({ agent, t }) => {
  const one = await agent()
  const scopeId = (await one.call('create_project', { name: 'Folder lock' })).slug
  await one.call('store_memory', { scopeId, content: 'The staging server listens on port 8080.' })
  await embedded(t)
  const twice = await one.call('store_memory', { scopeId, content: 'Staging server listens on the port 8080.' })
  const [older] = twice.similar as Facts[]
  expect(older).toMatchObject({ excerpt: 'The staging server listens on port 8080.' })
  const right = await one.call('store_memory', {
    scopeId,
    content: 'The staging server listens on port 9090 now.',
    supersedes: older?.id,
  })
  expect(right).toHaveProperty('id')
  await embedded(t)
  const { items } = await one.call('search_memory', { query: 'staging server port', scopeId })
  const contents = items.map((m) => m.content)
  expect(contents).toContain('The staging server listens on port 9090 now.')
  expect(contents).not.toContain('The staging server listens on port 8080.')
})

job(
  'ends its session, and the next session starts with what it learnt',
  { calls: 3, tokens: 700 },
  async ({ agent, owner }) => {
    const { slug } = (await owner.fetch<{ slug: string }>('POST', '/api/projects', { name: 'Folder lock' })).body
    const one = (await agent('one')).told(`You work in ${slug}.`)
    await one.call('create_session', { project: slug, goals: ['Find out why the folder lock stays after a crash'] })
    const ended = await one.call('end_session', {
      summary: 'The lock stayed because the child inherited the descriptor; O_CLOEXEC mends it.',
    })
    expect(ended.memories).toHaveLength(1)
    const other = (await agent('other')).told(`You work in ${slug}.`)
    const goals = ['The folder lock must go after a crash']
    const { brief } = await other.call('create_session', { project: slug, goals })
    expect((brief as string[]).join('\n')).toContain('O_CLOEXEC')
  },
)
