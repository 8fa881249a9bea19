import type { SQL } from 'bun'
import type { Result } from '../driver.ts'
import type { Deadlines } from './deadlines.ts'
import { columnsOf, keepJsonStrings, type Rows, toDbError, toParam } from './values.ts'

/** Something that takes statements: the pool, or a connection that is held. */
export interface StatementClient {
  readonly sql: Pick<SQL, 'unsafe'>
  /** Called with each reply, so that the last one is known. */
  trackReply?(reply: Promise<unknown>): void
}

/** `limited`: the caller gives up after the deadline. */
export type RunStatement = (
  on: StatementClient,
  text: string,
  params: readonly unknown[],
  limited?: boolean,
) => Promise<Result>

/** Whether the server can be reached. */
export interface Reachability {
  closed: boolean
  /** Why the server cannot be reached. */
  away?: string
}

export type Log = (level: 'info' | 'warn' | 'error', message: string, fields?: object) => void

export interface RunnerOptions {
  reach: Reachability
  overdue: Deadlines
  log?: Log
  /** Called when a statement failed because the server is unreachable or no longer accepts changes. */
  onLost?(): void
}

/** Returns a function that runs statements, and logs when the server becomes unreachable and reachable again. */
export const createStatementRunner =
  ({ reach, overdue, log, onLost }: RunnerOptions): RunStatement =>
  async (on, text, params, limited = true) => {
    try {
      const asked = on.sql.unsafe(text, params.map(toParam)).values() as Promise<Rows>
      on.trackReply?.(asked)
      const rows = await (limited ? overdue.watch(asked) : asked)
      keepJsonStrings(rows)
      if (reach.away) {
        log?.('info', 'the database is reachable again')
        reach.away = undefined
      }
      return {
        rows,
        // A getter, because few callers need the columns.
        get columns() {
          return columnsOf(rows)
        },
        count: rows.count ?? rows.length,
      }
    } catch (error) {
      const db = toDbError(error)
      if (db.code === 'unavailable' && !reach.closed) {
        onLost?.()
        // A COMMIT may wait for a standby while the server is well.
        if (!reach.away && text !== 'commit') {
          reach.away = db.message
          log?.('warn', 'the database is unreachable', { reason: db.message })
        }
      }
      throw db
    }
  }
