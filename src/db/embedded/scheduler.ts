import { DbError } from '../driver.ts'
import type { Pipeline } from './pipeline.ts'
import type { Trip } from './trip.ts'

/** One that has Postgres's only session to itself. */
export interface Holder {
  /** The worker ended while the session was held; the hold is over. */
  lost(why: DbError): void
  /** Held for too long; must end with `release`. If absent, the hold has no limit. */
  expire?(): void
}

export interface Hold {
  send(trip: Trip): void
  release(): void
}

interface Waiting {
  holder: Holder
  grant(hold: Hold): void
  reject(why: DbError): void
}

/** Enough to keep the worker busy, few enough that a transaction does not wait long behind them. */
const WINDOW = 32

/** First come, first served: trips that share the session, and holders that need it for themselves. */
export class Scheduler {
  readonly #pipeline: Pipeline
  readonly #isReady: () => boolean
  #queue: (Trip | Waiting)[] = []
  #holder: Holder | undefined
  #idle: (() => void)[] = []

  constructor(pipeline: Pipeline, isReady: () => boolean) {
    this.#pipeline = pipeline
    this.#isReady = isReady
  }

  get queued(): number {
    return this.#queue.length
  }

  get holder(): Holder | undefined {
    return this.#holder
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#holder === undefined && this.#pipeline.depth === 0
  }

  submit(trip: Trip): void {
    this.#queue.push(trip)
    this.pump()
  }

  acquire(holder: Holder): Promise<Hold> {
    return new Promise((grant, reject) => {
      this.#queue.push({ holder, grant, reject })
      this.pump()
    })
  }

  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.pump()
    })
  }

  pump(): void {
    if (!this.#isReady()) return
    while (this.#holder === undefined) {
      const next = this.#queue[0]
      if (next === undefined) break
      const isTrip = 'statements' in next
      if (this.#pipeline.depth >= (isTrip ? WINDOW : 1)) break
      this.#queue.shift()
      if (isTrip) this.#pipeline.send(next)
      else this.#grant(next)
    }
    if (this.#idle.length > 0 && this.isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Call after the worker ended. `again` are trips that were sent but did not begin. */
  interrupt(why: DbError, again: Trip[]): void {
    this.#queue.unshift(...again)
    const holder = this.#holder
    this.#holder = undefined
    holder?.lost(why)
  }

  rejectAll(why: DbError): void {
    for (const waiting of this.#queue.splice(0)) waiting.reject(why)
  }

  #grant({ holder, grant }: Waiting): void {
    this.#holder = holder
    grant({
      send: (trip) => {
        if (this.#holder === holder) this.#pipeline.send(trip)
        else trip.reject(new DbError('unavailable', 'the database session is no longer held'))
      },
      release: () => {
        if (this.#holder !== holder) return
        this.#holder = undefined
        this.pump()
      },
    })
  }
}
