import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type McpClient, type Result, ways } from '../mcp/support.ts'
import { mcpToken, member, type Person, person } from '../support/app.ts'
import { addLargerData, appWithoutModel } from './jobs/larger.ts'
import { type Call, readRefusal } from './recovery/reader.ts'
import { type World, wrongCalls } from './recovery/wrong-calls.ts'

/** The most tokens that the median refusal may cost, and any of them. */
const bars = { median: 60, most: 100 }

let world: World
let agent: McpClient
const open: McpClient[] = []
const tokens: number[] = []

beforeAll(async () => {
  const t = await appWithoutModel()
  const ada = await person(t)
  const connect = async (who: Person, way: string, token?: string): Promise<McpClient> => {
    const client = await (ways[way] as (typeof ways)[string])(t.url, token ?? (await mcpToken(t, who)))
    open.push(client)
    return client
  }
  const token = await mcpToken(t, ada, { name: 'desk' })
  const [session, elsewhere] = [
    await connect(ada, 'v2 client, SSE', token),
    await connect(ada, 'v2 client, HTTP 2026-07-28', token),
  ]
  agent = await connect(ada, 'v2 client, SSE', token)
  const holder = await connect(await member(t, ada, 'member', 'Grace Hopper'), 'v2 client, SSE')
  world = await makeWorld(ada, await person(t))
  await holder.call('claim_task', { task: world.held })
  await elsewhere.call('claim_task', { task: world.elsewhere })
  const { id } = (await session.call('create_session', { project: world.project })).structuredContent as { id: string }
  await session.call('end_session')
  world.ended = id
})
afterAll(async () => {
  for (const client of open) await client.close()
})

/** Two projects, the first with the larger data, one that was archived, and a stranger's. */
async function makeWorld(ada: Person, stranger: Person): Promise<World> {
  const newProject = async (name: string, who = ada) =>
    (await who.fetch<{ id: string; key: string }>('POST', '/api/projects', { name })).body
  const [project, other, archived] = [
    await newProject('Folder lock'),
    await newProject('Operations'),
    await newProject('Old plans'),
  ]
  const secret = await newProject('Secret plans', stranger)
  const newTask = async (more: object = {}, { id } = project, who = ada) =>
    (await who.fetch<{ key: string }>('POST', `/api/projects/${id}/tasks`, { title: 'Name the holder', ...more })).body
      .key
  await addLargerData(ada, project.id)
  await newTask({}, other)
  expect((await ada.fetch('POST', `/api/projects/${archived.id}/archive`, {})).status).toBe(200)
  return {
    project: project.key,
    other: other.key,
    archived: archived.key,
    open: await newTask(),
    criteria: await newTask({ acceptance: ['It exits with code 3', 'The message names the process id'] }),
    waiting: await newTask({ blockedBy: [await newTask()] }),
    held: await newTask(),
    elsewhere: await newTask(),
    ended: '',
    foreign: await newTask({}, secret, stranger),
  }
}

/** Returns the result of a call. A tool that does not exist is an error of the protocol, which agents read as well. */
const use = ({ tool, args }: Call): Promise<Result> =>
  agent.call(tool, args).catch((error: Error) => ({ isError: true, content: [{ type: 'text', text: error.message }] }))
const textOf = ({ content }: Result): string => String(content[0]?.text)

describe('the refusal of a call', () => {
  test.each(wrongCalls)('with $name is sufficient for the next call to succeed', async ({ call, knows, next }) => {
    const refused = call(world)
    const result = await use(refused)
    const text = textOf(result)
    expect([result.isError, text]).toEqual([true, text])
    tokens.push(countTokens(text))
    const second = readRefusal({ ...refused, text, knows: knows?.(world) ?? {} })
    expect([second?.tool, text]).toEqual([next ?? refused.tool, text])
    const after = await use(second as Call)
    expect([second, textOf(after), after.isError ?? false]).toEqual([second, textOf(after), false])
  })

  test(`costs at most ${bars.median} tokens in the median of 28`, () => {
    const sorted = tokens.toSorted((a, b) => a - b)
    const [median = 0, most = 0] = [sorted[sorted.length / 2], sorted.at(-1)]
    console.log(`refusals: ${tokens.length}, median ${median} tokens, most ${most}`)
    expect(tokens).toHaveLength(28)
    expect(median).toBeLessThanOrEqual(bars.median)
    expect(most).toBeLessThanOrEqual(bars.most)
  })
})
