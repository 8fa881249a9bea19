import type { Actor } from '../auth/actor.ts'
import { AppError, invalid } from '../errors.ts'
import type { AppEvent } from '../events/event.ts'
import { mayRead } from '../records/readable.ts'
import type { HubApp, WorkingAgent } from './hub-app.ts'
import type { HubConnections } from './hub-connections.ts'
import { hubLimits } from './limits.ts'
import type { Listener } from './listener.ts'
import { PresenceExchange } from './presence-exchange.ts'
import {
  type MembersByTopic,
  memberKey,
  type PresenceMember,
  type PresenceState,
  PresenceStore,
} from './presence-store.ts'
import { baseTopicOf, isBaseTopic, isPresenceTopic, presenceTopicOf, type Topic } from './topics.ts'

const DIFFERENCE_MS = 100
/** With more members than this, changes are sent once a second. */
const MANY = 50
const LEASES_MS = 10_000

/** Sends clients who is present: people by their connections, agents by their streams and claims. */
export class PresenceService {
  readonly #presence: PresenceStore
  readonly #exchange: PresenceExchange
  #timer: Timer | undefined
  #leasesAt = 0
  #areLeasesOld = true

  constructor(
    private readonly app: HubApp,
    private readonly connections: HubConnections,
  ) {
    this.#presence = new PresenceStore((topic, present) => {
      this.#soon()
      this.#exchange.announce(topic, present)
    })
    this.#exchange = new PresenceExchange(app.driver, app.instanceId, this.#presence, app.log, () => this.#soon())
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
  async join(listener: Listener, topic: Topic, state?: PresenceState): Promise<void> {
    if (!isBaseTopic(topic))
      throw invalid('/topic', 'Presence needs the topic of an organization, a project or a record.')
    if (state && Buffer.byteLength(JSON.stringify(state)) > hubLimits.state)
      throw invalid('/state', `state exceeds ${hubLimits.state} bytes.`, 'too_long')
    if (listener.presenceTopics.size >= hubLimits.topics && !listener.presenceTopics.has(topic))
      throw new AppError('invalid', `A connection can be present at no more than ${hubLimits.topics} topics.`)
    listener.joinPresence(topic)
    const isHidden = listener.actor.session?.impersonatorId || (await this.#hides(listener.actor))
    // The listener may have left, or lost access, in the meantime.
    if (!isHidden && listener.presenceTopics.has(topic))
      this.#presence.join(topic, partyOf(listener.actor), listener, now(this.app), state)
  }

  leave(listener: Listener, topic: Topic): void {
    if (listener.leavePresence(topic)) this.#presence.leave(topic, partyOf(listener.actor), listener)
  }

  leaveAll(listener: Listener): void {
    for (const topic of [...listener.presenceTopics]) this.leave(listener, topic)
  }

  /** Removes a listener whose user has turned presence off. */
  async hideIfOptedOut(listener: Listener): Promise<void> {
    if (listener.presenceTopics.size > 0 && (await this.#hides(listener.actor))) this.leaveAll(listener)
  }

  /** Marks the agent of a stream as present. Call the result when the stream has ended. */
  trackStream({ agent, organizationId }: Actor): () => void {
    if (!agent || !organizationId) return () => undefined
    const who = { type: 'agent' as const, id: agent.id, name: agent.name }
    const topic = `organization:${organizationId}`
    const connection = {}
    this.#presence.join(topic, who, connection, now(this.app))
    return () => this.#presence.leave(topic, who, connection)
  }

  /** Sends a client the full list of members for each presence topic. */
  sendSnapshots(listener: Listener, topics: Iterable<Topic>): void {
    for (const topic of topics)
      if (isPresenceTopic(topic)) {
        this.#areLeasesOld = true
        const told = this.#shownTo(listener)
        listener.sendNotice(
          { op: 'presence', topic, all: this.#presence.told(baseTopicOf(topic)).map(told) },
          Date.now(),
        )
      }
  }

  /** Sends a client what it missed while it did not read. */
  sendMissed(listener: Listener): void {
    if (!listener.missedPresence || listener.isFull) return
    listener.missedPresence = false
    this.sendSnapshots(listener, listener.topics)
  }

  onEvents(events: readonly AppEvent[]): void {
    this.#areLeasesOld ||= events.some(({ type }) => this.app.events.kindOf(type) === 'task')
  }

  /** Returns who is present in an organization, with the agents that work on its tasks. */
  async listPresent(organizationId: string): Promise<PresenceMember[]> {
    const leases = placesOf(await this.app.workersOf([organizationId]))
    return this.#presence.membersOf(`organization:${organizationId}`, leases)
  }

  /** Called about every second. */
  async tick(now: number): Promise<void> {
    const watchers = [...this.connections].filter(({ topics }) => [...topics].some(isPresenceTopic))
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
    const isWatched = (topic: Topic) => this.connections.subscribersOf(presenceTopicOf(topic)).size > 0
    const isDue = (topic: Topic) => most === undefined || this.#presence.membersOf(topic).length <= most
    for (const { topic, difference } of this.#presence.differences(isWatched, isDue))
      for (const listener of this.connections.subscribersOf(presenceTopicOf(topic))) {
        const told = this.#shownTo(listener)
        const { joined, changed, left } = difference
        const seen = { joined: joined.map(told), changed: changed.map(told), left }
        if (listener.isFull) listener.missedPresence = true
        else listener.sendNotice({ op: 'presence', topic: presenceTopicOf(topic), ...seen }, Date.now())
      }
  }

  /** Hides the state of agents from clients that cannot read tasks, because it contains the key of a task. */
  #shownTo({ actor }: Listener): (present: PresenceMember) => PresenceMember {
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
function placesOf(workers: readonly WorkingAgent[]): MembersByTopic {
  const places: MembersByTopic = new Map()
  for (const { id, name, since, organizationId, projectId, taskId, key } of workers) {
    const state = { task: key }
    const at = {
      [`organization:${organizationId}`]: null,
      [`project:${projectId}`]: state,
      [`record:${taskId}`]: state,
    }
    for (const [topic, shown] of Object.entries(at)) {
      const present: PresenceMember = { type: 'agent', id, name, since, state: shown, connections: 0 }
      places.set(topic, (places.get(topic) ?? new Map()).set(memberKey(present), present))
    }
  }
  return places
}
