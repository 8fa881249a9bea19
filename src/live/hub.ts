import type { Actor } from '../auth/actor.ts'
import { AppError, invalid } from '../errors.ts'
import { encodeCursor, isSamePosition, type Position } from '../events/position.ts'
import { readRightsChanges } from '../events/reader.ts'
import type { EventBatch } from '../events/tail.ts'
import { version } from '../version.ts'
import { Audience } from './audience.ts'
import { Broadcaster } from './broadcaster.ts'
import { Delivery } from './delivery.ts'
import { BusSubscription, type HubApp, QUIET_MS, SLOW_MS, TICK_MS } from './hub-app.ts'
import { HubConnections } from './hub-connections.ts'
import { KnownProjects } from './known-projects.ts'
import { hubLimits } from './limits.ts'
import { type ClientTransport, type CloseReason, Listener } from './listener.ts'
import { PresenceService } from './presence-service.ts'
import type { PresenceState } from './presence-store.ts'
import { parseClientCursor, Replay } from './replay.ts'
import { LiveRights } from './rights.ts'
import { isTopic, type Topic, TopicAccess, topicRefusals } from './topics.ts'

/**
 * Sends committed events to open connections of any protocol. Follows the events only while a client is connected.
 */
export class Hub {
  readonly audience: Audience
  readonly topics: TopicAccess
  readonly presence: PresenceService
  /** Sends notices that are not events. */
  readonly broadcaster: Broadcaster
  readonly #connections = new HubConnections()
  readonly #rights: LiveRights
  readonly #replay: Replay
  readonly #delivery: Delivery
  readonly #following: BusSubscription
  /** Events up to here were sent to `live` listeners, and all rights are current up to here. */
  #position: Position = { high: 0, holes: [] }
  /** The end of the last batch, which is ahead of `position` while rights cannot be read. */
  #reached: Position = this.#position
  /** The batch that is being delivered. A listener never becomes `live` during a batch. */
  #batch: Promise<void> | undefined
  #isLost = false
  #isStopping = false

  constructor(private readonly app: HubApp) {
    const projects = new KnownProjects(app.driver, app.events)
    this.audience = new Audience(app, projects)
    this.topics = new TopicAccess(app, this.audience)
    this.presence = new PresenceService(app, this.#connections)
    this.broadcaster = new Broadcaster(app, this.#connections)
    this.#rights = new LiveRights(
      app,
      this.#connections,
      this.audience,
      this.topics,
      (listener) => this.presence.hideIfOptedOut(listener),
      (listener, topics) => this.#revoke(listener, topics),
      (listener, why) => this.close(listener, why),
    )
    this.#following = new BusSubscription(app, {
      start: (position) => {
        this.#position = this.#reached = position
      },
      batch: (batch) => this.#onBatch(batch),
      tick: () => this.#tick(),
    })
    this.#replay = new Replay(app, this.audience, () => this.#following.epoch)
    this.#delivery = new Delivery(app, this.audience, this.#connections, () => this.#following.epoch)
    // MCP streams use the audience even if the hub has no connection.
    app.bus.subscribe((event) => projects.forget(event))
    app.bus.onRestart(() => this.#closeAll())
  }

  /** Open connections, for /metrics. */
  get size(): number {
    return this.#connections.size
  }

