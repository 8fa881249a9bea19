import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import type { SearchName } from '../../records/names.ts'
import {
  apiPath,
  isCurrentPassage,
  isFindableBy,
  kindsFor,
  nestedPath,
  recordCreator,
  type SearchFilter,
} from './filters.ts'
import { embedQuery, type Hit, searchHybrid } from './hybrid.ts'
import { askedWords, idsWithKey, matchedPart } from './matched-part.ts'
import type { Answer, AnswerSource } from './schema.ts'
import { passages } from './table.ts'

/** A passage that fits a question, and who created its record, if that is known. */
interface Passage {
  source: Omit<AnswerSource, 'number'>
  creatorId: string | null
}

interface SourceQuery {
  /** Empty: what the filters find, newest first. */
  words: string
  place: SearchFilter
  limit: number
}

/**
 * Returns the passages that match a question best, among those that the caller may read: the record with this key, then
 * records with all words in the title, in a label or in the text, then those with a similar meaning.
 */
export async function passagesFor(
  ctx: Ctx,
  query: SourceQuery,
): Promise<{ mode: Answer['mode']; passages: Passage[] }> {
  const { words, place, limit } = query
  const vector = words ? await embedQuery(ctx, words) : undefined
  const mode = vector ? 'hybrid' : 'words'
  const kinds = place.kinds === '' ? [] : kindsFor(ctx, place.kinds?.split(',') as SearchName[] | undefined)
  if (kinds.length === 0) return { mode, passages: [] }
  const [condition, ...others] = place.conditions ?? []
  const keyed = words ? await idsWithKey(ctx, words, place) : []
  const hits = words
    ? [
        ...(keyed.length > 0 ? await firstPassages(ctx, query, anyOf(passages.recordId, idList(keyed))) : []),
        ...(await searchHybrid(
          ctx,
          {
            text: words,
            kinds,
            projectId: place.projectId,
            limit: limit * 2,
            ...(condition && { condition: and(condition, ...others) }),
          },
          vector,
        )),
      ]
    : await firstPassages(ctx, query)
  // The record with the key is first, but has the score of its best passage if it has one.
  const once = new Map(hits.map((hit) => [`${hit.kind} ${hit.recordId}`, hit]))
  return { mode, passages: (await findExistingPassages(ctx, [...once.values()], { words, keyed })).slice(0, limit) }
}

/** Returns the first passages of records, newest first. */
async function firstPassages(ctx: Ctx, { place, limit }: SourceQuery, which?: SQL): Promise<Hit[]> {
  const columns = {
    kind: passages.kind,
    recordId: passages.recordId,
    projectId: passages.projectId,
    scope: passages.scope,
    scopeId: passages.scopeId,
    title: passages.title,
    content: passages.content,
    tags: passages.tags,
    at: passages.at,
  }
  const rows = await ctx.db
    .select(columns)
    .from(passages)
    .where(and(isFindableBy(ctx, place), sql`${passages.chunk} = 0`, which))
    .orderBy(sql`${passages.at} desc, ${passages.id} desc`)
    .limit(limit * 2)
  return rows.map((row) => ({ ...row, score: 0, meaning: null, words: 0 }))
}

interface Row extends Record<string, unknown> {
  kind: string
  record_id: string
  organization_id: string | null
  nested_path: string | null
  creator_id: string | null
  part: number
}

/** Returns the hits whose records exist and are visible to the caller, with their paths, the best part first. */
async function findExistingPassages(
  ctx: Ctx,
  hits: readonly Hit[],
  { words, keyed }: { words: string; keyed: readonly string[] },
): Promise<Passage[]> {
  if (hits.length === 0) return []
  const ids = idList(hits.map((hit) => hit.recordId))
  const { rows } = await ctx.db.execute<Row>(sql`
    with asked as materialized (select ${askedWords(words)} as words)
    select ${passages.kind}, ${passages.recordId}, ${passages.organizationId}, ${matchedPart(keyed)} as part,
      ${nestedPath(ctx)} as nested_path, ${recordCreator(ctx)} as creator_id
    from ${passages}, asked where ${anyOf(passages.recordId, ids)} and ${passages.chunk} = 0
      and ${isCurrentPassage(ctx)} and ${isFindableBy(ctx, {})}`)
  const found = hits.flatMap((hit) => {
    const row = rows.find(({ kind, record_id }) => kind === hit.kind && record_id === hit.recordId)
    // All words in the text count for less than in a label, and for more than any similarity.
    return row ? { hit, row, part: Number(row.part) || (hit.words === 1 ? 0.5 : 0) } : []
  })
  return found.toSorted((a, b) => b.part - a.part).map(({ hit, row }) => toPassage(hit, row))
}

const toPassage = (hit: Hit, row: Row): Passage => ({
  source: {
    kind: hit.kind,
    id: hit.recordId,
    title: hit.title,
    path: apiPath(hit.kind, hit.recordId, row.nested_path),
    organizationId: row.organization_id,
    projectId: hit.projectId,
    updatedAt: hit.at,
    text: hit.content,
    score: roundScore(hit.score),
    meaning: hit.meaning === null ? null : roundScore(hit.meaning),
  },
  creatorId: row.creator_id,
})

const roundScore = (value: number): number => Math.round(value * 1000) / 1000
