import { expect } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type Facts, job } from './harness.ts'

const text = (facts: Facts): string => (facts.brief as string[]).join('\n')

job(
  'loses its context in the middle of a task, and resumes',
  { calls: 7, tokens: 1460 },
  async ({ agent, amnesiac, owner }) => {
    const one = await agent()
    const { slug } = await one.call('create_project', { name: 'Folder lock' })
    const id = (await owner.fetch<{ id: string }>('GET', `/api/projects/${slug}`)).body.id
    for (const body of [
      { title: 'Take the lock', description: 'Use flock.', priority: 'high' },
      { title: 'Test it', blockedBy: ['FL-1'] },
    ])
      await owner.fetch('POST', `/api/projects/${id}/tasks`, body)
    await one.call('create_session', { project: slug, goals: ['One process for each folder'] })
    await one.call('next_task', { project: slug })
    await one.call('resume_session', {
      checkpoint: {
        nextStep: 'Write the test in test/db/lock.test.ts',
        files: ['src/db/lock.ts'],
        branch: 'folder-lock',
        commands: ['bun test test/db'],
      },
    })
    // Cut off. Somebody else goes on meanwhile.
    await owner.fetch('POST', `/api/projects/${id}/tasks`, { title: 'Translate the messages' })

    const again = await amnesiac(one)
    const brief = text(await again.call('resume_session'))
    for (const part of [
      'Write the test in test/db/lock.test.ts',
      'src/db/lock.ts',
      'folder-lock',
      'FL-1',
      'Take the lock',
      'Use flock.',
      'FL-2',
    ])
      expect(brief).toContain(part)
    const key = /\b[A-Z]{2,6}-\d+\b/.exec(brief)?.[0] as string
    expect(await again.call('complete_task', { task: key, evidence: ['test/db/lock.test.ts'] })).toMatchObject({
      key: 'FL-1',
      next: {},
    })
    await again.call('end_session', { summary: 'The lock is taken and tested.' })
  },
)

job('gets a brief that keeps to 800 tokens', { calls: 1, tokens: 880 }, async ({ agent, owner }) => {
  const { id, slug } = (
    await owner.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: 'Folder lock' })
  ).body
  const tasks = Array.from({ length: 40 }, (_, n) => ({
    title: `Step ${n} of a long way that goes on and on`,
    description: 'More. '.repeat(50),
  }))
  await owner.fetch('POST', `/api/projects/${id}/plan`, {
    epics: [{ title: 'All', stories: [{ title: 'It', tasks }] }],
  })
  for (let n = 0; n < 12; n++)
    expect(
      (
        await owner.fetch('POST', '/api/decisions', {
          projectId: id,
          title: `Decision ${n}`,
          decision: 'It is decided. '.repeat(20),
        })
      ).status,
    ).toBe(201)
  const one = (await agent()).told(`You work in ${slug}.`)
  const answer = await one.call('get_context', { project: slug, budgetTokens: 800 })
  expect(countTokens(text(answer))).toBeLessThanOrEqual(800)
  expect(countTokens(text(answer))).toBeGreaterThan(500)
  expect(countTokens(JSON.stringify(answer))).toBeLessThanOrEqual(880)
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
    const brief = text(
      await other.call('create_session', { project: slug, goals: ['The folder lock must go after a crash'] }),
    )
    expect(brief).toContain('O_CLOEXEC')
  },
)
