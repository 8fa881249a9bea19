import { statfsSync } from 'node:fs'

const FRESH_MS = 250

/** Free disk space, measured at most four times a second. */
export class Disk {
  #free = Number.POSITIVE_INFINITY
  #asked = Number.NEGATIVE_INFINITY

  constructor(
    private readonly dir: string,
    private readonly minFree: number,
  ) {}

  get free(): number {
    const now = performance.now()
    if (now - this.#asked > FRESH_MS) {
      this.#asked = now
      try {
        const { bavail, bsize } = statfsSync(this.dir)
        this.#free = bavail * bsize
      } catch {
        // Unknown does not mean full: Postgres reports a full disk itself.
        this.#free = Number.POSITIVE_INFINITY
      }
    }
    return this.#free
  }

  get isLow(): boolean {
    return this.free < this.minFree
  }
}
