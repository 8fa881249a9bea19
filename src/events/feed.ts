import { eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { and, or } from '../db/conditions.ts'
import { type Catalogue, isByHand } from './catalogue.ts'
import { events, isLogged } from './table.ts'
import { inWords } from './words.ts'

/** Events as the people see them to whom their records belong. */
export const feedColumns = {
  id: events.id,
  type: events.type,
  at: events.at,
  actorKind: events.actorKind,
  actorId: events.actorId,
  actorName: events.actorName,
  data: events.data,
}

/** Of one of these types, which come from the catalogue. */
export const isOneOf = (types: readonly string[]): SQL => sql`${events.type} = any(${typeList(types)}::text[])`
/** An array literal; types consist of letters, digits, dots, lines and underscores. */
const typeList = (types: Iterable<string>): string => `{${[...types].join(',')}}`

/** Not what is only for the audit: there the event is called like the action. */
export const isTold = ne(events.type, events.action)

/** The same, without what was meant for one other person. */
export const isToldTo = (userId: string): SQL => and(isTold, or(isNull(events.userId), eq(events.userId, userId)))

/**
 * What was done with records; of one type, if one is asked for. What was logged by hand has an index by its type.
 * Types that the catalogue does not know count as work.
 */
export function isWork(catalogue: Catalogue, type?: string): SQL {
  const others = notWork(catalogue)
  if (type === undefined) return sql`${events.type} <> all(${typeList(others)}::text[])`
  if (others.has(type)) return sql`false`
  return isByHand(type) ? and(isLogged(events.action), eq(events.type, type)) : eq(events.type, type)
}

/** Their kinds too: what is logged by hand as `device` is left out of the feed like the events of devices. */
const notWork = (catalogue: Catalogue): Set<string> =>
  new Set(catalogue.all.flatMap(({ told, name, kind }) => (told === 'access' ? [name, kind] : [])))

interface Row {
  type: string
  actorKind: string
  actorId: string | null
  actorName: string
  data: Record<string, unknown>
}

/** That an administrator acted in somebody's name is for that person and the audit, and `concerns` for open streams. */
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
