import { resetCodes, type TunnelUser } from '../frames.ts'
import { isAllowed, type MachineConfig } from '../machine-config.ts'
import type { Stream } from '../stream.ts'
import type { RpcMessage } from './message.ts'
import type { McpSession } from './session.ts'
import { McpSessions } from './sessions.ts'
import { serveMcpSocket } from './socket.ts'
import { serveMcpHttp } from './streamable.ts'

/** A tool of a local MCP server, as the server describes it. */
interface LocalTool {
  name: string
  description?: string
  inputSchema?: object
}

/** A local MCP server cannot be used. */
export class McpRefusal extends Error {
  constructor(
    readonly reason: 'refused' | 'busy' | 'failed',
    message: string,
  ) {
    super(message)
  }
}

interface ToolCall {
  user: TunnelUser
  /** The name of the server. */
  name: string
  tool: string
  args: object
  signal?: AbortSignal
}

/** Milliseconds that a server has to respond to an action. */
const CALL_MS = 300_000
const MOST_PAGES = 20

/** The MCP servers of `tunnel.json`. */
export class LocalMcp {
  readonly #sessions: McpSessions
  /** Sessions for actions, by user and server. They are reused, because starting a server may take seconds. */
  readonly #ofActions = new Map<string, Promise<McpSession>>()
  #lastId = 0

  /** `env`: the environment of programs. The environment of this process is not passed on. */
  constructor(
    private readonly machine: Pick<MachineConfig, 'mcp' | 'ownerId'>,
    env: Readonly<Record<string, string>> = {},
  ) {
    this.#sessions = new McpSessions(env)
  }

  /** Serves a stream of the kind `mcp`. `tell` is called with its status. */
  async serve(stream: Stream, tell: (status: number | 'refused') => void): Promise<void> {
    const { service: name, user, method } = stream.request
    const server = this.#allowed(name, user)
    if (!server || !user) {
      tell('refused')
      stream.reset(resetCodes.refused)
      return
    }
    try {
      const asked = { name, server, userId: user.id }
      const serve = method === 'CONNECT' ? serveMcpSocket : serveMcpHttp
      tell(await serve(stream, this.#sessions, asked))
    } catch {
      stream.reset(resetCodes.local)
    }
  }

  /** Calls a tool and returns its result. If `signal` fires, the server is told to stop. */
  async call({ user, name, tool, args, signal }: ToolCall): Promise<Record<string, unknown>> {
    const session = await this.#session(user, name)
    return this.#ask(session, 'tools/call', { name: tool, arguments: args }, signal)
  }

  stop(): void {
    this.#sessions.stop()
  }

  #allowed(name: string, user: TunnelUser | null) {
    const servers = this.machine.mcp ?? {}
    const server = Object.hasOwn(servers, name) ? servers[name] : undefined
    return server && isAllowed(server.who, user, this.machine.ownerId) ? server : undefined
  }

  /** Returns the tools of a server that the user may use. */
  async tools(user: TunnelUser, name: string, signal?: AbortSignal): Promise<LocalTool[]> {
    const session = await this.#session(user, name)
    const tools: LocalTool[] = []
    for (let page = 0, cursor: unknown; page < MOST_PAGES; page++) {
      const result = await this.#ask(session, 'tools/list', cursor === undefined ? {} : { cursor }, signal)
      if (Array.isArray(result.tools)) tools.push(...(result.tools as LocalTool[]))
      cursor = result.nextCursor
      if (typeof cursor !== 'string') break
    }
    return tools
  }

  async #session(user: TunnelUser, name: string): Promise<McpSession> {
    const server = this.#allowed(name, user)
    if (!server) throw new McpRefusal('refused', `The machine does not offer you the MCP server ${name}.`)
    const key = `${user.id} ${name}`
    const known = await this.#ofActions.get(key)?.catch(() => undefined)
    if (known && !known.isClosed) return known
    const session = this.#sessions.open(name, server, user.id)
    if (!session) throw new McpRefusal('busy', 'The machine has reached its limit of sessions. Try again later.')
    const introduced = this.#introduce(session)
    this.#ofActions.set(key, introduced)
    return introduced
  }

  async #introduce(session: McpSession): Promise<McpSession> {
    const clientInfo = { name: 'tutti', version: '1' }
    await this.#ask(session, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
    session.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return session
  }

  #ask(
    session: McpSession,
    method: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
    const requestId = `tutti-${++this.#lastId}`
    const giveUp = (reason: Error) => {
      session.forget(requestId)
      session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: reason.message } })
      reject(reason)
    }
    const late = () => giveUp(new McpRefusal('failed', 'The server did not respond in time.'))
    const timer = setTimeout(late, CALL_MS)
    const cancelled = () => giveUp(signal?.reason)
    signal?.addEventListener('abort', cancelled, { once: true })
    session.send({ jsonrpc: '2.0', id: requestId, method, params }, ({ method: other, result, error }: RpcMessage) => {
      // Ignores requests and notifications of the server: an action needs only the result.
      if (other !== undefined) return
      if (result) resolve(result)
      else reject(new McpRefusal('failed', error?.message ?? 'The server did not respond.'))
    })
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancelled)
    })
  }
}
