import { type SQL, sql } from 'drizzle-orm'
import { queryWords } from '../../db/columns.ts'

export type Language = 'english' | 'simple'

const word = /[\p{L}\p{N}\p{M}]+/gu
const lastWord = /(?:^|\s)([\p{L}\p{N}\p{M}]+)$/u
/** A Latin letter alone begins every other word; a character of Chinese is one. */
const sayingEnough = /^..|^[^\u0020-\u024f]/u

export const wordsOf = (text: string): string[] => Array.from(text.toLowerCase().matchAll(word), ([found]) => found)

/** Quotes, a minus or `or`: somebody who writes these means what he writes. */
export const hasOperators = (text: string): boolean => /"|(?:^|\s)-\S|\sor\s/i.test(queryWords(text))

/** A beginning of a word. Only letters and digits come here, so nothing in it means anything to Postgres. */
export const beginning = (text: string): string => `'${text}':*`

/**
 * What somebody typed, as Postgres asks for it: all the words, `"a phrase"`, `-without`, `or`. The last word counts as a beginning too, for it
 * may still be on its way; it stands with the words that `or` leaves it with.
 */
export function asked(text: string, language: Language): SQL {
  const typed = queryWords(text)
  const all = parsed(typed, language)
  const last = lastWord.exec(typed)?.[1]
  const open = (typed.match(/"/g)?.length ?? 0) % 2 === 1
  if (!last || open || last.toLowerCase() === 'or' || !sayingEnough.test(last)) return all
  const before = typed
    .slice(0, -last.length)
    .split(/\sor\s/i)
    .at(-1) as string
  // Stems too: `deploying` begins no word that is kept as `deploy`.
  const begun = sql`(to_tsquery('simple', ${beginning(last)}) || to_tsquery(${dictionary(language)}, ${beginning(last)}))`
  return sql`(${all} || (${parsed(before, language)} && ${begun}))`
}

const dictionary = (language: Language): SQL => (language === 'english' ? sql`'english'` : sql`'simple'`)
const parsed = (text: string, language: Language): SQL => sql`websearch_to_tsquery(${dictionary(language)}, ${text})`
