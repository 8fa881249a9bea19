/** Milliseconds of CPU time of this thread, which do not grow while other processes use the cores. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * Limits how long one request computes on the event loop. The request checks `isSpent` between two pieces of work, and
 * leaves the rest to another request. What a piece of work returns never depends on the time that it took.
 */
export class CpuBudget {
  #leftMs: number

  constructor(mostMs: number) {
    this.#leftMs = mostMs
  }

  /** Runs synchronous work, whose time counts. */
  spend<T>(work: () => T): T {
    const begun = cpuMs()
    try {
      return work()
    } finally {
      this.#leftMs -= cpuMs() - begun
    }
  }

  get isSpent(): boolean {
    return this.#leftMs <= 0
  }
}
