import { type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { memberOrAlone } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, not } from '../../db/conditions.ts'
import { projectColumn } from '../../records/kind.ts'
import type { SearchName } from '../../records/names.ts'
import { wordsOf } from '../../text/search-query.ts'
import { apiPath, isCurrentPassage, kindsFor, nestedPath, recordField, type SearchFilter } from './filters.ts'
import { matchesOf } from './newest-matches.ts'
import { prefixQuery } from './query.ts'
import type { Suggestion, Suggestions, SuggestQuery } from './schema.ts'
import { passages, TITLE_START, titleStart } from './table.ts'

const MOST_WORDS = 8
const CANDIDATES = 60
/** How many titles of an owner are compared, newest first, if many have a word that begins similarly. */
const COMPARED = 500
/** Sorts behind whatever else may follow the beginning of a title. */
const LAST_CHARACTER = '\u{10ffff}'

interface Row extends Record<string, unknown> {
  kind: SearchName
  record_id: string
  organization_id: string | null
  project_id: string | null
  nested_path: string | null
  title: string
  key: string | null
  status: string | null
}

/** Returns titles in this order. Only the first few are checked against their records. */
async function titled(ctx: Ctx, matches: SQL, ...order: SQL[]): Promise<Row[]> {
  const by = sql.join([...order, sql`${passages.at} desc`, sql`${passages.id}`], sql`, `)
  const { rows } = await ctx.db.execute<Row>(sql`
    with first as materialized (
      select id, row_number() over () as place from (
        select ${passages.id} as id from ${matches} order by ${by} limit ${CANDIDATES}) best)
    select ${passages.kind}, ${passages.recordId}, ${passages.organizationId}, ${passages.projectId}, ${passages.title},
      ${nestedPath(ctx)} as nested_path, ${recordField(ctx, 'key')} as key, ${recordField(ctx, 'status')} as status
    from first join ${passages} using (id) where ${isCurrentPassage(ctx)} order by place`)
  return rows
}

/**
 * SQL condition: the first passage of a record with these words in its title. The `select` computes the query once, not
 * for each passage.
 */
const hasWords = (words: string): SQL =>
  sql`${passages.chunk} = 0 and ${passages.titleWords} @@ (select to_tsquery('simple', ${words}))`

/** SQL condition: the title begins with the text. An index serves the range, which covers only the start of a title. */
const beginsWith = (text: string): SQL => {
  const start = sql`lower(left(${text}::text, ${TITLE_START}))`
  return sql`${titleStart} >= ${start} and ${titleStart} < ${start} || ${LAST_CHARACTER}::text
    and starts_with(lower(${passages.title}), lower(${text}::text))`
}

/** Finds the newest titles with words that begin with the typed ones: those that begin with the text, or the others. */
async function begun(ctx: Ctx, text: string, place: SearchFilter, whole: boolean): Promise<Row[]> {
  const words = hasWords(wordsOf(text).slice(0, MOST_WORDS).map(prefixQuery).join(' & '))
  const begins = beginsWith(text)
  const match = and(words, whole ? begins : not(begins))
  return titled(ctx, await matchesOf(ctx, place, { match, most: CANDIDATES }))
}

/** Returns possible beginnings of the word without a typo: one of its first letters removed, or two swapped. */
const nearby = (word: string): string[] => {
  const [a = '', b = '', c = ''] = word
  return [...new Set([a + b, a + c, b + a, b + c])].filter((two) => two.length === 2).map(prefixQuery)
}

/** Finds titles whose words begin similarly, most similar first. */
async function alike(ctx: Ctx, words: readonly string[], place: SearchFilter): Promise<Row[]> {
  const beginnings = words.flatMap(nearby)
  if (beginnings.length === 0) return []
  const matches = await matchesOf(ctx, place, { match: hasWords(beginnings.join(' | ')), most: COMPARED })
  return titled(ctx, matches, sql`word_similarity(${words.join(' ')}, ${passages.title}) desc`)
}

/** Returns how many typos are tolerated in a word of this length. */
const forgiven = (word: string): number => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2)

