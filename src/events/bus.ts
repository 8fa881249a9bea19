import type { Driver } from '../db/driver.ts'
import { drizzleOver } from '../db/session.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { epochOf } from './epoch.ts'
import type { AppEvent } from './event.ts'
import type { Position } from './position.ts'
import { type Batch, Tail } from './tail.ts'

export type Listener = (event: AppEvent) => void
export type Follower = (batch: Batch) => Promise<void>

const CHANNEL = 'tutti_events'
/** Polls at every tick while a connection is open or notifications do not arrive, otherwise at every fifth. */
const TICK_MS = 1000
const QUIET_TICKS = 5
/** Pause between two notifications: each wakes every other instance. */
const ANNOUNCE_MS = 20
/** Longest rest between two deliveries. */
const MOST_REST_MS = 50
/**
 * Pause between two reads of what other instances write. A read takes one or two queries, so an instance that read at
 * every notification would burden the database as much as those who write.
 */
const PAUSE_MS = 25

/**
 * Delivers events after their commit: directly to listeners in this process, and through NOTIFY to other instances on
 * the same Postgres, which then read the rows. A notification is only a hint; polling makes up for a lost one.
 *
 * Followers get the rows of all instances with their numbers, each exactly once, from the reader. Rows are read on this
 * instance's own commits only while there are followers.
 */
export class Bus {
  readonly #listeners = new Set<Listener>()
  readonly #followers = new Set<Follower>()
  /** Followers that are being added. */
  #joining = 0
  readonly #audiences = new Set<() => boolean>()
  readonly #restarts = new Set<() => void>()
  /** The history of events that the positions belong to. */
  #epoch: string | undefined
  #checking: Promise<void> | undefined
  readonly #tail: Tail
  /** When a commit last caused a read. */
  #readAt = 0
  /** Until then nothing is read because of a commit, and the timer for what was committed meanwhile. */
  #restsUntil = 0
  #soon: Timer | undefined
  #announce: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(
    private readonly driver: Driver,
    private readonly instanceId: string,
    private readonly log: Log,
  ) {
    this.#tail = new Tail(drizzleOver(driver), (batch) => this.#onBatch(batch), log)
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Polls every second while `isOpen` returns true: for connections that must notice lost rights within a second. */
  pollWhile(isOpen: () => boolean): () => void {
    this.#audiences.add(isOpen)
    return () => void this.#audiences.delete(isOpen)
  }

  /**
   * Calls the follower for every batch after the returned position, which includes everything visible now. The history
   * is looked at first: a position of an earlier one, with the name of the new one, would make clients miss events.
   */
  async follow(follower: Follower): Promise<{ epoch: string; position: Position; leave: () => void }> {
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

  /** Stops reading where no one follows or is about to. Other instances on the same Postgres are read in any case. */
  #rest(): void {
    if (this.#followers.size === 0 && this.#joining === 0 && this.driver.kind !== 'postgres') this.#tail.stop()
  }

  /** Delivers to followers what is visible now. Returns false if it cannot be read. A follower must not wait for it. */
  catchUp(): Promise<boolean> {
    return this.#tail.read()
  }

  /** Starts to read. The history is learnt first, so that a change right after is noticed. */
  async #begin(): Promise<void> {
    this.#epoch ??= await epochOf(this.driver).catch(() => undefined)
    await this.#tail.start()
  }

  /** Calls back when another history of events has begun: positions of the one before mean nothing in it. */
  onRestart(listener: () => void): void {
    this.#restarts.add(listener)
  }

  /**
   * Looks whether the database has another history, which begins when a standby takes over that may lack the last
   * commits: numbers are given again then, so a reader that went on from its position would miss events.
   */
  #checkHistory(): Promise<void> {
    this.#checking ??= this.#lookAtHistory().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #lookAtHistory(): Promise<void> {
    const epoch = await epochOf(this.driver).catch(() => this.#epoch)
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
   * Reads at once, or after a rest as long as the last delivery took: telling a thousand clients of each event by
   * itself would leave no time for those who write. What is committed meanwhile is read and told together.
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

  async #onBatch(batch: Batch): Promise<void> {
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
    // For what was committed before the notifications began.
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
    // A notification may still arrive where the database outlives the app.
    this.#tail.stop()
    this.#listeners.clear()
    this.#followers.clear()
    this.#restarts.clear()
  }
}
