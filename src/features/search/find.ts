import { eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { memberOrAlone } from '../../auth/policy.ts'
import { anyOf, idList, toIso } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import type { SearchName } from '../../records/names.ts'
import { apiPath, isCurrentPassage, kindsFor, nestedPath, recordField, type SearchFilter } from './filters.ts'
import { excerptByMarks, markMatches, splitByMarks } from './highlight.ts'
import { type RelatedTitle, relatedTitles } from './hooks.ts'
import { indexLag } from './index-lag.ts'
import { askedWords, idsWithKey, matchedPart } from './matched-part.ts'
import { matchesOf } from './newest-matches.ts'
import { hasOperators, searchQuery } from './query.ts'
import { understandQuery } from './query-filters.ts'
import type { FindQuery, Found, FoundGroup, FoundGroups, Part } from './schema.ts'
import { correctQuery } from './suggest.ts'
import { passages } from './table.ts'

interface Row extends Record<string, unknown> {
  kind: SearchName
  record_id: string
  organization_id: string | null
  project_id: string | null
  nested_path: string | null
  record_key: string | null
  record_status: string | null
  chunk: number
  title: string
  content: string
  at: string
  rank: number
  total: number
  marked_title: string
  marked_text: string
}

/** For very common words only the newest passages are ranked and counted, because ranking reads every passage. */
const NEWEST = 1000

interface FindRequest {
  /** Empty: everything that the filters find, newest first. */
  words: string
  /** Ids of the records with exactly this key. */
  keyed: readonly string[]
  related: readonly RelatedTitle[]
  place: SearchFilter
  limit: number
}

const searchStatement = (ctx: Ctx, { words, keyed, limit }: FindRequest, matches: SQL): SQL => sql`
  with asked as materialized (select ${askedWords(words)} as words),
  newest as materialized (
    select * from ${matches} order by ${passages.at} desc, ${passages.id} desc limit ${NEWEST}),
  ranked as (
    select ${passages.id} as id, ${passages.kind} as kind, ${passages.recordId} as record_id, ${passages.at} as at,
      ts_rank(${passages.search}, asked.words) + ${matchedPart(keyed)} as rank
    from newest ${passages}, asked where ${isCurrentPassage(ctx)}),
  best as (select distinct on (kind, record_id) * from ranked order by kind, record_id, rank desc, id),
  placed as (
    select id, rank, count(*) over kinds as total, row_number() over (kinds order by rank desc, at desc, id) as place,
      max(rank) over kinds as top
    from best window kinds as (partition by kind))
  select ${passages.kind}, ${passages.recordId}, ${passages.organizationId}, ${passages.projectId}, ${passages.chunk},
    ${passages.title},
    ${passages.content}, ${passages.at}, rank, total::int as total,
    ${nestedPath(ctx)} as nested_path, ${recordField(ctx, 'key')} as record_key,
    ${recordField(ctx, 'status')} as record_status,
    ${markMatches(passages.title, sql`asked.words`, 'english')} as marked_title,
      ${markMatches(passages.content, sql`asked.words`, 'english')} as marked_text
  from placed join ${passages} using (id), asked where place <= ${limit} order by top desc, ${passages.kind}, place`

const toFound = (row: Row, related: readonly RelatedTitle[]): Found => ({
  kind: row.kind,
  id: row.record_id,
  key: row.record_key,
  status: row.record_status,
  title: row.title,
  path: apiPath(row.kind, row.record_id, row.nested_path),
  organizationId: row.organization_id,
  projectId: row.project_id,
  updatedAt: toIso(row.at),
  score: Math.round(Number(row.rank) * 1000) / 1000,
  highlight: highlightOf(
    row,
    related.find(({ kind, recordId }) => kind === row.kind && recordId === row.record_id),
  ),
})

const isMarked = (parts: readonly Part[]): boolean => parts.some(({ match }) => match)

/** A record that only a related title matches shows that title instead of its text. */
function highlightOf(row: Row, related: RelatedTitle | undefined): Found['highlight'] {
  const title = splitByMarks(row.title, row.marked_title)
  const text = excerptByMarks(row.content, row.marked_text, row.chunk > 0)
  if (!related || isMarked(title) || isMarked(text)) return { title, text }
  return { title, text: [{ text: `${related.of}: ` }, ...splitByMarks(related.title, related.marked)] }
}

/** SQL condition: the passages with the words; without words, the first passage of each record. */
const isMatch = ({ words, keyed, related }: FindRequest): SQL => {
  if (!words) return eq(passages.chunk, 0)
  // The `select` computes the query once, not for each passage.
  const hasWords = sql`${passages.search} @@ (select ${searchQuery(words, 'english')})`
  const others = [...Map.groupBy(related, ({ kind }) => kind)].map(([kind, titles]) =>
    and(eq(passages.kind, kind), anyOf(passages.recordId, idList(titles.map(({ recordId }) => recordId)))),
  )
  if (keyed.length > 0) others.push(anyOf(passages.recordId, idList(keyed)))
  return or(hasWords, ...others)
}

async function searchOnce(ctx: Ctx, request: FindRequest): Promise<FoundGroup[]> {
  const matches = await matchesOf(ctx, request.place, { match: isMatch(request), most: NEWEST })
  const { rows } = await ctx.db.execute<Row>(searchStatement(ctx, request, matches))
  const groups = new Map<SearchName, FoundGroup>()
  for (const row of rows) {
    const group = groups.get(row.kind) ?? { kind: row.kind, total: row.total, items: [] }
    group.items.push(toFound(row, request.related))
    groups.set(row.kind, group)
  }
  return [...groups.values()]
}

/**
 * Full-text search over everything that the caller may see, by kind. The query may contain filters. Without a match,
 * retries with typos corrected.
 */
export const searchRecords = read(
  'search.find',
  memberOrAlone('search:read'),
  async (ctx, { q = '', limit = 10, ...given }: FindQuery): Promise<FoundGroups> => {
    if (!q.trim()) return { items: [], nextCursor: null }
    const { words, filters, place } = await understandQuery(ctx, q.trim(), given)
    if (place.kinds === '') return { items: [], nextCursor: null, filters }
    const kinds = kindsFor(ctx, place.kinds?.split(',') as SearchName[] | undefined)
    const related = async (text: string) =>
      text ? (await relatedTitles.call(ctx, { words: text, kinds, projectId: place.projectId })).flat() : []
    const search = async (text: string) =>
      searchOnce(ctx, {
        words: text,
        keyed: await idsWithKey(ctx, text, place),
        related: await related(text),
        place,
        limit,
      })
    const items = await search(words)
    const corrected =
      words && items.length === 0 && !hasOperators(words) ? await correctQuery(ctx, words, place) : undefined
    const meant = corrected === undefined ? [] : await search(corrected)
    return {
      ...(meant.length > 0 ? { items: meant, corrected } : { items }),
      nextCursor: null,
      ...(filters.length > 0 && { filters }),
      ...(await indexLag(ctx, kinds)),
    }
  },
)
