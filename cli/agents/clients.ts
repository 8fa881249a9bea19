import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { claudeFolder, codexFolder, userConfig } from '../terminal/environment.ts'

/** Where an agent's program keeps its MCP servers, and how it writes one down. */
export interface AgentClient {
  title: string
  /** Its settings; of the folder where the program keeps such, else of the user. */
  file: string
  /** Keys down to the server's entry; a TOML table for Codex. */
  at: readonly string[]
  entry: (server: string, token: string) => Record<string, unknown>
  stdio: (command: readonly string[]) => Record<string, unknown>
  hooks?: Hooks
}

/** What restores context when a session starts and saves it before the context is cut down. */
export interface Hooks {
  file: string
  /** What it calls the two moments. */
  start: string
  before: string
  /** Commands stand in groups that share a matcher, as Claude Code has them, and not one by one. */
  grouped: boolean
  /** What a new file must say besides. */
  version?: number
  /** What is left to do. */
  note?: string
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

/** The first that is there, else the last. */
const either = (...files: [string, ...string[]]): string =>
  files.find((file) => existsSync(file)) ?? (files.at(-1) as string)
const claude = { start: 'SessionStart', before: 'PreCompact', grouped: true }

export const clients = {
  'claude-code': {
    title: 'Claude Code',
    file: join(claudeFolder() ?? homedir(), '.claude.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ type: 'http', url: `${server}/mcp`, headers: bearer(token) }),
    stdio: (words) => ({ type: 'stdio', ...command(words) }),
    hooks: { file: join(claudeFolder() ?? home('.claude'), 'settings.json'), ...claude },
  },
  codex: {
    title: 'Codex',
    file: join(codexFolder() ?? home('.codex'), 'config.toml'),
    at: ['mcp_servers', 'tutti'],
    entry: (server, token) => ({ url: `${server}/mcp`, http_headers: bearer(token) }),
    stdio: command,
    hooks: {
      file: join(codexFolder() ?? home('.codex'), 'hooks.json'),
      ...claude,
      note: 'Codex runs them once you have trusted them: /hooks',
    },
  },
  cursor: {
    title: 'Cursor',
    file: home('.cursor', 'mcp.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ url: `${server}/mcp`, headers: bearer(token) }),
    stdio: command,
    hooks: {
      file: home('.cursor', 'hooks.json'),
      start: 'sessionStart',
      before: 'preCompact',
      grouped: false,
      version: 1,
    },
  },
  vscode: {
    title: 'VS Code',
    file: join(settingsOf('Code'), 'User', 'mcp.json'),
    at: ['servers', 'tutti'],
    entry: (server, token) => ({ type: 'http', url: `${server}/mcp`, headers: bearer(token) }),
    stdio: (words) => ({ type: 'stdio', ...command(words) }),
    hooks: { file: home('.copilot', 'hooks', 'tutti.json'), ...claude, grouped: false, version: 1 },
  },
  gemini: {
    title: 'Gemini CLI',
    file: home('.gemini', 'settings.json'),
    at: ['mcpServers', 'tutti'],
    entry: (server, token) => ({ httpUrl: `${server}/mcp`, headers: bearer(token) }),
    stdio: command,
    hooks: { file: home('.gemini', 'settings.json'), start: 'SessionStart', before: 'PreCompress', grouped: true },
  },
  opencode: {
    title: 'opencode',
    file: either(join(userConfig(), 'opencode', 'opencode.jsonc'), join(userConfig(), 'opencode', 'opencode.json')),
    // The form of its first version, which the second reads too.
    at: ['mcp', 'tutti'],
    entry: (server, token) => ({
      type: 'remote',
      url: `${server}/mcp`,
      enabled: true,
      oauth: false,
      headers: bearer(token),
    }),
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
    stdio: command,
  },
} satisfies Record<string, AgentClient>
