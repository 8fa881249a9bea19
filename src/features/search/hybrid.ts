import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyRights, type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, plainWords, toIso, vectorText } from '../../db/columns.ts'
import { type Db, prepare } from '../../db/session.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import type { QueryVector } from './model.ts'
import { type Kind, kinds } from './schema.ts'
import { passageSigns, passages, passageVectors } from './table.ts'

export { embedQuery, type QueryVector } from './model.ts'

/** What may be found, decided inside the statement and before anything is ranked or cut off. */
export const visibleTo = (rights: Rights): SQL => {
  const personal = and(isNull(passages.organizationId), eq(passages.userId, rights.personal))
  const ofTeam = and(isNull(passages.projectId), anyOf(passages.organizationId, rights.organizations))
  // Asked once for all passages, and not for each.
  const inProject = sql`${passages.projectId} in (select ${projectTable.id} from ${projectTable} where ${projects.visibleTo(rights)})`
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

/** So many are all compared, exactly; of more, only those that look promising. */
const ALL = 2000
const LIKELY = 400
const WORDED = 300
const FINAL = 100
/** Of a long query, the longest words: they tell most. */
const LEXEMES = 32
/** Below this, meanings have nothing to do with each other. */
const UNRELATED = 0.15
/** Characters; nobody asks a longer question. */
const LONGEST = 5000

const ph = sql.placeholder

const found = and(
  visibleTo(anyRights),
  sql`${passages.kind} = any(${ph('kinds')}::text[])`,
  sql`(${ph('projectId')}::uuid is null or ${passages.projectId} = ${ph('projectId')}::uuid)`,
  sql`(${ph('scope')}::text is null or ${passages.scope} = ${ph('scope')}::text)`,
  sql`(${ph('scopeId')}::uuid is null or ${passages.scopeId} = ${ph('scopeId')}::uuid)`,
  sql`${passages.tags} @> ${ph('tags')}::text[]`,
  or(sql`${ph('old')}::boolean`, isNull(passages.expiresAt), gt(passages.expiresAt, ph('now'))),
) as SQL

const asked = sql`
  asked as materialized (select ${ph('vector')}::vector as v),
  lexemes as materialized (
    select n, quote_literal(l)::tsquery as q
    from unnest(tsvector_to_array(to_tsvector('english', ${ph('text')}))) with ordinality u (l, n) order by length(l) desc, l limit ${LEXEMES})`

const meaning = sql`1 - (${passageVectors.vector} <=> (select v from asked))`

/** `cosine + 0.4 × coverage²`. Where there is no vector yet, words stand in for the meaning. */
const score = sql`coalesce(meaning, 0.6 * words) + 0.4 * words ^ 2 + 0.05 * (importance - 0.5)`

/** The best piece of each record, and of those the best; `seen` says how many passages were looked at, also when none was good enough. */
const ranked = sql`
  scored as (select id, kind, record_id, meaning, words, ${score} as score from rated where words > 0 or meaning >= ${UNRELATED}),
  best as (select * from (select distinct on (kind, record_id) * from scored order by kind, record_id, score desc, id) b
    order by score desc, record_id limit ${ph('limit')}),
  hits as (
    select seen, b.kind, b.record_id, p.project_id, p.scope, p.scope_id, p.title, p.content, p.tags, p.at, b.score, b.meaning, b.words
    from total left join (best b join ${passages} p using (id)) on true order by b.score desc, b.record_id)`

/** Everything the caller may find is read once. A word weighs by how rare it is there. */
const compareAll = sql`
  with ${asked},
  mine as materialized (
    select ${passages.id} as id, ${passages.kind} as kind, ${passages.recordId} as record_id, ${passages.importance} as importance,
      strip(${passages.search}) as search, ${meaning} as meaning
    from ${passages} left join ${passageVectors} on ${passageVectors.passageId} = ${passages.id} and ${passageVectors.model} = ${ph('model')}
    where ${found} limit ${ALL + 1}),
  total as materialized (select count(*)::int as seen from mine),
  pairs as materialized (select id, n from mine join lexemes on search @@ q),
  rarity as materialized (
    select n, ln(1 + (seen - coalesce(c, 0) + 0.5) / (coalesce(c, 0) + 0.5)) as r
    from total, lexemes left join (select n, count(*) as c from pairs group by n) counted using (n)),
  covered as (select id, sum(r) / (select sum(r) from rarity) as words from pairs join rarity using (n) group by id),
  rated as (select mine.*, coalesce(words, 0) as words from mine left join covered using (id)),
  ${ranked}
  select * from hits`

/** The likely ones by the signs of their vectors, and some for each word; the best of both are then compared exactly. */
const compareLikely = sql`
  with ${asked},
  total as materialized (select ${ALL + 1}::int as seen),
  signs as materialized (
    select ${passageSigns.passageId} as id, ${passageSigns.signs} <~> (select binary_quantize(v) from asked) as distance from ${passageSigns}
    where (select v is not null from asked) and ${passageSigns.model} = ${ph('model')}
      and (${anyOf(passageSigns.owner, anyRights.reach)} or ${eq(passageSigns.owner, anyRights.personal)})
    order by distance, id limit ${LIKELY * 5}),
  near as materialized (select id from signs join ${passages} using (id) where ${found} order by distance, id limit ${LIKELY}),
  nearest as (
    select id from near join ${passageVectors} on ${passageVectors.passageId} = id and ${passageVectors.model} = ${ph('model')}
    order by ${passageVectors.vector} <=> (select v from asked), id limit ${FINAL}),
  pairs as materialized (
    select n, w.id from lexemes, lateral (select ${passages.id} as id from ${passages} where ${passages.search} @@ q and ${found} limit ${WORDED}) w),
  rarity as materialized (
    select n, ln(1 + ${ALL * 10} / (coalesce(c, 0) + 0.5)) as r
    from lexemes left join (select n, count(*) as c from pairs group by n) counted using (n)),
  worded as (select id from pairs join rarity using (n) group by id order by sum(r) desc, id limit ${FINAL}),
  rated as (
    select ${passages.id} as id, ${passages.kind} as kind, ${passages.recordId} as record_id, ${passages.importance} as importance, ${meaning} as meaning,
      coalesce((select sum(r) filter (where ${passages.search} @@ q) / sum(r) from lexemes join rarity using (n)), 0) as words
    from (select id from nearest union select id from worded) candidates join ${passages} using (id)
    left join ${passageVectors} on ${passageVectors.passageId} = ${passages.id} and ${passageVectors.model} = ${ph('model')}),
  ${ranked}
  select * from hits`

interface Row extends Record<keyof typeof columns, unknown> {
  seen: number
  kind: Kind | null
}

const columns = {
  seen: sql`seen`,
  kind: sql`kind`,
  recordId: sql`record_id`,
  projectId: sql`project_id`,
  scope: sql`scope`,
  scopeId: sql`scope_id`,
  title: sql`title`,
  content: sql`content`,
  tags: sql`tags`.mapWith(passages.tags),
  at: sql`at`,
  score: sql`score`,
  meaning: sql`meaning`,
  words: sql`words`,
}
const run = (statement: SQL) => prepare((db) => db.select(columns).from(sql`(${statement}) found`)) as unknown as Run
type Run = (db: Db, values: Record<string, unknown>) => Promise<Row[]>
const all = run(compareAll)
const likely = run(compareLikely)

/**
 * Vector and words together: `cosine + 0.4 × coverage²`, where coverage is the share of the query's words, weighed by how rare they are.
 * Measured against mixing the two ranks, which loses identifiers and paraphrases alike.
 */
export async function hybrid(ctx: Ctx, query: HybridQuery, vector: QueryVector | undefined): Promise<Hit[]> {
  const list = (values: readonly string[]) => `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
  const values = {
    ...rightsOf(ctx.actor),
    now: ctx.now,
    vector: vector ? vectorText(vector.values) : null,
    model: vector?.model ?? '',
    text: plainWords(query.text).slice(0, LONGEST),
    kinds: list(query.kinds ?? kinds),
    projectId: query.projectId ?? null,
    scope: query.scope ?? null,
    scopeId: query.scopeId ?? null,
    tags: list(query.tags ?? []),
    old: query.old ?? false,
    limit: query.limit,
  }
  let rows = await all(ctx.db, values)
  if ((rows[0]?.seen ?? 0) > ALL) rows = await likely(ctx.db, values)
  return rows.flatMap(({ seen: _, kind, ...row }) =>
    kind === null
      ? []
      : {
          ...(row as unknown as Hit),
          kind,
          at: toIso(row.at as string),
          score: Number(row.score),
          meaning: row.meaning === null ? null : Number(row.meaning),
          words: Number(row.words),
        },
  )
}
