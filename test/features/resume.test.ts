import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { estimateTokens } from '../../src/text/token-estimate.ts'
import { connectionClosed, type McpClient, ways, withBriefText } from '../mcp/support.ts'
import { mcpToken, member, person, type TestApp, testApp, unique } from '../support/app.ts'
import { TestClock } from './support.ts'

const clock = new TestClock()
let t: TestApp
beforeAll(async () => {
  t = await testApp({}, clock.now)
})
afterAll(() => t.close())

const ways3 = ['v2 client, HTTP 2026-07-28', 'v2 client, SSE', 'v1 client, HTTP'] as const
const connect = (token: string, way: keyof typeof ways): Promise<McpClient> =>
  ways[way]?.(t.url, token) as Promise<McpClient>

type Facts = Record<string, unknown> & {
  id: string
  key: string
  slug: string
  version: number
  brief: { text: string }
}
async function use(client: McpClient, tool: string, args: Record<string, unknown> = {}): Promise<Facts> {
  const { isError, content, structuredContent } = await client.call(tool, args)
  if (isError) throw new Error(`${tool}: ${content[0]?.text}`)
  return withBriefText(structuredContent) as Facts
}

interface Plan {
  token: string
  other: string
  project: string
}

/** A project with two tasks, an agent's token, and a colleague's. */
async function plan(): Promise<Plan & { key: string; second: string }> {
  const ada = await person(t)
  const token = await mcpToken(t, ada)
  const other = await mcpToken(t, await member(t, ada, 'member', 'Grace Hopper'))
  const owner = await connect(await mcpToken(t, ada), 'v2 client, HTTP 2026-07-28')
  const { slug: project } = await use(owner, 'create_project', { name: unique('Engine') })
  const { key } = await use(owner, 'create_task', {
    project,
    title: 'Lock the data folder',
    description: 'Two servers on one folder damage a database.',
    acceptance: ['a second process is refused', 'the lock goes with its process'],
    priority: 'high',
  })
  const { key: second } = await use(owner, 'create_task', { project, title: 'Say so in the manual' })
  await owner.close()
  return { token, other, project, key, second }
}

/** What is in the brief under a heading. */
const part = (text: string, title: string): string =>
  new RegExp(`## ${title}[^\\n]*\\n([^]*?)(?=\\n## |$)`).exec(text)?.[1] ?? ''

