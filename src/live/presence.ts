import { hubLimits } from './limits.ts'
import type { Topic } from './topics.ts'

export type State = Record<string, unknown>

/** A person or an agent that is present at a topic. */
export interface Present {
  type: 'user' | 'agent'
  id: string
  name: string
  since: string
  /** Set by the client: page, cursor, typing. For an agent: the key of its task. */
  state: State | null
  connections: number
}

/** Members by topic and key, from one source: an instance, or the leases of tasks. */
export type Places = Map<Topic, Map<string, Present>>

export const keyOf = ({ type, id }: Pick<Present, 'type' | 'id'>): string => `${type}:${id}`

/** A change of the members of a topic, as clients receive it. */
export interface Difference {
  joined: Present[]
  changed: Present[]
  left: { type: string; id: string }[]
}

/**
 * Presence in memory, from three sources: the connections of this instance, other instances, and agents that hold a
 * lease. Nothing is stored in the database.
 */
export class Presence {
  /** One entry per connection, so that a person with two windows stays present when one closes. */
  readonly #own = new Map<Topic, Map<string, { present: Present; connections: Set<object> }>>()
  readonly #others = new Map<string, Places>()
  #leases: Places = new Map()
  /** Topics with changes that were not sent yet. */
  readonly #dirty = new Set<Topic>()
  /** What was last sent to clients. */
  readonly #told = new Map<Topic, Map<string, string>>()

  /** `onOwn` is called when a member of this instance joins, changes or leaves. */
  constructor(private readonly onOwn: (topic: Topic, present: Present) => void) {}

  here(topic: Topic, who: Pick<Present, 'type' | 'id' | 'name'>, connection: object, at: string, state?: State): void {
    const here = this.#own.get(topic) ?? new Map()
    const known = here.get(keyOf(who)) ?? {
      present: { ...who, since: at, state: null, connections: 0 },
      connections: new Set(),
    }
    known.connections.add(connection)
    known.present = {
      ...known.present,
      state: state === undefined ? known.present.state : state,
      connections: known.connections.size,
    }
    this.#own.set(topic, here.set(keyOf(who), known))
    this.#changed(topic, known.present)
  }

  away(topic: Topic, who: Pick<Present, 'type' | 'id'>, connection: object): void {
    const here = this.#own.get(topic)
    const known = here?.get(keyOf(who))
    if (!here || !known?.connections.delete(connection)) return
    known.present = { ...known.present, connections: known.connections.size }
    if (known.connections.size === 0) here.delete(keyOf(who))
    if (here.size === 0) this.#own.delete(topic)
    this.#changed(topic, known.present)
  }

  /** All members on this instance. */
  *own(): Iterable<{ topic: Topic; present: Present }> {
    for (const [topic, here] of this.#own) for (const { present } of here.values()) yield { topic, present }
  }

  /** Replaces the members of another instance; without `places`, removes the instance. */
  replace(instance: string, places?: Places): void {
    this.#touch(this.#others.get(instance))
    this.#touch(places)
    if (places) this.#others.set(instance, places)
    else this.#others.delete(instance)
  }

  /** Applies one change of another instance. */
  change(instance: string, topic: Topic, present: Present): void {
    const places = this.#others.get(instance) ?? new Map()
    const here = places.get(topic) ?? new Map()
    if (present.connections > 0) here.set(keyOf(present), present)
    else here.delete(keyOf(present))
    this.#others.set(instance, places.set(topic, here))
    this.#dirty.add(topic)
  }

  stateOf(instance: string, topic: Topic, key: string): State | null {
    return this.#others.get(instance)?.get(topic)?.get(key)?.state ?? null
  }

  replaceLeases(leases: Places): void {
    this.#touch(this.#leases)
    this.#touch(leases)
    this.#leases = leases
  }

  /** Returns the members of a topic, the longest present first; at most 500. */
  at(topic: Topic, leases: Places = this.#leases): Present[] {
    const found = new Map<string, Present>()
    const own = [...(this.#own.get(topic)?.values() ?? [])].map(({ present }) => present)
    const others = [...this.#others.values()].flatMap((places) => [...(places.get(topic)?.values() ?? [])])
    for (const present of [...own, ...others, ...(leases.get(topic)?.values() ?? [])]) {
      const known = found.get(keyOf(present))
      found.set(keyOf(present), known ? merged(known, present) : present)
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
  ): Iterable<{ topic: Topic; difference: Difference }> {
    for (const topic of [...this.#dirty].filter(isDue)) {
      this.#dirty.delete(topic)
      if (!isWatched(topic)) {
        this.#told.delete(topic)
        continue
      }
      const before = this.#told.get(topic) ?? new Map<string, string>()
      const now = this.at(topic)
      const difference: Difference = {
        joined: now.filter((present) => !before.has(keyOf(present))),
        changed: now.filter((present) => {
          const told = before.get(keyOf(present))
          return told !== undefined && told !== JSON.stringify(present)
        }),
        left: [...before.keys()]
          .filter((key) => !now.some((present) => keyOf(present) === key))
          .map((key) => ({ type: key.slice(0, key.indexOf(':')), id: key.slice(key.indexOf(':') + 1) })),
      }
      this.#remember(topic, now)
      if (difference.joined.length + difference.changed.length + difference.left.length > 0) yield { topic, difference }
    }
  }

  /** Returns the members of a topic, and remembers them as the base of the next difference. */
  told(topic: Topic): Present[] {
    const now = this.at(topic)
    if (!this.#told.has(topic)) this.#remember(topic, now)
    return now
  }

  /** Empty topics are not remembered: pages watch many of them, one after the other. */
  #remember(topic: Topic, now: readonly Present[]): void {
    if (now.length === 0) this.#told.delete(topic)
    else this.#told.set(topic, new Map(now.map((present) => [keyOf(present), JSON.stringify(present)])))
  }

  #changed(topic: Topic, present: Present): void {
    this.#dirty.add(topic)
    this.onOwn(topic, present)
  }

  #touch(places: Places | undefined): void {
    for (const topic of places?.keys() ?? []) this.#dirty.add(topic)
  }
}

/** Merges two entries of one person or agent. */
const merged = (a: Present, b: Present): Present => ({
  ...a,
  since: [a.since, b.since].sort()[0] as string,
  state: a.state === null ? b.state : b.state === null ? a.state : { ...b.state, ...a.state },
  connections: a.connections + b.connections,
})
