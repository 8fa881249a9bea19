import { type SearchName, searchNames } from '../../src/records/names.ts'
import { termsOf } from '../../src/text/search-query.ts'
import type { Row } from './mutation.ts'

type TextFields = [title: string, ...text: string[]]
const usual: TextFields = ['title', 'description']
/** The fields that search reads, first the title, then the text, of kinds that have others than the usual ones. */
const searchFields: Partial<Record<SearchName, TextFields>> = {
  project: ['name', 'description'],
  task: ['title', 'description', 'completionNotes', 'labels'],
  note: ['title', 'content', 'tags'],
  decision: ['title', 'decision', 'context', 'rationale', 'outcome'],
  memory: ['title', 'content', 'tags'],
  spec: ['title', 'content'],
  skill: ['name', 'description', 'content'],
  agent: ['name', 'description'],
}

const hasText = (entity: string): entity is SearchName => (searchNames as readonly string[]).includes(entity)

const textIn = (value: unknown): string =>
  typeof value === 'string' ? value : Array.isArray(value) ? value.map(textIn).join(' ') : ''

export function searchTexts(entity: string, row: Row): { title: string; text: string } | undefined {
  if (!hasText(entity)) return undefined
  const [title, ...others] = searchFields[entity] ?? usual
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
export function ftsExpression(typed: string): string | undefined {
  const [wanted, without]: [string[], string[]] = [[], []]
  for (const term of termsOf(typed)) {
    const not = /^-[\p{L}\p{N}"]/u.test(term)
    const words = term.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
    if (words.length > 0) (not ? without : wanted).push(`"${words.join(' ')}"`)
  }
  if (wanted.length === 0) return undefined
  const isPrefix = /[\p{L}\p{N}]$/u.test(typed)
  const all = wanted.map((term, i) => (isPrefix && i === wanted.length - 1 ? `${term}*` : term)).join(' AND ')
  return without.length > 0 ? `(${all}) NOT (${without.join(' OR ')})` : all
}
