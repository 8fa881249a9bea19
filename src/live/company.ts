import type { Actor } from '../auth/actor.ts'
import { AppError, invalid } from '../errors.ts'
import type { AppEvent } from '../events/event.ts'
import { mayRead } from '../records/readable.ts'
import type { Crowd } from './crowd.ts'
import { Exchange } from './exchange.ts'
import type { HubApp, Worker } from './following.ts'
import { hubLimits } from './limits.ts'
import type { Listener } from './listener.ts'
import { keyOf, type Places, Presence, type Present, type State } from './presence.ts'
import { isPlace, isPresence, placeOf, presenceOf, type Topic } from './topics.ts'

const DIFFERENCE_MS = 100
/** With more members than this, changes are sent once a second. */
const MANY = 50
const LEASES_MS = 10_000

/** Sends clients who is present: people by their connections, agents by their streams and claims. */
export class Company {
  readonly #presence: Presence
  readonly #exchange: Exchange
  #timer: Timer | undefined
  #leasesAt = 0
  #areLeasesOld = true

  constructor(
    private readonly app: HubApp,
    private readonly crowd: Crowd,
  ) {
    this.#presence = new Presence((topic, present) => {
      this.#soon()
      this.#exchange.change(topic, present)
    })
    this.#exchange = new Exchange(app.driver, app.instanceId, this.#presence, app.log, () => this.#soon())
  }

  /** Starts exchanging presence with other instances. */
  start(): Promise<void> {
    return this.#exchange.start()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#exchange.stop()
  }

  /** The caller must have checked access to the topic. */
  async here(listener: Listener, topic: Topic, state?: State): Promise<void> {
    if (!isPlace(topic)) throw invalid('/topic', 'Presence needs the topic of an organization, a project or a record.')
    if (state && Buffer.byteLength(JSON.stringify(state)) > hubLimits.state)
      throw invalid('/state', `state exceeds ${hubLimits.state} bytes.`, 'too_long')
    if (listener.presentAt.size >= hubLimits.topics && !listener.presentAt.has(topic))
      throw new AppError('invalid', `A connection can be present at no more than ${hubLimits.topics} topics.`)
    listener.arrive(topic)
    const isHidden = listener.actor.session?.impersonatorId || (await this.#hides(listener.actor))
    // The listener may have left, or lost access, in the meantime.
    if (!isHidden && listener.presentAt.has(topic))
      this.#presence.here(topic, partyOf(listener.actor), listener, now(this.app), state)
  }

  away(listener: Listener, topic: Topic): void {
    if (listener.depart(topic)) this.#presence.away(topic, partyOf(listener.actor), listener)
  }

  left(listener: Listener): void {
    for (const topic of [...listener.presentAt]) this.away(listener, topic)
  }

  /** Removes a listener whose user has turned presence off. */
  async recheck(listener: Listener): Promise<void> {
    if (listener.presentAt.size > 0 && (await this.#hides(listener.actor))) this.left(listener)
  }

  /** Marks the agent of a stream as present. Call the result when the stream has ended. */
  stream({ agent, organizationId }: Actor): () => void {
    if (!agent || !organizationId) return () => undefined
    const who = { type: 'agent' as const, id: agent.id, name: agent.name }
    const topic = `organization:${organizationId}`
    const connection = {}
    this.#presence.here(topic, who, connection, now(this.app))
    return () => this.#presence.away(topic, who, connection)
  }

  /** Sends a client the full list of members for each presence topic. */
  tellAll(listener: Listener, topics: Iterable<Topic>): void {
    for (const topic of topics)
      if (isPresence(topic)) {
        this.#areLeasesOld = true
        const told = this.#shownTo(listener)
        listener.notice({ op: 'presence', topic, all: this.#presence.told(placeOf(topic)).map(told) }, Date.now())
      }
  }

  /** Sends a client what it missed while it did not read. */
  onRead(listener: Listener): void {
    if (!listener.missedPresence || listener.isFull) return
    listener.missedPresence = false
    this.tellAll(listener, listener.topics)
  }

  onEvents(events: readonly AppEvent[]): void {
    this.#areLeasesOld ||= events.some(({ type }) => this.app.events.kindOf(type) === 'task')
  }

  /** Returns who is present in an organization, with the agents that work on its tasks. */
  async at(organizationId: string): Promise<Present[]> {
    const leases = placesOf(await this.app.workersOf([organizationId]))
    return this.#presence.at(`organization:${organizationId}`, leases)
  }

  /** Called about every second. */
  async tick(now: number): Promise<void> {
    const watchers = [...this.crowd].filter(({ topics }) => [...topics].some(isPresence))
    if (watchers.length > 0 && (this.#areLeasesOld || now - this.#leasesAt >= LEASES_MS)) {
      this.#areLeasesOld = false
      this.#leasesAt = now
      const teams = watchers.flatMap(({ actor }) => [...actor.memberships.keys(), ...actor.reach])
      this.#presence.replaceLeases(placesOf(await this.app.workersOf([...new Set(teams)])))
    }
    this.#tell()
  }

  /** Delays sending, because changes often come together. */
  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#tell(MANY)
    }, DIFFERENCE_MS).unref()
  }

  /** `most`: topics with more members wait for the next tick. */
  #tell(most?: number): void {
    const isWatched = (topic: Topic) => this.crowd.on(presenceOf(topic)).size > 0
    const isDue = (topic: Topic) => most === undefined || this.#presence.at(topic).length <= most
    for (const { topic, difference } of this.#presence.differences(isWatched, isDue))
      for (const listener of this.crowd.on(presenceOf(topic))) {
        const told = this.#shownTo(listener)
        const { joined, changed, left } = difference
        const seen = { joined: joined.map(told), changed: changed.map(told), left }
        if (listener.isFull) listener.missedPresence = true
        else listener.notice({ op: 'presence', topic: presenceOf(topic), ...seen }, Date.now())
      }
  }

  /** Hides the state of agents from clients that cannot read tasks, because it contains the key of a task. */
  #shownTo({ actor }: Listener): (present: Present) => Present {
    const readsTasks = mayRead({ actor, app: this.app }, 'task')
    return (present) => (present.type === 'agent' && !readsTasks ? { ...present, state: null } : present)
  }

  async #hides({ userId }: Actor): Promise<boolean> {
    const { rows } = await this.app.driver.query("select preferences->>'presence' = 'off' from users where id = $1", [
      userId,
    ])
    return rows[0]?.[0] === true
  }
}

const now = ({ clock }: HubApp): string => clock().toISOString()

const partyOf = ({ userId, name }: Actor) => ({ type: 'user' as const, id: userId as string, name })

/**
 * An agent is present at its task, the task's project and its team. At the team its state has no task key, because the
 * project may be hidden from some members.
 */
function placesOf(workers: readonly Worker[]): Places {
  const places: Places = new Map()
  for (const { id, name, since, organizationId, projectId, taskId, key } of workers) {
    const state = { task: key }
    const at = {
      [`organization:${organizationId}`]: null,
      [`project:${projectId}`]: state,
      [`record:${taskId}`]: state,
    }
    for (const [topic, shown] of Object.entries(at)) {
      const present: Present = { type: 'agent', id, name, since, state: shown, connections: 0 }
      places.set(topic, (places.get(topic) ?? new Map()).set(keyOf(present), present))
    }
  }
  return places
}
