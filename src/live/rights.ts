import type { Actor } from '../auth/actor.ts'
import { affectedActors, type RenewedActor } from '../auth/authenticate.ts'
import type { EventRow } from '../events/reader.ts'
import type { Audience } from './audience.ts'
import type { HubApp } from './hub-app.ts'
import type { HubConnections } from './hub-connections.ts'
import type { Listener } from './listener.ts'
import { baseTopicOf, isBaseTopic, presenceTopicOf, type Topic, type TopicAccess } from './topics.ts'

/** Keeps the rights of open connections current. */
export class LiveRights {
  /** Counts the events that changed rights, so that a decision made before one is repeated after it. */
  #changes = 0
  /** Reads for opening connections, by credential, with the number of changes at their start. */
  readonly #renewForOpening = new Map<string, { changes: number; found: Promise<RenewedActor> }>()

  constructor(
    private readonly app: Pick<HubApp, 'auth' | 'events'>,
    private readonly connections: HubConnections,
    private readonly audience: Audience,
    private readonly topics: TopicAccess,
    private readonly onRenewed: (listener: Listener) => Promise<void>,
    private readonly onRevoked: (listener: Listener, topics: Topic[]) => void,
    private readonly onEnded: (listener: Listener, why: 'credential' | 'suspended') => void,
  ) {}

  /** Reads rights again after events that changed them. Later decisions use the new rights. */
  async apply(rows: readonly EventRow[]): Promise<void> {
    const stale = new Set<Listener>()
    const unsure = this.#atRecords(rows)
    for (const row of rows) {
      this.audience.projects.forget(row)
      const concerns = affectedActors(this.app.events, row)
      if (concerns) {
        this.#changes++
        for (const listener of this.connections) if (concerns(listener.actor)) stale.add(listener)
      }
      if (this.app.events.get(row.type)?.changes === 'visibility') {
        this.#changes++
        for (const listener of this.connections) if (dependsOn(listener, row.subjectId)) unsure.add(listener)
      }
    }
    await this.renew(stale)
    for (const listener of unsure) if (!stale.has(listener)) await this.#recheck(listener)
  }

  /** Reads the rights of these listeners again, once per credential. */
  async renew(listeners: Iterable<Listener>): Promise<void> {
    const byCredential = Map.groupBy(listeners, ({ credentialId }) => credentialId)
    for (const group of byCredential.values()) {
      const renewed = await this.app.auth.renew((group[0] as Listener).actor)
      for (const listener of group) await this.#take(listener, renewed)
    }
  }

  /**
   * Reads the rights of an opening connection. Connections of one credential that open at the same time share a read,
   * unless rights have changed since it began.
   */
  opening(actor: Actor): Promise<RenewedActor> {
    const id = actor.credentialId as string
    return this.decideWhenStable(() => {
      const known = this.#renewForOpening.get(id)
      if (known?.changes === this.#changes) return known.found
      const found = this.app.auth.renew(actor).finally(() => {
        if (this.#renewForOpening.get(id)?.found === found) this.#renewForOpening.delete(id)
      })
      this.#renewForOpening.set(id, { changes: this.#changes, found })
      return found
    })
  }

  /** Reads all rights again, because the events that changed some of them were not read. */
  async renewAll(): Promise<void> {
    await this.renew(this.connections)
    this.#changes++
  }

  /** Repeats a decision until no right changed during it. */
  async decideWhenStable<T>(decision: () => Promise<T>): Promise<T> {
    for (;;) {
      const changes = this.#changes
      const result = await decision()
      if (changes === this.#changes) return result
    }
  }

  /** Returns the listeners of the records in these events: a record may have moved out of their sight. */
  #atRecords(rows: readonly EventRow[]): Set<Listener> {
    const records = new Set(rows.flatMap(({ subjectId }) => (subjectId ? [`record:${subjectId}`] : [])))
    const found = new Set<Listener>()
    for (const record of records)
      for (const topic of [record, presenceTopicOf(record)])
        for (const listener of this.connections.subscribersOf(topic)) found.add(listener)
    for (const listener of this.connections) if (!listener.presenceTopics.isDisjointFrom(records)) found.add(listener)
    if (found.size > 0) this.#changes++
    return found
  }

  async #take(listener: Listener, renewed: RenewedActor): Promise<void> {
    if (listener.isClosed) return
    if ('ended' in renewed) return this.onEnded(listener, renewed.ended)
    listener.actor = renewed.actor
    listener.expiresAt = Date.parse(renewed.expiresAt)
    await this.onRenewed(listener)
    await this.#recheck(listener)
  }

  async #recheck(listener: Listener): Promise<void> {
    const topics = listener.topics.union(listener.presenceTopics)
    if (topics.size === 0) return
    const lost = await this.topics.refusedTopics(listener.actor, [...topics])
    if (lost.size > 0 && !listener.isClosed) this.onRevoked(listener, [...lost])
  }
}

/** Whether the listener may lose a topic when this project changes. */
const dependsOn = ({ topics, presenceTopics: presentAt }: Listener, projectId: string | null): boolean =>
  [...topics, ...presentAt].some((topic) => {
    const place = baseTopicOf(topic)
    return place === `project:${projectId}` || (isBaseTopic(place) && place.startsWith('record:'))
  })
