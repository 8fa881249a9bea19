import { eq } from 'drizzle-orm'
import { type Actor, selvesOf } from '../auth/actor.ts'
import { rightsOf } from '../auth/rights.ts'
import { and } from '../db/conditions.ts'
import type { Catalogue, EventType } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import { mayReadEvent } from '../records/readable.ts'
import type { App } from '../services.ts'
import { requireRoomToWatch } from './limits.ts'

/** Returns the definition of an event that is sent to open connections; undefined for others. */
export function heard(catalogue: Catalogue, event: AppEvent): EventType | undefined {
  const type = catalogue.get(event.type)
  return event.organizationId && type?.live ? type : undefined
}

/** Returns true if the event is of the listener's organization, the only one that their credential sees. */
export const reaches = (event: AppEvent, { organizationId }: Actor): boolean => event.organizationId === organizationId

/**
 * Returns true if the listener may read what the event is about, now: its kind by the scopes of the credential, its
 * project by the user's rights. Events outside projects are for all of the team.
 */
export async function mayHear(app: App, actor: Actor, event: AppEvent): Promise<boolean> {
  const type = app.events.get(event.type)
  if (!type || !mayReadEvent({ actor, app }, type)) return false
  if (event.projectId === null) return event.organizationId !== null && actor.memberships.has(event.organizationId)
  const { table, visible } = app.records.get('project')
  const place = and(eq(table.id, event.projectId), eq(table.organizationId, event.organizationId))
  return (await app.db.$count(table, and(place, visible(rightsOf(actor))))) > 0
}

/** Returns true if the event is about the listener's own work: tasks and features name their people in `concerns`. */
export const concerns = ({ data: { concerns: named } }: AppEvent, listener: Actor): boolean =>
  Array.isArray(named) && selvesOf(listener).some((id) => named.includes(id))

/** What a connection watches: the id of a record, or another name, and the addresses that the client used for it. */
export type Watched = Map<string, Set<string>>

export function watch(watched: Watched, subject: string, address: string): void {
  const addresses = watched.get(subject) ?? new Set()
  if (!addresses.has(address)) requireRoomToWatch([...watched.values()].reduce((n, set) => n + set.size, 0))
  watched.set(subject, addresses.add(address))
}

export function unwatch(watched: Watched, address: string): void {
  for (const [subject, addresses] of watched)
    if (addresses.delete(address) && addresses.size === 0) watched.delete(subject)
}
