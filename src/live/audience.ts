import type { Actor } from '../auth/actor.ts'
import type { Catalogue, EventType } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import { requireRoomToWatch } from './limits.ts'

/** Returns the event's definition if open connections hear of it at all. */
export function heard(catalogue: Catalogue, event: AppEvent): EventType | undefined {
  const type = catalogue.get(event.type)
  return event.organizationId && type?.live ? type : undefined
}

/** Whether an event happened where the listener is: their credential sees one organization, and hears of no other. */
export const reaches = (event: AppEvent, { organizationId }: Actor): boolean => event.organizationId === organizationId

/** Whether it happened to the listener's own work. Tasks and features name whose they are, before the change and after it. */
export const concerns = ({ data }: AppEvent, { agent, userId }: Actor): boolean =>
  Array.isArray(data.concerns) && data.concerns.includes(agent?.id ?? userId)

/** What a connection watches: the id of a record, or another name for what changes, to the addresses it is known by. */
export type Watched = Map<string, Set<string>>

/** Remembers that an address is watched. */
export function watch(watched: Watched, subject: string, address: string): void {
  const addresses = watched.get(subject) ?? new Set()
  if (!addresses.has(address)) requireRoomToWatch([...watched.values()].reduce((n, set) => n + set.size, 0))
  watched.set(subject, addresses.add(address))
}

export function unwatch(watched: Watched, address: string): void {
  for (const [subject, addresses] of watched)
    if (addresses.delete(address) && addresses.size === 0) watched.delete(subject)
}
