import { DbError, type DriverStatus, type QueryOptions, type Result, type Transaction } from '../driver.ts'
import { pgliteVersion } from './assets.ts'
import { Channels } from './channels.ts'
import { Engine } from './engine.ts'
import { Flusher } from './flusher.ts'
import { Maintenance } from './maintenance.ts'
import { type EmbeddedDriver, type EmbeddedOptions, type Log, postgresSettings } from './options.ts'
import { type Hold, Scheduler } from './scheduler.ts'
import { copyDatabase, databasePath } from './storage/directory.ts'
import { Disk } from './storage/disk.ts'
import type { Lock } from './storage/lock.ts'
import { EmbeddedTransaction, type TransactionContext } from './transaction.ts'
import { FLUSH, verifyDatabase } from './verify.ts'
import { Watchdog } from './watchdog.ts'
import { Pipeline } from './wire/pipeline.ts'
import type { Reply } from './wire/reader.ts'
import { statementKind } from './wire/statements.ts'
import { checkText, type EncodedStatement, encodeStatement, makeTrip, ROLLBACK, type Trip } from './wire/trip.ts'

const DRAIN_MS = 10_000
const QUIET_MS = 1000

/**
 * PGlite in a worker behind the Driver interface. A query made while its caller holds a transaction waits for that
 * transaction.
 */
export class EmbeddedDatabase implements EmbeddedDriver {
  readonly kind = 'pglite'
  readonly #dir: string
  readonly #lock: Lock
  readonly #log: Log
  readonly #onFatal: (reason: string) => void
  readonly #relaxed: boolean
  readonly #timeout: number
  readonly #disk: Disk
  readonly #engine: Engine
  readonly #pipeline: Pipeline
  readonly #scheduler: Scheduler
  readonly #watchdog: Watchdog
  readonly #bus: Channels
  readonly #flusher = new Flusher(() => this.#flush())
  readonly #context: TransactionContext
  #maintenance: Maintenance | undefined
  #postgresVersion = ''
  #changes = 0
  #lastAnswer = 0
  /** Why the database cannot be used, temporarily or permanently. */
  #trouble: DbError | undefined
  #closing: Promise<void> | undefined