  /** Reserves a slot for a connection before it is set up; `open` or `releaseReservation` must follow. */
  reserve({ credentialId }: Actor): void {
    if (this.#isStopping)
      throw new AppError('unavailable', 'The server is stopping. Try again in a moment.', { retryAfter: 2 })
    this.#connections.reserveSlot(credentialId as string)
  }

  releaseReservation({ credentialId }: Actor): void {
    this.#connections.releaseSlot(credentialId as string)
    if (!this.#connections.isEmpty) return
    this.#following.stop()
    this.#isLost = false
  }

  /** Adds a connection whose slot was reserved, and sends `hello`. */
  async open(actor: Actor, transport: ClientTransport): Promise<Listener> {
    const listener = new Listener(actor, 0, transport, this.#position, Date.now())
    try {
      await this.#following.start()
      const renewed = await this.#rights.opening(actor)
      if ('ended' in renewed) {
        transport.close(renewed.ended)
        throw new AppError('unauthenticated', 'The credential has expired or was revoked.')
      }
      listener.actor = this.#connections.sharedActor(renewed.actor)
      listener.expiresAt = Date.parse(renewed.expiresAt)
    } catch (error) {
      listener.isClosed = true
      this.releaseReservation(actor)
      throw error
    }
    listener.initialPosition = listener.position = this.#position
    this.#connections.add(listener)
    const userId = listener.actor.userId as string
    const [{ epoch }, cursor] = [this.#following, this.cursorAt(listener.position)]
    listener.sendNotice({ op: 'hello', version, epoch, cursor, userId, limits: hubLimits }, Date.now())
    return listener
  }

  onDisconnect(listener: Listener): void {
    listener.isClosed = true
    if (!this.#connections.delete(listener)) return
    this.presence.leaveAll(listener)
    this.releaseReservation(listener.actor)
  }

  /** Checks access to the topic, then shows the client as present. */
  async joinPresence(listener: Listener, topic: Topic, state?: PresenceState): Promise<void> {
    const refused = await this.#rights.decideWhenStable(() => this.topics.refusedTopics(listener.actor, [topic]))
    if (refused.has(topic)) throw new AppError('not_found', `Topic ${topic} not found.`)
    await this.presence.join(listener, topic, state)
  }

  close(listener: Listener, why: CloseReason): void {
    if (listener.isClosed) return
    this.onDisconnect(listener)
    listener.transport.close(why)
  }

  /** Called when the client has read some of its buffered messages. */
  onDrain(listener: Listener): void {
    listener.progress = undefined
    this.presence.sendMissed(listener)
    void this.#serve(listener)
  }

  cursorAt = (position: Position): string => encodeCursor(this.#following.epoch, position)

  async subscribe(
    listener: Listener,
    topics: readonly Topic[],
    { cursor, records, ref }: { cursor?: string; records?: boolean; ref?: unknown } = {},
  ): Promise<void> {
    const known = [...new Set(topics)].filter(isTopic)
    if (new Set([...listener.topics, ...known]).size > hubLimits.topics)
      throw new AppError('invalid', `A connection has at most ${hubLimits.topics} topics.`)
    const isFirst = !listener.hasSubscribed
    if (cursor !== undefined && !isFirst) throw invalid('/cursor', 'Only the first subscribe can have a cursor.')
    const from = cursor === undefined ? undefined : parseClientCursor(this.#following.epoch, cursor)
    listener.hasSubscribed = true
    const { refused, reason } = await this.#decide(listener, known, from).catch((error: unknown) => {
      if (isFirst) listener.hasSubscribed = false
      throw error
    })
    if (listener.isClosed) return
    const granted = known.filter((topic) => !refused.has(topic))
    this.#connections.subscribe(listener, granted)
    if (records !== undefined) listener.records = records
    if (listener.state === 'live') listener.position = this.#position
    if (from) listener.replayFrom(reason ? this.#position : (from as Position))
    const now = Date.now()
    const answer = { op: 'subscribed' as const, ref, topics: granted, cursor: this.cursorAt(listener.position) }
    listener.sendNotice({ ...answer, refused: topicRefusals(topics, new Set(granted)) }, now)
    this.presence.sendSnapshots(listener, granted)
    if (reason) listener.sendNotice({ op: 'reset', cursor: this.cursorAt(this.#position), reason }, now)
    if (listener.state === 'held') listener.state = 'behind'
    void this.#serve(listener)
  }

  /** Returns the refused topics and why `from` is refused. No batch and no change of rights happens in between. */
  async #decide(listener: Listener, topics: readonly Topic[], from: Position | 'epoch' | undefined) {
    if (from && !(await this.app.bus.catchUp())) throw new AppError('unavailable', 'The events cannot be read.')
    return this.#rights.decideWhenStable(async () => {
      const refused = await this.topics.refusedTopics(listener.actor, topics)
      const reason = from && (await this.#replay.refusalReason(from, this.#position))
      while (this.#batch) await this.#batch
      return { refused, reason }
    })
  }

  unsubscribe(listener: Listener, topics: readonly Topic[], ref?: unknown): void {
    this.#connections.unsubscribe(listener, topics)
    listener.sendNotice({ op: 'unsubscribed', ref, topics: [...topics] }, Date.now())
  }

  /** Closes every connection, because the server stops. */
  stop(): void {
    this.#isStopping = true
    this.#closeAll()
    this.presence.stop()
  }

  /** Clients reconnect; a cursor of another event history then leads to `reset`. */
  readonly #closeAll = (): void => this.#connections.forEach((listener) => void this.close(listener, 'away'))

  #revoke(listener: Listener, topics: Topic[]): void {
    const subscribed = topics.filter((topic) => listener.topics.has(topic))
    for (const topic of topics) this.presence.leave(listener, topic)
    this.#connections.unsubscribe(listener, subscribed)
    if (subscribed.length > 0) listener.sendNotice({ op: 'revoked', topics: subscribed }, Date.now())
  }

  async #onBatch(batch: EventBatch): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#batch = promise
    try {
      if (!this.#isLost) {
        await this.#rights.apply(batch.rows)
        if (!batch.complete)
          await this.#rights.apply(await readRightsChanges(this.app.db, this.app.events, batch.after))
        await this.#delivery.send(batch)
        this.presence.onEvents(batch.rows)
        this.#position = batch.after
      }
    } catch (error) {
      this.app.log.warn('live events are paused: rights cannot be read', { error })
      this.#lose()
    } finally {
      this.#reached = batch.after
      this.#batch = undefined
      resolve()
    }
    for (const listener of this.#connections) if (listener.state === 'behind') void this.#serve(listener)
  }

  /** Rights cannot be read, so nothing is sent until they can; then all listeners are served from the log. */
  #lose(): void {
    this.#isLost = true
    for (const listener of this.#connections)
      if (listener.state === 'live') this.#delivery.fallBehind(listener, this.#position)
  }

  async #recover(): Promise<void> {
    for (;;) {
      const reached = this.#reached
      this.audience.projects.clear()
      await this.#rights.renewAll()
      if (reached !== this.#reached) continue
      this.#position = reached
      this.#isLost = false
      return
    }
  }

  async #tick(): Promise<void> {
    try {
      if (this.#isLost) await this.#recover()
      await this.#rights.renew([...this.#connections].filter(({ expiresAt }) => expiresAt <= Date.now()))
    } catch (error) {
      this.app.log.debug('rights of live connections cannot be read', { error })
    }
    const now = Date.now()
    this.#connections.forEach((listener) => void this.#look(listener, now))
    await this.presence.tick(now).catch((error: unknown) => this.app.log.debug('presence was not sent', { error }))
  }

  #look(listener: Listener, now: number): void {
    if (listener.state === 'held' && now - listener.openedAt >= TICK_MS) listener.state = 'behind'
    listener.transport.keepAlive?.(now)
    if (listener.isStuck(now, SLOW_MS)) this.close(listener, 'slow')
    else if (listener.state === 'behind') void this.#serve(listener)
    else if (listener.state === 'live' && !this.#batch && now - listener.sentAt >= QUIET_MS)
      listener.sendNotice({ op: 'tick', cursor: this.cursorAt(this.#position) }, now)
  }

  /** Serves a listener from the log until it has caught up or stops reading. */
  async #serve(listener: Listener): Promise<void> {
    if (listener.isServing) return
    listener.isServing = true
    try {
      while (listener.state === 'behind' && !listener.isClosed && !listener.isFull && !this.#isLost) {
        // In the middle of a batch the listener may be ahead of `position`.
        if (this.#batch) await this.#batch
        else if (isSamePosition(listener.position, this.#position)) this.#goLive(listener)
        else await this.#replay.sendPage(listener, this.#position)
      }
    } catch (error) {
      this.app.log.debug('a live connection could not be served', { error })
    } finally {
      listener.isServing = false
    }
  }

  #goLive(listener: Listener): void {
    listener.state = 'live'
    listener.alreadySent = undefined
    if (!listener.isReplaying) return
    listener.isReplaying = false
    listener.sendNotice({ op: 'ready', cursor: this.cursorAt(this.#position) }, Date.now())
  }
}
