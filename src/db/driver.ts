/**
 * A database. Two implementations: `embedded/` (PGlite in a Worker) and `postgres/` (Bun's driver).
 * Everything above (drizzle, migrations, jobs, tests) sees only this interface.
 */
export interface Driver extends Queryable {
  readonly kind: 'pglite' | 'postgres'
  /**
   * `BEGIN` is sent with the first statement, so an empty transaction costs nothing. A `readOnly` transaction does not
   * count towards the limit of writers.
   */
  begin(options?: { readOnly?: boolean }): Promise<Transaction>
  /**
   * Several statements without parameters and without a time limit: migrations, maintenance. `settings`: of the
   * connection, for a statement that must be alone; the embedded database has none.
   */
  exec(sql: string, settings?: Readonly<Record<string, string>>): Promise<void>
  /** Notifies every instance on this database, including this one. Payloads are short: ids, never content. */
  notify(channel: string, payload: string): Promise<void>
  listen(channel: string, onMessage: (payload: string) => void): Promise<void>
  /** Whether notifications arrive at the moment. If not, callers of `listen` have to poll. */
  readonly isListening: boolean
  /** Tries whether notifications arrive; returns why not. */
  whyNotListening(): Promise<string | undefined>
  /** What `/health`, `/metrics` and `tutti doctor` show. Never throws and never waits. */
  status(): DriverStatus
  /** Copies the database's files. Only the embedded database offers it. */
  snapshot?(to: string): Promise<void>
  close(): Promise<void>
}

export interface Queryable {
  /** One statement with `$1…` parameters, prepared once and cached. Rows come as arrays in column order. */
  query(text: string, params?: readonly unknown[], options?: QueryOptions): Promise<Result>
}

export interface Transaction extends Queryable {
  /**
   * Runs a statement without a result: it is sent with the next statement or with COMMIT, whose promise rejects if it
   * fails.
   */
  defer(statement: Statement): void
  /** Sends the last statements and COMMIT in one trip; rejects, with everything undone, when any of them fails. */
  commit(last?: readonly Statement[]): Promise<void>
  rollback(): Promise<void>
}

export interface Statement {
  text: string
  params: readonly unknown[]
}

export interface QueryOptions {
  /** Milliseconds; 0 means none. Default: the configured statement limit. */
  timeout?: number
}

export interface Result {
  columns: string[]
  rows: unknown[][]
  /** Rows returned or changed. */
  count: number
}

export interface DriverStatus {
  ok: boolean
  /** Why changes are currently refused. */
  readOnly?: 'disk_full'
  /** For people: "PGlite 0.5.14, PostgreSQL 18.6" or "PostgreSQL 17.2". */
  version: string
  detail: Record<string, number | string | boolean>
}

/** A database that is being opened on threads of its own. */
export interface DatabaseOpening {
  /** Exists before the database is open; statements wait until it is. */
  driver: Promise<Driver>
  /** Rejects, with everything closed, if the database cannot be opened. */
  ready: Promise<Driver>
}

/** A parameter for a jsonb column: each driver sends it in its own way. */
export class JsonParam {
  constructor(readonly value: object) {}
  toJSON(): object {
    return this.value
  }
}

/**
 * The only error a driver throws. `code` is the SQLSTATE, or one of ours: `unavailable` (database unreachable,
 * restarting or stopping), `timeout` (statement limit), `disk_full`, `unknown` (the connection was lost during COMMIT,
 * so the change may or may not be stored).
 */
export class DbError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly constraint?: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = 'DbError'
  }
}

/** Another process has the embedded database open. */
export class DatabaseInUse extends DbError {
  constructor(
    dir: string,
    readonly pid: string,
  ) {
    super(
      'unavailable',
      `${dir} is in use by another tutti process (pid ${pid}); stop it or choose another data directory`,
    )
  }
}
