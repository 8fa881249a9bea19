import { AppError } from '../../errors.ts'

/** Runs the work of each user one after another in this process. A limited number may wait. */
export class UserQueue {
  readonly #lines = new Map<string, Promise<unknown>[]>()

  constructor(
    private readonly what: string,
    private readonly mostWaiting: number,
  ) {}

  async run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(userId) ?? []
    if (line.length > this.mostWaiting)
      throw new AppError('rate_limited', `Too many of your ${this.what} are waiting. Repeat this one in a second.`, {
        retryAfter: 1,
      })
    this.#lines.set(userId, line)
    const mine = Promise.allSettled([line.at(-1)]).then(work)
    line.push(mine)
    try {
      return await mine
    } finally {
      line.splice(line.indexOf(mine), 1)
      if (line.length === 0) this.#lines.delete(userId)
    }
  }
}
