import { join } from 'node:path'
import * as v2 from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Result } from '../../mcp/support.ts'

/** The windows of agents, connected by the official client in each way that is in use. */
export const transports = ['SSE', 'HTTP 2025-11-25', 'HTTP 2026-07-28', 'the stdio bridge'] as const
export type TransportName = (typeof transports)[number]

const CLI = join(import.meta.dir, '../../../cli/index.ts')
/** The limit of a test ends it; that of the client would end it on a busy machine. */
const patience = { timeout: 300_000 }

function transportTo(url: string, token: string, name: TransportName): v2.Transport {
  const headers = { requestInit: { headers: { authorization: `Bearer ${token}` } } }
  if (name === 'SSE') return new v2.SSEClientTransport(new URL('/mcp/sse', url), headers)
  if (name !== 'the stdio bridge') return new v2.StreamableHTTPClientTransport(new URL('/mcp', url), headers)
  return new StdioClientTransport({
    command: process.execPath,
    args: [CLI, 'mcp', '--server', url],
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', TUTTI_MCP_TOKEN: token },
    stderr: 'ignore',
  })
}

export class Window {
  /** Calls since the agent lost its context. */
  calls = 0
  private constructor(
    readonly transport: TransportName,
    private readonly client: v2.Client,
    private readonly wire: v2.Transport,
  ) {}

  static async open(url: string, token: string, transport: TransportName): Promise<Window> {
    const mode = transport === 'HTTP 2026-07-28' ? ({ pin: '2026-07-28' } as const) : 'legacy'
    const client = new v2.Client({ name: 'codex', version: '1' }, { versionNegotiation: { mode } })
    const wire = transportTo(url, token, transport)
    await client.connect(wire, patience)
    return new Window(transport, client, wire)
  }

  /** Calls a tool. Throws the reason of a refusal. */
  async use<T>(tool: string, args: Record<string, unknown> = {}): Promise<T> {
    this.calls++
    const result = (await this.client.callTool({ name: tool, arguments: args }, patience)) as Result
    if (result.isError) throw new Error(`${tool} was refused: ${result.content[0]?.text}`)
    return result.structuredContent as T
  }

  /** Ends the program of the agent as a crash does: without a word to the server. */
  async die(): Promise<void> {
    if (this.wire instanceof StdioClientTransport && this.wire.pid) process.kill(this.wire.pid, 'SIGKILL')
    await this.client.close()
  }
}
