import { describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { McpTokenCreate } from '../../src/features/tokens/schema.ts'
import { connectionsClosed, type McpClient, type Result, ways } from '../mcp/support.ts'
import { logged, mcpToken, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'

/**
 * Agents as they are in the wild: they know what their person told them, the instructions, and what the tools answered, nothing else.
 * Each job counts its calls and the tokens that its agents write and read, and fails when it costs more than its ceiling.
 */
export type Facts = Record<string, unknown> & {
  items: Facts[]
  total: number
  nextCursor?: string
  id: string
  key: string
  title: string
  status: string
  version: number
}
export interface Refusal {
  code: string
  status: number
  text: string
  errors?: { pointer: string; message: string }[]
  current?: Facts
}
type Args = Record<string, unknown>

/** Arguments that name a record: an agent has to have read their values somewhere. */
const references = new Set(
  'project task tasks note spec decision memory feature agent session scopeId supersedes story blockedBy cursor activity repo skill assignee discoveredFrom'.split(
    ' ',
  ),
)
/** The same names where they are what an agent writes itself. */
const texts = new Set(['log_decision decision', 'claim_task note'])
/** The transports that agents use today. */
export const connections = [
  'v2 client, SSE',
  'v2 client, HTTP 2026-07-28',
  'v1 client, SSE',
  'v1 client, HTTP',
] as const
export type Way = (typeof connections)[number]

export interface Bill {
  calls: number
  in: number
  out: number
  transcript: string[]
}

export class Agent {
  #known = ''
  constructor(
    readonly name: string,
    readonly client: McpClient,
    readonly person: Person,
    private readonly bill: Bill,
  ) {
    this.#known = client.instructions() ?? ''
  }

  /** Adds to what the agent knows, as a prompt of its person does. */
  told(text: string): this {
    this.#known += `\n${text}`
    return this
  }

  /** Calls a tool; throws if it is refused. */
  async call(tool: string, args: Args = {}): Promise<Facts> {
    const { isError, structuredContent, content } = await this.#send(tool, args)
    if (isError) {
      const { requestId } = structuredContent as { requestId: string }
      const log = logged.filter((line) => line.includes(requestId)).join('\n')
      throw new Error(`${this.name}: ${tool} was refused: ${content[0]?.text}\n${log}`)
    }
    return structuredContent as Facts
  }

  /** Calls a tool that must be refused, and returns the refusal. */
  async refused(tool: string, args: Args = {}): Promise<Refusal> {
    const { isError, structuredContent, content } = await this.#send(tool, args)
    if (!isError) throw new Error(`${this.name}: ${tool} should have been refused`)
    return { ...(structuredContent as unknown as Refusal), text: content[0]?.text as string }
  }

  async #send(tool: string, args: Args): Promise<Result> {
    for (const [name, value] of Object.entries(args))
      for (const ref of references.has(name) && !texts.has(`${tool} ${name}`) ? [value].flat() : [])
        if (typeof ref === 'string' && ref !== 'me' && !this.#known.includes(ref))
          throw new Error(`${this.name} cannot know ${name} ${JSON.stringify(ref)}`)
    const answer = await this.client.call(tool, args)
    const text = answer.content[0]?.text as string
    const facts = JSON.stringify(answer.structuredContent)
    const sent = countTokens(tool + JSON.stringify(args))
    // Clients show the model one of the two, and of an error the text.
    const read = answer.isError ? countTokens(text) : Math.max(countTokens(text), countTokens(facts))
    this.bill.calls++
    this.bill.in += sent
    this.bill.out += read
    this.bill.transcript.push(`${this.name} → ${tool} ${JSON.stringify(args)} [${sent}]\n  ← ${text} [${read}]`)
    this.#known += `\n${text}`
    if (!answer.isError) saysNothingInVain(tool, answer.structuredContent)
    return answer
  }
}

/** Fields without a value, and what every record of a token has in common, cost tokens in every answer. */
function saysNothingInVain(tool: string, value: unknown, at = ''): void {
  const empty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
  if (empty && !at.endsWith('.items')) throw new Error(`${tool} answers an empty ${at}`)
  if (/\.organizationId$/.test(at)) throw new Error(`${tool} answers ${at}, which is the same everywhere`)
  if (typeof value === 'object' && value)
    for (const [key, inner] of Object.entries(value)) saysNothingInVain(tool, inner, `${at}.${key}`)
}

export interface Crew {
  readonly t: TestApp
  /** The person whose agents they are. */
  readonly owner: Person
  /** An agent with its own token; by default the owner's. */
  agent(name?: string, options?: Partial<McpTokenCreate> & { of?: Person; query?: string }): Promise<Agent>
  /** Starts the agent's program anew: the token works, the old connection is closed, and all that it knew is gone. */
  amnesiac(agent: Agent): Promise<Agent>
  /** Calls that were made before the job began: they cost nothing. */
  free<T>(before: () => Promise<T>): Promise<T>
}

const rows: string[] = []

/** The most that a job may cost: the measured cost and a little room. */
export interface Ceiling {
  calls: number
  tokens: number
}

/** Runs a job with agents on one transport, and returns its cost. */
export async function perform(work: (crew: Crew) => Promise<void>, way: Way, t: TestApp): Promise<Bill> {
  const bill: Bill = { calls: 0, in: 0, out: 0, transcript: [] }
  const owner = await person(t)
  const open: McpClient[] = []
  const tokens = new Map<McpClient, { token: string; query?: string }>()
  const connect = async (called: string, of: Person, token: string, query?: string) => {
    const client = await (ways[way] as (typeof ways)[string])(t.url, token, query)
    open.push(client)
    tokens.set(client, { token, query })
    return new Agent(called, client, of, bill)
  }
  try {
    await work({
      t,
      owner,
      agent: async (called = 'agent', { of = owner, query, ...options } = {}) =>
        connect(called, of, await mcpToken(t, of, { name: called, ...options }), query),
      amnesiac: async (agent) => {
        const { token, query } = tokens.get(agent.client) as { token: string; query?: string }
        open.splice(open.indexOf(agent.client), 1)
        await agent.client.close()
        await connectionsClosed(t, agent.person.userId)
        return connect(`${agent.name} again`, agent.person, token, query)
      },
      free: async (before) => {
        const { calls, in: sent, out } = bill
        const result = await before()
        Object.assign(bill, { calls, in: sent, out })
        return result
      },
    })
    return bill
  } catch (error) {
    console.error(bill.transcript.join('\n'))
    throw error
  } finally {
    await Promise.all(open.map((client) => client.close()))
  }
}

export function job(name: string, ceiling: Ceiling, work: (crew: Crew) => Promise<void>): void {
  // Chosen by the name, so that it does not depend on the files that share a process.
  const way = connections[Number(Bun.hash(name) % BigInt(connections.length))] as Way
  describe('an agent', () =>
    test(name, async () => {
      const bill = await perform(work, way, await sharedApp())
      rows.push(
        `${name.padEnd(80)} ${[bill.calls, bill.in, bill.out].map((n) => String(n).padStart(8)).join('')}  ${way}`,
      )
      const costs = { calls: bill.calls, tokens: bill.in + bill.out }
      if (costs.calls > ceiling.calls || costs.tokens > ceiling.tokens) console.error(bill.transcript.join('\n'))
      expect(costs.calls, 'calls').toBeLessThanOrEqual(ceiling.calls)
      expect(costs.tokens, 'tokens').toBeLessThanOrEqual(ceiling.tokens)
    }, 300_000))
}

atEnd(() => {
  if (rows.length === 0) return
  console.log(`\n${'job'.padEnd(80)}    calls      in     out  tokens (o200k)\n${rows.join('\n')}`)
})
