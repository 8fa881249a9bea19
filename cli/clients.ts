import { homedir } from 'node:os'
import { join } from 'node:path'
import { claudeFolder, codexFolder, userConfig } from './environment.ts'

/** Where an agent's program keeps its MCP servers, and how it writes one down. */
export interface AgentClient {
  title: string
  /** Its settings; of the folder where the program keeps such, else of the user. */
  file: string
  /** Keys down to the server's entry; a TOML table for Codex. */
  at: readonly string[]
  entry: (server: string, token: string) => Record<string, unknown>
  stdio: (command: readonly string[]) => Record<string, unknown>
  /** What restores context when a session starts and saves it before the context is cut down. */
  hooks?: { file: string; merge: (before: Record<string, unknown>) => Record<string, unknown> }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const command = ([program, ...args]: readonly string[]) => ({ command: program, args })
const home = (...parts: string[]) => join(homedir(), ...parts)
const settingsOf = (name: string): string =>
  process.platform === 'darwin'
    ? home('Library', 'Application Support', name)
    : process.platform === 'win32'
      ? home('AppData', 'Roaming', name)
      : join(userConfig(), name)

/** By its whole path: what is started from a desktop does not know the PATH of a terminal. */
const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

interface Hook {
  matcher?: string
  hooks: { type: 'command'; command: string }[]
}
/** Ours are told apart by their command; those of others stay. */
function withHooks(before: Record<string, unknown>, events: Record<string, string>): Record<string, unknown> {
  const hooks = { ...(before.hooks as Record<string, Hook[]> | undefined) }
  for (const [event, run] of Object.entries(events)) {
    const ours = new RegExp(`tutti['"]? ${run}$`)
    const others = (hooks[event] ?? []).filter((hook) => !hook.hooks?.some(({ command: line }) => ours.test(line)))
    hooks[event] = [...others, { hooks: [{ type: 'command', command: `${quoted(process.execPath)} ${run}` }] }]
  }
  return { ...before, hooks }
}

const CONTEXT = 'hook context'
const CHECKPOINT = 'hook checkpoint'

export const clients = {
  'claude-code': {
    title: 'Claude Code',
    file: join(claudeFolder() ?? homedir(), '.claude.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ type: 'http', url: `${server}/mcp`, headers: bearer(token) }),
    stdio: (words) => ({ type: 'stdio', ...command(words) }),
    hooks: {
      file: join(claudeFolder() ?? home('.claude'), 'settings.json'),
      merge: (before) => withHooks(before, { SessionStart: CONTEXT, PreCompact: CHECKPOINT }),
    },
  },
  codex: {
    title: 'Codex',
    file: join(codexFolder() ?? home('.codex'), 'config.toml'),
    at: ['mcp_servers', 'tutti'],
    entry: (server, token) => ({ url: `${server}/mcp`, http_headers: bearer(token) }),
    stdio: command,
  },
  cursor: {
    title: 'Cursor',
    file: home('.cursor', 'mcp.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ url: `${server}/mcp`, headers: bearer(token) }),
    stdio: command,
  },
  vscode: {
    title: 'VS Code',
    file: join(settingsOf('Code'), 'User', 'mcp.json'),
    at: ['servers', 'tutti'],
    entry: (server, token) => ({ type: 'http', url: `${server}/mcp`, headers: bearer(token) }),
    stdio: (words) => ({ type: 'stdio', ...command(words) }),
  },
  gemini: {
    title: 'Gemini CLI',
    file: home('.gemini', 'settings.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ httpUrl: `${server}/mcp`, headers: bearer(token) }),
    stdio: command,
    hooks: {
      file: home('.gemini', 'settings.json'),
      merge: (before) => withHooks(before, { SessionStart: CONTEXT, PreCompress: CHECKPOINT }),
    },
  },
  opencode: {
    title: 'opencode',
    file: join(userConfig(), 'opencode', 'opencode.json'),
    at: ['mcp', 'tutti'],
    entry: (server, token) => ({ type: 'remote', url: `${server}/mcp`, enabled: true, oauth: false, headers: bearer(token) }),
    stdio: (words) => ({ type: 'local', command: words, enabled: true }),
  },
  windsurf: {
    title: 'Windsurf',
    file: home('.codeium', 'windsurf', 'mcp_config.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ serverUrl: `${server}/mcp`, headers: bearer(token) }),
    stdio: command,
  },
  zed: {
    title: 'Zed',
    file: join(process.platform === 'win32' ? settingsOf('Zed') : join(userConfig(), 'zed'), 'settings.json'),
    at: ['context_servers', 'tutti'],
    entry: (server, token) => ({ url: `${server}/mcp`, headers: bearer(token) }),
    stdio: (words) => ({ source: 'custom', ...command(words) }),
  },
} satisfies Record<string, AgentClient>
