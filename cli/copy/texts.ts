import type { SearchName } from '../../src/records/names.ts'
import type { Row } from './mutation.ts'

/** The fields of each kind that search reads: first the title, then the text. Devices keep no copy of sessions. */
const texts: Record<Exclude<SearchName, 'session'>, [title: string, ...text: string[]]> = {
  project: ['name', 'description'],
  task: ['title', 'description', 'completionNotes'],
  note: ['title', 'content', 'tags'],
  decision: ['title', 'decision', 'context', 'rationale', 'outcome'],
  memory: ['title', 'content', 'tags'],
  spec: ['title', 'content'],
  epic: ['title', 'description'],
  story: ['title', 'description'],
  feature: ['title', 'description'],
  skill: ['name', 'description', 'content'],
  agent: ['name', 'description'],
}

const hasText = (entity: string): entity is keyof typeof texts => Object.hasOwn(texts, entity)

const textIn = (value: unknown): string =>
  typeof value === 'string' ? value : Array.isArray(value) ? value.map(textIn).join(' ') : ''

export function wordsOf(entity: string, row: Row): { title: string; text: string } | undefined {
  if (!hasText(entity)) return undefined
  const [title, ...others] = texts[entity]
  return {
    title: textIn(row[title]),
    text: others
      .map((name) => textIn(row[name]))
      .filter(Boolean)
      .join('\n'),
  }
}

/**
 * Returns an expression of FTS5 for what a user types: all words must occur, the last one may be incomplete, and "a
 * phrase" and -without work. Returns undefined if there is no word to search for.
 */
export function expressionOf(typed: string): string | undefined {
  const terms = typed.match(/-?"[^"]*(?:"|$)|[^\s"]+/g) ?? []
  const [wanted, without]: [string[], string[]] = [[], []]
  for (const term of terms) {
    const not = /^-[\p{L}\p{N}"]/u.test(term)
    const words = term.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
    if (words.length > 0) (not ? without : wanted).push(`"${words.join(' ')}"`)
  }
  if (wanted.length === 0) return undefined
  const isPrefix = /[\p{L}\p{N}]$/u.test(typed)
  const all = wanted.map((term, i) => (isPrefix && i === wanted.length - 1 ? `${term}*` : term)).join(' AND ')
  return without.length > 0 ? `(${all}) NOT (${without.join(' OR ')})` : all
}

export interface Part {
  text: string
  match?: true
}

/** How much of a text a result shows, in characters, and how much of that before the first match. */
const [SHOWN, BEFORE] = [160, 40]

/** Splits a text into parts that match the words and parts that do not. */
export function highlighted(text: string, typed: string, shorten: boolean): Part[] {
  const words = [...new Set(typed.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])]
  if (words.length === 0 || text === '') return text ? [{ text }] : []
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})[\\p{L}\\p{N}]*`, 'giu')
  const first = text.search(pattern)
  if (shorten && first < 0) return []
  const from = shorten ? Math.max(0, first - BEFORE) : 0
  const cut = shorten ? text.slice(from, from + SHOWN) : text
  const parts: Part[] = []
  let at = 0
  for (const match of cut.matchAll(pattern)) {
    if (match.index > at) parts.push({ text: cut.slice(at, match.index) })
    parts.push({ text: match[0], match: true })
    at = match.index + match[0].length
  }
  if (at < cut.length) parts.push({ text: cut.slice(at) })
  return parts
}
