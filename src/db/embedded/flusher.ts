const DELAY_MS = 200

/** Relaxed durability: there is no WAL writer in PGlite, so without this an idle database would keep its last commits in memory for ever. */
export class Flusher {
  readonly #flush: () => Promise<void>
  #timer: Timer | undefined

  /** `flush` rejects when it could not; it is then tried again. */
  constructor(flush: () => Promise<void>) {
    this.#flush = flush
  }

  dirty(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#flush().catch(() => this.dirty())
    }, DELAY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
