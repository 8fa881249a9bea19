import type { App } from '../../../services.ts'

/** This many changes within this time count as a burst, for at most this long: a longer burst is the usual load. */
const CHANGES = 10
const WITHIN_MS = 1000
const LONGEST_MS = 60_000
const CHECK_MS = 100

/**
 * Detects that many records are being changed right now. Indexing and the model then wait, because the requests need
 * the processor; pending work is stored in the database, so waiting loses nothing.
 */
export class Burst {
  /** When the last changes happened, as a ring. */
  readonly #times = new Float64Array(CHANGES).fill(Number.NEGATIVE_INFINITY)
  #next = 0
  #since = 0

  constructor(private readonly clock: () => number = () => performance.now()) {}

  noteChange(): void {
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

  /** Resolves when there is no burst, and at the latest after `longest` milliseconds. */
  async whenOver({ longest = LONGEST_MS, signal }: { longest?: number; signal?: AbortSignal } = {}): Promise<void> {
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
