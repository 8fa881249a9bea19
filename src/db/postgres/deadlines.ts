import { DbError } from '../driver.ts'

/**
 * Rejects queries that waited too long. One coarse timer for all: a timer per query would cost more than the query's
 * own bookkeeping.
 */
export class Deadlines {
  readonly #waiting = new Map<(error: DbError) => void, number>()
  #timer: Timer | undefined

  constructor(private readonly ms: number) {}

  watch<T>(work: Promise<T>): Promise<T> {
    this.#timer ??= setInterval(() => this.#sweep(), 1000).unref()
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(reject, performance.now() + this.ms)
      // Not `finally`, which creates two more promises per query.
      work.then(
        (value) => {
          this.#waiting.delete(reject)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(reject)
          reject(error)
        },
      )
    })
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const reject of this.#waiting.keys()) reject(new DbError('unavailable', 'the database is closed'))
  }

  #sweep(): void {
    const now = performance.now()
    for (const [reject, until] of this.#waiting)
      if (until < now) reject(new DbError('unavailable', 'the database does not respond'))
  }
}
