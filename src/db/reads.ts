import { DbError, type Driver, type QueryOptions, type Result } from './driver.ts'
import type { Replica } from './postgres/replica.ts'
import { type Db, drizzleOver } from './session.ts'

/** For this long after a write, its credential reads the primary. A usable standby is less far behind. */
const OWN_WRITES_MS = 10_000

interface ReadsOptions {
  primary: Driver
  db: Db
  clock: () => Date
  /** The standby, if there is one. */
  replica?: Replica
}

/**
 * THE RULE what is read from a standby: actions with `replica` in `read()`. Everything else reads the primary, above
 * all credentials, leases, limits and idempotency keys, which must be current.
 */
export class ReadRouter {
  /** When credentials last wrote, oldest first. */
  readonly #writes = new Map<string, number>()

  constructor(private readonly options: ReadsOptions) {}

  get isStandbyRead(): boolean {
    return this.options.replica?.current !== undefined
  }

  /** A credential has changed something, on this instance or another. */
  wrote(credentialId: string | null): void {
    if (!this.options.replica || credentialId === null) return
    const now = this.options.clock().getTime()
    this.#writes.delete(credentialId)
    this.#writes.set(credentialId, now)
    for (const [id, at] of this.#writes) {
      if (now - at < OWN_WRITES_MS) break
      this.#writes.delete(id)
    }
  }

  /**
   * Returns a database for the reads of one call. It reads the standby until that fails or the credential writes; from
   * then on the primary, so that a call never sees older data than before.
   */
  dbFor(credentialId: string | null): Db {
    const { primary, db, replica } = this.options
    if (!replica) return db
    let isPrimary = false
    const query = async (text: string, params?: readonly unknown[], options?: QueryOptions): Promise<Result> => {
      const standby = isPrimary || this.#wroteLately(credentialId) ? undefined : replica.current
      if (standby)
        try {
          return await standby.query(text, params, options)
        } catch (error) {
          // A query that times out on the standby would time out on the primary too. After other errors the primary is
          // tried: a standby may be down, cancel a statement for its replay, or lack a table that was just created.
          if (!(error instanceof DbError) || error.code === 'timeout') throw error
          if (error.code === 'unavailable') replica.markFailed()
        }
      isPrimary = true
      return primary.query(text, params, options)
    }
    return drizzleOver({ query })
  }

  #wroteLately(credentialId: string | null): boolean {
    const at = credentialId === null ? undefined : this.#writes.get(credentialId)
    return at !== undefined && this.options.clock().getTime() - at < OWN_WRITES_MS
  }

  /**
   * Calls `work` with a standby that has everything committed so far, otherwise with the primary. Repeats it with the
   * primary if it fails on the standby, which cancels long reads that block its replay.
   */
  async whole<T>(work: (driver: Driver) => Promise<T>, onFailed: (error: DbError) => void): Promise<T> {
    const { primary, replica } = this.options
    const standby = await replica?.upToDate()
    if (!standby) return work(primary)
    try {
      return await work(standby.driver)
    } catch (error) {
      if (!(error instanceof DbError)) throw error
      onFailed(error)
      return work(primary)
    }
  }

  async close(): Promise<void> {
    await this.options.replica?.close()
  }
}
