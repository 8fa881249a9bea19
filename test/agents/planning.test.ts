import { expect } from 'bun:test'
import { type Facts, job } from './harness.ts'

const plan = (names: { ref: string; title: string; blockedBy?: string[] }[]) => [
  { title: 'One process for each folder', stories: [{ title: 'As an operator I cannot start two', tasks: names }] },
]

job('plans an epic in one call and works through it in its order', { calls: 9, tokens: 1990 }, async ({ agent }) => {
  const planner = await agent()
  const { slug } = await planner.call('create_project', {
    name: 'Folder lock',
    description: 'Two servers on one folder destroy data.',
  })
  const tree = await planner.call('create_plan', {
    project: slug,
    epics: plan([
      { ref: 'show', title: 'Show who holds it', blockedBy: ['take'] },
      { ref: 'test', title: 'Test with two processes', blockedBy: ['take', 'show'] },
      { ref: 'take', title: 'Take the lock' },
    ]),
  })
  expect<Record<string, unknown>>(tree).toEqual({ tasks: 'FL-1 to FL-3', ready: ['FL-3'] })
  const done: string[] = []
  let next: Facts | undefined = (await planner.call('next_task')).task as Facts
  while (next) {
    const answer: Facts = await planner.call('complete_task', { task: next.key, evidence: ['bun test: 214 pass'] })
    done.push(next.title)
    next = answer.next as Facts | undefined
    if (next) await planner.call('claim_task', { task: next.key })
  }
  expect(done).toEqual(['Take the lock', 'Show who holds it', 'Test with two processes'])
  expect((await planner.call('get_project', { project: slug })).stats).toMatchObject({ tasks: 3, tasksDone: 3 })
})

job('plans a circle of dependencies, is shown it, and corrects it', { calls: 5, tokens: 800 }, async ({ agent }) => {
  const planner = await agent()
  const { key } = await planner.call('create_project', { name: 'Folder lock' })
  const refused = await planner.refused('create_plan', {
    project: key,
    epics: plan([
      { ref: 'a', title: 'Take the lock', blockedBy: ['b'] },
      { ref: 'b', title: 'Show who holds it', blockedBy: ['a'] },
    ]),
  })
  expect(refused.text).toContain('Take the lock → Show who holds it → Take the lock')
  await planner.call('create_plan', {
    project: key,
    epics: plan([
      { ref: 'a', title: 'Take the lock' },
      { ref: 'b', title: 'Show who holds it', blockedBy: ['a'] },
    ]),
  })
  const [take, show] = [{ key: 'FL-1' }, { key: 'FL-2' }]
  const again = await planner.refused('update_task', { task: take.key, blockedBy: [show.key] })
  expect(again).toMatchObject({ code: 'conflict.cycle' })
  expect(again.text).toContain(`${take.key} → ${show.key} → ${take.key}`)
  expect(await planner.call('update_task', { task: take.key, priority: 'high' })).toMatchObject({
    key: take.key,
    version: 2,
  })
})

job('adds a task to a story later, and a task that it blocks', { calls: 4, tokens: 520 }, async ({ agent }) => {
  const planner = await agent()
  const { key } = await planner.call('create_project', { name: 'Folder lock' })
  const tree = await planner.call('create_plan', { project: key, epics: plan([{ ref: 'a', title: 'Take the lock' }]) })
  // Into the story of the planned task.
  const story = tree.tasks as string
  const first = await planner.call('create_task', { title: 'Name the other process', project: key, story })
  const second = await planner.call('create_task', { title: 'Translate it', project: key, blockedBy: [first.key] })
  expect(second).toMatchObject({ blockedBy: [first.key] })
})
