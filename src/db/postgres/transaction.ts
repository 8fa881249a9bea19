import type { ReservedSQL, SQL } from 'bun'
import { DbError, type Result, type Statement, type Transaction } from '../driver.ts'
import type { Deadlines } from './deadlines.ts'
import { toDbError } from './values.ts'

export type Client = Pick<SQL, 'unsafe'>
export type Run = (on: Client, text: string, params: readonly unknown[], limited?: boolean) => Promise<Result>

/** Reserves a connection. BEGIN is sent together with the first statement, so an empty transaction sends nothing. */
export async function begin(sql: SQL, run: Run, overdue: Deadlines): Promise<Transaction> {
  const connection = await reserve(sql, overdue)
  let started: Promise<unknown> | undefined
  let ended = false
  const deferred: Statement[] = []
  // BEGIN is not awaited: Bun sends it and the first statement back to back on the reserved connection.
  const start = () => {
    started ??= connection.unsafe('begin').then(
      () => undefined,
      (error: unknown) => error,
    )
  }
  const finish = async (statement: 'commit' | 'rollback') => {
    ended = true
    try {
      if (started) await (statement === 'commit' ? commit(connection, run) : run(connection, statement, []))
    } finally {
      connection.release()
    }
  }
  const guard = () => {
    if (ended) throw new DbError('unavailable', 'the transaction has ended')
  }
  const takeDeferred = () => deferred.splice(0)
  return {
    defer(statement) {
      guard()
      deferred.push(statement)
    },
    async query(text, params = []) {
      guard()
      start()
      const sent = [...takeDeferred(), { text, params }].map((s) => run(connection, s.text, s.params))
      // Replies come in order, so this rejects with the first failure; the later ones only follow from it.
      const results = await Promise.all(sent)
      const failed = await started
      if (failed) throw toDbError(failed)
      return results.at(-1) as Result
    },
    async commit(last: readonly Statement[] = []) {
      guard()
      const statements = [...takeDeferred(), ...last]
      if (statements.length === 0) return finish('commit')
      start()
      ended = true
      try {
        await commitWith(connection, run, statements)
      } finally {
        connection.release()
      }
    },
    async rollback() {
      if (ended) return
      await finish('rollback').catch(() => undefined)
    },
  }
}

function reserve(sql: SQL, overdue: Deadlines): Promise<ReservedSQL> {
  const reserving = sql.reserve()
  return overdue.watch(reserving).catch((error: unknown) => {
    // The caller has given up, but the connection still arrives: without this the pool would lose it for ever.
    void reserving.then(
      (late) => late.release(),
      () => undefined,
    )
    throw toDbError(error)
  })
}

const commit = (connection: Client, run: Run) =>
  run(connection, 'commit', []).catch((error: DbError) => {
    if (error.code !== 'unavailable') throw error
    throw new DbError('unknown', `the connection was lost while committing: ${error.message}`, undefined, {
      cause: error,
    })
  })

/**
 * Sends the last statements together with COMMIT. A failing statement aborts the transaction, and COMMIT then returns
 * ROLLBACK without an error of its own.
 */
async function commitWith(connection: Client, run: Run, last: readonly Statement[]): Promise<void> {
  const sent = last.map((s) => run(connection, s.text, s.params))
  const committed = commit(connection, run)
  const outcome = await Promise.allSettled([...sent, committed])
  const failures = outcome.flatMap((o) => (o.status === 'rejected' ? [o.reason as DbError] : []))
  // An error from Postgres decides. If only the connection failed, COMMIT may have arrived nevertheless.
  const failed = failures.find((e) => e.code !== 'unavailable' && e.code !== 'unknown') ?? failures.at(-1)
  if (failed) throw failed
}
