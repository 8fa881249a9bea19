import { type SQL, sql } from 'drizzle-orm'
import { incompleteWord, queryWords } from '../../text/search-query.ts'

export type Language = 'english' | 'simple'

/** Quotes, a minus or `or`: a query with operators is not corrected for typos. */
export const hasOperators = (text: string): boolean => /"|(?:^|\s)-\S|\sor\s/i.test(queryWords(text))

/** Returns a prefix query. The text has only letters and digits, so it contains no query syntax of Postgres. */
export const prefixQuery = (text: string): string => `'${text}':*`

/**
 * Turns typed text into a query: all the words, `"a phrase"`, `-without`, `or`. The last word also matches as a prefix,
 * because it may still be incomplete; it is combined with the words on its side of `or`.
 */
export function searchQuery(text: string, language: Language): SQL {
  const typed = queryWords(text)
  const all = parsed(typed, language)
  const last = incompleteWord(typed)
  if (!last) return all
  const before = typed
    .slice(0, -last.length)
    .split(/\sor\s/i)
    .at(-1) as string
  // Also matches the stem: `deploying` is not a prefix of the stored stem `deploy`.
  const begun = sql`(to_tsquery('simple', ${prefixQuery(last)})
    || to_tsquery(${dictionary(language)}, ${prefixQuery(last)}))`
  return sql`(${all} || (${parsed(before, language)} && ${begun}))`
}

const dictionary = (language: Language): SQL => (language === 'english' ? sql`'english'` : sql`'simple'`)
const parsed = (text: string, language: Language): SQL => sql`websearch_to_tsquery(${dictionary(language)}, ${text})`
