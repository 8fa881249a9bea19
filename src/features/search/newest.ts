import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import type { Driver } from '../../db/driver.ts'
import { inPlace, type SearchFilter, within } from './filters.ts'
import { passages } from './table.ts'

/** Below this many passages in the database, reading all that match is fast. */
const MANY = 5000
/** If `COMMON` of the newest `SAMPLE` passages of an owner match, their newest `WALKED` should have enough matches. */
const SAMPLE = 200
const COMMON = 50
const WALKED = 5000

const LOOK_AGAIN_MS = 60_000
const seen = new WeakMap<Driver, { at: number; many: boolean }>()

/** Returns whether the database has many passages, as its statistics say. Only looked up once a minute. */
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

/** Returns those of the caller's teams, and the caller, among whose newest passages very many match. */
async function whereCommon(ctx: Ctx, place: SearchFilter, match: SQL): Promise<string[]> {
  if (!(await areMany(ctx))) return []
  const { reach, personal } = rightsOf(ctx.actor)
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    select owners.id from (select distinct unnest(${reach}::uuid[] || ${personal}::uuid) as id) owners
    where (select count(*) from ${latest(SAMPLE)} where ${and(match, inPlace(ctx, place))}) >= ${COMMON}`)
  return rows.map(({ id }) => id)
}

/**
 * Runs a query over the matching passages that the caller may find; it gets them as a table and says how many it
 * `considered`. The index of words knows no order, so for a word that is everywhere it returns every passage. Of such
 * a word the query gets only the newest matches, `most` of each owner, which are looked for in the newest passages.
 * Where these have too few, and for all other words, it gets all matches, so that none of a rare word is missed.
 */
export async function overMatches<R extends { considered: number }>(
  ctx: Ctx,
  place: SearchFilter,
  { match, most }: { match: SQL; most: number },
  run: (matches: SQL) => Promise<R[]>,
): Promise<R[]> {
  const condition = and(match, within(ctx, place))
  const owners = await whereCommon(ctx, place, match)
  if (owners.length > 0) {
    const rows = await run(sql`(select hits.* from unnest(${idList(owners)}::uuid[]) owners (id) cross join lateral (
      select * from ${latest(WALKED)} where ${condition} limit ${most}) hits) ${passages}`)
    if ((rows[0]?.considered ?? 0) >= most) return rows
  }
  return run(sql`(select * from ${passages} where ${condition}) ${passages}`)
}
