/**
 * The settings that connect an agent's program to this server: pure data, for the command line and for pages in a
 * browser. The files that hold these settings depend on the operating system: see `cli/agents/files.ts`.
 */
export interface AgentClient {
  title: string
  format: 'json' | 'toml'
  /** Keys that lead to the server's entry; for TOML, the name of its table. */
  path: readonly string[]
  /** The entry for a direct connection with a token, at the address that announces no sign-in. `path`: another one. */
  http: (server: string, token: string, path?: string) => Record<string, unknown>
  /** The entry of a program that signs in by itself, and what the person runs to do so. Only for programs we tried. */
  signIn?: { entry: (server: string) => Record<string, unknown>; command: string }
  /** A command of the program itself that adds the entry, if it has one. */
  command?: (server: string, token: string) => string
  /** The entry for a connection through a local command, such as `tutti mcp`. */
  stdio: (command: readonly string[]) => Record<string, unknown>
  hooks?: AgentHooks
}

/** Hooks restore context when a session starts, and save it before the program compacts its context. */
export interface AgentHooks {
  /** The program's name for the start of a session. */
  start: string
  /** The program's name for the moment before it compacts its context. */
  beforeCompaction: string
  /** True if commands are in groups that share a matcher, as in Claude Code. */
  grouped: boolean
  /** Version number that a new file must have. */
  version?: number
  /** What the user still has to do. */
  note?: string
}

/** Formats an entry as the text of a file that has nothing else. */
export const settingsText = (
  { format, path }: Pick<AgentClient, 'format' | 'path'>,
  entry: Record<string, unknown>,
): string =>
  format === 'toml'
    ? toml(path, entry).trimEnd()
    : JSON.stringify(
        path.reduceRight<unknown>((value, key) => ({ [key]: value }), entry),
        null,
        2,
      )

/** Formats only what an entry of ours can hold: strings, lists of strings, and one table of strings. */
export function toml(path: readonly string[], entry: Record<string, unknown>): string {
  const value = (v: unknown): string =>
    v !== null && typeof v === 'object' && !Array.isArray(v)
      ? `{ ${Object.entries(v)
          .map(([k, x]) => `${k} = ${JSON.stringify(x)}`)
          .join(', ')} }`
      : JSON.stringify(v)
  return [`[${path.join('.')}]`, ...Object.entries(entry).map(([k, v]) => `${k} = ${value(v)}`), ''].join('\n')
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const command = ([program, ...args]: readonly string[]) => ({ command: program, args })
const claudeHooks = { start: 'SessionStart', beforeCompaction: 'PreCompact', grouped: true }

const agentClients = {
  'claude-code': {
    title: 'Claude Code',
    format: 'json',
    path: ['mcpServers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ type: 'http', url: `${server}${path}`, headers: bearer(token) }),
    command: (server, token) =>
      `claude mcp add --transport http tutti ${server}/mcp/token \\\n  --header "Authorization: Bearer ${token}"`,
    signIn: { entry: (server) => ({ type: 'http', url: `${server}/mcp` }), command: 'claude mcp login tutti' },
    stdio: (words) => ({ type: 'stdio', ...command(words) }),
    hooks: claudeHooks,
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    path: ['mcp_servers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ url: `${server}${path}`, http_headers: bearer(token) }),
    signIn: { entry: (server) => ({ url: `${server}/mcp` }), command: 'codex mcp login tutti' },
    stdio: command,
    hooks: { ...claudeHooks, note: 'Codex runs hooks only after you have trusted them: /hooks' },
  },
  cursor: {
    title: 'Cursor',
    format: 'json',
    path: ['mcpServers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ url: `${server}${path}`, headers: bearer(token) }),
    stdio: command,
    hooks: { start: 'sessionStart', beforeCompaction: 'preCompact', grouped: false, version: 1 },
  },
  vscode: {
    title: 'VS Code',
    format: 'json',
    path: ['servers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ type: 'http', url: `${server}${path}`, headers: bearer(token) }),
    stdio: (words) => ({ type: 'stdio', ...command(words) }),
    hooks: { ...claudeHooks, grouped: false, version: 1 },
  },
  gemini: {
    title: 'Gemini CLI',
    format: 'json',
    path: ['mcpServers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ httpUrl: `${server}${path}`, headers: bearer(token) }),
    stdio: command,
    hooks: { start: 'SessionStart', beforeCompaction: 'PreCompress', grouped: true },
  },
  opencode: {
    title: 'opencode',
    format: 'json',
    // The format of its first version, which the second one reads too.
    path: ['mcp', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({
      type: 'remote',
      url: `${server}${path}`,
      enabled: true,
      oauth: false,
      headers: bearer(token),
    }),
    signIn: {
      entry: (server) => ({ type: 'remote', url: `${server}/mcp`, enabled: true }),
      command: 'opencode mcp auth tutti',
    },
    stdio: (words) => ({ type: 'local', command: words, enabled: true }),
  },
  windsurf: {
    title: 'Windsurf',
    format: 'json',
    path: ['mcpServers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ serverUrl: `${server}${path}`, headers: bearer(token) }),
    stdio: command,
  },
  zed: {
    title: 'Zed',
    format: 'json',
    path: ['context_servers', 'tutti'],
    http: (server, token, path = '/mcp/token') => ({ url: `${server}${path}`, headers: bearer(token) }),
    stdio: command,
  },
} satisfies Record<string, AgentClient>

export type AgentClientName = keyof typeof agentClients

export const clients: Record<AgentClientName, AgentClient> = agentClients

/** For any other program that knows the older transport, HTTP with server-sent events. */
export const anyClient: AgentClient = {
  title: 'Other, SSE',
  format: 'json',
  path: ['mcpServers', 'tutti'],
  http: (server, token) => ({ type: 'sse', url: `${server}/mcp/sse`, headers: bearer(token) }),
  stdio: command,
}
