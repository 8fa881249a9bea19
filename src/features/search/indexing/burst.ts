import type { App } from '../../../services.ts'

/** This many changes within this time are a burst, for at most this long: what goes on for longer is the usual load. */
const CHANGES = 10
const WITHIN_MS = 1000
const LONGEST_MS = 60_000
const CHECK_MS = 100

/**
 * Knows whether many records are being changed at this moment. Indexing and the model then wait, because the requests
 * that change them need the processor; what is left to do is in the database and loses nothing by waiting.
 */
export class Burst {
  /** When the last changes happened, as a ring. */
  readonly #times = new Float64Array(CHANGES).fill(Number.NEGATIVE_INFINITY)
  #next = 0
  #since = 0

  constructor(private readonly clock: () => number = () => performance.now()) {}

  changed(): void {
    const now = this.clock()
    if (!this.#isDense(now)) this.#since = now
    this.#times[this.#next] = now
    this.#next = (this.#next + 1) % CHANGES
  }

  get isOn(): boolean {
    const now = this.clock()
    return this.#isDense(now) && now - this.#since < LONGEST_MS
  }

  #isDense(now: number): boolean {
    return now - (this.#times[this.#next] as number) < WITHIN_MS
  }

  /** Resolves when no burst is on, and at the latest after `longest` milliseconds. Default: when it is over. */
  async over({ longest = LONGEST_MS, signal }: { longest?: number; signal?: AbortSignal } = {}): Promise<void> {
    const until = this.clock() + longest
    while (this.isOn && !signal?.aborted && this.clock() < until) await Bun.sleep(CHECK_MS)
  }
}

const bursts = new WeakMap<App, Burst>()

export function burstOf(app: App): Burst {
  let burst = bursts.get(app)
  if (!burst) {
    burst = new Burst()
    bursts.set(app, burst)
  }
  return burst
}
