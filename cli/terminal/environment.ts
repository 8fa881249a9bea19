import { fstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** All that the client commands read of the user's environment: where his settings lie, and what his terminal can do. */
const { platform } = process
const env = process.env

/** Not `Library/Application Support` on macOS: that is the data folder of a server, which holds nothing else. */
export const configFolder = (): string =>
  join(env.XDG_CONFIG_HOME || (platform === 'win32' && env.APPDATA) || join(homedir(), '.config'), 'tutti')

/** NO_COLOR wins; FORCE_COLOR is for those who pipe into something that shows colours. */
export const coloured = (stream: 1 | 2): boolean =>
  !env.NO_COLOR && (env.FORCE_COLOR ? env.FORCE_COLOR !== '0' : env.TERM !== 'dumb' && isTerminal(stream))

/** Not `process.stdout.isTTY`, which loads streams and sockets: that takes three times as long as a short command does otherwise. */
export function isTerminal(stream: 1 | 2): boolean {
  try {
    return fstatSync(stream).isCharacterDevice() && process.getBuiltinModule('node:tty').isatty(stream)
  } catch {
    return false
  }
}

/** Somebody sits in front of this machine's own screen. */
export const hasBrowser = (): boolean =>
  isTerminal(2) &&
  !env.SSH_CONNECTION &&
  (platform === 'darwin' || platform === 'win32' || !!(env.DISPLAY || env.WAYLAND_DISPLAY))

/** Where agents' programs look for their settings on Linux, and two of them everywhere. */
export const userConfig = (): string => env.XDG_CONFIG_HOME || join(homedir(), '.config')
export const claudeFolder = (): string | undefined => env.CLAUDE_CONFIG_DIR || undefined
export const codexFolder = (): string | undefined => env.CODEX_HOME || undefined

export const mcpTokenFromEnvironment = (): string | undefined => env.TUTTI_MCP_TOKEN || undefined
