import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import type { Driver } from '../../db/driver.ts'
import { isFindableBy, isInFilter, type SearchFilter } from './filters.ts'
import { passages } from './table.ts'

/** Below this many passages in the database, reading all that match is fast. */
const MANY = 5000
/** If `COMMON` of the newest `SAMPLE` passages of an owner match, the newest `WALKED` may have enough matches. */
const SAMPLE = 200
const COMMON = 50
const WALKED = 5000

const LOOK_AGAIN_MS = 60_000
const seen = new WeakMap<Driver, { at: number; many: boolean }>()

/** Returns whether the database has many passages, according to its statistics. Looked up once a minute. */
async function areMany({ app: { driver } }: Ctx): Promise<boolean> {
  const known = seen.get(driver)
  if (known && performance.now() - known.at < LOOK_AGAIN_MS) return known.many
  const { rows } = await driver.query(`select reltuples from pg_class where oid = 'passages'::regclass`)
  const many = Number(rows[0]?.[0]) > MANY
  seen.set(driver, { at: performance.now(), many })
  return many
}

const latest = (n: number): SQL => sql`(select * from ${passages} where ${passages.owner} = owners.id
  order by ${passages.at} desc, ${passages.id} desc limit ${n}) ${passages}`

interface Owners {
  /** Their newest passages have `most` matches. */
  common: string[]
  others: string[]
}

/** Divides the caller's teams and the caller into those whose newest passages have enough matches, and the others. */
async function ownersFor(ctx: Ctx, place: SearchFilter, { match, most }: MatchQuery): Promise<Owners> {
  const { reach, personal } = rightsOf(ctx.actor)
  const { rows } = await ctx.db.execute<{ id: string; common: boolean }>(sql`
    select owners.id, case
      when (select count(*) from ${latest(SAMPLE)} where ${and(match, isInFilter(ctx, place))}) < ${COMMON} then false
      else exists (select 1 from ${latest(WALKED)} where ${and(match, isFindableBy(ctx, place))} offset ${most - 1})
    end as common
    from (select distinct unnest(${reach}::uuid[] || ${personal}::uuid) as id) owners`)
  const ids = (common: boolean) => rows.flatMap((row) => (row.common === common ? row.id : []))
  return { common: ids(true), others: ids(false) }
}

interface MatchQuery {
  match: SQL
  /** How many of an owner's newest matches are enough. */
  most: number
}

/**
 * Returns the matching passages that the caller may find, as a table for a statement. The word index has no order, so
 * for a very common word it returns every passage. For an owner with such a word, the table contains only the newest
 * matches, found in the newest passages. For all other owners it contains all matches, so that no match of a rare word
 * is missed.
 */
export async function matchesOf(ctx: Ctx, place: SearchFilter, sought: MatchQuery): Promise<SQL> {
  const condition = and(sought.match, isFindableBy(ctx, place))
  const { common, others } = (await areMany(ctx)) ? await ownersFor(ctx, place, sought) : { common: [], others: [] }
  if (common.length === 0) return sql`(select * from ${passages} where ${condition}) ${passages}`
  return sql`(select hits.* from unnest(${idList(common)}::uuid[]) owners (id) cross join lateral (
      select * from ${latest(WALKED)} where ${condition} limit ${sought.most}) hits
    union all select * from ${passages} where ${anyOf(passages.owner, idList(others))} and ${condition}) ${passages}`
}
