import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { embedMissing } from '../../src/features/search/indexing/embed.ts'
import { indexed } from '../features/search-support.ts'
import { ownApp } from '../features/support.ts'
import { type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, person, systemCtx, type TestApp } from '../support/app.ts'
import { decisionQuestions, decisions, taskQuestions, tasks } from './decisions.ts'

/** How far up the answer is, for questions in other words than the stored text, asked as an agent asks them. */
let t: TestApp
let client: McpClient
const titles = new Map<string, string>()

beforeAll(async () => {
  t = await ownApp()
  const ada = await person(t)
  const { slug } = (await ada.fetch<{ slug: string }>('POST', '/api/projects', { name: 'Lantern' })).body
  for (const [name, { comments = [], ...decision }] of Object.entries(decisions)) {
    const { id } = (await ada.fetch<{ id: string }>('POST', '/api/decisions', { ...decision, projectId: slug })).body
    for (const body of comments) await ada.fetch('POST', `/api/decisions/${id}/comments`, { body })
    titles.set(name, decision.title)
  }
  for (const [name, { comments = [], ...task }] of Object.entries(tasks)) {
    const { key } = (await ada.fetch<{ key: string }>('POST', `/api/projects/${slug}/tasks`, task)).body
    for (const body of comments) await ada.fetch('POST', `/api/tasks/${key}/comments`, { body })
    titles.set(name, task.title)
  }
  await indexed(t)
  await embedMissing(systemCtx(t), {})
  client = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, await mcpToken(t, ada))
}, 300_000)
afterAll(async () => {
  await client?.close()
  await t?.close()
})

/** Searches decisions and tasks together. Returns the place of the answer, 0 if it is not among ten. */
async function placeOf(query: string, name: string): Promise<number> {
  const found = await client.call('search_memory', { query, kinds: ['decision', 'task'], limit: 10 })
  const { items } = found.structuredContent as { items: { title: string }[] }
  return items.findIndex(({ title }) => title === titles.get(name)) + 1
}

async function measure(questions: readonly { ask: string; expect: string }[]): Promise<Map<string, number>> {
  const places = new Map<string, number>()
  for (const { ask, expect } of questions) places.set(ask, await placeOf(ask, expect))
  console.table(Object.fromEntries(places))
  return places
}
const beyondThree = (places: Map<string, number>) =>
  [...places].filter(([, place]) => place === 0 || place > 3).map(([ask]) => ask)

describe('a question in other words', () => {
  test('finds the decision among the first three if an alternative or a comment contains the answer', async () => {
    const questions = decisionQuestions.filter(({ answer }) => answer !== 'text')
    expect(questions.length).toBeGreaterThanOrEqual(20)
    expect(beyondThree(await measure(questions))).toEqual([])
  }, 300_000)

  test('finds the decision among the first three if its own text contains the answer, with at most one miss', async () => {
    const places = await measure(decisionQuestions.filter(({ answer }) => answer === 'text'))
    expect(beyondThree(places).length).toBeLessThanOrEqual(1)
  }, 300_000)

  test('finds the task among the first three by its comments', async () => {
    expect(beyondThree(await measure(taskQuestions))).toEqual([])
  }, 300_000)
})
