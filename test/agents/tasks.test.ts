import { expect } from 'bun:test'
import { TestClock } from '../features/support.ts'
import { member, testApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { type Agent, type Crew, type Facts, job } from './harness.ts'

/** What a planner left behind, before the job begins; its calls are not the job's. */
async function project({ owner }: Crew, ...titles: (string | Record<string, unknown>)[]): Promise<string> {
  const made = await owner.fetch<{ slug: string; id: string }>('POST', '/api/projects', { name: 'Folder lock' })
  for (const task of titles) {
    const body = typeof task === 'string' ? { title: task } : task
    expect((await owner.fetch('POST', `/api/projects/${made.body.id}/tasks`, body)).status).toBe(201)
  }
  return made.body.slug
}
const taskOf = (facts: Facts): Facts => facts.task as Facts
/** The keys at the beginning of lines. */
const keys = (lines: unknown): string[] =>
  ((lines as string[] | undefined) ?? []).map((line) => line.split(' ')[0] as string)

job(
  'gets the next ready task, completes it with evidence, and gets another',
  { calls: 4, tokens: 480 },
  async (crew) => {
    await project(
      crew,
      { title: 'Write the manual', priority: 'low' },
      {
        title: 'Lock the data folder',
        priority: 'high',
        description: 'A second process must be refused.',
        acceptance: ['It exits with 3'],
      },
    )
    const agent = await crew.agent()
    const next = await agent.call('next_task')
    expect(taskOf(next)).toMatchObject({
      key: 'FL-2',
      status: 'in_progress',
      description: 'A second process must be refused.',
    })
    expect(next.why).toBe('high priority, first of 2 ready tasks')
    const done = await agent.call('complete_task', {
      task: taskOf(next).key,
      notes: 'flock on a file in the folder',
      evidence: ['src/db/lock.ts', 'bun test test/db: 214 pass'],
      accepted: 'all',
    })
    expect(done).toMatchObject({ key: 'FL-2', status: 'done', next: { key: 'FL-1' } })
    const { key } = done.next as Facts
    expect(await agent.call('claim_task', { task: key })).toMatchObject({
      status: 'in_progress',
      yoursUntil: expect.any(String),
    })
    expect(await agent.call('complete_task', { task: key })).toMatchObject({ status: 'done' })
  },
)

job(
  'completes five tasks at once: a refusal names all open criteria and says that none was changed',
  { calls: 3, tokens: 290 },
  async (crew) => {
    const open = (title: string, ...acceptance: string[]) => ({ title, acceptance })
    await project(crew, 'One', open('Two', 'It is fast', 'It is documented'), 'Three', open('Four', 'It is tested'), {
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
  await project(crew, 'Lock the data folder')
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

job('with a blocked task completes its blocker, which frees it', { calls: 5, tokens: 610 }, async (crew) => {
  await project(crew, 'Take the lock', { title: 'Show who holds it', blockedBy: ['FL-1'] })
  const agent = (await crew.agent()).told('Please do FL-2.')
  const refused = await agent.refused('claim_task', { task: 'FL-2' })
  expect(refused).toMatchObject({ code: 'conflict.blocked' })
  expect(refused.text).toContain('waits for FL-1')
  await agent.call('claim_task', { task: 'FL-1' })
  const done = await agent.call('complete_task', { task: 'FL-1', notes: 'Taken' })
  expect(keys(done.freed)).toEqual(['FL-2'])
  expect(await agent.call('claim_task', { task: 'FL-2' })).toMatchObject({ status: 'in_progress' })
  expect(await agent.call('complete_task', { task: 'FL-2' })).toMatchObject({ status: 'done' })
})

job('without a ready task is told what the tasks wait for', { calls: 1, tokens: 90 }, async (crew) => {
  await project(crew, { title: 'Ask the customer', assignee: 'me' }, { title: 'Build it', blockedBy: ['FL-1'] })
  const agent = await crew.agent('other', { of: await member(crew.t, crew.owner, 'member') })
  const none = await agent.call('next_task')
  expect(none).not.toHaveProperty('task')
  expect(none.why).toMatch(/FL-1 .*Ada Lovelace/)
  expect(none.why).toContain('FL-2 waits for FL-1')
})

const clock = new TestClock()
let timed: ReturnType<typeof testApp> | undefined
const withClock = () => {
  timed ??= testApp({ background: 'off' }, clock.now).then((t) => {
    atEnd(() => t.close())
    return t
  })
  return timed
}

job(
  'takes over the task of a dead one when the lease expires',
  { calls: 5, tokens: 560 },
  async (crew) => {
    await project(crew, 'Lock the data folder')
    const dead = await crew.agent('dead')
    await dead.call('next_task')
    const heir = await crew.agent('heir', { of: await member(crew.t, crew.owner, 'member') })
    const none = await heir.call('next_task')
    expect(none.why).toMatch(/FL-1 dead for Ada Lovelace works on it until/)
    clock.forward({ minutes: 16 })
    const found = await heir.call('next_task')
    expect(taskOf(found)).toMatchObject({
      key: 'FL-1',
      status: 'in_progress',
      yoursUntil: expect.any(String),
    })
    // It wakes up again: told, before it spoils anything.
    const late = await dead.refused('complete_task', { task: 'FL-1' })
    expect(late.text).toContain('Grace Hopper works on FL-1')
    await heir.call('complete_task', { task: 'FL-1' })
  },
  withClock,
)

job(
  'keeps its task by any call',
  { calls: 5, tokens: 610 },
  async (crew) => {
    await project(crew, 'Lock the data folder')
    const agent = await crew.agent()
    await agent.call('next_task')
    for (const _ of [1, 2]) {
      clock.forward({ minutes: 10 })
      await agent.call('list_tasks')
    }
    clock.forward({ minutes: 10 })
    const other = await crew.agent('other', { of: await member(crew.t, crew.owner, 'member') })
    expect((await other.refused('claim_task', { task: (await other.call('list_tasks')).items[0]?.key })).code).toBe(
      'conflict.lease_held',
    )
  },
  withClock,
)

job('hands a task over to another one', { calls: 6, tokens: 790 }, async (crew) => {
  await project(crew, 'Lock the data folder')
  const lead = await crew.agent('lead')
  const { id } = (await crew.owner.fetch<{ id: string }>('POST', '/api/agents', { name: 'Reviewer', scope: 'team' }))
    .body
  const { key } = taskOf(await lead.call('next_task'))
  const { items } = await lead.call('list_agents')
  const handed = await lead.call('update_task', {
    task: key,
    assignee: items[0]?.slug,
    description: 'The lock is taken; the test is missing.',
  })
  expect(handed).toMatchObject({ key, status: 'in_progress' })
  const reviewer = await crew.agent('reviewer', { agentId: id })
  const mine = await reviewer.call('list_tasks', { assignee: 'me' })
  expect(mine.items).toMatchObject([{ key, assignee: 'me' }])
  expect(await reviewer.call('get_task', { task: key })).toMatchObject({
    description: 'The lock is taken; the test is missing.',
  })
  expect(await reviewer.call('complete_task', { task: key, notes: 'Tested' })).toMatchObject({ status: 'done' })
})

job('on a shared token says who it is', { calls: 6, tokens: 670 }, async (crew) => {
  await project(crew, 'Lock the data folder', 'Show who holds it')
  for (const name of ['Coder', 'Tester']) await crew.owner.fetch('POST', '/api/agents', { name, scope: 'team' })
  const one = await crew.agent()
  const agents = (await one.call('list_agents')).items
  const [tester, coder] = ['Tester', 'Coder'].map((name) => agents.find((a) => a.name === name)?.slug) as [
    string,
    string,
  ]
  const first = taskOf(await one.call('next_task', { agent: coder }))
  const second = taskOf(await one.call('next_task', { agent: tester }))
  expect(new Set([first.key, second.key]).size).toBe(2)
  expect((await one.refused('claim_task', { task: first.key, agent: tester })).text).toContain(
    'Coder for Ada Lovelace works on',
  )
  for (const task of [first, second])
    expect(await one.call('complete_task', { task: task.key })).toMatchObject({ status: 'done' })
})

job('creates a task that it discovered during another one', { calls: 4, tokens: 460 }, async (crew) => {
  await project(crew, 'Lock the data folder')
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

job('reads through 120 tasks', { calls: 2, tokens: 3070 }, async (crew) => {
  const slug = await project(crew)
  const epics = [
    {
      title: 'All',
      stories: [{ title: 'Them', tasks: Array.from({ length: 120 }, (_, n) => ({ title: `Check file ${n}` })) }],
    },
  ]
  expect((await crew.owner.fetch('POST', `/api/projects/${slug}/plan`, { epics })).status).toBe(201)
  const agent = await crew.agent()
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await agent.call('list_tasks', { status: 'todo', limit: 60, ...(cursor && { cursor }) })
    expect(page.total).toBe(120)
    for (const key of keys(page.items)) seen.add(key)
    cursor = page.nextCursor
  } while (cursor)
  expect(seen.size).toBe(120)
})

job('and two others complete thirty tasks that block each other', { calls: 75, tokens: 10_510 }, async (crew) => {
  const slug = await project(crew)
  // Five rows of six; each waits for two of the row before.
  const tasks = Array.from({ length: 30 }, (_, n) => ({
    ref: `t${n}`,
    title: `Step ${n}`,
    ...(n >= 6 && { blockedBy: [...new Set([`t${n - 6}`, `t${Math.floor(n / 6) * 6 - 6 + ((n * 5) % 6)}`])] }),
  }))
  const planner = await crew.agent('planner')
  planner.told(`Plan this in ${slug}.`)
  const plan = await planner.call('create_plan', {
    project: slug,
    epics: [{ title: 'All', stories: [{ title: 'Steps', tasks }] }],
  })
  // The keys are numbered in the order of the plan.
  expect(plan).toMatchObject({ tasks: 'FL-1 to FL-30', ready: ['FL-1', 'FL-2', 'FL-3', 'FL-4', 'FL-5', 'FL-6'] })
  const keyOf = (ref: string) => `FL-${Number(ref.slice(1)) + 1}`
  const waitsFor = new Map(tasks.map((task) => [keyOf(task.ref), (task.blockedBy ?? []).map(keyOf)]))
  const done: string[] = []
  const workers: Agent[] = []
  for (const name of ['Ada', 'Grace', 'Barbara'])
    workers.push(await crew.agent(name, { of: await member(crew.t, crew.owner, 'member', name) }))
  let somethingDone = Promise.withResolvers<void>()
  await Promise.all(
    workers.map(async (worker) => {
      while (done.length < 30) {
        const change = somethingDone.promise
        const { task } = (await worker.call('next_task')) as { task?: Facts }
        if (!task) await change
        else {
          for (const blocker of waitsFor.get(task.key) as string[]) expect(done).toContain(blocker)
          await worker.call('complete_task', { task: task.key })
          done.push(task.key)
          somethingDone.resolve()
          somethingDone = Promise.withResolvers()
        }
      }
    }),
  )
  expect(done.length).toBe(30)
  expect(new Set(done).size).toBe(30)
})
