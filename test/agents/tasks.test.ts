import { expect } from 'bun:test'
import { member } from '../support/app.ts'
import { type Crew, type Facts, job } from './harness.ts'

/** Creates the tasks before the job begins, so that they cost nothing. */
async function plan({ owner }: Crew, ...titles: (string | Record<string, unknown>)[]): Promise<void> {
  const made = await owner.fetch<{ id: string }>('POST', '/api/projects', { name: 'Folder lock' })
  for (const task of titles) {
    const body = typeof task === 'string' ? { title: task } : task
    expect((await owner.fetch('POST', `/api/projects/${made.body.id}/tasks`, body)).status).toBe(201)
  }
}
const taskOf = (facts: Facts): Facts => facts.task as Facts
/** The keys at the beginning of lines. */
const keys = (lines: unknown): string[] =>
  ((lines as string[] | undefined) ?? []).map((line) => line.split(' ')[0] as string)

job(
  'completes five tasks at once: a refusal names all open criteria and says that none was changed',
  { calls: 3, tokens: 290 },
  async (crew) => {
    const open = (title: string, ...acceptance: string[]) => ({ title, acceptance })
    await plan(crew, 'One', open('Two', 'It is fast', 'It is documented'), 'Three', open('Four', 'It is tested'), {
      title: 'Five',
      blockedBy: ['FL-4'],
    })
    const agent = await crew.agent()
    const listed = (await agent.client.tools()) as { name: string; description: string }[]
    const { description } = listed.find(({ name }) => name === 'complete_task') ?? {}
    expect(description).toContain('open criteria must be accepted')
    const tasks = keys((await agent.call('list_tasks', { limit: 5 })).items).toSorted()
    const { code, text } = await agent.refused('complete_task', { tasks })
    expect(code).toBe('conflict.acceptance_open')
    expect(text.replace(/\n.*/, '')).toBe(
      'conflict.acceptance_open: FL-2 cannot become done: 2 acceptance criteria are open: 1. «It is fast»; ' +
        '2. «It is documented». Send accepted with the numbers or texts that are met, or "all". ' +
        'Also open: FL-4 «It is tested». None of the 5 was changed.',
    )
    const met = { 'FL-2': [1, 2], 'FL-4': ['It is tested'] } as Record<string, unknown>
    const sent = tasks.map((task) => (met[task] ? { task, accepted: met[task] } : task))
    expect((await agent.call('complete_task', { tasks: sent })).done).toEqual(tasks)
  },
)

job('that claims a held task is told the holder and the end of the lease', { calls: 5, tokens: 590 }, async (crew) => {
  await plan(crew, 'Lock the data folder')
  const first = await crew.agent('first')
  const second = await crew.agent('second', { of: await member(crew.t, crew.owner, 'member') })
  const task = (await second.call('list_tasks', { ready: true })).items[0]?.key
  const { yoursUntil } = await first.call('next_task').then(taskOf)
  const refused = await second.refused('claim_task', { task })
  expect(refused.code).toBe('conflict.lease_held')
  expect(refused.text).toContain('Ada Lovelace works on FL-1')
  expect(refused.text).toContain(String(yoursUntil).slice(0, -1))
  expect(refused.text).toMatch(/Take another task, or try again in \d+ seconds\./)
  expect(refused.text).not.toContain('tutti wait')
  await first.call('claim_task', { task: 'FL-1', action: 'release' })
  expect(await second.call('claim_task', { task })).toMatchObject({ yoursUntil: expect.any(String) })
})

job('creates a task that it discovered during another one', { calls: 4, tokens: 460 }, async (crew) => {
  await plan(crew, 'Lock the data folder')
  const agent = await crew.agent()
  const { key } = taskOf(await agent.call('next_task'))
  const found = await agent.call('create_task', {
    title: 'The socket has the same hole',
    discoveredFrom: key,
    labels: ['found'],
  })
  expect(await agent.call('get_task', { task: found.key })).toMatchObject({
    related: [{ key, kind: 'discovered_from' }],
  })
  expect(await agent.call('complete_task', { task: key })).toMatchObject({ next: { key: found.key } })
})
