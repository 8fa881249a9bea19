import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import type { SearchFilter } from './filters.ts'
import { withoutPunctuation } from './highlight.ts'
import { searchQuery } from './query.ts'
import { findByKeyPrefix } from './suggest.ts'
import { passages } from './table.ts'

/** SQL: the query of the words, which a statement calls `asked.words`. */
export const askedWords = (words: string): SQL => (words ? searchQuery(words, 'english') : sql`''::tsquery`)

/** SQL column: matches of the key come first, then those of the title, of a label, and of the text. */
export const matchedPart = (keyed: readonly string[]): SQL => sql`case
  when ${anyOf(passages.recordId, idList(keyed))} then 3
  when ts_filter(${passages.search}, '{a}') @@ asked.words then 2
  when cardinality(${passages.tags}) > 0
    and to_tsvector('english', ${withoutPunctuation(sql`array_to_string(${passages.tags}, ' ')`)}) @@ asked.words then 1
  else 0 end`

/** Returns the ids of the records with exactly this key. */
export const idsWithKey = async (ctx: Ctx, words: string, place: SearchFilter): Promise<string[]> =>
  (await findByKeyPrefix(ctx, words, place)).flatMap((row) => (row.key === words.toUpperCase() ? row.record_id : []))
