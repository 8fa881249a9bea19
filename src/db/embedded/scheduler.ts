import { DbError } from '../driver.ts'
import { originalTrip, sendGroup } from './wire/group.ts'
import type { Pipeline } from './wire/pipeline.ts'
import type { Trip } from './wire/trip.ts'

/** Holds the only session of Postgres exclusively. */
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
/** Transactions that share one fsync. Few enough that a read does not wait long for them. */
const GROUP = 32

interface SchedulerOptions {
  isReady(): boolean
  /** Whether whole transactions wait for each other's fsync. Pointless if a commit does not wait for the disk. */
  groups: boolean
  /** The worker still responds, but its state can no longer be trusted. */
  broken(why: DbError): void
}

/**
 * First come, first served: trips that share the session, and holders that need it exclusively. Whole transactions
 * (`commits`) that arrive while others are being flushed wait for those, and then share one fsync (`group.ts`). Later
 * trips may overtake them, but nothing overtakes a holder.
 */
export class Scheduler {
  #queue: (Trip | Waiting)[] = []
  #holder: Holder | undefined
  /** The transactions that were sent last and have not been answered. */
  #group: readonly Trip[] | undefined
  #idle: (() => void)[] = []

  constructor(
    private readonly pipeline: Pipeline,
    private readonly options: SchedulerOptions,
  ) {}

  get queued(): number {
    return this.#queue.length
  }

  get holder(): Holder | undefined {
    return this.#holder
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#holder === undefined && this.pipeline.depth === 0
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
    if (!this.options.isReady()) return
    for (let at = 0; this.#holder === undefined; ) {
      const next = this.#queue[at]
      if (next === undefined) break
      if (!isTrip(next)) {
        if (at > 0 || this.pipeline.depth > 0) break
        this.#queue.shift()
        this.#grant(next)
      } else if (this.pipeline.depth >= WINDOW) break
      else if (!this.options.groups || !next.commits) {
        this.#queue.splice(at, 1)
        this.pipeline.send(next)
      } else if (this.#group) at++
      else this.#sendGroup()
    }
    if (this.#idle.length > 0 && this.isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Call after the worker ended. `again` are trips that were sent but did not begin. */
  interrupt(why: DbError, again: Trip[]): void {
    this.#queue.unshift(...again.map(originalTrip))
    this.#group = undefined
    const holder = this.#holder
    this.#holder = undefined
    holder?.lost(why)
  }

  rejectAll(why: DbError): void {
    for (const waiting of this.#queue.splice(0)) waiting.reject(why)
  }

  /** Takes the transactions that wait, up to the first holder. */
  #sendGroup(): void {
    const end = this.#queue.findIndex((waiting) => !isTrip(waiting))
    const before = end < 0 ? this.#queue : this.#queue.slice(0, end)
    const group = before.filter((waiting) => isTrip(waiting)).filter(({ commits }) => commits)
    group.length = Math.min(group.length, GROUP)
    const taken = new Set<Trip | Waiting>(group)
    this.#queue = this.#queue.filter((waiting) => !taken.has(waiting))
    this.#group = group
    sendGroup(this.pipeline, group, (broken) => {
      if (this.#group !== group) return
      this.#group = undefined
      if (broken) this.options.broken(broken)
      else this.pump()
    })
  }

  #grant({ holder, grant }: Waiting): void {
    this.#holder = holder
    grant({
      send: (trip) => {
        if (this.#holder === holder) this.pipeline.send(trip)
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

const isTrip = (waiting: Trip | Waiting): waiting is Trip => 'statements' in waiting
