import type { McpServer } from '../machine-config.ts'
import { McpSession } from './session.ts'

export const mcpLimits = {
  /** Sessions at once, of all clients and servers. */
  sessions: 8,
  /** Milliseconds after which a session that no one uses ends. */
  idle: 600_000,
} as const

/** The sessions of clients with local MCP servers. They outlive tunnel connections. */
export class McpSessions {
  readonly #all = new Map<string, McpSession>()
  readonly #timer: Timer

  constructor(
    private readonly env: Readonly<Record<string, string>>,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#timer = setInterval(() => this.sweep(), 30_000)
    this.#timer.unref()
  }

  get size(): number {
    return this.#all.size
  }

  /** Starts a session; undefined if the limit is reached and all sessions are in use. */
  open(name: string, server: McpServer, userId: string): McpSession | undefined {
    if (this.#all.size >= mcpLimits.sessions && !this.#makeRoom()) return undefined
    const session = new McpSession(name, userId, { ...server, env: { ...this.env, ...server.env } }, this.now)
    this.#all.set(session.id, session)
    session.whenClosed(() => void this.#all.delete(session.id))
    return session
  }

  /** Returns the user's session with this server. */
  find(id: string, name: string, userId: string): McpSession | undefined {
    const session = this.#all.get(id)
    return session?.server === name && session.userId === userId ? session : undefined
  }

  /** Closes idle sessions. */
  sweep(): void {
    for (const session of [...this.#all.values()])
      if (session.isIdle && this.now() - session.lastUsedAt >= mcpLimits.idle) session.close()
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const session of [...this.#all.values()]) session.kill()
  }

  /** Closes the session that was idle the longest: its client may be gone, or can start another. */
  #makeRoom(): boolean {
    const [oldest] = [...this.#all.values()].filter(({ isIdle }) => isIdle).sort((a, b) => a.lastUsedAt - b.lastUsedAt)
    oldest?.close()
    return oldest !== undefined
  }
}
