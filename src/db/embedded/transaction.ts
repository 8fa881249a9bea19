import { DbError, type QueryOptions, type Result, type Statement, type Transaction } from '../driver.ts'
import type { Hold, Holder } from './scheduler.ts'
import type { Reply } from './wire/reader.ts'
import { BEGIN, COMMIT, type EncodedStatement, encodeStatement, makeTrip, ROLLBACK } from './wire/trip.ts'

/** Long, because a disk may stall: ending the worker then would only make the outcome unknown. */
const COMMIT_MS = 60_000

export interface TransactionContext {
  readonly timeout: number
  /** Throws when there is no room on the disk for a change. */
  checkRoom(statements: readonly EncodedStatement[]): void
  acquire(holder: Holder): Promise<Hold>
  /** Runs statements as one transaction: all of them, or none if one fails. Shares an fsync with others. */
  runUnit(statements: readonly EncodedStatement[], timeout: number): Promise<Reply>
}

/**
 * Holds the session from its first query to its end, so every other query waits for it: keep it short and never await
 * the network inside. A transaction without queries, only with deferred and last statements, is sent whole and never
 * holds the session.
 */
export class EmbeddedTransaction implements Transaction, Holder {
  #holding: Promise<void> | undefined
  #hold: Hold | undefined
  #deferred: EncodedStatement[] = []
  #begun = false
  #wrote = false
  /** Makes the error of using it after its end. Not the error itself, which would cost every transaction a stack. */
  #over: (() => DbError) | undefined

  constructor(private readonly context: TransactionContext) {}

  defer(statement: Statement): void {
    const encoded = encodeStatement(statement)
    if (this.#over) throw this.#over()
    this.context.checkRoom([encoded])
    this.#deferred.push(encoded)
  }

  async query(
    text: string,
    params: readonly unknown[] = [],
    { timeout = this.context.timeout }: QueryOptions = {},
  ): Promise<Result> {
    const statement = encodeStatement({ text, params })
    if (this.#over) throw this.#over()
    this.context.checkRoom([statement])
    this.#holding ??= this.#take()
    if (!this.#hold) await this.#holding
    const reply = await this.#send([...this.#takeDeferred(), statement], timeout)
    if (reply.error) throw reply.error
    return reply.result ?? { columns: [], rows: [], count: 0 }
  }

  async commit(last: readonly Statement[] = []): Promise<void> {
    if (this.#over) throw this.#over()
    let statements: EncodedStatement[]
    try {
      statements = [...this.#takeDeferred(), ...last.map(encodeStatement)]
      // A transaction that has already written may finish: undoing it would not give the space back.
      if (!this.#wrote) this.context.checkRoom(statements)
    } catch (error) {
      await this.rollback()
      throw error
    }
    const timeout = this.context.timeout && Math.max(this.context.timeout, COMMIT_MS)
    if (!this.#begun) {
      this.#end('committed')
      if (statements.length === 0) return
      const { error } = await this.context.runUnit(statements, timeout)
      if (error) throw error
      return
    }
    // Nothing may be sent after COMMIT
    const sent = this.#send([...statements, COMMIT], timeout, true)
    this.#over = ended('committed')
    const reply = await sent
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
    this.#over ??= () => new DbError('unavailable', `the transaction was undone: ${why.message}`)
    this.#hold = undefined
  }

  expire(): void {
    this.#over = () => new DbError('timeout', 'the transaction was open for too long and was rolled back')
    void (this.#begun ? this.#sendRollback() : Promise.resolve()).then(() => this.#end('rolled back'))
  }

  async #take(): Promise<void> {
    const hold = await this.context.acquire(this)
    // It ended while it waited.
    if (this.#over) hold.release()
    else this.#hold = hold
  }

  #takeDeferred(): EncodedStatement[] {
    const deferred = this.#deferred
    this.#deferred = []
    return deferred
  }

  #send(statements: readonly EncodedStatement[], timeout: number, commits = false): Promise<Reply> {
    if (!this.#hold) throw (this.#over ?? ended('over'))()
    const all = this.#begun ? statements : [BEGIN, ...statements]
    this.#begun = true
    this.#wrote ||= statements.some(({ kind }) => kind === 'write' || kind === 'ddl')
    const { trip, reply } = makeTrip({ statements: all, timeout, repeatable: false, commits })
    this.#hold.send(trip)
    return reply
  }

  /** If the worker ends meanwhile, the transaction is rolled back as well. */
  async #sendRollback(): Promise<void> {
    await this.#send([ROLLBACK], this.context.timeout).catch(() => undefined)
  }

  #end(how: string): void {
    this.#over ??= ended(how)
    this.#hold?.release()
    this.#hold = undefined
  }
}

const ended = (how: string) => () => new DbError('25000', `the transaction is ${how}`)
