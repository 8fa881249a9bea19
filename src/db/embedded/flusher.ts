const DELAY_MS = 200

/**
 * Flushes the WAL regularly with relaxed durability. PGlite has no WAL writer, so an idle database would otherwise keep
 * its last commits in memory forever.
 */
export class Flusher {
  #timer: Timer | undefined

  /** When `flush` rejects, it is retried. */
  constructor(private readonly flush: () => Promise<void>) {}

  scheduleFlush(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.flush().catch(() => this.scheduleFlush())
    }, DELAY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
