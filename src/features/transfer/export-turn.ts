import { randomInt } from 'node:crypto'
import { and, eq, lte, or } from 'drizzle-orm'
import { counters } from '../../db/table.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'

/** A turn without renewal ends after this time: its server may have stopped, or its client may no longer read. */
const LASTS_MS = 30_000
const RENEW_MS = 10_000
/** `count` of the row identifies the holder of the turn. */
const HOLDERS = 2 ** 31 - 1

/**
 * Limits each user to one export at a time, because an export reads everything. The turn is a row, so that it holds for
 * all instances. The export renews it while it is read; an export that was idle for longer than a turn lasts continues
 * only if no other has started.
 */
export class ExportTurn {
  readonly #key: string
  readonly #holder = randomInt(HOLDERS)
  #renewedAt = 0
  #hasEnded = false

  private constructor(
    private readonly app: App,
    userId: string,
  ) {
    this.#key = `export:${userId}`
  }

  static async take(app: App, userId: string): Promise<ExportTurn> {
    const turn = new ExportTurn(app, userId)
    if (await turn.#hold()) return turn
    throw new AppError('rate_limited', 'Another of your exports is running. Wait until it ends.', { retryAfter: 10 })
  }

  /** Must be called regularly while the export runs. Throws if another export has started. */
  async keep(every = RENEW_MS): Promise<void> {
    if (performance.now() - this.#renewedAt < every) return
    const isMine = await this.#hold()
    if (this.#hasEnded) return this.end()
    if (!isMine)
      throw new AppError(
        'conflict.in_progress',
        'You started another export while this one was idle. Start this one again.',
      )
  }

  async #hold(): Promise<boolean> {
    const now = this.app.clock()
    const held = { count: this.#holder, expiresAt: new Date(now.getTime() + LASTS_MS).toISOString() }
    const mine = or(eq(counters.count, this.#holder), lte(counters.expiresAt, now.toISOString()))
    const rows = await this.app.db
      .insert(counters)
      .values({ key: this.#key, ...held })
      .onConflictDoUpdate({ target: counters.key, set: held, setWhere: mine })
      .returning({ key: counters.key })
    this.#renewedAt = performance.now()
    return rows.length > 0
  }

  /** Lets the next export start. If the database is unreachable, the turn expires by itself. */
  async end(): Promise<void> {
    this.#hasEnded = true
    const mine = and(eq(counters.key, this.#key), eq(counters.count, this.#holder))
    await this.app.db.delete(counters).where(mine)
  }
}
