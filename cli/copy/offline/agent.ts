import { scopeHolds } from '../../../src/auth/policy.ts'
import { AppError } from '../../../src/errors.ts'
import { includesTool } from '../../../src/mcp/toolsets.ts'
import type { Copy } from '../copy.ts'
import type { Fields } from '../mutation.ts'
import type { Person } from './copy-view.ts'
import { LocalApi } from './local-api.ts'
import { offlineTools } from './tools.ts'

/** What was last known about the token of an agent. The server applies its real rights when changes are pushed. */
export interface KnownToken {
  id: string
  scopes: string[]
  toolsets: string[]
  organizationId: string
  projectId: string | null
  /** The only projects that it sees; null without a limit, missing if an older version stored what is known. */
  projects?: string[] | null
}

interface Message {
  id?: string | number
  method?: string
  params?: Fields
}

type Answer = { result: object } | { error: { code: number; message: string } }

const OFFLINE =
  'The server cannot be reached. These tools work with the copy on this computer, and changes are queued until ' +
  'it can be reached again. Tasks cannot be claimed.'

/** Responds to an agent's program from the copy, while the server cannot be reached. */
export class OfflineAgent {
  constructor(
    private readonly copy: Copy,
    private readonly person: Person,
    private readonly token: KnownToken,
    /** What the command line or the address of the connection allows: toolsets, and whether only reading. */
    private readonly only: { toolsets: readonly string[]; readonly: boolean },
  ) {}

  /** Keeps responses of the server that are needed again without it. */
  remember(method: string | undefined, result: unknown): void {
    if (method === 'initialize' || method === 'tools/list') this.copy.set(this.#name(method), JSON.stringify(result))
  }

  #name = (method: string): string => `mcp ${this.token.id} ${method}`
  #remembered(method: string): Fields | undefined {
    const known = this.copy.get(this.#name(method))
    return known === undefined ? undefined : (JSON.parse(known) as Fields)
  }

  /** Returns the response to a request; undefined for a notification, which has none. */
  respond({ id, method, params = {} }: Message): Answer | undefined {
    if (id === undefined) return undefined
    if (method === 'ping') return { result: {} }
    if (method === 'initialize') return this.#initialize()
    if (method === 'tools/list') return this.#list()
    if (method === 'tools/call') return { result: this.#call(String(params.name), (params.arguments ?? {}) as Fields) }
    return { error: { code: -32_000, message: `${OFFLINE} ${method} is not one of them.` } }
  }

  #initialize(): Answer {
    const known = this.#remembered('initialize')
    if (!known) return { error: { code: -32_000, message: 'The server cannot be reached, and was never used before.' } }
    // Resources and prompts are the server's.
    const instructions = [OFFLINE, known.instructions].filter(Boolean).join('\n\n')
    return { result: { ...known, capabilities: { tools: { listChanged: true } }, instructions } }
  }

  #list(): Answer {
    const known = this.#remembered('tools/list') as { tools?: { name: string }[] } | undefined
    return { result: { tools: (known?.tools ?? []).filter(({ name }) => this.#refusal(name) === undefined) } }
  }

  #refusal(name: string): string | undefined {
    const tool = Object.hasOwn(offlineTools, name) ? offlineTools[name] : undefined
    if (!tool) return `${name} needs the server, which cannot be reached. Try again later.`
    // The copy contains all projects of its owner, also those that the token must not see.
    if (this.token.projects) return `${name} needs the server: the token is limited to projects.`
    const { toolset, scope } = tool
    const isIncluded = [this.token.toolsets, this.only.toolsets].every((some) => includesTool(some, { name, toolset }))
    if (!isIncluded) return `${name} is not in the toolsets of this connection.`
    if (!scopeHolds(this.token.scopes, scope)) return `${name} needs the scope ${scope}, which the token does not have.`
    return this.only.readonly && scope.endsWith(':write')
      ? `${name} changes data, which --readonly does not allow.`
      : undefined
  }

  #call(name: string, args: Fields): object {
    const refusal = this.#refusal(name)
    if (refusal !== undefined) return toolError(refusal)
    const tool = offlineTools[name] as (typeof offlineTools)[string]
    const lacking = tool.also?.(args).find((scope) => !scopeHolds(this.token.scopes, scope))
    if (lacking !== undefined)
      return toolError(`These arguments need the scope ${lacking}, which the token does not have.`)
    try {
      const { method, path, body } = tool.ask(args, this.token.projectId ?? undefined)
      const before = this.copy.changes
      const local = new LocalApi(this.copy, this.person, this.token.organizationId, this.token.id)
      const answer = local.request(method, path, body) as Fields
      const shown = (tool.show ? tool.show(answer) : answer) as Fields
      const note = this.copy.changes > before ? 'queued; sent when the server can be reached' : this.#state()
      // Stored text is never an instruction, whoever wrote it.
      const facts = { _source: { kind: 'copy', trust: 'other' }, offline: note, ...shown }
      return { content: [{ type: 'text', text: JSON.stringify(facts) }], structuredContent: facts }
    } catch (error) {
      if (error instanceof AppError) return toolError(`${error.code}: ${error.message}`)
      throw error
    }
  }

  #state = (): string => `from the copy of ${this.copy.get('pulledAt') ?? 'an unknown time'}`
}

const toolError = (text: string): object => ({ isError: true, content: [{ type: 'text', text }] })
