import { fstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'

/** The only place where client commands read environment variables. */
const { platform } = process
const env = process.env

/** Not `Library/Application Support` on macOS, which is the data folder of a server. */
export const configFolder = (): string =>
  join(env.XDG_CONFIG_HOME || (platform === 'win32' && env.APPDATA) || join(homedir(), '.config'), 'tutti')

/** NO_COLOR takes precedence. FORCE_COLOR is for pipes into programs that show colours. */
export const showsColours = (stream: 1 | 2): boolean =>
  !env.NO_COLOR && (env.FORCE_COLOR ? env.FORCE_COLOR !== '0' : env.TERM !== 'dumb' && isTerminal(stream))

const terminals = new Map<1 | 2, boolean>()

/** Avoids `process.stdout.isTTY`, which loads streams and sockets and makes short commands three times slower. */
export function isTerminal(stream: 1 | 2): boolean {
  const known = terminals.get(stream) ?? detectTerminal(stream)
  terminals.set(stream, known)
  return known
}

function detectTerminal(stream: 1 | 2): boolean {
  try {
    return fstatSync(stream).isCharacterDevice() && process.getBuiltinModule('node:tty').isatty(stream)
  } catch {
    return false
  }
}

/** Whether a browser can be opened on this computer's own screen. */
export const hasBrowser = (): boolean =>
  isTerminal(2) &&
  !env.SSH_CONNECTION &&
  (platform === 'darwin' || platform === 'win32' || !!(env.DISPLAY || env.WAYLAND_DISPLAY))

export const userConfig = (): string => env.XDG_CONFIG_HOME || join(homedir(), '.config')
export const claudeFolder = (): string | undefined => env.CLAUDE_CONFIG_DIR || undefined
export const codexFolder = (): string | undefined => env.CODEX_HOME || undefined

/** The variables that the tunnel needs as a service: for its settings, and to find the programs in tunnel.json. */
export const environmentOfTunnel = (): Record<string, string> => ({
  ...(env.PATH && { PATH: env.PATH }),
  ...(env.XDG_CONFIG_HOME && { XDG_CONFIG_HOME: env.XDG_CONFIG_HOME }),
})

export const mcpTokenFromEnvironment = (): string | undefined => env.TUTTI_MCP_TOKEN || undefined

/**
 * The environment without the variables that direct git to another repository or program. PATH keeps absolute folders
 * only: with a relative one, the current folder could provide the program.
 */
export function environmentForGit(): Record<string, string | undefined> & { PATH: string } {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))
  const folders = (env.PATH ?? '').split(delimiter).filter((path) => isAbsolute(path))
  return { ...Object.fromEntries(kept), PATH: folders.join(delimiter) }
}

/** The variables passed to programs that other users start through the tunnel: none that contains a credential. */
const forCommands = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot', 'USERPROFILE']
export const environmentForCommands = (): Record<string, string> =>
  Object.fromEntries(forCommands.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
