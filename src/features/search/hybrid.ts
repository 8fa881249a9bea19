import { eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, idList, plainWords, vectorText } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { type Db, prepare } from '../../db/session.ts'
import { type SearchName, searchNames } from '../../records/names.ts'
import * as projects from '../projects/rows.ts'
import { projects as projectTable } from '../projects/table.ts'
import { ofTeamOrProject } from '../projects/visible.ts'
import type { QueryVector } from './model.ts'
import { passageSigns, passages, passageVectors } from './table.ts'

export { embedQuery, type QueryVector } from './model.ts'

/** SQL condition for the passages that the caller may find. It applies before anything is ranked or limited. */
export const visibleTo = (rights: Rights): SQL => {
  const personal = and(isNull(passages.organizationId), eq(passages.userId, rights.personal))
  // Evaluated once for all passages, not once for each.
  const inProject = sql`${passages.projectId} in (select ${projectTable.id} from ${projectTable}
    where ${projects.visibleTo(rights)})`
  const toAll = or(isNull(passages.userId), eq(passages.userId, rights.user))
  return or(personal, and(ofTeamOrProject(passages, rights, inProject), toAll))
}

export interface HybridQuery {
  text: string
  kinds?: readonly SearchName[]
  projectId?: string
  /** The scope of memories. Records of other kinds belong to it through their project, or are listed in `records`. */
  scope?: string
  scopeId?: string
  /** With the scope of an agent or a session: ids of its records that are no memories. */
  records?: readonly string[]
  tags?: readonly string[]
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

/** Up to this many passages are all compared exactly; of more, only promising ones. */
const ALL = 2000
const LIKELY = 800
const WORDED = 300
const FINAL = 100
/** A long query is cut to its longest words, which are the most specific. */
const LEXEMES = 30
/** Passages below this similarity are unrelated. */
const UNRELATED = 0.15
/** Longest query, in characters. */
const LONGEST = 5000

const ph = sql.placeholder

/**
 * Wraps a parameter in a `select`, which hides its value from the planner. Otherwise the planner would plan every call
 * anew, which takes longer than the search and gives an identical plan.
 */
const one = (name: string) => sql`(select ${ph(name)}::uuid)`
const list = (name: string) => sql`(select ${ph(name)}::uuid[])`
const rights: Rights = {
  user: one('user'),
  personal: one('personal'),
  organizations: list('organizations'),
  reach: list('reach'),
  workspaces: list('workspaces'),
  managed: list('managed'),
}

const found = and(
  visibleTo(rights),
  sql`${passages.kind} = any((select ${ph('kinds')}::text[])::text[])`,
  sql`(${ph('projectId')}::uuid is null or ${passages.projectId} = ${ph('projectId')}::uuid)`,
  // Only memories have a scope of their own.
  sql`(${ph('scope')}::text is null or case when ${passages.scope} is not null
      then ${passages.scope} = ${ph('scope')}::text and ${passages.scopeId} = ${ph('scopeId')}::uuid
    when ${ph('scope')}::text = 'project' then ${passages.projectId} = ${ph('scopeId')}::uuid
    else ${passages.recordId} = any((select ${ph('records')}::uuid[])::uuid[]) end)`,
  sql`${passages.tags} @> ${ph('tags')}::text[]`,
  or(sql`${ph('old')}::boolean`, isNull(passages.expiresAt), gt(passages.expiresAt, ph('now'))),
)

const vector = sql`(select ${ph('vector')}::vector)`
const isOfModel = and(eq(passageVectors.passageId, passages.id), sql`${passageVectors.model} = ${ph('model')}`)
const lexemes = sql`lexemes as materialized (
  select row_number() over () as n, quote_literal(l)::tsquery as q from (
    select l from unnest(tsvector_to_array(to_tsvector('english', ${ph('text')}))) u (l)
    order by length(l) desc, l limit ${LEXEMES}) longest)`

/** Columns for ranking a passage; `matched` has a bit for each word of the query that the passage contains. */
const candidate = sql`${passages.id} as id, ${passages.kind} as kind, ${passages.recordId} as record_id,
    ${passages.importance} as importance,
  1 - (${passageVectors.vector} <=> ${vector}) as meaning,
  (select bit_or(1 << (n - 1)::int) from lexemes where ${passages.search} @@ q) as matched,
    (select count(*) from lexemes)::int as asked`

/**
 * Compares all passages that the caller may find, if they are few enough. Each place has its statement, with a
 * condition that an index can serve: a search of a few memories must not read all passages.
 */
const allIn = (place: SQL, order = sql``) =>
  run(sql`with ${lexemes}
    select ${candidate}, null as counts from ${passages} left join ${passageVectors} on ${isOfModel}
    where ${place} and ${found} ${order} limit ${ALL + 1}`)
const all = {
  anywhere: allIn(sql`true`),
  // The order makes the planner use the index by kind: it does not know that a project has few memories.
  project: allIn(
    sql`${passages.projectId} = coalesce(${ph('projectId')}::uuid, ${ph('scopeId')}::uuid)`,
    sql`order by ${passages.kind}`,
  ),
  scope: allIn(sql`${passages.id} = any(array(
    select p.id from ${passages} p where p.scope = ${ph('scope')}::text and p.scope_id = ${ph('scopeId')}::uuid
    union all select p.id from ${passages} p where p.kind = any((select ${ph('kinds')}::text[])::text[])
      and p.record_id = any((select ${ph('records')}::uuid[])::uuid[])))`),
}

const placeOf = ({ projectId, scope }: HybridQuery): keyof typeof all => {
  if (projectId || scope === 'project') return 'project'
  return scope ? 'scope' : 'anywhere'
}

/**
 * Preselects candidates by the signs of their vectors, plus some for each word, then ranks both. `offset 0` keeps the
 * planner, which cannot estimate how many rows are visible, from reading them all once more.
 */
const likely = run(sql`with ${lexemes},
  signs as materialized (
    select ${passageSigns.passageId} as id,
      ${passageSigns.signs} <~> (select binary_quantize(${ph('vector')}::vector)) as distance from ${passageSigns}
    where ${ph('vector')}::vector is not null and ${passageSigns.model} = ${ph('model')}
      and (${anyOf(passageSigns.owner, rights.reach)} or ${eq(passageSigns.owner, rights.personal)})
    order by distance, id limit ${LIKELY}),
  nearest as (
    select ${passages.id} as id from ${passageVectors} join ${passages} on ${passages.id} = ${passageVectors.passageId}
    where ${passageVectors.passageId} = any(array(select id from signs)) and ${passageVectors.model} = ${ph('model')}
      and ${found}
    order by ${passageVectors.vector} <=> ${vector}, ${passages.id} limit ${FINAL}),
  pairs as materialized (
    select n, w.id from lexemes, lateral (
      select ${passages.id} as id from (select * from ${passages} where ${passages.search} @@ q offset 0) ${passages}
      where ${found} limit ${WORDED}) w),
  counted as materialized (select lexemes.n, count(pairs.id)::float8 as c from lexemes left join pairs using (n)
  group by lexemes.n),
  worded as (select id from pairs join counted using (n) group by id order by sum(1 / c) desc, id limit ${FINAL})
  select ${candidate}, (select string_agg(c::text, ',' order by n) from counted) as counts
  from (select id from nearest union select id from worded) candidates
  join ${passages} on ${passages.id} = candidates.id left join ${passageVectors} on ${isOfModel}`)

interface Candidate {
  id: string
  kind: SearchName
  recordId: string
  importance: number
  meaning: number | null
  matched: number | null
  asked: number
  counts: string | null
}

function run(statement: SQL): (db: Db, values: Record<string, unknown>) => Promise<Candidate[]> {
  const columns = {
    id: sql<Candidate['id']>`id`,
    kind: sql<Candidate['kind']>`kind`,
    recordId: sql<Candidate['recordId']>`record_id`,
    importance: sql`importance`.mapWith(Number),
    meaning: sql`meaning`.mapWith(Number),
    matched: sql`matched`.mapWith(Number),
    asked: sql`asked`.mapWith(Number),
    counts: sql<Candidate['counts']>`counts`,
  }
  return prepare((db) => db.select(columns).from(sql`(${statement}) found`))
}

const texts = prepare((db) =>
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
    .where(anyOf(passages.id, ph('ids'))),
)

interface Ranked extends Candidate {
  words: number
  score: number
}

/**
 * Score: `cosine + 0.4 × coverage²`, where coverage is the share of the query's words, weighted by rarity. Measurements
 * showed that mixing the two ranks instead loses both identifiers and paraphrases. Without a vector, word coverage
 * replaces the cosine.
 */
function rank(candidates: readonly Candidate[], limit: number): Ranked[] {
  const [first] = candidates
  if (!first) return []
  const has = ({ matched }: Candidate, word: number) => ((matched ?? 0) & (1 << word)) !== 0
  // Counts stop at some hundreds: a word with that many matches is a common one.
  const counts = first.counts?.split(',').map(Number)
  const total = counts ? ALL * 10 : candidates.length
  const rarity = Array.from({ length: first.asked }, (_, word) => {
    const count = counts?.[word] ?? candidates.reduce((sum, candidate) => sum + (has(candidate, word) ? 1 : 0), 0)
    return Math.log(1 + (total - count + 0.5) / (count + 0.5))
  })
  const weight = rarity.reduce((sum, r) => sum + r, 0)
  const best = new Map<string, Ranked>()
  for (const candidate of candidates) {
    const covered = rarity.reduce((sum, r, word) => sum + (has(candidate, word) ? r : 0), 0)
    const words = weight > 0 ? covered / weight : 0
    const { meaning, importance, kind, recordId, id } = candidate
    if (words === 0 && (meaning ?? 0) < UNRELATED) continue
    const score = (meaning ?? 0.6 * words) + 0.4 * words ** 2 + 0.05 * (importance - 0.5)
    const key = `${kind} ${recordId}`
    const before = best.get(key)
    if (!before || score > before.score || (score === before.score && id < before.id))
      best.set(key, { ...candidate, words, score })
  }
  return [...best.values()].sort((a, b) => b.score - a.score || (a.recordId < b.recordId ? -1 : 1)).slice(0, limit)
}

/** Remembers callers with too many passages to compare all, so that the next search skips the attempt. Only a cache. */
const large = new (class {
  readonly #seen = new Map<string, number>()
  has = (place: string): boolean => (this.#seen.get(place) ?? 0) > performance.now()
  add(place: string): void {
    if (this.#seen.size >= 1000) this.#seen.clear()
    this.#seen.set(place, performance.now() + 600_000)
  }
})()

/** Searches by meaning and words; by words alone without a vector, and by meaning alone without words. */
export const hybrid = async (ctx: Ctx, query: HybridQuery, asked: QueryVector | undefined): Promise<Hit[]> =>
  (await hybridWithGaps(ctx, query, asked)).hits

/** Also returns how many passages could not be compared by meaning, because they have no vector yet. */
export async function hybridWithGaps(
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
  const { now: _, vector: __, model: ___, text: ____, ...narrowing } = values
  const place = JSON.stringify(narrowing)
  let candidates = large.has(place) ? [] : await all[placeOf(query)](ctx.db, values)
  if (candidates.length > ALL) large.add(place)
  if (large.has(place)) candidates = await likely(ctx.db, values)
  const ranked = rank(candidates, query.limit)
  const unembedded = asked ? candidates.filter(({ meaning }) => meaning === null).length : 0
  if (ranked.length === 0) return { hits: [], unembedded }
  const found = new Map((await texts(ctx.db, { ids: idList(ranked.map(({ id }) => id)) })).map((row) => [row.id, row]))
  const hits = ranked.flatMap(({ id, kind, recordId, score, meaning, words }) => {
    const { id: _, ...text } = found.get(id) ?? {}
    return 'title' in text ? { kind, recordId, ...text, score, meaning, words } : []
  })
  return { hits, unembedded }
}
