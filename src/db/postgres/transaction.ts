import { DbError, type Result, type Statement, type Transaction } from '../driver.ts'
import type { HeldConnection } from './held-connection.ts'
import type { RunStatement, StatementClient } from './statement-runner.ts'
import { toDbError } from './values.ts'

/**
 * Begins a transaction on a connection, which it releases at the end. BEGIN is sent together with the first statement,
 * so an empty transaction sends nothing. `settings`: a statement that follows BEGIN.
 */
export function beginTransaction(connection: HeldConnection, run: RunStatement, settings?: string): Transaction {
  let started: Promise<unknown> | undefined
  let ended = false
  const deferred: Statement[] = []
  // BEGIN is not awaited: Bun sends it and the first statement back to back on the reserved connection.
  const start = () => {
    if (started) return
    // `then` sends a statement; Promise.all alone would do so after those that follow.
    const sent = ['begin', ...(settings ? [settings] : [])].map((text) =>
      connection.sql.unsafe(text).then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
    started = Promise.all(sent).then((errors) => errors.find((error) => error !== undefined))
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

const commit = (connection: StatementClient, run: RunStatement) =>
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
async function commitWith(connection: StatementClient, run: RunStatement, last: readonly Statement[]): Promise<void> {
  const sent = last.map((s) => run(connection, s.text, s.params))
  const committed = commit(connection, run)
  const outcome = await Promise.allSettled([...sent, committed])
  const failures = outcome.flatMap((o) => (o.status === 'rejected' ? [o.reason as DbError] : []))
  // An error from Postgres decides. If only the connection failed, COMMIT may have arrived nevertheless.
  const failed = failures.find((e) => e.code !== 'unavailable' && e.code !== 'unknown') ?? failures.at(-1)
  if (failed) throw failed
}

/** Runs one statement in a transaction of its own, after a statement with settings; all are sent at once. */
export async function runWithSettings(
  connection: HeldConnection,
  run: RunStatement,
  settings: string,
  { text, params }: Statement,
  limited: boolean,
): Promise<Result> {
  const [begun, set, result, committed] = await Promise.allSettled([
    run(connection, 'begin', [], limited),
    run(connection, settings, [], limited),
    run(connection, text, params, limited),
    run(connection, 'commit', [], limited),
  ])
  for (const step of [begun, set, result, committed]) if (step.status === 'rejected') throw step.reason
  return (result as PromiseFulfilledResult<Result>).value
}
