import { expect } from 'bun:test'
import { embedMissing } from '../../../src/features/search/indexing/embed.ts'
import { indexed as followed } from '../../features/search-support.ts'
import { sharedApp, systemCtx, type TestApp } from '../../support/app.ts'
import { type Agent, type Crew, type Facts, perform, type Way } from '../harness.ts'
import type { Cost } from './costs.ts'
import { addLargerData, addMemories, appWithoutModel } from './larger.ts'
import * as work from './work.ts'

const { many } = work

/** Runs now what the background would do with new texts. */
async function indexed(t: TestApp): Promise<void> {
  await followed(t)
  await embedMissing(systemCtx(t), {})
}

interface Stored {
  key: string
  title: string
  status: string
  blockedBy: string[]
}

/** A project that exists before the job begins. What is done here costs the job nothing. */
async function given({ owner }: Crew, tasks: object[] = [], larger = addLargerData) {
  const { id, key } = (await owner.fetch<{ id: string; key: string }>('POST', '/api/projects', { name: 'Folder lock' }))
    .body
  await larger(owner, id)
  for (const task of tasks) {
    const made = await owner.fetch('POST', `/api/projects/${id}/tasks`, task)
    expect(made.status).toBe(201)
  }
  /** The tasks of the job, without those of the larger data. */
  const all = async () =>
    (await owner.fetch<{ items: Stored[] }>('GET', `/api/tasks?projectId=${id}&limit=200`)).body.items.filter(
      (task) => numberOf(task.key) > many.length,
    )
  const read = async (task: string) => (await owner.fetch<Facts>('GET', `/api/tasks/${task}`)).body
  const ofStatus = async (status: string) =>
    (await all()).filter((task) => task.status === status).map((task) => task.key)
  return { id, key, all, read, ofStatus }
}

const numberOf = (key: string): number => Number(key.split('-')[1])
/** The key of a task of the job, which comes after those of the larger data. */
const keyOf = (n: number): string => `FL-${many.length + n}`
const taskOf = (facts: Facts): Facts => facts.task as Facts

/** Completes a task and takes the next one in the same call. */
async function finish(agent: Agent, { key }: Facts): Promise<Facts> {
  const done = await agent.call('complete_task', { task: key, notes: work.doneNote, claimNext: true })
  expect(done.status).toBe('done')
  return done.next as Facts
}

/** The answer holds all of these texts, whatever its form. */
function says(answer: Facts, ...parts: readonly (string | undefined)[]): void {
  const text = JSON.stringify(answer)
  for (const part of parts) expect(text).toContain(JSON.stringify(part).slice(1, -1))
}

/** The only job that searches by meaning. */
const byMeaning: work.JobName = 'remember five facts and find one by paraphrase'

/** Does a job with agents that connect in one way, and returns what it cost. */
export async function doJob(name: work.JobName, way: Way): Promise<Cost & { transcript: string }> {
  const t = await (name === byMeaning ? sharedApp() : appWithoutModel())
  const { calls, in: sent, out, transcript } = await perform(jobs[name], way, t)
  return { calls, tokens: sent + out, transcript: transcript.join('\n') }
}