  constructor(options: EmbeddedOptions, lock: Lock) {
    this.#dir = options.dir
    this.#lock = lock
    this.#log = options.log ?? (() => undefined)
    this.#onFatal = options.onFatal ?? (() => process.exit(1))
    this.#relaxed = options.durability === 'relaxed'
    this.#timeout = options.statementTimeout ?? 5000
    this.#context = this.#contextOfTransactions()
    this.#disk = new Disk(options.dir, options.minFreeBytes ?? 100 * 1024 * 1024)
    this.#bus = new Channels((error) => this.#log('error', 'a listener failed', { error: (error as Error).message }))
    this.#engine = new Engine(databasePath(options.dir), postgresSettings(options), {
      reply: (bytes) => this.#pipeline.receive(bytes),
      down: (why, started) => this.#down(why, started),
      up: () => this.#up(),
      failing: (why) => this.#failing(why),
      lost: (reason) => this.#lost(reason),
    })
    this.#pipeline = new Pipeline({
      post: (bytes) => this.#engine.post(bytes),
      answered: (trip) => this.#answered(trip),
      broken: (why) => void this.#engine.restart(why),
    })
    this.#scheduler = new Scheduler(this.#pipeline, {
      isReady: () => this.#engine.ready,
      groups: !this.#relaxed,
      broken: (why) => void this.#engine.restart(why),
    })
    this.#watchdog = new Watchdog(this.#pipeline, this.#scheduler, options.transactionTimeout ?? 30_000, (trip) => {
      void this.#engine.restart(new DbError('timeout', `the statement ran longer than ${trip.timeout} ms`))
    })
  }

  #contextOfTransactions(): TransactionContext {
    return {
      timeout: this.#timeout,
      checkRoom: (statements) => this.#checkRoom(statements),
      acquire: async (holder) => {
        this.#checkUsable()
        return this.#acquire(holder)
      },
      runUnit: async (statements, timeout) => {
        this.#checkUsable()
        const { trip, reply } = makeTrip({ statements, timeout, repeatable: true, commits: true })
        this.#submit(trip)
        return reply
      },
    }
  }

  async start(): Promise<void> {
    await this.#engine.start()
    this.#postgresVersion = await verifyDatabase({
      lockHeld: this.#lock.held,
      relaxed: this.#relaxed,
      fsyncs: () => this.#engine.fsyncs,
      query: (text) => this.query(text),
    })
    this.#maintenance = new Maintenance(
      {
        isReady: () => this.#engine.ready,
        isQuiet: () => this.#scheduler.isIdle && performance.now() - this.#lastAnswer > QUIET_MS,
        changes: () => this.#changes,
        query: (text) => this.query(text),
        run: (sql) => this.#run(sql),
      },
      this.#log,
    )
  }

  get restarts(): number {
    return this.#engine.restarts
  }

  async query(
    text: string,
    params: readonly unknown[] = [],
    { timeout = this.#timeout }: QueryOptions = {},
  ): Promise<Result> {
    const statement = encodeStatement({ text, params })
    this.#checkUsable()
    this.#checkRoom([statement])
    const { trip, reply } = makeTrip({ statements: [statement], timeout, repeatable: true })
    this.#submit(trip)
    const { error, result } = await reply
    if (error) throw error
    return result as Result
  }

  async begin(): Promise<Transaction> {
    this.#checkUsable()
    return new EmbeddedTransaction(this.#context)
  }

  async exec(sql: string): Promise<void> {
    checkText(sql)
    this.#checkUsable()
    this.#checkRoom([{ kind: statementKind(sql) }])
    await this.#run(sql)
  }

  async notify(channel: string, payload: string): Promise<void> {
    this.#bus.notify(channel, payload)
  }

  readonly isListening = true

  async whyNotListening(): Promise<undefined> {
    return undefined
  }

  async listen(channel: string, onMessage: (payload: string) => void): Promise<void> {
    this.#bus.listen(channel, onMessage)
  }

  async snapshot(to: string): Promise<void> {
    this.#checkUsable()
    let publish = async () => {}
    await this.#exclusively(async (hold) => {
      await this.#runIn(hold, 'CHECKPOINT')
      publish = await copyDatabase(databasePath(this.#dir), to)
    })
    await publish()
  }

  status(): DriverStatus {
    return {
      ok: this.#trouble === undefined,
      readOnly: this.#disk.isLow ? 'disk_full' : undefined,
      version: `PGlite ${pgliteVersion}, PostgreSQL ${this.#postgresVersion}`,
      detail: {
        durability: this.#relaxed ? 'relaxed' : 'full',
        restarts: this.#engine.restarts,
        running: this.#pipeline.depth,
        queued: this.#scheduler.queued,
        prepared: this.#pipeline.prepared,
        fsyncs: this.#engine.fsyncs,
        freeBytes: this.#disk.free,
        ...(this.#trouble && { trouble: this.#trouble.message }),
      },
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    this.#maintenance?.stop()
    const drained = this.#engine.alive && !this.#trouble && (await within(DRAIN_MS, this.#scheduler.whenIdle()))
    this.#trouble ??= new DbError('unavailable', 'the database is closed')
    this.#flusher.stop()
    await this.#engine.close(drained)
    this.#giveUp(this.#trouble)
    this.#lock.release()
  }

  #submit(trip: Trip): void {
    this.#watchdog.wake()
    this.#scheduler.submit(trip)
  }

  #acquire(holder: Parameters<Scheduler['acquire']>[0]): Promise<Hold> {
    this.#watchdog.wake()
    return this.#scheduler.acquire(holder)
  }

  /**
   * Runs work that needs the session to itself. Throws if the worker was lost meanwhile, as the result is then unknown.
   */
  async #exclusively(work: (hold: Hold) => Promise<void>): Promise<void> {
    let lost: DbError | undefined
    const hold = await this.#acquire({
      lost: (why) => {
        lost = why
      },
    })
    try {
      await work(hold)
      if (lost) throw lost
    } finally {
      hold.release()
    }
  }

  #run(sql: string): Promise<void> {
    return this.#exclusively((hold) => this.#runIn(hold, sql))
  }

  async #runIn(hold: Hold, sql: string): Promise<void> {
    const { error, state } = await sendTo(hold, { sql, statements: [] })
    if (state !== 'idle') await sendTo(hold, { statements: [ROLLBACK] })
    if (error) throw error
    if (state !== 'idle') throw new DbError('25000', 'the SQL left a transaction open; it was rolled back')
  }

  /** Runs in whatever transaction is open: it flushes what was written before. */
  async #flush(): Promise<void> {
    if (!this.#engine.ready) throw new DbError('unavailable', 'not now')
    const { trip, reply } = makeTrip({
      statements: [encodeStatement({ text: FLUSH, params: [] })],
      timeout: 0,
      repeatable: false,
    })
    this.#pipeline.send(trip)
    const { error } = await reply
    if (error) throw error
  }

  #checkUsable(): void {
    if (this.#trouble) throw this.#trouble
    if (this.#closing) throw new DbError('unavailable', 'the database is closing')
  }

  #checkRoom(statements: readonly Pick<EncodedStatement, 'kind'>[]): void {
    if (statements.some(({ kind }) => kind !== 'read') && this.#disk.isLow) {
      throw new DbError(
        'disk_full',
        `the disk is almost full (${Math.floor(this.#disk.free / 1024 / 1024)} MiB free), changes are refused`,
      )
    }
  }

  #answered(trip: Trip): void {
    this.#lastAnswer = performance.now()
    if (trip.sql !== undefined || trip.statements.some(({ kind }) => kind !== 'read')) {
      this.#changes++
      if (this.#relaxed) this.#flusher.scheduleFlush()
    }
    this.#scheduler.pump()
  }

  #down(why: DbError, started: number): void {
    this.#log('warn', 'the database worker is being replaced', { reason: why.message })
    this.#scheduler.interrupt(why, this.#pipeline.interrupt(why, started))
  }

  #up(): void {
    if (this.#trouble) this.#log('info', 'the database works again')
    this.#trouble = undefined
    this.#watchdog.wake()
    this.#scheduler.pump()
  }

  #failing(why: DbError): void {
    if (!this.#trouble)
      this.#log('error', 'the database does not start, trying again every second', { reason: why.message })
    this.#trouble = why
    this.#scheduler.rejectAll(why)
  }

  #lost(reason: string): void {
    this.#log('error', 'the disk failed, stopping', { reason })
    this.#trouble = new DbError('unavailable', `the disk failed: ${reason}`)
    this.#giveUp(this.#trouble)
    this.#onFatal(reason)
  }

  #giveUp(why: DbError): void {
    this.#pipeline.abandon(why)
    this.#scheduler.interrupt(why, [])
    this.#scheduler.rejectAll(why)
  }
}

async function sendTo(hold: Hold, what: Pick<Trip, 'sql' | 'statements'>): Promise<Reply> {
  const { trip, reply } = makeTrip({ ...what, timeout: 0, repeatable: false })
  hold.send(trip)
  return reply
}

async function within(ms: number, work: Promise<void>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), ms)
  const done = await Promise.race([work.then(() => true), promise])
  clearTimeout(timer)
  return done
}
