import { eq, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { type AppError, invalid } from '../../errors.ts'
import { isBeginning, isByHand, partsOf } from '../../events/catalogue.ts'
import { events, isLogged } from '../../events/table.ts'
import { mayReadEvent } from '../../records/readable.ts'
import { quoted } from '../../text/quoted.ts'

/**
 * Returns the type to filter activities by. Accepts a short name (`completed` for `task.completed`) if it stands for
 * one type, and throws for a type that no activity has: an empty list would mean that nothing happened. `seen`: the
 * events that the caller's list may contain.
 */
export async function activityType(ctx: Ctx, given: string, seen: SQL): Promise<string> {
  const type = given.trim().toLowerCase()
  const known = ctx.app.events.all
    .filter((event) => event.feed === 'work' && !event.byHand && mayReadEvent(ctx, event))
    .map(({ name }) => name)
  if (known.includes(type) || (isBeginning(type) && known.some((name) => name.startsWith(type)))) return type
  if (isByHand(type) && (await loggedWords(ctx, and(seen, eq(events.type, type)))).length > 0) return type
  const sameVerb = known.filter((name) => partsOf(name).verb === type)
  if (sameVerb.length === 1) return String(sameVerb)
  const near = sameVerb.length > 0 ? sameVerb : known.filter((name) => partsOf(`${type}.`).noun === partsOf(name).noun)
  throw unknownType(given, near, near.length > 0 ? [] : known, await loggedWords(ctx, seen))
}

const MOST_WORDS = 8

/** Returns the words that activities were logged with by hand. */
const loggedWords = async (ctx: Ctx, seen: SQL): Promise<string[]> => {
  const rows = await ctx.db
    .selectDistinct({ type: events.type })
    .from(events)
    .where(and(isLogged(events.action), seen))
    .orderBy(events.type)
    .limit(MOST_WORDS)
  return rows.map(({ type }) => type)
}

/** Names the types that were probably meant; if there are none, how all types begin. */
function unknownType(
  given: string,
  near: readonly string[],
  all: readonly string[],
  words: readonly string[],
): AppError {
  const beginnings = [...new Set(all.map((name) => `${partsOf(name).noun}.`))]
  const types = near.length > 0 ? near : beginnings
  return invalid('/type', `No activity has the type ${quoted(given, 20)}. Known: ${[...types, ...words].join(', ')}.`)
}
