import { DbError } from '../../driver.ts'
import { type Reply, readReply, type Step } from './reader.ts'
import { PreparedStatements } from './statements.ts'
import type { Trip } from './trip.ts'
import { Writer } from './writer.ts'

interface Sent {
  readonly trip: Trip
  readonly steps: readonly Step[]
  readonly retried: boolean
}

interface PipelineEvents {
  post(bytes: Uint8Array<ArrayBuffer>): void
  answered(trip: Trip): void
  /** The worker still responds, but its responses can no longer be trusted. */
  broken(why: DbError): void
}

/** SQLSTATEs: the backend does not know the statement, or its columns have changed since it was prepared. */
const STALE = new Set(['26000', '0A000'])

/** What runs beside the server's work (maintenance.ts). It changes no table, so prepared statements stay. */
const UPKEEP = /^(CHECKPOINT|VACUUM|ANALYZE)\b[^;]*$/

const mayChangeTables = ({ sql, statements }: Trip): boolean =>
  sql === undefined ? statements.some(({ kind }) => kind === 'ddl') : !UPKEEP.test(sql)

/** Sends trips to the worker and reads the replies, strictly in order. Owns the prepared statements. */
export class Pipeline {
  readonly #writer = new Writer()
  readonly #statements = new PreparedStatements()
  #sent: Sent[] = []
  #answered = 0
  #flushing = false

  constructor(private readonly events: PipelineEvents) {}

  get depth(): number {
    return this.#sent.length
  }

  get prepared(): number {
    return this.#statements.size
  }

  /** The trip that is running, or runs next. */
  get head(): Trip | undefined {
    return this.#sent[0]?.trip
  }

  /** Sent together with all other trips queued before the current callbacks end. */
  send(trip: Trip): void {
    this.#send(trip, false)
  }

  receive(bytes: Uint8Array): void {
    const sent = this.#sent.shift()
    if (!sent) return
    this.#answered++
    const { trip, steps } = sent
    const reply = readReply(bytes, steps)
    if (reply.broken) {
      const why = new DbError('unavailable', `the database failed: ${reply.error?.message ?? 'incomplete answer'}`)
      reject(trip, why)
      this.events.broken(why)
      return
    }
    if (reply.error) {
      this.#dropFailed(steps, reply)
      if (trip.repeatable && !sent.retried && STALE.has(reply.error.code)) {
        this.#send(trip, true)
        return
      }
    }
    if (mayChangeTables(trip)) this.#statements.dropAll()
    this.events.answered(trip)
    trip.resolve(reply)
  }

  /**
   * Call when the worker has ended. Rejects trips that had begun, as their outcome is unknown, and returns those that
   * can run later. `why` goes to the running trip; the others that had begun only waited for their reply to be read.
   */
  interrupt(why: DbError, started: number): Trip[] {
    const begun = Math.max(0, started - this.#answered)
    return this.#reset().flatMap((trip, index) => {
      if (index >= begun && trip.repeatable) return [trip]
      reject(trip, index === begun - 1 ? why : new DbError('unavailable', 'the database was restarted'))
      return []
    })
  }

  /** Call when no other worker will follow. */
  abandon(why: DbError): void {
    for (const trip of this.#reset()) reject(trip, why)
  }

  #reset(): Trip[] {
    const trips = this.#sent.map(({ trip }) => trip)
    this.#sent = []
    this.#answered = 0
    this.#writer.clear()
    this.#statements.forget()
    return trips
  }

  #send(trip: Trip, retried: boolean): void {
    this.#sent.push({ trip, steps: this.#write(trip, retried), retried })
    if (this.#flushing) return
    this.#flushing = true
    queueMicrotask(() => this.#flush())
  }

  #write(trip: Trip, renew: boolean): Step[] {
    const writer = this.#writer
    if (trip.sql !== undefined) {
      writer.query(trip.sql)
      return []
    }
    for (const name of this.#statements.takeLeaving()) writer.close(name)
    const steps = trip.statements.map(({ text, params }) => {
      const step = this.#statements.use(text, renew)
      if (step.isNew) {
        writer.parse(step.prepared.name, text)
        writer.describe(step.prepared.name)
      }
      writer.bind(step.prepared.name, params)
      writer.execute()
      return step
    })
    writer.sync()
    return steps
  }

  /** Forgets statements that the backend never parsed, and the one it no longer accepts. */
  #dropFailed(steps: readonly Step[], { parsed, completed, error }: Reply): void {
    steps.forEach(({ prepared, isNew }, index) => {
      const stale = index === completed && STALE.has(error?.code ?? '')
      if (stale || (isNew && index >= parsed)) this.#statements.drop(prepared)
    })
  }

  #flush(): void {
    this.#flushing = false
    if (this.#writer.length > 0) this.events.post(this.#writer.take())
  }
}

function reject(trip: Trip, why: DbError): void {
  const unknown = () =>
    new DbError('unknown', `the database stopped while committing: ${why.message}`, undefined, { cause: why })
  trip.reject(trip.commits ? unknown() : why)
}
