import { contextOf } from '../action.ts'
import type { Actor } from '../auth/actor.ts'
import { Buckets } from '../auth/limits.ts'
import { clients } from '../clients.ts'
import type { App } from '../services.ts'
import { visibleText } from '../text/text.ts'
import { clientIntroduced, connectionChanged } from './hooks.ts'
import type { McpMessage } from './streams/sse.ts'

/**
 * A connection distinguishes the windows of one token, which matters for who works on a task. It is the SSE stream, the
 * `Mcp-Session-Id` of 2025-x or the id that `tutti mcp` keeps over reconnects; 2026-07-28 has none. It is only a name:
 * nothing is stored for it, and it is valid only with its credential.
 */
const NAME = /^[\x21-\x7e]{8,128}$/

export const newConnection = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString('base64url')

/** Returns the name if it is a usable one. */
const validName = (name: string | null): string | undefined => (name && NAME.test(name) ? name : undefined)

/** Returns the connection that a request of Streamable HTTP belongs to. */
export const connectionOf = ({ headers }: Request): string | undefined =>
  (headers.get('mcp-protocol-version') ?? '') >= '2026' ? undefined : validName(headers.get('mcp-session-id'))

/** Returns the name that the client of an SSE stream chose: a bridge keeps it when it connects again. */
export const chosenConnection = (url: URL): string | undefined => validName(url.searchParams.get('connection'))

const CLIENT_LENGTH = 60
const VERSION_LENGTH = 40
const plainText = (text: string): string => visibleText(text).replace(/\s+/g, ' ').trim()

/** Returns the name of a program as people know it: `claude-code` is Claude Code. */
function programOf({ name, title }: Record<string, unknown>): string | undefined {
  if (typeof name !== 'string') return undefined
  const known = Object.entries(clients).find(([id]) => id === name.toLowerCase())?.[1].title
  const given = typeof title === 'string' && title !== '' ? title : name
  return (known ?? plainText(given)).slice(0, CLIENT_LENGTH) || undefined
}

const MOST_KNOWN = 10_000
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'

/** Reports to the features that connections close or open again, and which program uses a token. */
export class ConnectionReports {
  /** Reports are handled one after the other, so that closing and opening keep their order. */
  #last: Promise<unknown> = Promise.resolve()
  /** Credentials whose use was reported, with the program as it called itself. */
  readonly #introduced = new Map<string, string>()
  /** Limits reports, because two programs may alternate on one token and every report is a write. */
  readonly #often = new Buckets(1, 5)

  constructor(private readonly app: App) {}

  connection(actor: Actor, connection: string, isOpen: boolean): Promise<unknown> {
    return this.#then(() => connectionChanged.call(contextOf(this.app, actor), { connection, isOpen }))
  }

  /**
   * Reports the first use of a token, and each program that uses it. Programs name themselves in `initialize` or, since
   * 2026-07-28, in any request.
   */
  async client(actor: Actor, { method, params }: McpMessage): Promise<void> {
    const { credentialId } = actor
    if (!credentialId) return
    const { clientInfo, _meta } = (params ?? {}) as { clientInfo?: unknown; _meta?: Record<string, unknown> }
    const info = (method === 'initialize' ? clientInfo : _meta?.[CLIENT_INFO]) as Record<string, unknown> | undefined
    const known = this.#introduced.get(credentialId)
    const name = info ? `${info.name} ${info.version}`.slice(0, 200) : (known ?? '')
    if (name === known || this.#often.take(credentialId) > 0) return
    this.#introduced.delete(credentialId)
    this.#introduced.set(credentialId, name)
    if (this.#introduced.size > MOST_KNOWN) this.#introduced.delete(this.#introduced.keys().next().value as string)
    const client = info && programOf(info)
    const version =
      client && typeof info.version === 'string' ? plainText(info.version).slice(0, VERSION_LENGTH) : undefined
    const program = { ...(client && { client }), ...(version && { version }) }
    await this.#then(() => clientIntroduced.call(contextOf(this.app, actor), program))
  }

  /** Waits until everything is reported. */
  async drain(): Promise<void> {
    await this.#last
  }

  #then(report: () => Promise<unknown>): Promise<unknown> {
    this.#last = this.#last
      .then(report)
      .catch((error: unknown) => this.app.log.debug('a connection was not reported', { error }))
    return this.#last
  }
}
