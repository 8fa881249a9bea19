import type { Driver } from '../db/driver.ts'
import { type Db, drizzleOver } from '../db/session.ts'
import type { Log } from '../log.ts'
import type { AppEvent } from './event.ts'
import { type Position, positionNow, readSince } from './reader.ts'

export type Listener = (event: AppEvent) => void

const CHANNEL = 'tutti_events'
const AT_ONCE = 500

/**
 * Delivers events after their commit: directly to listeners in this process, and through NOTIFY to other instances on
 * the same Postgres, which then read the rows. A notification is only a hint; polling makes up for a lost one.
 */
export class Bus {
  readonly #listeners = new Set<Listener>()
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
    const db = drizzleOver(this.driver)
    let last = await positionNow(db)
    let reading = false
    let again = false
    const catchUp = async () => {
      if (reading) {
        again = true
        return
      }
      reading = true
      try {
        do {
          again = false
          last = await this.#deliverSince(db, last)
        } while (again)
      } catch (error) {
        this.log.debug('could not read events of other instances', { error })
      } finally {
        reading = false
      }
    }
    await this.driver.listen(CHANNEL, (origin) => {
      if (origin !== this.instanceId) void catchUp()
    })
    const poll = setInterval(catchUp, 5_000)
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

  /** Delivers the events that other instances committed after a position; returns the last position read. */
  async #deliverSince(db: Db, last: Position): Promise<Position> {
    const fresh = await readSince(db, last, { limit: AT_ONCE })
    this.#dispatch(fresh.flatMap(({ position: _, ...event }) => (event.origin === this.instanceId ? [] : event)))
    const reached = fresh.at(-1)?.position ?? last
    return fresh.length < AT_ONCE ? reached : this.#deliverSince(db, reached)
  }
}
