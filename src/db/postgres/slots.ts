import type { Deadlines } from './deadlines.ts'

/** Limits how many callers work at once. Others wait in order, until a deadline. */
export class ConnectionSlots {
  #free: number
  readonly #waiting: PromiseWithResolvers<void>[] = []

  constructor(
    count: number,
    private readonly overdue: Deadlines,
  ) {
    this.#free = count
  }

  async take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    const turn = Promise.withResolvers<void>()
    this.#waiting.push(turn)
    try {
      await this.overdue.watch(turn.promise)
    } catch (error) {
      const at = this.#waiting.indexOf(turn)
      if (at >= 0) this.#waiting.splice(at, 1)
      else this.release() // its turn came at the moment when the caller gave up
      throw error
    }
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next) next.resolve()
    else this.#free++
  }
}
