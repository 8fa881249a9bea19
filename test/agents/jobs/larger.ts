import { expect } from 'bun:test'
import { ownApp } from '../../features/support.ts'
import type { Person, TestApp } from '../../support/app.ts'
import { atEnd } from '../../support/cleanup.ts'
import { many } from './work.ts'

/** The larger data that a project holds before a job begins: 120 tasks, 60 memories and 12 decisions. */

const parts = ['import', 'export', 'search', 'mail', 'billing', 'login', 'upload', 'board', 'audit', 'sync']
const lessons = [
  'reads its settings once, at the start of the process',
  'keeps its temporary files below /var/tmp, which the nightly job empties',
  'was slow on the staging machine until its index was rebuilt',
  'must not be called twice within one transaction',
  'logs to its own file, which support downloads every Monday',
  'has no test for names with umlauts',
]
const memories = parts.flatMap((part) =>
  lessons.map((lesson) => ({ title: `About the ${part} module`, content: `The ${part} module ${lesson}.` })),
)

const choices = ['Postgres', 'Caddy', 'Bun', 'TypeBox', 'OpenTelemetry', 'Vitest', 'Debian', 'Playwright', 'S3', 'OIDC']
const decisions = [...choices, 'Monorepo', 'Trunk-based development'].map((choice) => ({
  title: `Use ${choice}`,
  decision: `We use ${choice} for all new modules.`,
  rationale: 'Everybody on the team has worked with it.',
  alternatives: ['Stay with what the old modules use'],
}))

/** The larger data has 192 texts. To compute what they mean takes seconds, so most of its tests do without. */
let app: Promise<TestApp> | undefined
export function appWithoutModel(): Promise<TestApp> {
  app ??= ownApp(undefined, { EMBEDDINGS: 'off', ...withoutLimits }).then((t) => {
    atEnd(() => t.close())
    return t
  })
  return app
}
const withoutLimits = { RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_BURST: '1000000', RATE_LIMIT_MCP: '1000000' }

/** What the functions below need of a person. */
type Owner = Pick<Person, 'fetch'>

const MOST_AT_ONCE = 50
const inBatches = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / MOST_AT_ONCE) }, (_, n) =>
    all.slice(n * MOST_AT_ONCE, (n + 1) * MOST_AT_ONCE),
  )

async function post(owner: Owner, path: string, body: object): Promise<void> {
  const { status, body: answer } = await owner.fetch('POST', path, body)
  expect([path, status, answer]).toEqual([path, 201, answer])
}

/** Fills the project. Its tasks are less urgent than those of a job, so that a job gets its own. */
export async function addLargerData(owner: Owner, projectId: string): Promise<void> {
  const tasks = many.map((task) => ({ ...task, priority: 'low' }))
  for (const some of inBatches(tasks)) await post(owner, `/api/projects/${projectId}/tasks/batch`, { tasks: some })
  await addMemories(owner, projectId)
  for (const decision of decisions) await post(owner, '/api/decisions', { ...decision, projectId })
}

/** Adds only the memories of the larger data. */
export async function addMemories(owner: Owner, projectId: string): Promise<void> {
  for (const some of inBatches(memories))
    await post(owner, '/api/memories/batch', { scope: 'project', scopeId: projectId, memories: some })
}
