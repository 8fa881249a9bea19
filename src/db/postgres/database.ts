import type { SQL } from 'bun'
import { splitServers } from '../../text/database-address.ts'
import type { Driver, DriverStatus, QueryOptions, Result, Transaction } from '../driver.ts'
import { Deadlines } from './deadlines.ts'
import { type HeldConnection, holdConnection } from './held-connection.ts'
import { NotificationListener } from './listener.ts'
import { findPrimary, PrimaryPool } from './pool.ts'
import {
  connectionSettings,
  openConnection,
  openSession,
  type Session,
  type SessionOptions,
  setLimitsLocally,
} from './sessions.ts'
import { ConnectionSlots } from './slots.ts'
import {
  createStatementRunner,
  type Log,
  type Reachability,
  type RunStatement,
  type StatementClient,
} from './statement-runner.ts'
import { beginTransaction, runWithSettings } from './transaction.ts'
import { toDbError } from './values.ts'

export interface PostgresOptions extends Partial<SessionOptions> {
  /** May name several servers; the one that accepts writes is used. */
  url: string
  /** An address without a pooler, for notifications and scripts. Default: `url`. */
  listenUrl?: string
  log?: Log
}

/** Connections that are kept for reads: commits may wait for a standby, and must not stop everything else. */
const FOR_READS = 2

/** The name of a server's connections. */
const SERVER = 'tutti'

export async function openPostgres({ url, listenUrl, log, ...given }: PostgresOptions): Promise<Driver> {
  const options = { poolSize: 10, statementTimeout: 5000, transactionTimeout: 30_000, name: SERVER, ...given }
  const servers = splitServers(url)
  const server = await findPrimary(servers, options.name)
  const session = await openSession(server, options)
  const { isPooled, missing } = session
  // A one-off command, such as a backup, has other limits, which no role should have.
  if (missing && options.name === SERVER)
    log?.('warn', 'a pooler is in front of Postgres; time limits are set in every transaction', {
      advice: `To save that, run: ${missing}. Then reconnect the pooler and restart Tutti.`,
    })
  const pool = new PrimaryPool(
    {
      servers,
      name: options.name,
      connect: (to) => openConnection(to, options, isPooled ? {} : connectionSettings(options)),
      log,
    },
    server,
    session.sql,
  )
  return new Postgres(pool, session, options, listenUrl, log)
}

class Postgres implements Driver {
  readonly kind = 'postgres'
  readonly #reach: Reachability = { closed: false }
  readonly #overdue: Deadlines
  readonly #run: RunStatement
  readonly #shared: StatementClient
  /** How many connections may be used for writes at once. */
  readonly #writers: ConnectionSlots
  /** A statement that limits a transaction, where connections cannot have settings. */
  readonly #limits: string | undefined
  readonly #listener: NotificationListener