describe.each(ways3)('an agent connected by %s', (way) => {
  test('continues from the brief alone, and completes the task', async () => {
    const { token, other, project, key, second } = await plan()

    const first = await connect(token, way)
    await use(first, 'create_session', {
      project,
      goals: ['One process for each folder'],
      context: 'A database was damaged last week.',
    })
    // From here on the session names the project, unless the protocol has no connections to tell windows apart.
    const there = way.includes('2026') ? { project } : {}
    expect((await use(first, 'next_task', there)).task).toMatchObject({ key })
    const { id: memory } = await use(first, 'store_memory', {
      ...there,
      title: 'flock on macOS',
      content: 'flock works on macOS as well; locking the data folder needs no second way there.',
    })
    const { id: decision } = await use(first, 'log_decision', {
      ...there,
      title: 'Lock the folder with flock',
      decision: 'The server holds flock on the data folder while it runs.',
      alternatives: ['A lock file', { option: 'A port', cons: 'Taken by others' }],
    })
    await use(first, 'update_task', {
      task: key,
      acceptance: ['a second process is refused', 'the lock goes with its process', 'says who'],
    })
    clock.forward({ minutes: 5 })
    await use(first, 'resume_session', {
      checkpoint: {
        nextStep: 'Make the second process exit with a line that names the first',
        files: ['src/db/lock.ts', 'test/db/lock.test.ts'],
        branch: 'lock-folder',
        commands: ['bun test test/db'],
        checks: ['exit code 5'],
        openQuestions: ['What about network file systems?'],
      },
    })
    // Cut off: no end_session, no goodbye.
    await first.close()
    await connectionClosed(t, key)

    clock.forward({ minutes: 40 })
    const colleague = await connect(other, way)
    await use(colleague, 'update_task', { task: second, priority: 'critical' })
    await use(colleague, 'complete_task', { task: second, notes: 'Written, with a picture.' })
    await colleague.close()

    const again = await connect(token, way)
    const { brief, status } = await use(again, 'resume_session')
    expect(status).toBeUndefined()
    expect(estimateTokens(brief.text)).toBeLessThanOrEqual(1000)
    expect(brief.text.match(/^## .*$/gm)?.map((line) => line.replace(/( since| in [A-Z]).*/, ''))).toEqual([
      '## Where you left off',
      `## Your task: ${key}`,
      '## Open questions',
      '## Accepted decisions',
      '## Memories',
      '## What changed',
    ])
    const task = part(brief.text, 'Your task')
    expect(task).toContain('«Lock the data folder» (Ada Lovelace): in_progress, priority high')
    expect(task).toContain(`No one holds it now. Before you continue: claim_task ${key}.`)
    expect(task).toContain('- [ ] «the lock goes with its process»')
    expect(task).toContain('> Two servers on one folder damage a database.')
    const left = part(brief.text, 'Where you left off')
    expect(left).toContain('Next step: «Make the second process exit with a line that names the first»')
    expect(left).toContain('Branch: «lock-folder»')
    expect(left).toContain('Files: «src/db/lock.ts», «test/db/lock.test.ts»')
    expect(left).toContain('Commands: «bun test test/db»')
    expect(left).toContain('Check: «exit code 5»')
    expect(left).toContain('Goals: «One process for each folder»')
    expect(left).toContain('> A database was damaged last week.')
    expect(part(brief.text, 'Accepted decisions')).toContain(
      `«Lock the folder with flock»: «The server holds flock on the data folder while it runs.» (agent, ${decision.slice(0, 13)})`,
    )
    expect(part(brief.text, 'Memories')).toContain('«flock on macOS»: «flock works on macOS as well')
    expect(part(brief.text, 'What changed')).toContain(
      `- agent for Grace Hopper «completed ${second} Say so in the manual»: «Written, with a picture.»`,
    )
    // All of its own work was before it saved where it was.
    expect(brief.text).not.toContain('- you ')
    expect(part(brief.text, 'Open questions')).toBe('- «What about network file systems?»')

    // What the brief says is enough: the task's key and the next step are read from it.
    const known = /## Your task: (\S+)/.exec(brief.text)?.[1] as string
    await use(again, 'claim_task', { task: known })
    const done = await use(again, 'complete_task', {
      task: known,
      notes: 'Locked.',
      accepted: 'all',
      evidence: ['bun test test/db: 214 pass'],
    })
    expect(done).toMatchObject({ key, status: 'done' })
    const ended = await use(again, 'end_session', { summary: 'The folder is locked while a server runs.' })
    expect(ended.memories).toBeArrayOfSize(1)
    const found = await use(again, 'search_memory', {
      query: 'which branch has the folder lock',
      scope: 'project',
      scopeId: project,
    })
    expect(JSON.stringify(found)).toContain('Branch: lock-folder')
    expect(JSON.stringify(found)).toContain(memory)
    await again.close()
  }, 300_000)

  test('without a checkpoint is told its own last changes', async () => {
    const { token, other, project, key, second } = await plan()
    const first = await connect(token, way)
    await use(first, 'create_session', { project })
    await use(first, 'claim_task', { task: key })
    await use(first, 'log_decision', {
      project,
      title: 'Lock the folder with flock',
      decision: 'The server holds flock.',
    })
    await first.close()
    await connectionClosed(t, key)
    const colleague = await connect(other, way)
    await use(colleague, 'update_task', { task: second, description: 'With pictures.' })
    await colleague.close()

    clock.forward({ minutes: 3 })
    const again = await connect(token, way)
    const { brief } = await use(again, 'resume_session')
    expect(part(brief.text, 'Your task')).toContain('Yours until ')
    expect(part(brief.text, 'Where you left off')).toContain('No checkpoint was saved since the session began')
    const changed = part(brief.text, 'What changed')
    const own = changed.split('\n').filter((line) => line.startsWith('- you '))
    expect(own.join()).toContain(key)
    expect(own.join()).toContain('Lock the folder with flock')
    expect(own.join()).not.toContain(second)
    expect(changed).toMatch(new RegExp(`^- agent for Grace Hopper «[^»]*${second}`, 'm'))

    // Cut off once more: what changed meanwhile is not forgotten because it was told to somebody who is gone.
    expect((await use(again, 'resume_session')).brief.text).toContain(changed)
    await again.close()
  }, 300_000)

  test('without a session learns its held tasks when it starts one', async () => {
    const { token, project, key } = await plan()
    const first = await connect(token, way)
    await use(first, 'claim_task', { task: key })
    await first.close()
    await connectionClosed(t, key)
    const again = await connect(token, way)
    const refused = await again.call('resume_session')
    if (refused.isError) expect(refused.content[0]?.text).toContain('Use create_session.')
    const { brief } = await use(again, 'create_session', { project })
    expect(part(brief.text, 'Your task')).toContain('Yours until ')
    expect(part(brief.text, 'What changed')).toContain(`- you «claimed ${key}`)
    await again.close()
  }, 300_000)
})
