import { ne } from 'drizzle-orm'
import { events } from './table.ts'

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

/** Not what is only for the audit: there the event is called like the action. */
export const isTold = ne(events.type, events.action)

interface Row {
  actorKind: string
  actorId: string | null
  actorName: string
  data: Record<string, unknown>
}

/** That an administrator acted in somebody's name is for that person and the audit. */
export function feedEntry<R extends Row>({ actorKind, actorId, actorName, data: { impersonatorId: _, ...data }, ...event }: R) {
  const type = actorKind === 'system' ? ('system' as const) : ('user' as const)
  return { ...event, data, actor: { type, id: actorId, name: actorName } }
}
