import { beforeAll, describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp } from '../support/app.ts'

/** Refusals about limits, lists, names and plans. `recovery.test.ts` measures the other wrong calls of agents. */
let t: TestApp
let ada: Person
let agent: McpClient

type Args = Record<string, unknown>
/** What is wrong, the tool, the arguments, and words that the refusal needs for the next call. */
type Mistake = readonly [string, string, Args, Args | ((refusal: string) => Args), string]

const many = (count: number, more: Args = {}) => Array.from({ length: count }, (_, i) => ({ title: `T${i}`, ...more }))
const epics = (...tasks: Args[]) => [{ title: 'E', stories: [{ title: 'S', tasks }] }]
const shapeIn = (text: string): { plan: string; fix: Args } => JSON.parse(/\{.*\}$/.exec(text)?.[0] as string)
const mended = (value: unknown) => (text: string) => {
  const { plan, fix } = shapeIn(text)
  return { plan, fix: Object.fromEntries(Object.keys(fix).map((path) => [path, value])) }
}
const project = 'REC'

const mistakes: Mistake[] = [
  [
    'six arguments that no tool has',
    'get_project',
    { project, a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 },
    { project },
    'takes: project',
  ],
  ['a title that is too long', 'create_task', { title: 'x'.repeat(250), project }, { title: 'x', project }, '200'],
  ['too many tasks', 'create_task', { tasks: many(60), project }, { tasks: many(50), project }, '50'],
  [
    'one and several at once',
    'create_task',
    { title: 'A', tasks: many(1), project },
    { tasks: many(1), project },
    'tasks for several',
  ],
  [
    'a field of the call in every item',
    'create_task',
    { tasks: many(50, { story: 'x', parent: 'REC-1' }) },
    { tasks: many(2), parent: 'REC-1' },
    'parent beside tasks',
  ],
  [
    'a blocker that does not exist',
    'create_task',
    { title: 'A', project, blockedBy: ['REC-999'] },
    { title: 'A', project, blockedBy: ['REC-1'] },
    'REC-',
  ],
  [
    'a misspelt assignee',
    'create_task',
    { title: 'A', project, assignee: 'Reviwer' },
    { title: 'A', project, assignee: 'Reviewer' },
    'Reviewer',
  ],
  ['a page that is too large', 'list_tasks', { limit: 500 }, { limit: 100 }, '100'],
  ['a page of nothing', 'list_tasks', { limit: 0 }, { limit: 1 }, 'at least 1'],
  [
    'a criterion that does not exist',
    'complete_task',
    { task: 'REC-4', accepted: [7] },
    { task: 'REC-4', accepted: [1] },
    '1. ',
  ],
  ['a claim that is too long', 'claim_task', { task: 'REC-1', minutes: 1000 }, { task: 'REC-1', minutes: 60 }, '480'],
  [
    'a wrong reference in a plan',
    'create_plan',
    { project, epics: epics({ ref: 'a', title: 'A' }, { title: 'B', blockedBy: ['aa'] }) },
    mended('a'),
    '"a"',
  ],
  [
    'a circle in a plan',
    'create_plan',
    { project, epics: epics({ ref: 'a', title: 'A', blockedBy: ['a'] }) },
    mended(null),
    'A → A',
  ],
  ['a budget that is too small', 'get_context', { project, budgetTokens: 50 }, { project, budgetTokens: 200 }, '200'],
  ['a missing text', 'store_memory', { project }, { project, content: 'Locks are files.' }, 'content'],
  [
    'items of a wrong type',
    'log_decision',
    { title: 'A', decision: 'B', project, alternatives: Array.from({ length: 20 }, () => 7) },
    { title: 'A', decision: 'B', project, alternatives: ['C'] },
    'text',
  ],
  [
    'a kind that does not exist',
    'search_memory',
    { query: 'locks', kinds: ['tasks'] },
    { query: 'locks', kinds: ['task'] },
    'task',
  ],
]

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  const { id } = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Recovery', key: project })).body
  const tasks = [{}, {}, { acceptance: ['It is fast', 'It is tested'] }, { acceptance: ['It is fast'] }, {}]
  for (const more of tasks) await ada.fetch('POST', `/api/projects/${id}/tasks`, { title: 'Lock', ...more })
  await ada.fetch('POST', `/api/projects/${id}/tasks`, { title: 'Lock', blockedBy: ['REC-5'] })
  await ada.fetch('POST', '/api/agents', { name: 'Reviewer', scope: 'team' })
  agent = await (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, await mcpToken(t, ada))
})

describe('the refusal of a wrong call', () => {
  test.each(mistakes)('explains how to correct %s (%s)', async (_, tool, wrong, right, words) => {
    const refused = await agent.call(tool, wrong)
    const text = refused.content[0]?.text as string
    expect(refused.isError).toBe(true)
    expect(text).toContain(words)
    expect(countTokens(text), text).toBeLessThanOrEqual(120)
    const { isError, content } = await agent.call(tool, typeof right === 'function' ? right(text) : right)
    expect(isError, content[0]?.text).toBeFalsy()
  })
})

describe('tools/list', () => {
  interface Listed {
    maxItems?: number
    minimum?: number
    maximum?: number
    maxLength?: number
    items?: Listed
    properties?: Record<string, Listed>
  }
  const limits: [string, string, object][] = [
    ['create_task', 'tasks', { maxItems: 50 }],
    ['complete_task', 'tasks', { maxItems: 50 }],
    ['store_memory', 'memories', { maxItems: 50 }],
    ['create_plan', 'epics', { maxItems: 50 }],
    ['update_task', 'evidence', { maxItems: 20 }],
    ['log_decision', 'alternatives', { maxItems: 20 }],
    ['create_task', 'title', { maxLength: 200 }],
    ['create_note', 'title', { maxLength: 200 }],
    ['get_context', 'budgetTokens', { minimum: 200 }],
    ['search_memory', 'budgetTokens', { minimum: 100 }],
    ['list_tasks', 'limit', { maximum: 100 }],
    ['claim_task', 'minutes', { maximum: 480 }],
  ]
  test.each(limits)('shows the limit of %s.%s', async (tool, argument, limit) => {
    const tools = (await agent.tools()) as { name: string; inputSchema: Listed }[]
    const schema = tools.find(({ name }) => name === tool)?.inputSchema.properties?.[argument]
    expect(schema).toMatchObject(limit)
  })
})
