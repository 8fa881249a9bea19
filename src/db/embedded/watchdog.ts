import type { Holder, Scheduler } from './scheduler.ts'
import type { Pipeline } from './wire/pipeline.ts'
import type { Trip } from './wire/trip.ts'

const TICK_MS = 100

/**
 * Enforces time limits, as Postgres in WASM cannot interrupt itself. One timer watches the running trip and the
 * session's holder; it stops when there is neither.
 */
export class Watchdog {
  #timer: Timer | undefined
  #lastTick = 0
  #trip: Trip | undefined
  #tripMs = 0
  #holder: Holder | undefined
  #holderMs = 0

  constructor(
    private readonly pipeline: Pipeline,
    private readonly scheduler: Scheduler,
    private readonly holdLimit: number,
    private readonly onOverdue: (trip: Trip) => void,
  ) {}

  wake(): void {
    if (this.#timer) return
    this.#lastTick = performance.now()
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  #tick(): void {
    const now = performance.now()
    // If this thread was blocked or the whole process suspended, the worker may not have been running either.
    const passed = Math.min(now - this.#lastTick, 2 * TICK_MS)
    this.#lastTick = now
    const trip = this.pipeline.head
    const holder = this.scheduler.holder
    this.#tripMs = trip === this.#trip ? this.#tripMs + passed : 0
    this.#trip = trip
    // A statement without a limit does not count towards the limit of its transaction.
    if (holder !== this.#holder) this.#holderMs = 0
    else if (trip?.timeout !== 0) this.#holderMs += passed
    this.#holder = holder
    if (trip && trip.timeout > 0 && this.#tripMs >= trip.timeout) this.onOverdue(trip)
    else if (!trip && holder?.expire && this.#holderMs >= this.holdLimit) holder.expire()
    else if (!trip && !holder) this.#stop()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
