import { desc, eq, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { type AppError, invalid } from '../../errors.ts'
import { isHandLogged, isTypePrefix, splitType } from '../../events/catalogue.ts'
import { events, isLogged } from '../../events/table.ts'
import { mayReadEvent } from '../../records/readable.ts'
import { quoteName, quoteText } from '../../text/quoting.ts'

/**
 * Returns the type to filter activities by. Accepts a short name (`completed` for `task.completed`) if it stands for
 * one type. Throws for a type that no activity has, because an empty list would look as if there was no activity.
 * `seen`: the events that the caller's list may contain.
 */
export async function resolveActivityType(ctx: Ctx, given: string, seen: SQL): Promise<string> {
  const type = given.trim().toLowerCase()
  const known = ctx.app.events.all
    .filter((event) => event.feed === 'work' && !event.byHand && mayReadEvent(ctx, event))
    .map(({ name }) => name)
  if (known.includes(type) || (isTypePrefix(type) && known.some((name) => name.startsWith(type)))) return type
  if (isHandLogged(type) && (await isLoggedAs(ctx, type, seen))) return type
  const sameVerb = known.filter((name) => splitType(name).verb === type)
  if (sameVerb.length === 1) return String(sameVerb)
  const near =
    sameVerb.length > 0 ? sameVerb : known.filter((name) => splitType(`${type}.`).noun === splitType(name).noun)
  throw unknownType(given, near, near.length > 0 ? [] : known, await loggedWords(ctx, seen))
}

const isLoggedAs = async (ctx: Ctx, type: string, seen: SQL): Promise<boolean> => {
  const rows = await ctx.db
    .select({ type: events.type })
    .from(events)
    .where(and(isLogged(events.action), seen, eq(events.type, type)))
    .limit(1)
  return rows.length > 0
}

const MOST_WORDS = 8
/** Activities that are read to collect these words. */
const MOST_READ = 1_000

/** Returns the types of the last activities that were logged by hand. */
const loggedWords = async (ctx: Ctx, seen: SQL): Promise<string[]> => {
  const rows = await ctx.db
    .select({ type: events.type })
    .from(events)
    .where(and(isLogged(events.action), seen))
    .orderBy(desc(events.seq))
    .limit(MOST_READ)
  return [...new Set(rows.map(({ type }) => type))].slice(0, MOST_WORDS).sort().map(quoteName)
}

/** Lists the types that the caller probably meant, else the prefixes of all types. */
function unknownType(
  given: string,
  near: readonly string[],
  all: readonly string[],
  words: readonly string[],
): AppError {
  const beginnings = [...new Set(all.map((name) => `${splitType(name).noun}.`))]
  const types = near.length > 0 ? near : beginnings
  return invalid(
    '/type',
    `No activity has the type ${quoteText(given, 20)}. Known: ${[...types, ...words].join(', ')}.`,
  )
}
