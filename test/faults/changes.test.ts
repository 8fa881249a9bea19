import { expect, test } from 'bun:test'
import type { ChangeProgress } from '../../src/features/changes/schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import { apiKeyFor, folder, type Served, serve } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const databases = ['pglite', ...(process.env.TEST_DATABASE_URL ? ['postgres'] : [])]
const TASKS = 400

for (const kind of databases)
  test(`kill -9 in the middle of a change of ${TASKS} tasks on ${kind}: the rest is changed, no task twice`, async () => {
    const postgres = kind === 'postgres' ? await freshDatabase() : undefined
    const limits = { RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_BURST: '1000000' }
    const env: Record<string, string> = { ...limits, ...(postgres && { DATABASE_URL: postgres.url }) }
    const dir = folder()
    let server: Served = await serve({ dir, env })
    const key = await apiKeyFor(server, env)
    const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await fetch(server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      return (await answer.json()) as T
    }
    const { id: projectId } = await ask<{ id: string }>('POST', '/api/projects', { name: 'Many' })
    for (let from = 0; from < TASKS; from += 50)
      await ask('POST', `/api/projects/${projectId}/tasks/batch`, {
        tasks: Array.from({ length: 50 }, (_, i) => ({ title: `Task ${from + i}` })),
      })
    const change = { where: { projectId }, expect: TASKS, change: { priority: 'high' } }
    const { id } = await ask<ChangeProgress>('POST', '/api/tasks/batch', change)
    const progress = () => ask<ChangeProgress>('GET', `/api/changes/${id}`)
    await until(async () => (await progress()).done > 0)
    await server.kill()
    server = await serve({ dir, env })
    const found = await progress()
    expect(found.done).toBeLessThan(TASKS)
    await until(async () => !(await progress()).running)
    expect(await progress()).toMatchObject({ state: 'done', done: TASKS, refused: 0, tasks: TASKS })
    const items: Task[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path: string = `/api/tasks?projectId=${projectId}&limit=200${cursor && `&cursor=${cursor}`}`
      const page: { items: Task[]; nextCursor: string | null } = await ask('GET', path)
      items.push(...page.items)
      cursor = page.nextCursor
    }
    expect([items.length, new Set(items.map(({ version, priority }) => `${version} ${priority}`))]).toEqual([
      TASKS,
      new Set(['2 high']),
    ])
    expect(await server.stop()).toBe(0)
    await postgres?.drop()
  }, 300_000)