const jobs: Record<work.JobName, (crew: Crew) => Promise<void>> = {
  'plan a feature of 12 tasks with 8 dependencies': async (crew) => {
    const { key, all } = await given(crew)
    const agent = (await crew.agent()).told(`Plan it in ${key}.`)
    await agent.call('create_plan', {
      project: key,
      epics: [{ title: work.feature, stories: [{ title: work.feature, tasks: work.plan }] }],
    })
    const tasks = await all()
    const keys = new Map(tasks.map((task) => [task.title, task.key]))
    const titleOf = new Map(work.plan.map((task) => [task.ref, task.title]))
    expect(tasks).toHaveLength(12)
    for (const { title, blockedBy = [] } of work.plan)
      expect(tasks.find((task) => task.title === title)?.blockedBy).toEqual(
        blockedBy.map((ref) => keys.get(titleOf.get(ref) as string) as string),
      )
  },

  'next, start, finish, next, five times': async (crew) => {
    const { ofStatus } = await given(crew, work.queue)
    const agent = await crew.agent()
    let task = taskOf(await agent.call('next_task'))
    for (let n = 0; n < 5; n++) {
      expect(task.description).toBe(work.queue[n]?.description)
      task = await finish(agent, task)
    }
    expect(await ofStatus('done')).toHaveLength(5)
    expect(await ofStatus('in_progress')).toEqual([task.key])
  },

  'what is blocked and why': async (crew) => {
    const { id } = await given(crew)
    const epics = [{ title: work.feature, stories: [{ title: work.feature, tasks: work.plan }] }]
    expect((await crew.owner.fetch('POST', `/api/projects/${id}/plan`, { epics })).status).toBe(201)
    const agent = await crew.agent()
    const answer = await agent.call('list_tasks', { status: 'blocked' })
    expect(answer.items).toHaveLength(8)
    for (const [n, { blockedBy = [] }] of work.plan.entries()) if (blockedBy.length > 0) says(answer, keyOf(n + 1))
  },

  'find one of 120 tasks by words': async (crew) => {
    await given(crew)
    const agent = await crew.agent()
    const { title, description } = many[71] as work.Written
    says(await agent.call('list_tasks', { query: work.sought.query }), title, description)
  },

  'remember five facts and find one by paraphrase': async (crew) => {
    const { key } = await given(crew, [], addMemories)
    const agent = (await crew.agent()).told(`You work in ${key}.`)
    const memories = work.facts.map(({ title, description }) => ({ title, content: description }))
    await agent.call('store_memory', { memories, project: key })
    await indexed(crew.t)
    says(await agent.call('search_memory', { query: work.paraphrase.query, limit: 1 }), work.paraphrase.found)
  },

  'resume after total loss of context': async (crew) => {
    const { key: project } = await given(crew, work.queue)
    const before = (await crew.agent()).told(`You work in ${project}.`)
    const { key } = await crew.free(async () => {
      await before.call('create_session', { project, goals: [work.feature] })
      return taskOf(await before.call('next_task', { project }))
    })
    await before.call('resume_session', { checkpoint: work.checkpoint })
    const after = await crew.amnesiac(before)
    const { nextStep, files, branch, openQuestions } = work.checkpoint
    const { title, description } = work.queue[0] as work.Written
    says(await after.call('resume_session'), key, title, description, nextStep, ...files, branch, ...openQuestions)
  },

  'record a decision with alternatives and look it up': async (crew) => {
    const { key } = await given(crew)
    const one = (await crew.agent('one')).told(`You work in ${key}.`)
    await one.call('log_decision', { project: key, ...work.decision })
    const other = (await crew.agent('other')).told(`You work in ${key}.`)
    const found = await other.call('list_decisions', { query: 'flock' })
    const { title, decision, rationale, alternatives } = work.decision
    says(found, title, decision, rationale, ...alternatives)
  },

  'two agents take six tasks': async (crew) => {
    const { ofStatus } = await given(crew, work.queue)
    const agents = [await crew.agent('one'), await crew.agent('two')]
    const held: Facts[] = []
    for (const agent of agents) held.push(taskOf(await agent.call('next_task')))
    for (let round = 0; round < 3; round++)
      for (const [n, agent] of agents.entries()) held[n] = await finish(agent, held[n] as Facts)
    expect(await ofStatus('done')).toHaveLength(6)
  },

  'hand over half-done work': async (crew) => {
    const { read } = await given(crew, work.queue.slice(0, 1))
    const one = await crew.agent('one')
    const { key } = taskOf(await crew.free(() => one.call('next_task')))
    await one.call('claim_task', { task: key, action: 'release', note: work.handover })
    const two = await crew.agent('two')
    const taken = await two.call('next_task')
    says(taken, work.handover)
    await two.call('complete_task', { task: taskOf(taken).key, notes: work.doneNote })
    expect(await read(key)).toMatchObject({ status: 'done', description: work.queue[0]?.description })
  },

  'read a task with all that is needed': async (crew) => {
    const { predecessor, task, comment } = work.rich
    const { owner } = crew
    const [before, key] = [keyOf(1), keyOf(2)]
    await given(crew, [{ title: predecessor.title }, { ...task, blockedBy: [before] }])
    await owner.fetch('POST', `/api/tasks/${before}/complete`, { notes: predecessor.notes })
    await owner.fetch('POST', `/api/tasks/${key}/comments`, { body: comment })
    const agent = (await crew.agent()).told(`Please do ${key}.`)
    const answer = await agent.call('get_task', { task: key })
    says(answer, task.title, task.description, ...task.acceptance, comment, predecessor.notes, before)
  },

  'report today’s work': async (crew) => {
    await given(crew, work.queue)
    const agent = await crew.agent()
    const today = new Date().toISOString().slice(0, 10)
    const keys = await crew.free(async () => {
      const done: string[] = []
      for (let n = 0; n < 4; n++) {
        const { key } = taskOf(await agent.call('next_task'))
        await agent.call('complete_task', { task: key, notes: work.doneNote })
        done.push(key)
      }
      return done
    })
    const report = await agent.call('list_activities', { type: 'task.completed', since: today })
    says(report, ...keys)
  },

  'split a task in three and finish them': async (crew) => {
    const { read, ofStatus } = await given(crew, work.queue.slice(0, 1))
    const whole = keyOf(1)
    const agent = (await crew.agent()).told(`Please split ${whole}.`)
    const tasks = work.parts.map((title) => ({ title }))
    const made = await agent.call('create_task', { tasks, parent: whole })
    const keys = JSON.stringify(made.created).match(/FL-\d+/g) as string[]
    await agent.call('complete_task', { tasks: keys, notes: work.doneNote })
    expect(await ofStatus('done')).toHaveLength(3)
    expect(await read(whole)).toMatchObject({ status: 'todo' })
  },

  'recover from a wrong id and a wrong status': async (crew) => {
    const { read } = await given(crew, work.queue)
    const agent = (await crew.agent()).told('Put FL-130 into review. FL-130 is the task about the exit codes.')
    const noTask = await agent.refused('update_task', { task: 'FL-130', status: 'in_review' })
    const key = /(FL-\d+) «Document the exit codes»/.exec(noTask.text)?.[1] as string
    const noStatus = await agent.refused('update_task', { task: key, status: 'reviewing' })
    expect(noStatus.text).toContain('in_review')
    await agent.call('update_task', { task: key, status: 'in_review' })
    expect(await read(key)).toMatchObject({ title: 'Document the exit codes', status: 'in_review' })
  },
}
