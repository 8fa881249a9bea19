import { expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import type { TaskPage } from '../../src/features/tasks/lists/list-schema.ts'
import type { TSchema } from '../../src/schema.ts'
import { call, mcpToken, person, unique } from '../support/app.ts'
import { callRoute, nameOf, routes, t } from './ask.ts'
import { buildWorld, fillPath } from './world.ts'

/** Every input that is a time takes an instant or a date, on every surface; a date is its midnight in UTC. */

/** The times in an input, as [name, format]. */
function timesIn(schema: TSchema | undefined, name = ''): [string, string][] {
  if (!schema) return []
  if (schema.format?.startsWith('date')) return [[name, schema.format]]
  const parts = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
  const options = [...((schema.anyOf ?? []) as TSchema[]), ...(schema.items ? [schema.items as TSchema] : [])]
  return [...parts.flatMap(([key, part]) => timesIn(part, key)), ...options.flatMap((option) => timesIn(option, name))]
}

test('every route and tool uses the same schema for times', () => {
  const inputs = [
    ...routes.flatMap((route) =>
      [route.hooks.body, route.hooks.query].map((schema) => [nameOf(route), schema] as const),
    ),
    ...tools.map(({ name, input }) => [name, input] as const),
  ]
  const found = inputs.flatMap(([name, schema]) => timesIn(schema).map(([field, format]) => [name, field, format]))
  expect(found.length).toBeGreaterThan(15)
  expect(found.filter(([, , format]) => format !== 'date-or-time')).toEqual([])
})

test('every list that filters by time accepts a date and reads it as midnight UTC', async () => {
  const a = await buildWorld(t)
  const admin = await person(t, { admin: true })
  const narrowed = routes.flatMap((route) => timesIn(route.hooks.query).map(([name]) => [route, name] as const))
  expect(narrowed.length).toBeGreaterThan(7)
  for (const [route, name] of narrowed) {
    const who = route.path.startsWith('/api/admin') ? admin : a.owner
    const at = (value: string) => callRoute(route, who, `${fillPath(route.path, a)}?${name}=${value}`)
    const answers = [await at('2026-11-15'), await at('2026-11-15T00:00:00.000Z'), await at('2026-02-30')]
    expect([nameOf(route), name, ...answers.map(({ status }) => status)]).toEqual([nameOf(route), name, 200, 200, 422])
  }
})

test('the web API and the tools store a date as an instant', async () => {
  const ada = await person(t)
  const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Dates') })).body.id
  const midnight = '2026-11-20T00:00:00.000Z'
  const made = await ada.fetch('POST', `/api/projects/${project}/tasks`, { title: 'By REST', dueAt: '2026-11-20' })
  expect([made.status, made.body.dueAt]).toEqual([201, midnight])
  const changed = await ada.fetch('PATCH', `/api/tasks/${made.body.id}`, { dueAt: '2026-12-01' })
  expect([changed.status, changed.body.dueAt]).toEqual([200, '2026-12-01T00:00:00.000Z'])
  const cleared = await ada.fetch('PATCH', `/api/tasks/${made.body.id}`, { dueAt: null })
  expect([cleared.status, cleared.body.dueAt]).toEqual([200, null])
  const params = { name: 'create_task', arguments: { project, title: 'By tool', dueAt: '2026-11-20' } }
  await call(
    t,
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    {
      authorization: `Bearer ${await mcpToken(t, ada)}`,
      accept: 'application/json, text/event-stream',
    },
  )
  const { items } = (await ada.fetch<TaskPage>('GET', `/api/tasks?projectId=${project}`)).body
  expect(items.find(({ title }) => title === 'By tool')?.dueAt).toBe(midnight)
  const wrong = await ada.fetch('PATCH', `/api/tasks/${made.body.id}`, { dueAt: '2026-02-30' })
  expect(wrong.body).toMatchObject({
    errors: [{ pointer: '/dueAt', message: 'dueAt is not a valid date or time, such as 2026-11-15T09:30:00.000Z.' }],
  })
})