/** Counts letters added, left out, changed or swapped. With `begins`, the rest of the second word does not count. */
export function countTypos(typed: string, meant: string, begins = false): number {
  let older: number[] = []
  let before = Array.from({ length: meant.length + 1 }, (_, i) => i)
  for (let i = 1; i <= typed.length; i++) {
    const row = [i]
    for (let j = 1; j <= meant.length; j++) {
      const same = typed[i - 1] === meant[j - 1] ? 0 : 1
      let least = Math.min((before[j] as number) + 1, (row[j - 1] as number) + 1, (before[j - 1] as number) + same)
      if (i > 1 && j > 1 && typed[i - 1] === meant[j - 2] && typed[i - 2] === meant[j - 1])
        least = Math.min(least, (older[j - 2] as number) + 1)
      row.push(least)
    }
    older = before
    before = row
  }
  return begins ? Math.min(...before) : (before[meant.length] as number)
}

const isNear = (word: string, title: readonly string[]): boolean =>
  title.some((other) => countTypos(word, other, true) <= forgiven(word))

/** Finds records whose key begins with the text, the shortest key first. */
export async function findByKeyPrefix(ctx: Ctx, text: string, { kinds, projectId }: SearchFilter): Promise<Row[]> {
  const wanted = kindsFor(ctx, kinds?.split(',') as SearchName[] | undefined)
  const selects = wanted.flatMap((kind) => {
    const record = ctx.app.records.get(kind)
    const begins = record.keyBegins?.(text)
    if (!begins) return []
    const { table, title, key = null, status = null, visible } = record
    const project = projectColumn(record) ?? null
    const inPlace = projectId ? sql`${project} = ${projectId}` : undefined
    return sql`select ${kind}::text as kind, ${table.id} as record_id, ${table.organizationId} as organization_id,
      ${project} as project_id, ${title} as title, null::text as nested_path, ${key} as key, ${status} as status
      from ${table} where ${and(begins, inPlace, visible(rightsOf(ctx.actor)))}`
  })
  if (selects.length === 0) return []
  const { rows } = await ctx.db.execute<Row>(sql`select * from (${sql.join(selects, sql` union all `)}) found
    order by length(key), key, record_id limit ${CANDIDATES}`)
  return rows
}

/**
 * Returns records with this key, then titles that begin with the text, then titles with these words or prefixes, then
 * with similar words.
 */
export const suggest = read(
  'search.suggest',
  memberOrAlone('search:read'),
  async (ctx, { q = '', limit = 10, ...place }: SuggestQuery): Promise<Suggestions> => {
    const words = wordsOf(q).slice(0, MOST_WORDS)
    if (words.length === 0) return { items: [], nextCursor: null }
    const text = q.trim()
    const rows = await findByKeyPrefix(ctx, text, place)
    if (rows.length < limit) rows.push(...(await begun(ctx, text, place, true)))
    if (rows.length < limit) rows.push(...(await begun(ctx, text, place, false)))
    if (rows.length < limit) {
      const known = new Set(rows.map((row) => row.record_id))
      const others = (await alike(ctx, words, place)).filter((row) => !known.has(row.record_id))
      rows.push(...others.filter((row) => words.every((word) => isNear(word, wordsOf(row.title)))))
    }
    const once = [...new Map(rows.map((row) => [row.record_id, row])).values()]
    return { items: once.slice(0, limit).map(toSuggestion), nextCursor: null }
  },
)

const toSuggestion = (row: Row): Suggestion => ({
  kind: row.kind,
  id: row.record_id,
  title: row.title,
  path: apiPath(row.kind, row.record_id, row.nested_path),
  organizationId: row.organization_id,
  projectId: row.project_id,
  key: row.key,
  status: row.status,
})

/** Replaces each word that is in no title by the most similar word that is. Undefined if none was replaced. */
export async function correctQuery(ctx: Ctx, text: string, place: SearchFilter): Promise<string | undefined> {
  const words = wordsOf(text).slice(0, MOST_WORDS)
  const titles = (await alike(ctx, words, place)).flatMap((row) => wordsOf(row.title))
  const mended = words.map((word) => {
    const near = [...new Set(titles)]
      .map((other) => [countTypos(word, other), other] as const)
      .filter(([n]) => n <= forgiven(word))
    return near.toSorted((a, b) => a[0] - b[0])[0]?.[1] ?? word
  })
  return mended.every((word, i) => word === words[i]) ? undefined : mended.join(' ')
}
