import { beforeAll, describe, expect, test } from 'bun:test'
import type { Problem } from '../../src/errors.ts'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import type { McpClient, Result } from '../mcp/support.ts'
import type { Person } from '../support/app.ts'
import { isShort } from '../support/thorough.ts'
import { times } from './support.ts'
import { connect, factsOf, newAgent, newProject, newTask, newTeam, start, type Team } from './tasks-support.ts'

/** How many agents work in one project at once, each with a token of its own, over the wire. */
const MANY = process.env.SOAK ? 200 : isShort ? 30 : 80
let team: Team
let agents: { id: string; name: string; client: McpClient }[]

beforeAll(async () => {
  await start()
  team = await newTeam()
  agents = await Promise.all(
    times(MANY, async (i) => {
      const person = [team.owner, team.admin, team.member, team.other][i % 4] as Person
      const { id, name } = await newAgent(person)
      return { id, name, client: await connect(person, { agentId: id }) }
    }),
  )
}, 300_000)

interface Taken {
  task?: Pick<Task, 'key' | 'status' | 'assignee'> & { yoursUntil?: string }
  why: string
}

/** Everything else is a bug. */
const isExplained = (result: Result): boolean => {
  const { code, detail } = result.structuredContent as unknown as Problem
  return (
    result.isError === true &&
    code === 'conflict.lease_held' &&
    /works on \S+: last seen 2\S+, claimed until 2\S+ unless they continue\. .* try again in \d+ seconds/.test(
      detail as string,
    )
  )
}

const tasksIn = async (projectId: string): Promise<TaskPage['items']> =>
  (await team.owner.fetch<TaskPage>('GET', `/api/tasks?projectId=${projectId}&limit=200`)).body.items

describe(`${MANY} agents at once`, () => {
  test('with next_task each receive another task, and a reason when no task is left', async () => {
    const project = await newProject(team.owner)
    const some = MANY - 20
    await Promise.all(times(some, () => newTask(team.owner, project)))
    const answers = await Promise.all(
      agents.map(async ({ name, client }) => ({
        name,
        ...factsOf<Taken>(await client.call('next_task', { project: project.slug })),
      })),
    )
    const winners = answers.filter((a) => a.task)
    expect(winners).toHaveLength(some)
    expect(new Set(winners.map((a) => a.task?.key)).size).toBe(some)
    expect(winners.filter((a) => !a.task?.yoursUntil || a.task.status !== 'in_progress')).toEqual([])
    expect(
      answers.filter(
        (a) =>
          !a.task &&
          !/^No task in this project can be started now: \S+ Worker\S* for \S+ works on it until /.test(a.why),
      ),
    ).toEqual([])
    const stored = await tasksIn(project.id)
    expect(new Set(stored.map((task) => task.lease?.holder.id)).size).toBe(some)
    expect(stored.filter((task) => task.version !== 2)).toEqual([])
  }, 300_000)

  test('with claim_task: one receives the task, the others receive the holder and the end of the lease', async () => {
    const project = await newProject(team.owner)
    const wanted = await Promise.all(times(20, () => newTask(team.owner, project)))
    const results = await Promise.all(
      agents.map(({ client }, i) => client.call('claim_task', { task: (wanted[i % wanted.length] as Task).key })),
    )
    const won = results.flatMap((result, i) =>
      result.isError ? [] : [{ agent: agents[i]?.id, key: factsOf<Task>(result).key }],
    )
    expect(won).toHaveLength(wanted.length)
    expect(new Set(won.map(({ key }) => key)).size).toBe(wanted.length)
    expect(results.filter((result) => result.isError && !isExplained(result))).toEqual([])
    for (const task of await tasksIn(project.id))
      expect(task.lease?.holder.id).toBe(won.find(({ key }) => key === task.key)?.agent as string)
  }, 300_000)

  test('that finish and continue complete every task once, each by its holder', async () => {
    const project = await newProject(team.owner)
    const wanted = await Promise.all(times(isShort ? 20 : 60, () => newTask(team.owner, project)))
    const done: string[] = []
    const strange: unknown[] = []
    await Promise.all(
      agents.slice(0, isShort ? 8 : 20).map(async ({ client }, i) => {
        for (let turn = 0; turn < 8; turn++) {
          // Every second one goes for a certain task, the way a person would have told it to.
          const named = wanted[(i * 5 + turn) % wanted.length] as Task
          const result = await client.call(
            i % 2 ? 'next_task' : 'claim_task',
            i % 2 ? { project: project.key } : { task: named.id },
          )
          if (result.isError) {
            const closed = /^conflict: \S+ is done\. Take another task/.test(result.content[0]?.text ?? '')
            if (!closed && !isExplained(result)) strange.push(result)
            continue
          }
          const answer = result.structuredContent as { task?: Task; key?: string }
          const key = i % 2 ? answer.task?.key : answer.key
          if (!key) break
          done.push(key)
          const finished = await client.call('complete_task', { task: key })
          if (finished.isError) strange.push(finished)
        }
      }),
    )
    expect(strange).toEqual([])
    expect(done.length).toBe(new Set(done).size)
    const stored = await tasksIn(project.id)
    expect(
      stored
        .filter((task) => task.status === 'done')
        .map(({ key }) => key)
        .sort(),
    ).toEqual(done.sort())
    expect(stored.filter((task) => task.status !== 'done' && (task.lease || task.status !== 'todo'))).toEqual([])
  }, 300_000)
})
