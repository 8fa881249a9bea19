import { type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { memberOrAlone } from '../../auth/policy.ts'
import { toIso } from '../../db/columns.ts'
import type { SearchName } from '../../records/names.ts'
import { apiPath, isCurrentPassage, kindsFor, nestedPath, recordField, type SearchFilter } from './filters.ts'
import { excerptByMarks, markMatches, splitByMarks } from './highlight.ts'
import { indexLag } from './index-lag.ts'
import { matchesOf } from './newest-matches.ts'
import { hasOperators, searchQuery } from './query.ts'
import type { FindQuery, Found, FoundGroup, FoundGroups } from './schema.ts'
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

const searchStatement = (ctx: Ctx, text: string, matches: SQL, limit: number): SQL => sql`
  with asked as materialized (select ${searchQuery(text, 'english')} as words),
  newest as materialized (
    select * from ${matches} order by ${passages.at} desc, ${passages.id} desc limit ${NEWEST}),
  ranked as (
    select ${passages.id} as id, ${passages.kind} as kind, ${passages.recordId} as record_id, ${passages.at} as at,
      ts_rank(${passages.search}, asked.words) as rank
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

const toFound = (row: Row): Found => ({
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
  highlight: {
    title: splitByMarks(row.title, row.marked_title),
    text: excerptByMarks(row.content, row.marked_text, row.chunk > 0),
  },
})

async function searchOnce(ctx: Ctx, text: string, place: SearchFilter, limit: number): Promise<FoundGroup[]> {
  // The `select` computes the query once, not for each passage.
  const match = sql`${passages.search} @@ (select ${searchQuery(text, 'english')})`
  const matches = await matchesOf(ctx, place, { match, most: NEWEST })
  const { rows } = await ctx.db.execute<Row>(searchStatement(ctx, text, matches, limit))
  const groups = new Map<SearchName, FoundGroup>()
  for (const row of rows) {
    const group = groups.get(row.kind) ?? { kind: row.kind, total: row.total, items: [] }
    group.items.push(toFound(row))
    groups.set(row.kind, group)
  }
  return [...groups.values()]
}

/** Full-text search over everything that the caller may see, by kind. Without a match, retries with typos corrected. */
export const searchRecords = read(
  'search.find',
  memberOrAlone('search:read'),
  async (ctx, { q = '', limit = 10, ...place }: FindQuery): Promise<FoundGroups> => {
    if (!q.trim()) return { items: [], nextCursor: null }
    const items = await searchOnce(ctx, q, place, limit)
    const corrected = items.length === 0 && !hasOperators(q) ? await correctQuery(ctx, q, place) : undefined
    const meant = corrected === undefined ? [] : await searchOnce(ctx, corrected, place, limit)
    return {
      ...(meant.length > 0 ? { items: meant, corrected } : { items }),
      nextCursor: null,
      ...(await indexLag(ctx, kindsFor(ctx, place.kinds?.split(',') as SearchName[] | undefined))),
    }
  },
)
