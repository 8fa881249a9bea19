import type { ReservedSQL, SQL } from 'bun'
import type { Deadlines } from './deadlines.ts'
import type { ConnectionSlots } from './slots.ts'
import type { StatementClient } from './statement-runner.ts'
import { toDbError } from './values.ts'

/** A connection that belongs to one caller until it is released. */
export class HeldConnection implements StatementClient {
  #last: Promise<unknown> | undefined

  constructor(
    readonly sql: ReservedSQL,
    private readonly onReleased: () => void,
  ) {}

  trackReply(reply: Promise<unknown>): void {
    this.#last = reply
  }

  /**
   * Returns the connection once the last statement has its result. The caller may have given up earlier, for example on
   * a COMMIT that waits for a standby; statements of others would wait behind it.
   */
  release(): void {
    const end = () => {
      void this.sql.release()
      this.onReleased()
    }
    if (this.#last) this.#last.then(end, end)
    else end()
  }
}

/** Reserves a connection. `slots`: how many callers of this kind may hold one. */
export async function holdConnection(sql: SQL, overdue: Deadlines, slots?: ConnectionSlots): Promise<HeldConnection> {
  await slots?.take()
  const reserving = sql.reserve()
  try {
    return new HeldConnection(await overdue.watch(reserving), () => slots?.release())
  } catch (error) {
    // The caller has given up, but the connection may still arrive. Without this, the pool would lose it.
    reserving.then(
      (late) => {
        void late.release()
        slots?.release()
      },
      () => slots?.release(),
    )
    throw toDbError(error)
  }
}
