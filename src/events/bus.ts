import type { Driver } from '../db/driver.ts'
import { drizzleOver } from '../db/session.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { readEpoch } from './epoch.ts'
import type { AppEvent } from './event.ts'
import type { Position } from './position.ts'
import { type EventBatch, EventTail } from './tail.ts'

export type EventListener = (event: AppEvent) => void
export type BatchFollower = (batch: EventBatch) => Promise<void>

const CHANNEL = 'tutti_events'
/** Polls at every tick while a connection is open or notifications do not arrive, otherwise at every fifth. */
const TICK_MS = 1000
const QUIET_TICKS = 5
/** Pause between two notifications: each wakes every other instance. */
const ANNOUNCE_MS = 20
/** Longest rest between two deliveries. */
const MOST_REST_MS = 50
/**
 * Pause between two reads of other instances' events. Reading at every notification would load the database as much as
 * the writes do.
 */
const PAUSE_MS = 25

/**
 * Delivers events after their commit: directly to listeners in this process, and through NOTIFY to other instances on
 * the same Postgres, which then read the rows. A notification is only a hint; polling makes up for a lost one.
 *
 * Followers receive the rows of all instances with their numbers, each exactly once. Rows are read after this
 * instance's own commits only while there are followers.
 */
export class Bus {
  readonly #listeners = new Set<EventListener>()
  readonly #followers = new Set<BatchFollower>()
  /** Followers that are being added. */
  #joining = 0
  readonly #audiences = new Set<() => boolean>()
  readonly #restarts = new Set<() => void>()
  /** The event history that the positions belong to. */
  #epoch: string | undefined
  #checking: Promise<void> | undefined
  readonly #tail: EventTail
  /** When a commit last caused a read. */
  #readAt = 0
  /** Until then commits cause no read; `#soon` is the timer for commits in the meantime. */
  #restsUntil = 0
  #soon: Timer | undefined
  #announce: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(
    private readonly driver: Driver,
    private readonly instanceId: string,
    private readonly log: Log,
  ) {
    this.#tail = new EventTail(drizzleOver(driver), (batch) => this.#onBatch(batch), log)
  }

  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Polls every second while `isOpen` returns true: for connections that must notice lost rights within a second. */
  pollWhile(isOpen: () => boolean): () => void {
    this.#audiences.add(isOpen)
    return () => void this.#audiences.delete(isOpen)
  }

  /**
   * Calls the follower for every batch after the returned position, which includes everything visible now. Checks the
   * epoch first: an old position with the new epoch would make clients miss events.
   */
  async follow(follower: BatchFollower): Promise<{ epoch: string; position: Position; leave: () => void }> {
    this.#joining++
    try {
      await this.#begin()
      await this.#checkHistory()
      if (this.#epoch === undefined || !(await this.#tail.read()))
        throw new AppError('unavailable', 'The events cannot be read. Try again in a moment.', { retryAfter: 2 })
      this.#followers.add(follower)
    } finally {
      this.#joining--
      this.#rest()
    }
    const leave = () => {
      this.#followers.delete(follower)
      this.#rest()
    }
    return { epoch: this.#epoch, position: this.#tail.position as Position, leave }
  }

  /** Stops reading without followers. On Postgres, the events of other instances are always read. */
  #rest(): void {
    if (this.#followers.size === 0 && this.#joining === 0 && this.driver.kind !== 'postgres') this.#tail.stop()
  }

  /** Delivers visible events to followers. Returns false if they cannot be read. A follower must not await it. */
  catchUp(): Promise<boolean> {
    return this.#tail.read()
  }

  /** Reads the epoch before it starts, so that a change right after is noticed. */
  async #begin(): Promise<void> {
    this.#epoch ??= await readEpoch(this.driver).catch(() => undefined)
    await this.#tail.start()
  }

  /** Calls the listener when the event history was replaced: earlier positions are then invalid. */
  onRestart(listener: () => void): void {
    this.#restarts.add(listener)
  }

  /**
   * Checks whether the event history was replaced, as when a standby takes over that may lack the last commits. Numbers
   * are then used again, so a reader that continued from its position would miss events.
   */
  #checkHistory(): Promise<void> {
    this.#checking ??= this.#lookAtHistory().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #lookAtHistory(): Promise<void> {
    const epoch = await readEpoch(this.driver).catch(() => this.#epoch)
    const before = this.#epoch
    this.#epoch = epoch
    if (before === undefined || before === epoch) return
    this.log.warn('the event history was replaced', { epoch })
    this.#tail.stop()
    await this.#tail.start()
    for (const restart of this.#restarts) restart()
  }

  deliver(events: readonly AppEvent[]): void {
    this.#dispatch(events)
    this.#announce?.()
    if (this.#followers.size > 0) this.#readSoon()
  }

  /**
   * Reads at once, or after a rest as long as the last delivery took: sending each event by itself to a thousand
   * clients would leave no time for writes. Commits during the rest are delivered together.
   */
  #readSoon(pauseMs = 0): void {
    const read = () => {
      clearTimeout(this.#soon)
      this.#soon = undefined
      this.#readAt = performance.now()
      void this.#tail.read()
    }
    const wait = Math.max(this.#restsUntil, this.#readAt + pauseMs) - performance.now()
    if (wait <= 0) read()
    else this.#soon ??= setTimeout(read, wait).unref()
  }

  #dispatch(events: readonly AppEvent[]): void {
    for (const event of events) {
      for (const listener of this.#listeners) {
        try {
          listener(event)
        } catch (error) {
          this.log.error('event listener failed', { type: event.type, error })
        }
      }
    }
  }

  async #onBatch(batch: EventBatch): Promise<void> {
    const began = performance.now()
    this.#dispatch(batch.rows.flatMap(({ seq: _, ...event }) => (event.origin === this.instanceId ? [] : event)))
    for (const follow of this.#followers) {
      try {
        await follow(batch)
      } catch (error) {
        this.log.error('follower of events failed', { error })
      }
    }
    const ended = performance.now()
    this.#restsUntil = ended + Math.min(ended - began, MOST_REST_MS)
  }

  /** Starts reading the events of other instances. The embedded database has only one process. */
  async start(): Promise<void> {
    const isShared = this.driver.kind === 'postgres'
    let ticks = 0
    const poll = setInterval(() => {
      const isDue = ++ticks % QUIET_TICKS === 0
      if (isDue && (isShared || this.#followers.size > 0)) void this.#checkHistory()
      const isWatched = () => !this.driver.isListening || [...this.#audiences].some((isOpen) => isOpen())
      if (this.#followers.size > 0 || (isShared && (isDue || isWatched()))) void this.#tail.read()
    }, TICK_MS)
    poll.unref()
    let pending: Timer | undefined
    this.#stop = () => {
      clearInterval(poll)
      clearTimeout(pending)
      clearTimeout(this.#soon)
      this.#announce = undefined
    }
    if (!isShared) return
    await this.#begin()
    await this.driver.listen(CHANNEL, (origin) => {
      if (origin !== this.instanceId) this.#readSoon(PAUSE_MS)
    })
    // Reads what was committed before the notifications began.
    await this.#tail.read()
    let isAsked = false
    const announce = () => {
      isAsked = false
      // Commits that follow within this time share the next notification.
      pending = setTimeout(() => {
        pending = undefined
        if (isAsked) announce()
      }, ANNOUNCE_MS)
      this.driver.notify(CHANNEL, this.instanceId).catch(() => undefined)
    }
    this.#announce = () => {
      if (pending) isAsked = true
      else announce()
    }
  }

  stop(): void {
    this.#stop?.()
    // A notification may still arrive if the database outlives the app.
    this.#tail.stop()
    this.#listeners.clear()
    this.#followers.clear()
    this.#restarts.clear()
  }
}
