import { type Actor, ownIds, seesPersonal } from '../auth/actor.ts'
import { isWithinLimit } from '../auth/limit.ts'
import { isAtLeast } from '../auth/policy.ts'
import { type EventCatalogue, type EventType, isHandLogged } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import type { Records } from '../records/kind.ts'
import type { RecordName } from '../records/names.ts'
import { mayRead, mayReadEvent } from '../records/readable.ts'
import type { KnownProjects, ProjectAccess } from './known-projects.ts'
import { requireWatchSlot } from './limits.ts'

/** `projects.visibleTo` in memory. */
export function seesProject(actor: Actor, project: ProjectAccess): boolean {
  const { id, organizationId, workspaceId, visibility, createdById } = project
  if (!isWithinLimit(actor, id)) return false
  const role = actor.memberships.get(organizationId)
  if (role) {
    const isOwn = createdById !== null && createdById === actor.userId
    if (visibility !== 'private' || isOwn || isAtLeast(role, 'admin')) return true
  }
  const isReached = role !== undefined || actor.reach.includes(organizationId)
  return isReached && workspaceId !== null && actor.workspaces.has(workspaceId) && visibility !== 'private'
}

/** Why an actor may receive an event. */
export interface EventAccess {
  /** The actor sees the team or the project of the event. */
  shared: boolean
  /** The event is only for this user. */
  own: boolean
}

/** Returns true if the credential can read every kind of record. */
export const readsEverything = ({ scopes }: Actor): boolean => scopes.includes('read') || scopes.includes('write')

const nothing: EventAccess = { shared: false, own: false }

interface Known {
  readonly events: EventCatalogue
  readonly records: Records
}

/**
 * THE RULE who receives an event, for the hub, SSE, replays and MCP streams. It decides in memory, so the event's
 * project must have been loaded into `projects`. Team events are those that `activity.seenBy` finds in the feed.
 * Events about accounts and access are only for the user that they name.
 */
export class Audience {
  readonly #byHand: EventType | undefined
  /** Types logged by hand that have the name of a kind outside the work feed. */
  readonly #otherKinds: ReadonlySet<string>

  constructor(
    private readonly known: Known,
    readonly projects: KnownProjects,
  ) {
    this.#byHand = known.events.all.find(({ byHand }) => byHand)
    this.#otherKinds = new Set(known.events.all.flatMap(({ feed, kind }) => (feed === 'work' ? [] : [kind])))
  }

  /**
   * Returns the definition of an event that clients can receive; undefined for audit entries, unknown types, and types
   * that no feed shows.
   */
  typeOf({ type, action }: AppEvent): EventType | undefined {
    if (type === action) return undefined
    const known = this.known.events.get(type)
    if (!isHandLogged(type)) return known?.feed === 'none' ? undefined : known
    return this.#otherKinds.has(type) ? undefined : this.#byHand
  }

  accessTo(actor: Actor, event: AppEvent): EventAccess {
    const type = this.typeOf(event)
    if (!type || (event.userId !== null && event.userId !== actor.userId)) return nothing
    if (!this.#mayRead(actor, event, type)) return nothing
    return {
      shared: type.feed === 'work' && this.#isIn(actor, event),
      own: event.userId !== null && this.#isOwn(actor, event, type),
    }
  }

  #mayRead(actor: Actor, { data: { noun } }: AppEvent, type: EventType): boolean {
    const reader = { actor, app: this.known }
    if (!mayReadEvent(reader, type)) return false
    // Some events name a record of another kind: the event of a link names the record at its first end.
    if (typeof noun !== 'string') return true
    return this.known.records.find(noun) ? mayRead(reader, noun as RecordName) : readsEverything(actor)
  }

  #isIn(actor: Actor, { organizationId, projectId }: AppEvent): boolean {
    if (organizationId === null) return false
    if (projectId === null) return isWithinLimit(actor, null) && actor.memberships.has(organizationId)
    const project = this.projects.get(projectId)
    return project?.organizationId === organizationId && seesProject(actor, project)
  }

  /** A credential of one team, and a key that can read only some kinds, receive no personal events. */
  #isOwn(actor: Actor, { organizationId }: AppEvent, { feed }: EventType): boolean {
    if (actor.kind === 'mcp_token' || !seesPersonal(actor)) return false
    if (!readsEverything(actor)) return false
    return organizationId === null || feed === 'access' || actor.memberships.has(organizationId)
  }
}

/** Returns the definition of an event that is sent to open MCP streams; undefined for others. */
export function liveTypeOf(catalogue: EventCatalogue, event: AppEvent): EventType | undefined {
  const type = catalogue.get(event.type)
  return event.organizationId && type?.live ? type : undefined
}

/** Returns true if the event is of the listener's organization, the only one that their credential sees. */
export const isOfOwnOrganization = (event: AppEvent, { organizationId }: Actor): boolean =>
  event.organizationId === organizationId

/** Returns true if the event is about the listener's own work: its data lists people in `concerns`. */
export const concernsActor = ({ data: { concerns: named } }: AppEvent, listener: Actor): boolean =>
  Array.isArray(named) && ownIds(listener).some((id) => named.includes(id))

/** What a connection watches: record ids (or other names), each with the addresses that the client used. */
export type WatchedResources = Map<string, Set<string>>

export function watchResource(watched: WatchedResources, subject: string, address: string): void {
  const addresses = watched.get(subject) ?? new Set()
  if (!addresses.has(address)) requireWatchSlot([...watched.values()].reduce((n, set) => n + set.size, 0))
  watched.set(subject, addresses.add(address))
}

export function unwatchResource(watched: WatchedResources, address: string): void {
  for (const [subject, addresses] of watched)
    if (addresses.delete(address) && addresses.size === 0) watched.delete(subject)
}