  constructor(
    private readonly pool: PrimaryPool,
    private readonly session: Session,
    private readonly options: SessionOptions,
    private readonly listenUrl: string | undefined,
    log: Log | undefined,
  ) {
    const { poolSize, statementTimeout } = options
    // The server's own limit does not help if the server is unreachable.
    this.#overdue = new Deadlines(statementTimeout + 2000)
    this.#run = createStatementRunner({
      reach: this.#reach,
      overdue: this.#overdue,
      log,
      onLost: () => pool.seekPrimary(),
    })
    this.#shared = {
      get sql() {
        return pool.sql
      },
    }
    this.#writers = new ConnectionSlots(Math.max(1, poolSize - (poolSize > 3 ? FOR_READS : 1)), this.#overdue)
    this.#limits = session.missing ? setLimitsLocally(options) : undefined
    this.#listener = this.#newListener(log)
  }

  #newListener(log?: Log): NotificationListener {
    return new NotificationListener({
      connect: (onClosed) => this.#aside(onClosed),
      notify: (channel, payload) => this.#notify(channel, payload),
      log,
    })
  }

  query(text: string, params: readonly unknown[] = [], { timeout }: QueryOptions = {}): Promise<Result> {
    const { statementTimeout } = this.options
    const settings =
      timeout !== undefined && timeout !== statementTimeout
        ? setLimitsLocally({ ...this.options, statementTimeout: timeout })
        : this.#limits
    const writes = isWrite(text)
    // Reads share connections and are pipelined. Writes are not among them, because a commit may wait for a standby.
    if (!writes && settings === undefined) return this.#run(this.#shared, text, params)
    return this.#alone(writes, (held) =>
      settings === undefined
        ? this.#run(held, text, params)
        : runWithSettings(held, this.#run, settings, { text, params }, timeout === undefined),
    )
  }

  async #alone<T>(writes: boolean, work: (held: HeldConnection) => Promise<T>): Promise<T> {
    const held = await this.#hold(writes)
    try {
      return await work(held)
    } finally {
      held.release()
    }
  }

  #hold(writes: boolean): Promise<HeldConnection> {
    return holdConnection(this.pool.sql, this.#overdue, writes ? this.#writers : undefined)
  }

  async begin({ readOnly = false }: { readOnly?: boolean } = {}): Promise<Transaction> {
    return beginTransaction(await this.#hold(!readOnly), this.#run, this.#limits)
  }

  /** Uses a separate connection without limits, which a failed script may leave in any state. */
  async exec(text: string, settings?: Readonly<Record<string, string>>): Promise<void> {
    const sql = await this.#aside(undefined, settings)
    const isLimited = this.session.isPooled && !this.listenUrl
    try {
      await sql
        .unsafe(isLimited && /^\s*begin\b/i.test(text) ? `set local statement_timeout = 0; ${text}` : text)
        .simple()
    } catch (error) {
      throw toDbError(error)
    } finally {
      await sql.close({ timeout: 0 })
    }
  }

  /** Opens a separate connection, without a pooler if possible. */
  async #aside(onClosed?: (error: Error | null) => void, more: Readonly<Record<string, string>> = {}): Promise<SQL> {
    const { listenUrl, session, options, pool } = this
    const server = listenUrl ? await findPrimary(splitServers(listenUrl), options.name) : pool.server
    const limits = connectionSettings({ statementTimeout: 0, transactionTimeout: 0 })
    const settings = session.isPooled && !listenUrl ? {} : { ...limits, ...more }
    return openConnection(server, { ...options, poolSize: 1 }, settings, onClosed)
  }

  async notify(channel: string, payload: string): Promise<void> {
    const { heard } = this.#listener
    await this.#notify(channel, payload)
    this.#listener.expect(channel, heard)
  }

  async #notify(channel: string, payload: string): Promise<void> {
    await this.#alone(true, (held) => this.#run(held, 'select pg_notify($1, $2)', [channel, payload]))
  }

  listen(channel: string, onMessage: (payload: string) => void): Promise<void> {
    return this.#listener.listen(channel, onMessage)
  }

  get isListening(): boolean {
    return this.#listener.isLive
  }

  async whyNotListening(): Promise<string | undefined> {
    if (this.#listener.isUsed) return this.#listener.reason
    const listener = this.#newListener()
    await listener.listen('tutti_doctor', () => undefined)
    const { reason } = listener
    await listener.close()
    return reason
  }

  status(): DriverStatus {
    const { away, closed } = this.#reach
    return {
      ok: !away && !closed,
      version: `PostgreSQL ${this.session.version}`,
      detail: {
        ...(away !== undefined && { away }),
        ...(this.session.isPooled && { pooled: true }),
        ...(this.session.missing && { missing: this.session.missing }),
        ...(this.#listener.isUsed && { listening: this.isListening }),
      },
    }
  }

  async close(): Promise<void> {
    this.#reach.closed = true
    await this.#listener.close()
    this.#overdue.stop()
    await this.pool.close()
  }
}

/**
 * Whether a statement changes data, so that its commit may wait for a standby. A `with` that only mentions a change
 * counts too, which merely occupies a slot.
 */
const isWrite = (text: string): boolean =>
  /^\s*(?:select|show|values)\b/i.test(text)
    ? false
    : !/^\s*with\b/i.test(text) || /\b(?:insert|update|delete)\b/i.test(text)
