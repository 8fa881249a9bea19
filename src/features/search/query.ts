import { type SQL, sql } from 'drizzle-orm'
import { queryWords, termsOf } from '../../db/columns.ts'

/** Where a match begins and ends in its text. */
export type Span = [from: number, to: number]

export type Language = 'english' | 'simple'

const word = /[\p{L}\p{N}\p{M}]+/gu
const lastWord = /(?:^|\s)([\p{L}\p{N}\p{M}]+)$/u
/** A single Latin letter begins too many words to be useful; a Chinese character is a whole word. */
const isSpecific = /^..|^[^\u0020-\u024f]/u

export const wordsOf = (text: string): string[] => Array.from(text.toLowerCase().matchAll(word), ([found]) => found)

/** Quotes, a minus or `or`: a query with operators is not corrected for typos. */
export const hasOperators = (text: string): boolean => /"|(?:^|\s)-\S|\sor\s/i.test(queryWords(text))

/** Returns a prefix query. The text has only letters and digits, so it contains no query syntax of Postgres. */
export const beginning = (text: string): string => `'${text}':*`

/**
 * Turns typed text into a query: all the words, `"a phrase"`, `-without`, `or`. The last word also matches as a prefix,
 * because it may still be incomplete; it is combined with the words on its side of `or`.
 */
export function asked(text: string, language: Language): SQL {
  const typed = queryWords(text)
  const all = parsed(typed, language)
  const last = begunWord(typed)
  if (!last) return all
  const before = typed
    .slice(0, -last.length)
    .split(/\sor\s/i)
    .at(-1) as string
  // Also matches the stem: `deploying` is not a prefix of the stored stem `deploy`.
  const begun = sql`(to_tsquery('simple', ${beginning(last)})
    || to_tsquery(${dictionary(language)}, ${beginning(last)}))`
  return sql`(${all} || (${parsed(before, language)} && ${begun}))`
}

/** Returns the last word if it may still be incomplete. */
function begunWord(typed: string): string | undefined {
  const last = lastWord.exec(typed)?.[1]
  const open = (typed.match(/"/g)?.length ?? 0) % 2 === 1
  return !last || open || last.toLowerCase() === 'or' || !isSpecific.test(last) ? undefined : last
}

const MOST_MATCHES = 200

/**
 * Returns a function that finds the words of a query in a text, as a query with the dictionary `simple` does. It reads
 * the text once: Postgres' own marks take ten times as long, which is too much for callers without a credential.
 */
export function finder(text: string): (text: string) => Span[] {
  const typed = queryWords(text)
  const last = begunWord(typed)?.toLowerCase()
  const words = new Set(
    termsOf(typed).flatMap((term) => (term.startsWith('-') || term.toLowerCase() === 'or' ? [] : wordsOf(term))),
  )
  return (where) => {
    const found: Span[] = []
    for (const { 0: spelt, index } of where.matchAll(word)) {
      const lower = spelt.toLowerCase()
      if (!words.has(lower) && !(last && lower.startsWith(last))) continue
      found.push([index, index + spelt.length])
      if (found.length === MOST_MATCHES) break
    }
    return found
  }
}

const dictionary = (language: Language): SQL => (language === 'english' ? sql`'english'` : sql`'simple'`)
const parsed = (text: string, language: Language): SQL => sql`websearch_to_tsquery(${dictionary(language)}, ${text})`
