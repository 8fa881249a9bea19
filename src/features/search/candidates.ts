import { eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Rights } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { type Db, prepare } from '../../db/session.ts'
import type { SearchName } from '../../records/names.ts'
import { passageSigns, passages, passageVectors } from './table.ts'
import { visibleTo } from './visible.ts'

/** Up to this many passages are all compared exactly; with more, only promising ones are. */
export const ALL = 2000
const LIKELY = 800
/** Number of passages compared after a narrow filter; they are few, and nothing better can choose among them. */
const FILTERED = 2000
const WORDED = 300
const FINAL = 100
/** A long query is cut to its longest words, which are the most specific. */
const LEXEMES = 30

const ph = sql.placeholder

/**
 * Wraps a parameter in a `select`, which hides its value from the planner. Otherwise the planner would plan every call
 * again, which takes longer than the search and gives an identical plan.
 */
const uuidParameter = (name: string) => sql`(select ${ph(name)}::uuid)`
const uuidsParameter = (name: string) => sql`(select ${ph(name)}::uuid[])`
const rights: Rights = {
  user: uuidParameter('user'),
  personal: uuidParameter('personal'),
  organizations: uuidsParameter('organizations'),
  projects: uuidsParameter('projects'),
  limited: sql`(select ${ph('limited')}::boolean)`,
  agent: uuidParameter('agent'),
  reach: uuidsParameter('reach'),
  workspaces: uuidsParameter('workspaces'),
  managed: uuidsParameter('managed'),
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
 * Compares all passages that the caller may find, if they are few enough. Each place has a statement of its own, with a
 * condition that an index serves: a search of a few memories must not read all passages.
 */
const compareAllIn = (place: SQL, order = sql``) =>
  prepareCandidates(sql`with ${lexemes}
    select ${candidate}, null as counts, null as near from ${passages} left join ${passageVectors} on ${isOfModel}
    where ${place} and ${found} ${order} limit ${ALL + 1}`)
export const compareEvery = {
  anywhere: compareAllIn(sql`true`),
  // The order makes the planner use the index by kind: it does not know that a project has few memories.
  project: compareAllIn(
    sql`${passages.projectId} = coalesce(${ph('projectId')}::uuid, ${ph('scopeId')}::uuid)`,
    sql`order by ${passages.kind}`,
  ),
  scope: compareAllIn(sql`${passages.id} = any(array(
    select p.id from ${passages} p where p.scope = ${ph('scope')}::text and p.scope_id = ${ph('scopeId')}::uuid
    union all select p.id from ${passages} p where p.kind = any((select ${ph('kinds')}::text[])::text[])
      and p.record_id = any((select ${ph('records')}::uuid[])::uuid[])))`),
}

export const comparisonFor = ({
  projectId,
  scope,
}: {
  projectId?: string
  scope?: string
}): keyof typeof compareEvery => {
  if (projectId || scope === 'project') return 'project'
  return scope ? 'scope' : 'anywhere'
}

const distance = sql`${passageSigns.signs} <~> (select binary_quantize(${ph('vector')}::vector))`

/**
 * Ranks some promising passages, plus some for each word. `promising` lists ids, as a statement; `near` counts the
 * records among them that may be found. `offset 0` keeps the planner, which cannot estimate how many rows are visible,
 * from reading them all once more.
 */
const compareLikelyIn = (promising: SQL, findable = found) =>
  prepareCandidates(sql`with ${lexemes},
  promising as materialized (${promising}),
  nearest as materialized (
    select ${passages.id} as id, ${passages.recordId} as record_id
    from ${passageVectors} join ${passages} on ${passages.id} = ${passageVectors.passageId}
    where ${passageVectors.passageId} = any(array(select id from promising))
      and ${passageVectors.model} = ${ph('model')} and ${findable}
    order by ${passageVectors.vector} <=> ${vector}, ${passages.id} limit ${FINAL}),
  pairs as materialized (
    select n, w.id from lexemes, lateral (
      select ${passages.id} as id from (select * from ${passages} where ${passages.search} @@ q offset 0) ${passages}
      where ${findable} limit ${WORDED}) w),
  counted as materialized (select lexemes.n, count(pairs.id)::float8 as c from lexemes left join pairs using (n)
  group by lexemes.n),
  worded as (select id from pairs join counted using (n) group by id order by sum(1 / c) desc, id limit ${FINAL})
  select ${candidate}, (select string_agg(c::text, ',' order by n) from counted) as counts,
    (select count(distinct record_id) from nearest) as near
  from (select id from nearest union select id from worded) candidates
  join ${passages} on ${passages.id} = candidates.id left join ${passageVectors} on ${isOfModel}`)

const isAsked = and(sql`${ph('vector')}::vector is not null`, sql`${passageSigns.model} = ${ph('model')}`)

function compareFiltered(findable: SQL): Comparison {
  const ids = sql`array(select ${passages.id} from ${passages} where ${findable})`
  const promising = sql`select ${passageSigns.passageId} as id, ${distance} as distance from ${passageSigns}
    where ${isAsked} and ${passageSigns.passageId} = any(${ids})
    order by distance, id limit ${FILTERED}`
  return compareLikelyIn(promising, findable)
}

export const compareLikely = {
  /** The nearest passages by the vectors in memory. */
  kept: compareLikelyIn(sql`select unnest(${ph('nearest')}::uuid[]) as id`),
  /** Passages whose vectors have similar signs, among all of the caller's teams: scans many, but short rows. */
  scanned: compareLikelyIn(sql`select ${passageSigns.passageId} as id, ${distance} as distance from ${passageSigns}
    where ${isAsked} and (${anyOf(passageSigns.owner, rights.reach)} or ${eq(passageSigns.owner, rights.personal)})
    order by distance, id limit ${LIKELY}`),
  /** The same, but only among findable passages: for a filter that removes most of the nearest. */
  filtered: compareFiltered(found),
}

/** Compares the passages that also meet a condition from the filters of a query: all, or promising ones if many do. */
export async function compareWhere(condition: SQL, db: Db, values: Record<string, unknown>): Promise<Candidate[]> {
  const candidates = await compareAllIn(sql`(${condition})`)(db, values)
  return candidates.length <= ALL ? candidates : compareFiltered(and(found, condition))(db, values)
}

export interface Candidate {
  id: string
  kind: SearchName
  recordId: string
  importance: number
  meaning: number | null
  matched: number | null
  asked: number
  counts: string | null
  /** Records that were chosen by their meaning; null if all were compared. */
  near: number | null
}

type Comparison = (db: Db, values: Record<string, unknown>) => Promise<Candidate[]>

function prepareCandidates(statement: SQL): Comparison {
  const columns = {
    id: sql<Candidate['id']>`id`,
    kind: sql<Candidate['kind']>`kind`,
    recordId: sql<Candidate['recordId']>`record_id`,
    importance: sql`importance`.mapWith(Number),
    meaning: sql`meaning`.mapWith(Number),
    matched: sql`matched`.mapWith(Number),
    asked: sql`asked`.mapWith(Number),
    counts: sql<Candidate['counts']>`counts`,
    near: sql`near`.mapWith(Number),
  }
  return prepare((db) => db.select(columns).from(sql`(${statement}) found`))
}
