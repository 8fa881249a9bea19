import { hubLimits } from './limits.ts'
import type { Topic } from './topics.ts'

export type PresenceState = Record<string, unknown>

/** A person or an agent that is present at a topic. */
export interface PresenceMember {
  type: 'user' | 'agent'
  id: string
  name: string
  since: string
  /** Set by the client: page, cursor, typing. For an agent: the key of its task. */
  state: PresenceState | null
  connections: number
}

/** Members by topic and key, from one source: an instance, or the leases of tasks. */
export type MembersByTopic = Map<Topic, Map<string, PresenceMember>>

export const memberKey = ({ type, id }: Pick<PresenceMember, 'type' | 'id'>): string => `${type}:${id}`

/** A change of the members of a topic, as clients receive it. */
export interface PresenceDiff {
  joined: PresenceMember[]
  changed: PresenceMember[]
  left: { type: string; id: string }[]
}

/**
 * Presence in memory, from three sources: the connections of this instance, other instances, and agents that hold a
 * lease. Nothing is stored in the database.
 */
export class PresenceStore {
  /** One entry per connection, so that a person with two windows stays present when one closes. */
  readonly #localMembers = new Map<Topic, Map<string, { present: PresenceMember; connections: Set<object> }>>()
  readonly #others = new Map<string, MembersByTopic>()
  #leases: MembersByTopic = new Map()
  /** Topics with changes that were not sent yet. */
  readonly #dirty = new Set<Topic>()
  /** What was last sent to clients. */
  readonly #snapshotOf = new Map<Topic, Map<string, string>>()

  /** `onOwn` is called when a member of this instance joins, changes or leaves. */
  constructor(private readonly onOwn: (topic: Topic, present: PresenceMember) => void) {}

  join(
    topic: Topic,
    who: Pick<PresenceMember, 'type' | 'id' | 'name'>,
    connection: object,
    at: string,
    state?: PresenceState,
  ): void {
    const here = this.#localMembers.get(topic) ?? new Map()
    const known = here.get(memberKey(who)) ?? {
      present: { ...who, since: at, state: null, connections: 0 },
      connections: new Set(),
    }
    known.connections.add(connection)
    known.present = {
      ...known.present,
      state: state === undefined ? known.present.state : state,
      connections: known.connections.size,
    }
    this.#localMembers.set(topic, here.set(memberKey(who), known))
    this.#changed(topic, known.present)
  }

  leave(topic: Topic, who: Pick<PresenceMember, 'type' | 'id'>, connection: object): void {
    const here = this.#localMembers.get(topic)
    const known = here?.get(memberKey(who))
    if (!here || !known?.connections.delete(connection)) return
    known.present = { ...known.present, connections: known.connections.size }
    if (known.connections.size === 0) here.delete(memberKey(who))
    if (here.size === 0) this.#localMembers.delete(topic)
    this.#changed(topic, known.present)
  }

  /** All members on this instance. */
  *own(): Iterable<{ topic: Topic; present: PresenceMember }> {
    for (const [topic, here] of this.#localMembers) for (const { present } of here.values()) yield { topic, present }
  }

  /** Replaces the members of another instance; without `places`, removes the instance. */
  replaceInstance(instance: string, places?: MembersByTopic): void {
    this.#touch(this.#others.get(instance))
    this.#touch(places)
    if (places) this.#others.set(instance, places)
    else this.#others.delete(instance)
  }

  /** Applies one change of another instance. */
  applyRemote(instance: string, topic: Topic, present: PresenceMember): void {
    const places = this.#others.get(instance) ?? new Map()
    const here = places.get(topic) ?? new Map()
    if (present.connections > 0) here.set(memberKey(present), present)
    else here.delete(memberKey(present))
    this.#others.set(instance, places.set(topic, here))
    this.#dirty.add(topic)
  }

  stateOf(instance: string, topic: Topic, key: string): PresenceState | null {
    return this.#others.get(instance)?.get(topic)?.get(key)?.state ?? null
  }

  replaceLeases(leases: MembersByTopic): void {
    this.#touch(this.#leases)
    this.#touch(leases)
    this.#leases = leases
  }

  /** Returns the members of a topic, the longest present first; at most 500. */
  membersOf(topic: Topic, leases: MembersByTopic = this.#leases): PresenceMember[] {
    const found = new Map<string, PresenceMember>()
    const own = [...(this.#localMembers.get(topic)?.values() ?? [])].map(({ present }) => present)
    const others = [...this.#others.values()].flatMap((places) => [...(places.get(topic)?.values() ?? [])])
    for (const present of [...own, ...others, ...(leases.get(topic)?.values() ?? [])]) {
      const known = found.get(memberKey(present))
      found.set(memberKey(present), known ? mergeMembers(known, present) : present)
    }
    return [...found.values()].sort((a, b) => (a.since < b.since ? -1 : 1)).slice(0, hubLimits.present)
  }

  /**
   * Returns the changes of topics since the last call. `isWatched`: the topic has subscribers. `isDue`: its changes are
   * sent now, not later.
   */
  *differences(
    isWatched: (topic: Topic) => boolean,
    isDue: (topic: Topic) => boolean,
  ): Iterable<{ topic: Topic; difference: PresenceDiff }> {
    for (const topic of [...this.#dirty].filter(isDue)) {
      this.#dirty.delete(topic)
      if (!isWatched(topic)) {
        this.#snapshotOf.delete(topic)
        continue
      }
      const before = this.#snapshotOf.get(topic) ?? new Map<string, string>()
      const now = this.membersOf(topic)
      const difference: PresenceDiff = {
        joined: now.filter((present) => !before.has(memberKey(present))),
        changed: now.filter((present) => {
          const told = before.get(memberKey(present))
          return told !== undefined && told !== JSON.stringify(present)
        }),
        left: [...before.keys()]
          .filter((key) => !now.some((present) => memberKey(present) === key))
          .map((key) => ({ type: key.slice(0, key.indexOf(':')), id: key.slice(key.indexOf(':') + 1) })),
      }
      this.#remember(topic, now)
      if (difference.joined.length + difference.changed.length + difference.left.length > 0) yield { topic, difference }
    }
  }

  /** Returns the members of a topic, and remembers them as the base of the next difference. */
  told(topic: Topic): PresenceMember[] {
    const now = this.membersOf(topic)
    if (!this.#snapshotOf.has(topic)) this.#remember(topic, now)
    return now
  }

  /** Empty topics are not remembered: pages watch many of them, one after the other. */
  #remember(topic: Topic, now: readonly PresenceMember[]): void {
    if (now.length === 0) this.#snapshotOf.delete(topic)
    else this.#snapshotOf.set(topic, new Map(now.map((present) => [memberKey(present), JSON.stringify(present)])))
  }

  #changed(topic: Topic, present: PresenceMember): void {
    this.#dirty.add(topic)
    this.onOwn(topic, present)
  }

  #touch(places: MembersByTopic | undefined): void {
    for (const topic of places?.keys() ?? []) this.#dirty.add(topic)
  }
}

/** Merges two entries of one person or agent. */
const mergeMembers = (a: PresenceMember, b: PresenceMember): PresenceMember => ({
  ...a,
  since: [a.since, b.since].sort()[0] as string,
  state: a.state === null ? b.state : b.state === null ? a.state : { ...b.state, ...a.state },
  connections: a.connections + b.connections,
})
