import type { AgentHooks } from '../../src/clients.ts'
import { Refusal } from '../terminal/refusal.ts'
import { editSettings, type Key, readSettings, readText, valueAt } from './settings-file.ts'

interface Hook {
  command?: unknown
  hooks?: Hook[]
}

/**
 * Returns the file's text with our hooks added or updated. Ours are recognised by their command; those of others stay.
 * The command has the full path of this program, because programs started by a desktop do not have a terminal's PATH.
 */
export function withHooks(
  file: string,
  { start, beforeCompaction, grouped, version }: AgentHooks,
  before = readText(file),
): string {
  let text = before
  if (version !== undefined && readSettings(file, text).version === undefined)
    text = editSettings(file, ['version'], version, text)
  for (const [event, what] of [
    [start, 'context'],
    [beforeCompaction, 'checkpoint'],
  ] as const) {
    const command = `${shellQuote(process.execPath)} hook ${what}`
    const isOurs = (hook: Hook) =>
      typeof hook.command === 'string' && new RegExp(`tutti[\\w.-]*'? hook ${what}$`).test(hook.command)
    const path: Key[] = ['hooks', event]
    const list = valueAt(readSettings(file, text), path) ?? []
    if (!Array.isArray(list)) throw new Refusal(`${file} has an unexpected structure. Use --no-hooks.`)
    const i = (list as Hook[]).findIndex((hook) => (grouped ? hook.hooks?.some(isOurs) : isOurs(hook)))
    const own = { type: 'command', command }
    if (i < 0) text = editSettings(file, [...path, list.length], grouped ? { hooks: [own] } : own, text)
    else {
      const inGroup = grouped ? ['hooks', (list as Hook[])[i]?.hooks?.findIndex(isOurs) as number] : []
      text = editSettings(file, [...path, i, ...inGroup, 'command'], command, text)
    }
  }
  return text
}

const shellQuote = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)
