import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { AgentClientName } from '../../src/clients.ts'
import { claudeFolder, codexFolder, userConfig } from '../terminal/environment.ts'

/** Where a program keeps its MCP servers and its hooks on this computer. */
interface AgentFiles {
  settings: string
  hooks?: string
}

const home = (...parts: string[]) => join(homedir(), ...parts)
const applicationData = (name: string): string =>
  process.platform === 'darwin'
    ? home('Library', 'Application Support', name)
    : process.platform === 'win32'
      ? home('AppData', 'Roaming', name)
      : join(userConfig(), name)

/** Returns the first file that exists, or the last one if none does. */
const firstExisting = (...files: [string, ...string[]]): string =>
  files.find((file) => existsSync(file)) ?? (files.at(-1) as string)

export const agentFiles = {
  'claude-code': {
    settings: join(claudeFolder() ?? homedir(), '.claude.json'),
    hooks: join(claudeFolder() ?? home('.claude'), 'settings.json'),
  },
  codex: {
    settings: join(codexFolder() ?? home('.codex'), 'config.toml'),
    hooks: join(codexFolder() ?? home('.codex'), 'hooks.json'),
  },
  cursor: { settings: home('.cursor', 'mcp.json'), hooks: home('.cursor', 'hooks.json') },
  vscode: {
    settings: join(applicationData('Code'), 'User', 'mcp.json'),
    hooks: home('.copilot', 'hooks', 'tutti.json'),
  },
  gemini: { settings: home('.gemini', 'settings.json'), hooks: home('.gemini', 'settings.json') },
  opencode: {
    settings: firstExisting(
      join(userConfig(), 'opencode', 'opencode.jsonc'),
      join(userConfig(), 'opencode', 'opencode.json'),
    ),
  },
  windsurf: { settings: home('.codeium', 'windsurf', 'mcp_config.json') },
  zed: {
    settings: join(process.platform === 'win32' ? applicationData('Zed') : join(userConfig(), 'zed'), 'settings.json'),
  },
} satisfies Record<AgentClientName, AgentFiles>
