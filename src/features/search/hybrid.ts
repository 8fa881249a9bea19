import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList, plainWords, vectorText } from '../../db/columns.ts'
import { prepare } from '../../db/session.ts'
import { type SearchName, searchNames } from '../../records/names.ts'
import { ALL, type Candidate, compareEvery, compareLikely, compareWhere, comparisonFor } from './candidates.ts'
import type { QueryVector } from './indexing/model.ts'
import { rank } from './rank.ts'
import { passages } from './table.ts'
import { nearestInMemory } from './vector-cache.ts'

export { embedQuery, type QueryVector } from './indexing/model.ts'

export interface HybridQuery {
  text: string
  kinds?: readonly SearchName[]
  projectId?: string
  /** The scope of memories. Records of other kinds belong to it through their project, or are listed in `records`. */
  scope?: string
  scopeId?: string
  /** With the scope of an agent or a session: ids of its records other than memories. */
  records?: readonly string[]
  tags?: readonly string[]
  /** A further condition on passages, from the filters in a query. */
  condition?: SQL
  /** Includes expired and superseded records. */
  old?: boolean
  limit: number
}

export interface Hit {
  kind: SearchName
  recordId: string
  projectId: string | null
  scope: string | null
  scopeId: string | null
  title: string
  content: string
  tags: string[]
  at: string
  /** The ranking score: similarity of meaning, plus the weighted share of the query's words that it contains. */
  score: number
  meaning: number | null
  words: number
}

/** Longest query, in characters. */
const LONGEST = 5000

const selectTexts = prepare((db) =>
  db
    .select({
      id: passages.id,
      projectId: passages.projectId,
      scope: passages.scope,
      scopeId: passages.scopeId,
      title: passages.title,
      content: passages.content,
      tags: passages.tags,
      at: passages.at,
    })
    .from(passages)
    .where(anyOf(passages.id, sql.placeholder('ids'))),
)

/** Remembers callers with too many passages to compare all, so that the next search skips the attempt. Only a cache. */
const largeCallers = new (class {
  readonly #seen = new Map<string, number>()
  has = (place: string): boolean => (this.#seen.get(place) ?? 0) > performance.now()
  add(place: string): void {
    if (this.#seen.size >= 1000) this.#seen.clear()
    this.#seen.set(place, performance.now() + 600_000)
  }
})()

/** Compares all findable passages if they are few, and otherwise promising ones. */
async function candidatesFor(
  ctx: Ctx,
  query: HybridQuery,
  asked: QueryVector | undefined,
  values: Record<string, unknown>,
): Promise<Candidate[]> {
  if (query.condition) return compareWhere(query.condition, ctx.db, values)
  const { now: _, vector: __, model: ___, text: ____, ...narrowing } = values
  const place = JSON.stringify(narrowing)
  if (!largeCallers.has(place)) {
    const candidates = await compareEvery[comparisonFor(query)](ctx.db, values)
    if (candidates.length <= ALL) return candidates
    largeCallers.add(place)
  }
  const nearest = asked && (await nearestInMemory(ctx, asked))
  const candidates = nearest
    ? await compareLikely.kept(ctx.db, { ...values, nearest: idList(nearest) })
    : await compareLikely.scanned(ctx.db, values)
  // If enough of the nearest pass the filter, they are the best.
  return !asked || (candidates[0]?.near ?? 0) >= query.limit ? candidates : compareLikely.filtered(ctx.db, values)
}

/** Searches by meaning and words; by words alone without a vector, and by meaning alone without words. */
export const searchHybrid = async (ctx: Ctx, query: HybridQuery, asked: QueryVector | undefined): Promise<Hit[]> =>
  (await searchHybridWithGaps(ctx, query, asked)).hits

/** Also returns how many passages could not be compared by meaning, because they have no vector yet. */
export async function searchHybridWithGaps(
  ctx: Ctx,
  query: HybridQuery,
  asked: QueryVector | undefined,
): Promise<{ hits: Hit[]; unembedded: number }> {
  const values = {
    ...rightsOf(ctx.actor),
    now: ctx.now,
    vector: asked ? vectorText(asked.values) : null,
    model: asked?.model ?? '',
    text: plainWords(query.text.slice(0, LONGEST)),
    kinds: passages.tags.mapToDriverValue([...(query.kinds ?? searchNames)]),
    projectId: query.projectId ?? null,
    scope: query.scope ?? null,
    scopeId: query.scopeId ?? null,
    records: idList(query.records ?? []),
    tags: passages.tags.mapToDriverValue([...(query.tags ?? [])]),
    old: query.old ?? false,
  }
  const candidates = await candidatesFor(ctx, query, asked, values)
  const ranked = rank(candidates, query.limit)
  const unembedded = asked ? candidates.filter(({ meaning }) => meaning === null).length : 0
  if (ranked.length === 0) return { hits: [], unembedded }
  const found = new Map(
    (await selectTexts(ctx.db, { ids: idList(ranked.map(({ id }) => id)) })).map((row) => [row.id, row]),
  )
  const hits = ranked.flatMap(({ id, kind, recordId, score, meaning, words }) => {
    const { id: _, ...text } = found.get(id) ?? {}
    return 'title' in text ? { kind, recordId, ...text, score, meaning, words } : []
  })
  return { hits, unembedded }
}
