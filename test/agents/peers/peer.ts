import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { Cost } from '../jobs/costs.ts'
import type { JobName } from '../jobs/work.ts'

export interface Program {
  readonly name: string
  /** How it is started on the data in a folder. */
  command(folder: string): { run: readonly string[]; env?: Record<string, string> }
  /** Makes an empty project in the folder. */
  prepare?(folder: string): void
  /** One process does all jobs in one folder, because it takes seconds to start; each job writes its tasks anew. */
  readonly oneProcess?: boolean
  /** The jobs that it can do, as its own instructions and descriptions say that they are done. */
  readonly jobs: Partial<Record<JobName, (peer: Peer) => Promise<void>>>
}

type Args = Record<string, unknown>

/** Longer than any program takes on a busy machine: it is there to end a hanging one. */
const patience = { timeout: 300_000 }

/**
 * A random id is 19 to 27 tokens, and some replies name one nine times. So each counts as this one, which has as many
 * tokens as most.
 */
const ANY_ID = 'de66824f-53e7-4dda-806b-4a81d84cfac7'
const ids = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g

/** Starts a program and does one of its jobs after the other. Returns what each cost. */
export async function perform(program: Program): Promise<Partial<Record<JobName, Cost>>> {
  const costs: Partial<Record<JobName, Cost>> = {}
  const root = mkdtempSync(join(tmpdir(), 'tutti-peer-'))
  let client: Client | undefined
  try {
    for (const [name, work] of Object.entries(program.jobs)) {
      const folder = program.oneProcess ? root : mkdtempSync(join(root, 'job-'))
      client ??= await connect(program, folder)
      const peer = new Peer(client, folder)
      await work(peer).catch((error: Error) => {
        throw new Error(`${program.name}, ${name}: ${error.message}\n${peer.transcript.join('\n')}`)
      })
      costs[name as JobName] = peer.cost
      if (program.oneProcess) continue
      await client.close()
      client = undefined
    }
  } finally {
    await client?.close()
    rmSync(root, { recursive: true, force: true })
  }
  return costs
}

async function connect(program: Program, folder: string): Promise<Client> {
  program.prepare?.(folder)
  const { run, env } = program.command(folder)
  const [command = '', ...args] = run
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command,
      args,
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
      stderr: 'ignore',
    }),
    patience,
  )
  return client
}

/** Another program at work. Counts what `call` and `refused` cost, as `Agent` does for Tutti. */
export class Peer {
  readonly cost: Cost = { calls: 0, tokens: 0 }
  readonly transcript: string[] = []
  constructor(
    private readonly client: Client,
    readonly folder: string,
  ) {}

  async call(tool: string, args: Args = {}): Promise<string> {
    const { text, isError } = await this.#send(tool, args)
    if (isError) throw new Error(`${tool} was refused: ${text}`)
    return text
  }

  /** A call that must fail. Returns the reason. */
  async refused(tool: string, args: Args = {}): Promise<string> {
    return (await this.#send(tool, args)).text
  }

  /** Calls that were made before the job began: they cost nothing. */
  async free<T>(before: () => Promise<T>): Promise<T> {
    const cost = { ...this.cost }
    const result = await before()
    Object.assign(this.cost, cost)
    return result
  }

  async #send(tool: string, args: Args): Promise<{ text: string; isError: boolean }> {
    const answer = (await this.client
      .callTool({ name: tool, arguments: args }, undefined, patience)
      .catch((error: Error) => ({ isError: true, content: [{ text: error.message }] }))) as {
      isError?: boolean
      content: { text?: string }[]
      structuredContent?: unknown
    }
    const text = answer.content.map((part) => part.text ?? '').join('\n')
    // Clients show the model one of the two: the shorter one counts, in the peer's favour.
    const facts = JSON.stringify(answer.structuredContent) as string | undefined
    const count = (said: string) => countTokens(said.replaceAll(this.folder, '/home/ada/lock').replaceAll(ids, ANY_ID))
    const read = Math.min(count(text), facts ? count(facts) : Number.POSITIVE_INFINITY)
    const sent = count(tool + JSON.stringify(args))
    this.cost.calls++
    this.cost.tokens += sent + read
    this.transcript.push(`→ ${tool} ${JSON.stringify(args)} [${sent}]\n  ← ${text} [${read}]`)
    return { text, isError: answer.isError === true }
  }
}

/** Fails where the later read shows that the job was not done. */
export function holds(text: string, ...parts: readonly string[]): void {
  for (const part of parts) if (!text.includes(part)) throw new Error(`${part} is missing in: ${text}`)
}
