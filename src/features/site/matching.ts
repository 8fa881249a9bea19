import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { hook } from '../../hooks.ts'
import { users } from '../users/table.ts'
import type { PublicFound } from './schema.ts'

/** For very common words only the newest records of a kind are ranked, because ranking reads every record. */
const NEWEST = 100

interface Source {
  title: SQLWrapper
  intro?: SQLWrapper
  text: SQLWrapper
  path: SQL
  at: SQLWrapper
  search: SQLWrapper
}

/**
 * Selects the best matches of one kind. Each kind has its own limit, so that none is read completely. The words are
 * ranked as alternatives (`words || words`), in linear time: ranking words that must all occur compares each position
 * of each with those of all others.
 */
export const selectMatches = (
  kind: SQL,
  { title, intro = sql`null`, text, path, at, search }: Source,
  rest: SQL,
  limit: number,
) =>
  sql`(select kind, title, intro, text, path, handle, name, at, ts_rank(search, words || words) as rank
  from (
    select ${kind} as kind, ${title} as title, ${intro} as intro, ${text} as text, ${path} as path,
      ${users.handle} as handle, ${users.name} as name, ${at} as at, ${search} as search, asked.words as words
    from asked, ${rest} and ${search} @@ asked.words order by ${at} desc limit ${NEWEST}) newest
  order by rank desc, at desc limit ${limit})`

/** Upper features add matches of their own kind to the public search; undefined while they are switched off. */
export const extraMatches = hook<{ limit: number }, { kind: PublicFound['kind']; matches: SQL } | undefined>(
  'site.alsoFound',
)
