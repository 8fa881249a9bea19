import { DbError, type Statement } from '../driver.ts'
import { type Reply, readReply, type Step } from './reader.ts'
import { kindOf, Statements } from './statements.ts'
import { Writer } from './writer.ts'

/** What goes out between two ReadyForQuery: statements of which the first failure skips the rest. */
export interface Trip {
  /** SQL without parameters instead of statements. */
  readonly sql?: string
  readonly statements: readonly Statement[]
  /** Milliseconds, 0 for none. */
  readonly timeout: number
  /** Alone and outside a transaction, so it can be sent again: after a restart if it had not begun, or to prepare it anew. */
  readonly repeatable: boolean
  resolve(reply: Reply): void
  reject(error: DbError): void
}

interface Sent {
  readonly trip: Trip
  readonly steps: readonly Step[]
  readonly retried: boolean
}

/** Statement text that names a prepared statement of which the backend knows nothing, or whose columns are no longer those announced. */
const STALE = new Set(['26000', '0A000'])

/** Trips on their way to the worker and back, strictly in order. Owns the prepared statements. */
export class Pipeline {
  readonly #post: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly #onBroken: (why: DbError) => void
  readonly #onAnswer: (trip: Trip, reply: Reply) => void
  readonly #writer = new Writer()
  readonly #statements = new Statements()
  #sent: Sent[] = []
  #answered = 0
  #flushing = false

  constructor(on: {
    post(bytes: Uint8Array<ArrayBuffer>): void
    broken(why: DbError): void
    answer(trip: Trip, reply: Reply): void
  }) {
    this.#post = on.post
    this.#onBroken = on.broken
    this.#onAnswer = on.answer
  }

  get depth(): number {
    return this.#sent.length
  }

  get prepared(): number {
    return this.#statements.size
  }

  /** The trip that is running, or next to run. */
  get head(): Trip | undefined {
    return this.#sent[0]?.trip
  }

  /** Leaves with everything else that is sent before the current callbacks end. */
  send(trip: Trip, retried = false): void {
    const before = this.#writer.length
    let steps: Step[]
    try {
      steps = this.#encode(trip)
    } catch (error) {
      this.#writer.rewind(before)
      trip.reject(error instanceof DbError ? error : new DbError('22000', (error as Error).message, undefined, { cause: error }))
      return
    }
    this.#sent.push({ trip, steps, retried })
    if (this.#flushing) return
    this.#flushing = true
    queueMicrotask(() => this.#flush())
  }

  receive(bytes: Uint8Array): void {
    const sent = this.#sent.shift()
    if (!sent) return
    this.#answered++
    const { trip, steps } = sent
    const reply = readReply(bytes, steps)
    if (reply.broken) {
      trip.reject(new DbError('unavailable', `the database failed: ${reply.error?.message ?? 'no complete answer'}`))
      this.#onBroken(new DbError('unavailable', 'the database gave a broken answer'))
      return
    }
    if (reply.error) {
      this.#dropFailed(steps, reply)
      if (trip.repeatable && !sent.retried && STALE.has(reply.error.code)) return this.send(trip, true)
    }
    if (trip.sql !== undefined || steps.some(({ prepared }) => kindOf(prepared.text) === 'ddl')) this.#statements.dropAll()
    this.#onAnswer(trip, reply)
    trip.resolve(reply)
  }

  /**
   * The worker is gone. Rejects what had begun (its outcome is unknown) and gives back what can run later.
   * `why` is the error of the running trip; others that had begun were only waiting for their answer to be read.
   */
  interrupt(why: DbError, started: number): Trip[] {
    const begun = Math.max(0, started - this.#answered)
    const sent = this.#sent
    this.#sent = []
    this.#answered = 0
    this.#writer.rewind(0)
    this.#statements.forget()
    const again: Trip[] = []
    sent.forEach(({ trip }, index) => {
      if (index === begun - 1) trip.reject(why)
      else if (index >= begun && trip.repeatable) again.push(trip)
      else trip.reject(new DbError('unavailable', 'the database was restarted'))
    })
    return again
  }

  #encode(trip: Trip): Step[] {
    const writer = this.#writer
    for (const text of trip.sql === undefined ? trip.statements.map((statement) => statement.text) : [trip.sql]) {
      if (text.includes('\0')) throw new DbError('22021', 'SQL with a NUL character')
    }
    if (trip.sql !== undefined) {
      writer.query(trip.sql)
      return []
    }
    for (const name of this.#statements.takeLeaving()) writer.close(name)
    const steps: Step[] = []
    for (const { text, params } of trip.statements) {
      const step = this.#statements.use(text)
      steps.push(step)
      try {
        if (step.isNew) {
          writer.parse(step.prepared.name, text)
          writer.describe(step.prepared.name)
        }
        writer.bind(step.prepared.name, params)
      } catch (error) {
        for (const { prepared, isNew } of steps) if (isNew) this.#statements.drop(prepared)
        throw error
      }
      writer.execute()
    }
    writer.sync()
    return steps
  }

  /** Those the backend never parsed, and the one it no longer accepts. */
  #dropFailed(steps: readonly Step[], { parsed, completed, error }: Reply): void {
    steps.forEach(({ prepared, isNew }, index) => {
      const unparsed = isNew && index >= parsed
      if (unparsed || (index === completed && STALE.has(error?.code ?? ''))) this.#statements.drop(prepared)
    })
  }

  #flush(): void {
    this.#flushing = false
    if (this.#writer.length > 0) this.#post(this.#writer.take())
  }
}
