import { expect } from 'bun:test'
import { and, eq } from 'drizzle-orm'
import type { Problem } from '../../src/errors.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { Evidence } from '../../src/features/projects/workflow/workflow-schema.ts'
import type { Feature, FeatureCreate, FeatureView } from '../../src/features/workflow/schema.ts'
import { type McpClient, ways } from '../mcp/support.ts'
import { type Person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { watch } from './support.ts'
import { newPeople, type People, teamOf } from './team-support.ts'

export let t: TestApp
export let people: People<'author'>
/** Call it in `beforeAll`. */
export async function start(): Promise<void> {
  t = watch(await sharedApp())
  people = await newPeople(t, 'author')
}

export async function newTeam() {
  const team = await teamOf(t, people)
  return { ...team, project: await newProject(team.owner) }
}

export const newProject = async (who: Person, input: object = {}): Promise<Project> => {
  const made = await who.fetch<Project>('POST', '/api/projects', { name: unique('project'), ...input })
  expect(made.status).toBe(201)
  return made.body
}
export const make = async (who: Person, project: Project, input: Partial<FeatureCreate> = {}): Promise<Feature> => {
  const made = await who.fetch<Feature>('POST', `/api/projects/${project.id}/features`, {
    title: unique('feature'),
    ...input,
  })
  expect([made.status, made.body]).toMatchObject([201, { projectId: project.id }])
  return made.body
}
export const get = (who: Person, ref: string) => who.fetch<FeatureView>('GET', `/api/features/${ref}`)
export const patch = (who: Person, ref: string, change: object, headers = {}) =>
  who.fetch<Feature>('PATCH', `/api/features/${ref}`, change, headers)
export const advance = (who: Person, ref: string, evidence?: Evidence, more: object = {}) =>
  who.fetch<Feature>('POST', `/api/features/${ref}/advance`, { evidence, ...more })
export const review = (who: Person, ref: string, verdict: string, comments?: string) =>
  who.fetch<Feature>('POST', `/api/features/${ref}/reviews`, { verdict, comments })
export const override = (who: Person, ref: string, status: string, reason = 'Shipped long ago') =>
  who.fetch<Feature>('POST', `/api/features/${ref}/override`, { status, reason })

export const shown = {
  code: (): Evidence => ({ summary: unique('Lock added'), commits: ['3f98b0f'], files: ['src/lock.ts'] }),
  tests: (): Evidence => ({ summary: unique('All pass'), tests: { command: 'bun test', passed: 214, failed: 0 } }),
  docs: (): Evidence => ({ summary: unique('Manual'), files: ['docs/lock.md'] }),
}
/** Passes every gate up to the review with evidence. */
export async function toReview(who: Person, { id }: { id: string }): Promise<void> {
  const steps = [
    await advance(who, id),
    await advance(who, id, shown.code()),
    await advance(who, id, shown.tests()),
    await advance(who, id, shown.docs()),
  ]
  expect(steps.map((s) => s.body.status)).toEqual(['in_progress', 'in_testing', 'in_docs', 'in_review'])
}
export const missingOf = (answer: { body: unknown }) => (answer.body as Problem).errors?.map((e) => e.pointer)
export const noticesTo = async (who: Person, { id }: { id: string }) =>
  (
    await t.app.db
      .select({ reason: notifications.reason })
      .from(notifications)
      .where(and(eq(notifications.userId, who.userId), eq(notifications.recordId, id)))
      .orderBy(notifications.id)
  ).map((n) => n.reason)

export const connected = async <T>(token: string, work: (client: McpClient) => Promise<T>): Promise<T> => {
  const client = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, token)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}
