import { and, eq, gt, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, plainWords, toIso, vectorText } from '../../db/columns.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import type { Kind } from './schema.ts'
import { passages, passageVectors } from './table.ts'

/** What may be found, decided inside the statement and before anything is ranked or cut off. */
export const visibleTo = (rights: Rights): SQL => {
  const personal = and(isNull(passages.organizationId), eq(passages.userId, rights.personal))
  const ofTeam = and(isNull(passages.projectId), anyOf(passages.organizationId, rights.organizations))
  const inProject = sql`exists (select 1 from ${projectTable} where ${projectTable.id} = ${passages.projectId} and ${projects.visibleTo(rights)})`
  const toAll = or(isNull(passages.userId), eq(passages.userId, rights.user))
  return or(personal, and(anyOf(passages.organizationId, rights.reach), toAll, or(ofTeam, inProject))) as SQL
}

export interface HybridQuery {
  text: string
  kinds?: readonly Kind[]
  projectId?: string
  scope?: string
  scopeId?: string
  tags?: readonly string[]
  /** Also what has expired or was superseded. */
  old?: boolean
  limit: number
}

export interface Hit {
  kind: Kind
  recordId: string
  projectId: string | null
  scope: string | null
  scopeId: string | null
  title: string
  content: string
  tags: string[]
  at: string
  /** What it was ranked by: nearness of meaning, and how much of the query's weight its words cover. */
  score: number
  meaning: number | null
  words: number
}

const NEAREST = 60
const WORDED = 200
/** Counting beyond this tells nothing more about how rare a word is. */
const COMMON = 2000

type Row = {
  kind: Kind
  record_id: string
  project_id: string | null
  scope: string | null
  scope_id: string | null
  title: string
  content: string
  tags: string[] | string
  at: string
  meaning: number | null
  words: number
  score: number
}

/**
 * Vector and words together: `cosine + 0.4 × coverage²`, where coverage is the share of the query's words, weighed by how rare they are
 * among what the caller sees. Measured against mixing the two ranks, which loses identifiers and paraphrases alike.
 */
export async function hybrid(ctx: Ctx, query: HybridQuery, vector: Float32Array | undefined): Promise<Hit[]> {
  const found = and(
    visibleTo(rightsOf(ctx.actor)),
    query.kinds ? inArray(passages.kind, [...query.kinds]) : undefined,
    query.projectId ? eq(passages.projectId, query.projectId) : undefined,
    query.scope ? eq(passages.scope, query.scope) : undefined,
    query.scopeId ? eq(passages.scopeId, query.scopeId) : undefined,
    query.tags?.length ? sql`${passages.tags} @> ${`{${query.tags.map((t) => JSON.stringify(t)).join(',')}}`}::text[]` : undefined,
    query.old ? undefined : or(isNull(passages.expiresAt), gt(passages.expiresAt, ctx.now)),
  ) as SQL
  const near = vector
    ? sql`select ${passages.id} as id from ${passages} join ${passageVectors} on ${passageVectors.passageId} = ${passages.id} and ${passageVectors.model} = ${ctx.app.embedder.id}
        where ${found} order by ${passageVectors.vector} <=> ${vectorText(vector)}::vector limit ${NEAREST}`
    : sql`select null::uuid as id where false`
  const meaning = vector ? sql`1 - (pv.vector <=> ${vectorText(vector)}::vector)` : sql`null::float8`
  const { rows } = await ctx.db.execute<Row>(sql`
    with lexemes as (
      select l, ln(1 + (greatest(n.c, d.c) - d.c + 0.5) / (d.c + 0.5)) as rarity
      from unnest(tsvector_to_array(to_tsvector('english', ${plainWords(query.text)}))) l,
        lateral (select count(*)::float8 as c from (select 1 from ${passages} where ${found} limit ${COMMON}) few) n,
        lateral (select count(*)::float8 as c from (select 1 from ${passages} where ${passages.search} @@ quote_literal(l)::tsquery and ${found} limit ${COMMON}) few) d),
    candidates as (
      select id from (${near}) nearest
      union select id from (select ${passages.id} as id from ${passages} where exists (select 1 from lexemes)
        and ${passages.search} @@ (select string_agg(quote_literal(l), ' | ')::tsquery from lexemes) and ${found}
        order by ts_rank(${passages.search}, (select string_agg(quote_literal(l), ' | ')::tsquery from lexemes)) desc limit ${WORDED}) worded),
    scored as (
      select p.*, ${meaning} as meaning, coalesce(w.words, 0) as words
      from candidates join ${passages} p using (id)
      left join ${passageVectors} pv on pv.passage_id = p.id and pv.model = ${ctx.app.embedder.id},
      lateral (select sum(rarity) filter (where l = any(tsvector_to_array(p.search))) / nullif(sum(rarity), 0) as words from lexemes) w)
    select * from (
      select distinct on (kind, record_id) kind, record_id, project_id, scope, scope_id, title, content, tags, at, meaning, words,
        coalesce(meaning, 0) + 0.4 * words ^ 2 + 0.05 * (importance - 0.5) as score
      from scored order by kind, record_id, coalesce(meaning, 0) + 0.4 * words ^ 2 desc) best
    order by score desc, record_id limit ${query.limit}`)
  return rows.map((row) => ({
    kind: row.kind,
    recordId: row.record_id,
    projectId: row.project_id,
    scope: row.scope,
    scopeId: row.scope_id,
    title: row.title,
    content: row.content,
    tags: passages.tags.mapFromDriverValue(row.tags) as string[],
    at: toIso(row.at),
    score: Number(row.score),
    meaning: row.meaning === null ? null : Number(row.meaning),
    words: Number(row.words),
  }))
}

/** The query's vector; undefined when the model cannot be reached, for then words alone must do. */
export async function embedQuery(ctx: Ctx, text: string): Promise<Float32Array | undefined> {
  try {
    return (await ctx.app.embedder.embed([text], ctx.signal))[0]
  } catch (error) {
    ctx.app.log.warn('query not embedded, searching by words only', { error })
    return undefined
  }
}
