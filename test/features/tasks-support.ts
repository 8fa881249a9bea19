import { expect } from 'bun:test'
import { and, eq } from 'drizzle-orm'
import { contextOf } from '../../src/action.ts'
import type { Problem } from '../../src/errors.ts'
import type { Agent } from '../../src/features/agents/schema.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { Epic, Story } from '../../src/features/stories/schema.ts'
import type { NextTask, Task, TaskChanged, TaskCompleted, TaskDetail } from '../../src/features/tasks/schema.ts'
import { factsOf, type McpClient, type Result, ways } from '../mcp/support.ts'
import { call, mcpToken, type Person, person, sharedApp, type TestApp, testApp, unique } from '../support/app.ts'
import { TestClock, watch } from './support.ts'
import { newPeople, type People, teamOf } from './team-support.ts'

/** A team with a person in every role, and a project. */
export let t: TestApp
export const clock = new TestClock()
let people: People<'other'>

async function assemble(app: TestApp): Promise<void> {
  t = watch(app)
  people = await newPeople(t, 'other', signedInForDays)
}

/** Leases outlast access tokens, which tests that move the clock would have to renew all the time. */
export async function signedInForDays(name: string): Promise<Person> {
  const who = await person(t, { name })
  const { credentialId } = await t.app.auth.authenticate(who.token)
  const { token } = await t.app.jwt.sign(
    { userId: who.userId, sessionId: credentialId as string },
    t.app.clock(),
    3 * 24 * 60,
  )
  return {
    ...who,
    token,
    ctx: async () => contextOf(t.app, await t.app.auth.authenticate(token)),
    fetch: (method, path, body, headers = {}) =>
      call(t, method, path, body, { authorization: `Bearer ${token}`, ...headers }),
  }
}

/** Call one of them in `beforeAll`. */
export const start = async (): Promise<void> => assemble(await sharedApp())
/** Uses an app of the test itself. */
export const startOn = (app: TestApp): Promise<void> => assemble(app)
/** Starts on a test clock; give the result to `afterAll`. */
export async function startOnClock(): Promise<() => Promise<void>> {
  const app = await testApp({}, clock.now)
  await assemble(app)
  return app.close
}

export interface Team extends People<'other'> {
  id: string
  project: Project
}

export async function newTeam(): Promise<Team> {
  const team = await teamOf(t, people)
  return { ...team, project: await newProject(team.owner) }
}

const made = async <T>(answer: Promise<{ status: number; body: T }>): Promise<T> => {
  const { status, body } = await answer
  expect([status, body]).toMatchObject([201, {}])
  return body
}
export const newProject = (who: Person, input: object = {}): Promise<Project> =>
  made(who.fetch<Project>('POST', '/api/projects', { name: unique('project'), ...input }))
export const newAgent = (who: Person, name = unique('Worker')): Promise<Agent> =>
  made(who.fetch<Agent>('POST', '/api/agents', { name, scope: 'team' }))
export const newEpic = (who: Person, project: Project, input: object = {}): Promise<Epic> =>
  made(who.fetch<Epic>('POST', `/api/projects/${project.id}/epics`, { title: unique('epic'), ...input }))
export const newStory = (who: Person, { projectId, id }: Epic, input: object = {}): Promise<Story> =>
  made(who.fetch<Story>('POST', `/api/projects/${projectId}/epics/${id}/stories`, { title: unique('story'), ...input }))
export const newTask = (who: Person, project: { id: string }, input: object = {}): Promise<Task> =>
  made(who.fetch<Task>('POST', `/api/projects/${project.id}/tasks`, { title: unique('task'), ...input }))

type Ref = string | { id: string }
const at = (task: Ref) => `/api/tasks/${typeof task === 'string' ? task : task.id}`
export const get = (who: Person, task: Ref) => who.fetch<TaskDetail>('GET', at(task))
export const patch = (who: Person, task: Ref, change: object, headers = {}) =>
  who.fetch<TaskChanged>('PATCH', at(task), change, headers)
export const remove = (who: Person, task: Ref, headers = {}) => who.fetch('DELETE', at(task), undefined, headers)
export const restore = (who: Person, task: Ref, headers = {}) =>
  who.fetch<Task>('POST', `${at(task)}/restore`, undefined, headers)
export const claim = (who: Person, task: Ref, how: object = {}) => who.fetch<Task>('POST', `${at(task)}/claim`, how)
export const release = (who: Person, task: Ref) => who.fetch<Task>('POST', `${at(task)}/release`)
export const complete = (who: Person, task: Ref, how: object = {}, headers = {}) =>
  who.fetch<TaskCompleted>('POST', `${at(task)}/complete`, how, headers)
export const next = (who: Person, how: object = {}) => who.fetch<NextTask>('POST', '/api/tasks/next', how)
export const comment = (who: Person, task: Ref, body: string) =>
  who.fetch<{ id: string }>('POST', `${at(task)}/comments`, { body })

export const detailOf = ({ body }: { body: unknown }): string => (body as Problem).detail as string
export const keys = (list: { key: string }[]): string[] => list.map(({ key }) => key)

/** The notices to a person about a task, oldest first. */
export const noticesTo = async (who: Person, { id }: { id: string }): Promise<string[]> =>
  (
    await t.app.db
      .select({ reason: notifications.reason })
      .from(notifications)
      .where(and(eq(notifications.userId, who.userId), eq(notifications.recordId, id)))
      .orderBy(notifications.id)
  ).map(({ reason }) => reason)

/** An agent with a token of its own, over the wire. */
export async function connect(
  who: Person,
  options: Parameters<typeof mcpToken>[2] = {},
  way = 'v2 client, HTTP 2026-07-28',
): Promise<McpClient> {
  return (ways[way] as (typeof ways)[string])(t.url, await mcpToken(t, who, options))
}
export { factsOf }
/** Why a tool refused. */
export const refused = (result: Result): string => {
  expect(result.isError).toBe(true)
  return result.content[0]?.text as string
}
