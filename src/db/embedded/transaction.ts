import { DbError, type QueryOptions, type Result, type Statement, type Transaction } from '../driver.ts'
import type { Reply } from './reader.ts'
import type { Hold, Holder } from './scheduler.ts'
import { BEGIN, COMMIT, type EncodedStatement, encodeStatement, makeTrip, ROLLBACK } from './trip.ts'

/** Long, because a disk may stall: ending the worker then would only make the outcome unknown. */
const COMMIT_MS = 60_000

export interface TransactionContext {
  readonly timeout: number
  /** Throws when there is no room on the disk for a change. */
  checkRoom(statements: readonly EncodedStatement[]): void
}

/**
 * Holds the session from `begin()` to its end, so every other query waits for it: keep it short and never await the
 * network inside.
 */
export class EmbeddedTransaction implements Transaction, Holder {
  readonly #context: TransactionContext
  #hold: Hold | undefined
  #begun = false
  #wrote = false
  #over: DbError | undefined

  constructor(context: TransactionContext) {
    this.#context = context
  }

  start(hold: Hold): this {
    this.#hold = hold
    return this
  }

  async query(
    text: string,
    params: readonly unknown[] = [],
    { timeout = this.#context.timeout }: QueryOptions = {},
  ): Promise<Result> {
    const statement = encodeStatement({ text, params })
    if (this.#over) throw this.#over
    this.#context.checkRoom([statement])
    const reply = await this.#send([statement], timeout)
    if (reply.error) throw reply.error
    return reply.result ?? { columns: [], rows: [], count: 0 }
  }

  async commit(last: readonly Statement[] = []): Promise<void> {
    if (this.#over) throw this.#over
    let statements: EncodedStatement[]
    try {
      statements = last.map(encodeStatement)
      // A transaction that has already written may finish: undoing it would not give the space back.
      if (!this.#wrote) this.#context.checkRoom(statements)
    } catch (error) {
      await this.rollback()
      throw error
    }
    if (!this.#begun && statements.length === 0) {
      this.#end('committed')
      return
    }
    // Nothing may be sent after COMMIT
    const sent = this.#send(
      [...statements, COMMIT],
      this.#context.timeout && Math.max(this.#context.timeout, COMMIT_MS),
    )
    this.#over = ended('committed')
    const reply = await sent.catch((error: DbError) => {
      throw new DbError('unknown', `the database stopped while committing: ${error.message}`, undefined, {
        cause: error,
      })
    })
    // COMMIT of a failed transaction returns ROLLBACK, without an error.
    const error =
      reply.error ??
      (reply.tag === 'COMMIT' ? undefined : new DbError('25P02', 'an earlier statement failed, so all was rolled back'))
    if (reply.state !== 'idle') await this.#sendRollback()
    this.#end('committed')
    if (error) throw error
  }

  async rollback(): Promise<void> {
    if (this.#over) return
    this.#over = ended('rolled back')
    if (this.#begun) await this.#sendRollback()
    this.#end('rolled back')
  }

  lost(why: DbError): void {
    this.#over ??= new DbError('unavailable', `the transaction was undone: ${why.message}`)
    this.#hold = undefined
  }

  expire(): void {
    this.#over = new DbError('timeout', 'the transaction was open for too long and was rolled back')
    void (this.#begun ? this.#sendRollback() : Promise.resolve()).then(() => this.#end('rolled back'))
  }

  #send(statements: readonly EncodedStatement[], timeout: number): Promise<Reply> {
    if (!this.#hold) throw this.#over ?? ended('over')
    const all = this.#begun ? statements : [BEGIN, ...statements]
    this.#begun = true
    this.#wrote ||= statements.some(({ kind }) => kind === 'write' || kind === 'ddl')
    const { trip, reply } = makeTrip({ statements: all, timeout, repeatable: false })
    this.#hold.send(trip)
    return reply
  }

  /** If the worker ends meanwhile, the transaction is rolled back as well. */
  async #sendRollback(): Promise<void> {
    await this.#send([ROLLBACK], this.#context.timeout).catch(() => undefined)
  }

  #end(how: string): void {
    this.#over ??= ended(how)
    this.#hold?.release()
    this.#hold = undefined
  }
}

function ended(how: string): DbError {
  return new DbError('25000', `the transaction is ${how}`)
}
