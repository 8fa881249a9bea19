import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../auth/actor.ts'
import { AppError } from '../errors.ts'
import type { AppEvent } from '../events/event.ts'
import { hubLimits } from './limits.ts'
import type { Listener } from './listener.ts'
import { ownTopic, type Topic, topicsOf } from './topics.ts'

/** The open connections of the hub, by topic. */
export class HubConnections {
  readonly #all = new Set<Listener>()
  readonly #byTopic = new Map<Topic, Set<Listener>>()
  /** Sets of topics that listeners share, by the joined names of the topics. */
  readonly #topics = new Map<string, { topics: ReadonlySet<Topic>; users: number }>()
  readonly #byCredential = new Map<string, number>()
  /** The last known actor of each credential. */
  readonly #actors = new Map<string, Actor>()
  /** Slots in use, including those of connections that are being set up. */
  #taken = 0

  get size(): number {
    return this.#all.size
  }

  get isEmpty(): boolean {
    return this.#taken === 0
  }

  [Symbol.iterator](): IterableIterator<Listener> {
    return this.#all.values()
  }

  /** Calls `work` for every listener; `work` may close listeners. */
  forEach(work: (listener: Listener) => void): void {
    for (const listener of [...this.#all]) work(listener)
  }

  /** Reserves a slot before anything is awaited, so that parallel requests cannot pass the limits. */
  reserveSlot(credentialId: string): void {
    const open = this.#byCredential.get(credentialId) ?? 0
    if (open >= hubLimits.socketsPerCredential)
      throw new AppError('rate_limited', `This credential already has ${open} live connections, the maximum.`, {
        retryAfter: 5,
      })
    if (this.#taken >= hubLimits.sockets)
      throw new AppError('unavailable', 'This server has reached its limit of live connections. Try again later.', {
        retryAfter: 30,
      })
    this.#taken++
    this.#byCredential.set(credentialId, open + 1)
  }

  releaseSlot(credentialId: string): void {
    const left = (this.#byCredential.get(credentialId) ?? 0) - 1
    this.#taken--
    if (left > 0) this.#byCredential.set(credentialId, left)
    else {
      this.#byCredential.delete(credentialId)
      this.#actors.delete(credentialId)
    }
  }

  add(listener: Listener): void {
    this.#all.add(listener)
    this.#actors.set(listener.credentialId, listener.actor)
    if (listener.actor.userId) this.#index(listener, ownTopic(listener.actor.userId))
  }

  delete(listener: Listener): boolean {
    if (!this.#all.delete(listener)) return false
    this.unsubscribe(listener, [...listener.topics])
    if (listener.actor.userId) this.#unindex(listener, ownTopic(listener.actor.userId))
    return true
  }

  subscribe(listener: Listener, topics: readonly Topic[]): void {
    this.#listenTo(listener, listener.topics.union(new Set(topics)))
    for (const topic of topics) this.#index(listener, topic)
  }

  unsubscribe(listener: Listener, topics: readonly Topic[]): void {
    this.#listenTo(listener, listener.topics.difference(new Set(topics)))
    for (const topic of topics) this.#unindex(listener, topic)
  }

  /** Listeners to the same topics share one set: most of ten thousand connections have one or two topics. */
  #listenTo(listener: Listener, topics: ReadonlySet<Topic>): void {
    const before = [...listener.topics].join(' ')
    const old = this.#topics.get(before)
    if (old && --old.users === 0) this.#topics.delete(before)
    const name = [...topics].join(' ')
    const shared = this.#topics.get(name) ?? { topics, users: 0 }
    shared.users++
    listener.topics = shared.topics
    if (topics.size > 0) this.#topics.set(name, shared)
  }

  subscribersOf(topic: Topic): ReadonlySet<Listener> {
    return this.#byTopic.get(topic) ?? nobody
  }

  /** Returns each subscriber of the events' topics once. Does not check rights. */
  recipientsOf(events: readonly AppEvent[]): Iterable<Listener> {
    const rooms = new Set(events.flatMap((event) => this.#rooms(event)))
    if (rooms.size === 1) for (const only of rooms) return [...only]
    const found = new Set<Listener>()
    for (const room of rooms) for (const listener of room) found.add(listener)
    return found
  }

  hasRecipients = (event: AppEvent): boolean => this.#rooms(event).length > 0

  /** Returns true if a subscriber wants events with their records. */
  wantsRecord(event: AppEvent): boolean {
    for (const room of this.#rooms(event)) for (const { records } of room) if (records) return true
    return false
  }

  #rooms(event: AppEvent): ReadonlySet<Listener>[] {
    const topics = event.userId ? [ownTopic(event.userId), ...topicsOf(event)] : topicsOf(event)
    return topics.map((topic) => this.subscribersOf(topic)).filter(({ size }) => size > 0)
  }

  /** Returns the equal actor of another connection of the credential, so that all its connections share one object. */
  sharedActor(actor: Actor): Actor {
    const known = this.#actors.get(actor.credentialId as string)
    return known && isDeepStrictEqual(known, actor) ? known : actor
  }

  #index(listener: Listener, topic: Topic): void {
    const on = this.#byTopic.get(topic)
    if (on) on.add(listener)
    else this.#byTopic.set(topic, new Set([listener]))
  }

  #unindex(listener: Listener, topic: Topic): void {
    const on = this.#byTopic.get(topic)
    if (on?.delete(listener) && on.size === 0) this.#byTopic.delete(topic)
  }
}

const nobody: ReadonlySet<Listener> = new Set()
