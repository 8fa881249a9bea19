import type { Driver } from '../db/driver.ts'
import { drizzleOver } from '../db/session.ts'
import type { Log } from '../log.ts'
import { epochOf } from './epoch.ts'
import type { AppEvent } from './event.ts'
import type { Position } from './position.ts'
import { type Batch, Tail } from './tail.ts'

export type Listener = (event: AppEvent) => void
export type Follower = (batch: Batch) => Promise<void>

const CHANNEL = 'tutti_events'
/** Polls at every tick while a connection is open, otherwise at every fifth. */
const TICK_MS = 1000
const QUIET_TICKS = 5

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
  readonly #audiences = new Set<() => boolean>()
  readonly #restarts = new Set<() => void>()
  /** The history of events that the positions belong to. */
  #epoch: string | undefined
  readonly #tail: Tail
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

  /** Polls every second while `isOpen` returns true: for connections that must hear of lost rights within a second. */
  pollWhile(isOpen: () => boolean): () => void {
    this.#audiences.add(isOpen)
    return () => void this.#audiences.delete(isOpen)
  }

  /** Calls the follower for every batch after the returned position, which includes everything visible now. */
  async follow(follower: Follower): Promise<{ position: Position; leave: () => void }> {
    await this.#begin()
    if (!(await this.#tail.read())) throw new Error('the events cannot be read')
    this.#followers.add(follower)
    const leave = () => {
      this.#followers.delete(follower)
      if (this.#followers.size === 0 && this.driver.kind !== 'postgres') this.#tail.stop()
    }
    return { position: this.#tail.position as Position, leave }
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
  async #checkHistory(): Promise<void> {
    const epoch = await epochOf(this.driver).catch(() => this.#epoch)
    const before = this.#epoch
    this.#epoch = epoch
    if (before === undefined || before === epoch) return
    this.log.warn('another history of events has begun', { epoch })
    this.#tail.stop()
    await this.#tail.start()
    for (const restart of this.#restarts) restart()
  }

  deliver(events: readonly AppEvent[]): void {
    this.#dispatch(events)
    this.#announce?.()
    if (this.#followers.size > 0) void this.#tail.read()
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
    this.#dispatch(batch.rows.flatMap(({ seq: _, ...event }) => (event.origin === this.instanceId ? [] : event)))
    for (const follow of this.#followers) {
      try {
        await follow(batch)
      } catch (error) {
        this.log.error('follower of events failed', { error })
      }
    }
  }

  /** Starts reading the events of other instances. The embedded database has only one process. */
  async start(): Promise<void> {
    const isShared = this.driver.kind === 'postgres'
    let ticks = 0
    const poll = setInterval(() => {
      const isDue = ++ticks % QUIET_TICKS === 0
      if (isDue && (isShared || this.#followers.size > 0)) void this.#checkHistory()
      if (this.#followers.size > 0 || (isShared && (isDue || [...this.#audiences].some((isOpen) => isOpen()))))
        void this.#tail.read()
    }, TICK_MS)
    poll.unref()
    let pending: Timer | undefined
    this.#stop = () => {
      clearInterval(poll)
      clearTimeout(pending)
      this.#announce = undefined
    }
    if (!isShared) return
    await this.#begin()
    await this.driver.listen(CHANNEL, (origin) => {
      if (origin !== this.instanceId) void this.#tail.read()
    })
    // For what was committed before the notifications began.
    await this.#tail.read()
    this.#announce = () => {
      // Many commits within a few milliseconds share one notification.
      pending ??= setTimeout(() => {
        pending = undefined
        this.driver.notify(CHANNEL, this.instanceId).catch(() => undefined)
      }, 5)
    }
  }

  stop(): void {
    this.#stop?.()
    this.#listeners.clear()
    this.#followers.clear()
    this.#restarts.clear()
  }
}
