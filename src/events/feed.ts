import { eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { and, or } from '../db/conditions.ts'
import { type Catalogue, isByHand } from './catalogue.ts'
import { events, isLogged } from './table.ts'
import { inWords } from './words.ts'

/** The columns of an event that people with access to its record may see. */
export const feedColumns = {
  id: events.id,
  type: events.type,
  at: events.at,
  actorKind: events.actorKind,
  actorId: events.actorId,
  actorName: events.actorName,
  data: events.data,
}

/** The event has one of these types, which must come from the catalogue. */
export const isOneOf = (types: readonly string[]): SQL => sql`${events.type} = any(${typeList(types)}::text[])`
/** Returns an array literal without quoting: types consist of letters, digits, dots, hyphens and underscores. */
const typeList = (types: Iterable<string>): string => `{${[...types].join(',')}}`

/** The event is not only an audit entry, whose type is the id of its action. */
export const isTold = ne(events.type, events.action)

/** Like `isTold`, but leaves out events that are for one other person. */
export const isToldTo = (userId: string): SQL => and(isTold, or(isNull(events.userId), eq(events.userId, userId)))

/**
 * The event is work on records, and of this type if one is given. Types that the catalogue does not know count as work.
 * For types that were logged by hand, the condition matches their index.
 */
export function isWork(catalogue: Catalogue, type?: string): SQL {
  const others = notWork(catalogue)
  if (type === undefined) return sql`${events.type} <> all(${typeList(others)}::text[])`
  if (others.has(type)) return sql`false`
  return isByHand(type) ? and(isLogged(events.action), eq(events.type, type)) : eq(events.type, type)
}

/** Includes their kinds, so that entries logged by hand as `device` stay out of the feed like the events of devices. */
const notWork = (catalogue: Catalogue): Set<string> =>
  new Set(catalogue.all.flatMap(({ feed, name, kind }) => (feed === 'access' ? [name, kind] : [])))

interface Row {
  type: string
  actorKind: string
  actorId: string | null
  actorName: string
  data: Record<string, unknown>
}

/** Leaves out `impersonatorId`, which is for that user and the audit, and `concerns`, which is for open streams. */
export function feedEntry<R extends Row>(
  catalogue: Catalogue,
  { actorKind, actorId, actorName, data: { impersonatorId: _, concerns: __, ...data }, ...event }: R,
) {
  const type =
    actorKind === 'system' ? ('system' as const) : actorKind === 'agent' ? ('agent' as const) : ('user' as const)
  return {
    ...event,
    description: inWords(catalogue, event.type, data),
    data,
    actor: { type, id: actorId, name: actorName },
  }
}
