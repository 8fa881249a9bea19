import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { applyEdits, type FormattingOptions, format, modify } from 'jsonc-parser'
import { toml } from '../../src/clients.ts'
import { Refusal } from '../terminal/refusal.ts'
import { runGit } from './git.ts'

/** Settings files of other programs, JSON with comments or TOML, which are changed without losing what users wrote. */
type Settings = Record<string, unknown>
export type Key = string | number

const isToml = (file: string): boolean => file.endsWith('.toml')

export const readText = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** Returns undefined when the text cannot be parsed, or is not an object. */
function parseSettings(file: string, text: string): Settings | undefined {
  if (!text.trim()) return {}
  try {
    const settings: unknown = isToml(file) ? Bun.TOML.parse(text) : Bun.JSONC.parse(text)
    if (settings !== null && typeof settings === 'object' && !Array.isArray(settings)) return settings as Settings
  } catch {
    // The caller reports it.
  }
  return undefined
}

export function readSettings(file: string, text = readText(file)): Settings {
  const settings = parseSettings(file, text)
  if (!settings) throw new Refusal(`${file} cannot be parsed. Fix it first, or use --print and add the entry yourself.`)
  return settings
}

export const valueAt = (settings: Settings, path: readonly Key[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<Key, unknown> | null | undefined)?.[key], settings)

/**
 * Returns the file's text with one value set, and comments and order kept. Parses the result again and refuses
 * the edit if anything but that value would change.
 */
export function editSettings(file: string, path: readonly Key[], value: unknown, text = readText(file)): string {
  const before = readSettings(file, text)
  const after = isToml(file) ? setToml(text, path as string[], value as Settings) : setJson(text, path, value)
  if (after === undefined || !Bun.deepEquals(parseSettings(file, after), withValue(before, path, value)))
    throw new Refusal(`${file} has an unexpected structure. Use --print and add the entry yourself.`)
  return after
}

/** Returns a copy of a value in which `path` leads to `value`. */
export function withValue(before: unknown, [key, ...rest]: readonly Key[], value: unknown): unknown {
  if (key === undefined) return value
  if (typeof key === 'number') {
    const list = Array.isArray(before) ? [...before] : []
    list[key] = withValue(list[key], rest, value)
    return list
  }
  const object = before !== null && typeof before === 'object' && !Array.isArray(before) ? before : {}
  return { ...object, [key]: withValue((object as Record<string, unknown>)[key], rest, value) }
}

// ---- JSON with comments

/**
 * Sets a value in JSON with comments. Returns undefined when the path leads through something that is neither an object
 * nor a list. A new member becomes the first one: at the end it could come between the last member and its comment.
 * Only the new text is formatted; the library's own formatting would also change the line beside it.
 */
export function setJson(text: string, path: readonly Key[], value: unknown): string | undefined {
  try {
    const [edit] = modify(text, [...path], value, { getInsertionIndex: () => 0 })
    if (!edit) return undefined
    const inserted = applyEdits(text, [edit])
    const start = Math.max(0, edit.offset - 1)
    const end = edit.offset + edit.content.length
    // What follows directly, such as a closing brace, goes to a line of its own.
    const length = end - start + (/^\S/.test(inserted.slice(end)) ? 1 : 0)
    const edited = applyEdits(inserted, format(inserted, { offset: start, length }, styleOf(text)))
    return text.trim() ? edited : `${edited}\n`
  } catch {
    return undefined
  }
}

function styleOf(text: string): FormattingOptions {
  const indent = /^[ \t]+(?=[^\s/*])/m.exec(text)?.[0] ?? '  '
  const tabs = indent.startsWith('\t')
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', insertSpaces: !tabs, tabSize: tabs ? 1 : indent.length }
}

// ---- TOML

/** Removes our table and the tables below it, and appends the new one at the end. */
function setToml(text: string, path: readonly string[], entry: Settings): string {
  const own = new RegExp(`^\\s*\\[\\s*${path.join('\\s*\\.\\s*')}\\s*[.\\]]`)
  let within = false
  const others = text.split('\n').filter((line) => {
    if (/^\s*\[/.test(line)) within = own.test(line)
    return !within
  })
  const before = others.join('\n').trimEnd()
  return `${before}${before ? '\n\n' : ''}${toml(path, entry)}`
}

// ---- writing

/**
 * Writes a file completely or not at all. A file with a token in it can be read by its owner only; any other file keeps
 * its permissions. A symbolic link stays one: the file it points to is written.
 */
export function writeSettings(file: string, text: string, { secret = false } = {}): void {
  mkdirSync(dirname(file), { recursive: true })
  const target = existsSync(file) ? realpathSync(file) : file
  const mode = secret || !existsSync(target) ? 0o600 : statSync(target).mode & 0o777
  const draft = `${target}.${process.pid}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(draft, mode)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Tells whether git would publish the file: settings are often kept in a repository. */
export function isInGit(file: string): boolean {
  const target = existsSync(file) ? realpathSync(file) : file
  let folder = dirname(target)
  while (!existsSync(folder)) folder = dirname(folder)
  if (runGit(folder, 'rev-parse', '--is-inside-work-tree')?.trim() !== 'true') return false
  const succeeds = (...args: string[]) => runGit(folder, ...args) !== undefined
  return succeeds('ls-files', '--error-unmatch', target) || !succeeds('check-ignore', '-q', target)
}
