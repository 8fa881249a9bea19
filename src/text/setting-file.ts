import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** What is wrong with the configuration, all of it at once. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    )
    this.name = 'ConfigError'
  }
}

interface Reading {
  /** It is a problem if the file does not exist. */
  required: boolean
  isKnown(name: string): boolean
  /** What is wrong with the file is added here. */
  problems: string[]
}

/** Reads a file of KEY=VALUE lines. Lines that begin with # are comments, and values may be quoted. */
export function readSettings(path: string, { required, isKnown, problems }: Reading): Record<string, string> {
  if (!existsSync(path)) {
    if (required) problems.push(`the configuration file ${path} does not exist`)
    return {}
  }
  const found: Record<string, string> = {}
  for (const [index, line] of readFileSync(path, 'utf8').split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, name, value] = /^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (!name || value === undefined) problems.push(`${path} line ${index + 1} is not KEY=VALUE`)
    else if (!isKnown(name)) problems.push(`${path} line ${index + 1}: ${name} is not a setting`)
    else found[name] = value.replace(/^(["'])(.*)\1$/, '$2')
  }
  return found
}

export function defaultDataDir(env: Readonly<Record<string, string | undefined>>): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'tutti')
  if (process.platform === 'win32') return join(env.LOCALAPPDATA ?? homedir(), 'tutti')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'tutti')
}
