import type { Driver } from '../db/driver.ts'
import { drizzleOver } from '../db/session.ts'
import type { Log } from '../log.ts'
import type { AppEvent } from './event.ts'
import { advance, type Position } from './position.ts'
import { positionNow, readEvents, settle } from './reader.ts'

export type Listener = (event: AppEvent) => void

const CHANNEL = 'tutti_events'
const AT_ONCE = 500
/** Polls at every tick while a connection is open, otherwise at every fifth. */
const TICK_MS = 1000
const QUIET_TICKS = 5

/**
 * Delivers events after their commit: directly to listeners in this process, and through NOTIFY to other instances on
 * the same Postgres, which then read the rows. A notification is only a hint; polling makes up for a lost one.
 */
export class Bus {
  readonly #listeners = new Set<Listener>()
  readonly #audiences = new Set<() => boolean>()
  #announce: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(
    private readonly driver: Driver,
    private readonly instanceId: string,
    private readonly log: Log,
  ) {}

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Polls every second while `isOpen` returns true: for connections that must hear of lost rights within a second. */
  pollWhile(isOpen: () => boolean): () => void {
    this.#audiences.add(isOpen)
    return () => void this.#audiences.delete(isOpen)
  }

  deliver(events: readonly AppEvent[]): void {
    this.#dispatch(events)
    this.#announce?.()
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

  /** Starts reading the events of other instances. Does nothing on the embedded database: it has only one process. */
  async start(): Promise<void> {
    if (this.driver.kind !== 'postgres') return
    const catchUp = await this.#reader()
    await this.driver.listen(CHANNEL, (origin) => {
      if (origin !== this.instanceId) void catchUp()
    })
    // For what was committed before the notifications began.
    void catchUp()
    let ticks = 0
    const poll = setInterval(() => {
      if (++ticks % QUIET_TICKS === 0 || [...this.#audiences].some((isOpen) => isOpen())) void catchUp()
    }, TICK_MS)
    poll.unref()
    let pending: Timer | undefined
    this.#announce = () => {
      // Many commits within a few milliseconds share one notification.
      pending ??= setTimeout(() => {
        pending = undefined
        this.driver.notify(CHANNEL, this.instanceId).catch(() => undefined)
      }, 5)
    }
    this.#stop = () => {
      clearInterval(poll)
      clearTimeout(pending)
      this.#announce = undefined
    }
  }

  stop(): void {
    this.#stop?.()
    this.#listeners.clear()
  }

  /** Returns a function that delivers what other instances have committed since its last call. */
  async #reader(): Promise<() => Promise<void>> {
    const db = drizzleOver(this.driver)
    let position: Position = await positionNow(db)
    let reading = false
    let again = false
    const look = async () => {
      for (let complete = false; !complete; ) {
        const rows = await readEvents(db, position, AT_ONCE)
        complete = rows.length < AT_ONCE
        position = advance(
          position,
          rows.map(({ seq }) => seq),
          complete,
        )
        this.#dispatch(rows.flatMap(({ seq: _, ...event }) => (event.origin === this.instanceId ? [] : event)))
      }
      position = await settle(db, position)
    }
    return async () => {
      if (reading) {
        again = true
        return
      }
      reading = true
      try {
        do {
          again = false
          await look()
        } while (again)
      } catch (error) {
        this.log.debug('could not read events of other instances', { error })
      } finally {
        reading = false
      }
    }
  }
}
