import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import { mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { factsOf, type McpClient, ways } from './support.ts'

interface Page {
  items: string[]
  nextCursor?: string
}

let t: TestApp
let ada: Person
const clients: McpClient[] = []
const connect = async (who: Person, way: keyof typeof ways = 'v2 client, HTTP 2026-07-28'): Promise<McpClient> => {
  const client = (await ways[way]?.(t.url, await mcpToken(t, who))) as McpClient
  clients.push(client)
  return client
}
const newProject = async (who = ada): Promise<{ slug: string; key: string }> =>
  (await who.fetch<{ slug: string; key: string }>('POST', '/api/projects', { name: unique('Paged') })).body

async function use<T = Page>(client: McpClient, name: string, args: Record<string, unknown>): Promise<T> {
  return factsOf<T>(await client.call(name, args))
}
const refusalOf = async (client: McpClient, name: string, args: Record<string, unknown>) => {
  const { isError, content } = await client.call(name, args)
  expect(isError).toBe(true)
  return content[0]?.text as string
}
/** Creates tasks in one call, so that they have the same time and ids of the same millisecond. */
const createTasks = async (client: McpClient, project: string, count: number): Promise<void> => {
  const tasks = Array.from({ length: count }, (_, n) => ({ title: `Task ${n + 1}` }))
  await use(client, 'create_task', { project, tasks })
}
const keysIn = ({ items }: Page): string[] => items.map((line) => line.split(' ')[0] as string)

/** Reads all pages, and returns the keys of their tasks in order. */
async function readPages(
  client: McpClient,
  args: { project: string; limit: number },
  between?: (page: Page, n: number) => Promise<unknown>,
): Promise<string[]> {
  const keys: string[] = []
  let cursor: string | undefined
  for (let n = 0; n < 100; n++) {
    const page: Page = await use(client, 'list_tasks', { ...args, ...(cursor && { cursor }) })
    keys.push(...keysIn(page))
    cursor = page.nextCursor
    if (!cursor) return keys
    expect(cursor.length).toBeLessThanOrEqual(24)
    await between?.(page, n)
  }
  throw new Error('The list does not end')
}

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
})
afterAll(() => Promise.all(clients.map((client) => client.close())))

describe('the cursor of a list', () => {
  test.each(['v2 client, SSE', 'v2 client, HTTP 2026-07-28', 'v1 client, HTTP'])(
    'has at most 24 characters and leads through all pages once: %s',
    async (way) => {
      const [client, { slug, key }] = [await connect(ada, way), await newProject()]
      await createTasks(client, slug, 45)
      const keys = await readPages(client, { project: slug, limit: 4 })
      expect(keys.toSorted()).toEqual(Array.from({ length: 45 }, (_, n) => `${key}-${n + 1}`).toSorted())
    },
  )

  test('has 11 characters if the times of two tasks differ', async () => {
    const [client, { slug }] = [await connect(ada), await newProject()]
    for (const title of ['One', 'Two', 'Three']) await use(client, 'create_task', { project: slug, title })
    const { nextCursor } = await use(client, 'list_tasks', { project: slug, limit: 2 })
    expect(nextCursor).toHaveLength(11)
  })

  test('has at most 24 characters in every list', async () => {
    const who = await person(t)
    const [client, { slug }] = [await connect(who), await newProject(who)]
    await newProject(who)
    for (const n of [1, 2]) {
      await use(client, 'create_task', { project: slug, title: `Task ${n}` })
      await use(client, 'create_note', { project: slug, title: `Note ${n}` })
      await use(client, 'log_decision', { project: slug, title: `Use lamp ${n}`, decision: 'Yes.' })
      await use(client, 'store_memory', { project: slug, content: `Fact ${n}` })
      await use(client, 'create_spec', { project: slug, title: `Spec ${n}`, content: 'Text.' })
      await use(client, 'create_feature', { project: slug, title: `Feature ${n}` })
      await use(client, 'create_session', { project: slug, goals: [`Goal ${n}`] })
      await use(client, 'create_agent', { name: `Agent ${n}` })
    }
    const lists = tools.filter(({ name, input }) => name.startsWith('list_') && 'cursor' in input.properties)
    expect(lists.length).toBeGreaterThanOrEqual(10)
    for (const { name } of lists) {
      const first = await use(client, name, { limit: 1 })
      expect([name, (first.nextCursor?.length ?? 99) <= 24]).toEqual([name, true])
      const second = await use(client, name, { limit: 1, cursor: first.nextCursor })
      expect([name, second.items.length, Bun.deepEquals(first.items, second.items)]).toEqual([name, 1, false])
    }
  })

  test('stays valid when tasks are deleted, changed and added', async () => {
    const [client, { slug, key }] = [await connect(ada), await newProject()]
    await createTasks(client, slug, 12)
    const seen = await readPages(client, { project: slug, limit: 3 }, async (page, n) => {
      const [first, , last] = keysIn(page)
      await use(client, 'delete_task', { task: last })
      await use(client, 'update_task', { task: first, comment: 'Seen.', priority: 'high' })
      await use(client, 'create_task', { project: slug, title: `New ${n}` })
    })
    expect(seen.toSorted()).toEqual(Array.from({ length: 12 }, (_, n) => `${key}-${n + 1}`).toSorted())
  })

  test('is refused with other arguments, in another list, by another person and when mistyped', async () => {
    const grace = await member(t, ada, 'member')
    const [client, hers, { slug }] = [await connect(ada), await connect(grace), await newProject()]
    await createTasks(client, slug, 5)
    const { nextCursor: cursor = '' } = await use(client, 'list_tasks', { project: slug, limit: 2 })
    const refusal =
      'invalid.cursor: This cursor is not from this list. ' +
      'Repeat the arguments of the first call, or leave out cursor to start again.'
    expect(await refusalOf(client, 'list_tasks', { project: slug, status: 'todo', cursor })).toBe(refusal)
    expect(await refusalOf(client, 'list_notes', { project: slug, cursor })).toBe(refusal)
    expect(await refusalOf(hers, 'list_tasks', { project: slug, cursor })).toBe(refusal)
    for (const wrong of [cursor.slice(1), `${cursor}x`, 'x', 'TUT-42', "' or true", 'WyJ1cGRhdGVkQXQuZGVzYyJd'])
      expect(await refusalOf(client, 'list_tasks', { project: slug, cursor: wrong })).toBe(refusal)
    expect((await use(client, 'list_tasks', { project: slug, limit: 3, cursor })).items).toHaveLength(3)
  })
})
