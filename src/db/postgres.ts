import { SQL } from 'bun'
import {
  DbError,
  type Driver,
  Json,
  type QueryOptions,
  type Result,
  type Statement,
  type Transaction,
} from './driver.ts'

export interface PostgresOptions {
  url: string
  poolSize?: number
  /** Milliseconds. */
  statementTimeout?: number
  /** Milliseconds that a transaction may stay idle between statements. */
  transactionTimeout?: number
  /** `application_name` of this process's connections. */
  name?: string
  log?: (level: 'info' | 'warn' | 'error', message: string, fields?: object) => void
}

type Client = Pick<SQL, 'unsafe'>

export async function openPostgres({
  url,
  poolSize = 10,
  statementTimeout = 5000,
  transactionTimeout = 30_000,
  name = 'tutti',
  log,
}: PostgresOptions): Promise<Driver> {
  const sql = new SQL(url, {
    max: poolSize,
    connectionTimeout: 5,
    idleTimeout: 300,
    connection: {
      application_name: name,
      TimeZone: 'UTC',
      // JIT-compiling one of our longer statements takes many times as long as running it.
      jit: 'off',
      statement_timeout: statementTimeout,
      idle_in_transaction_session_timeout: transactionTimeout,
    },
  })
  let away: string | undefined
  let closed = false
  let opened = false

  // The server's own limit does not help when it is unreachable: a connection into a black hole never answers.
  const overdue = new Deadlines(statementTimeout + 2000)

  const run = async (on: Client, text: string, params: readonly unknown[], limited = true): Promise<Result> => {
    try {
      const asked = on.unsafe(text, params.map(toParam)).values() as Promise<Rows>
      const rows = await (limited ? overdue.watch(asked) : asked)
      keepJsonStrings(rows)
      if (away) {
        log?.('info', 'the database is reachable again')
        away = undefined
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
      if (db.code === 'unavailable' && opened && !away && !closed) {
        away = db.message
        log?.('warn', 'the database is unreachable', { reason: db.message })
      }
      throw db
    }
  }

  const commitOn = (connection: Client) =>
    run(connection, 'commit', []).catch((error: DbError) => {
      if (error.code !== 'unavailable') throw error
      throw new DbError('unknown', `the connection was lost while committing: ${error.message}`, undefined, {
        cause: error,
      })
    })

  const version = await run(sql, 'show server_version', []).then(
    (r) => String(r.rows[0]?.[0]),
    (error: DbError) => {
      const { host, pathname } = new URL(url)
      throw new DbError(error.code, `postgres://${host}${pathname}: ${error.message}`, undefined, { cause: error })
    },
  )
  opened = true

  return {
    kind: 'postgres',

    query: (text, params = [], options?: QueryOptions) =>
      options?.timeout === undefined || options.timeout === statementTimeout
        ? run(sql, text, params)
        : withTimeout(sql, options.timeout, (c) => run(c, text, params, false)),

    async begin(): Promise<Transaction> {
      const reserving = sql.reserve()
      const connection = await overdue.watch(reserving).catch((error: unknown) => {
        // The caller has given up, but the connection still arrives: without this the pool would lose it for ever.
        void reserving.then(
          (late) => late.release(),
          () => undefined,
        )
        throw toDbError(error)
      })
      let started: Promise<unknown> | undefined
      let ended = false
      // BEGIN is not awaited: Bun sends it and the first statement back to back on the reserved connection.
      const start = () => {
        started ??= connection.unsafe('begin').then(
          () => undefined,
          (error: unknown) => error,
        )
      }
      const finish = async (statement: string) => {
        ended = true
        try {
          if (started) await (statement === 'commit' ? commitOn(connection) : run(connection, statement, []))
        } finally {
          connection.release()
        }
      }
      const guard = () => {
        if (ended) throw new DbError('unavailable', 'the transaction has ended')
      }
      return {
        async query(text, params = []) {
          guard()
          start()
          const result = await run(connection, text, params)
          const failed = await started
          if (failed) throw toDbError(failed)
          return result
        },
        async commit(last: readonly Statement[] = []) {
          guard()
          if (last.length === 0) return finish('commit')
          start()
          ended = true
          try {
            // Sent together. A failing statement aborts the transaction, and COMMIT then returns ROLLBACK without an
            // error of its own.
            const sent = last.map((s) => run(connection, s.text, s.params))
            const committed = commitOn(connection)
            const outcome = await Promise.allSettled([...sent, committed])
            const failures = outcome.flatMap((o) => (o.status === 'rejected' ? [o.reason as DbError] : []))
            // An error from Postgres decides. If only the connection failed, COMMIT may have arrived nevertheless.
            const failed = failures.find((e) => e.code !== 'unavailable' && e.code !== 'unknown') ?? failures.at(-1)
            if (failed) throw failed
          } finally {
            connection.release()
          }
        },
        async rollback() {
          if (ended) return
          await finish('rollback').catch(() => undefined)
        },
      }
    },

    async exec(text) {
      await withTimeout(sql, 0, async (c) => {
        try {
          await c.unsafe(text).simple()
        } catch (error) {
          // A script that began a transaction must not return its connection with the transaction open.
          await c.unsafe('rollback').catch(() => undefined)
          throw toDbError(error)
        }
      })
    },

    async notify(channel, payload) {
      await run(sql, 'select pg_notify($1, $2)', [channel, payload])
    },

    async listen(channel, onMessage) {
      await sql.listen(channel, (payload: string) => onMessage(payload))
    },

    status: () => ({
      ok: !away && !closed,
      version: `PostgreSQL ${version}`,
      detail: (away ? { away } : {}) as Record<string, string>,
    }),

    async close() {
      closed = true
      overdue.stop()
      await sql.close({ timeout: 5 })
    },
  }
}

/**
 * Rejects queries that waited too long. One coarse timer for all: a timer per query would cost more than the query's
 * own bookkeeping.
 */
class Deadlines {
  readonly #waiting = new Map<(error: DbError) => void, number>()
  #timer: Timer | undefined

  constructor(private readonly ms: number) {}

  watch<T>(work: Promise<T>): Promise<T> {
    this.#timer ??= setInterval(() => this.#sweep(), 1000).unref()
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(reject, performance.now() + this.ms)
      // Not `finally`, which creates two more promises per query.
      work.then(
        (value) => {
          this.#waiting.delete(reject)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(reject)
          reject(error)
        },
      )
    })
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const reject of this.#waiting.keys()) reject(new DbError('unavailable', 'the database is closed'))
  }

  #sweep(): void {
    const now = performance.now()
    for (const [reject, until] of this.#waiting)
      if (until < now) reject(new DbError('unavailable', 'the database does not respond'))
  }
}

/** Sets the limit on a reserved connection; used only by migrations, maintenance and jobs. */
async function withTimeout<T>(sql: SQL, timeout: number, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await sql.reserve().catch((error: unknown) => {
    throw toDbError(error)
  })
  try {
    await connection.unsafe(`set statement_timeout = ${Number(timeout)}`)
    return await work(connection)
  } finally {
    await connection.unsafe('reset statement_timeout').catch(() => undefined)
    connection.release()
  }
}

const toParam = (value: unknown): unknown => {
  if (value === undefined) return null
  if (value instanceof Json) return value.value
  if (typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array))
    return JSON.stringify(value)
  return value
}

type Rows = unknown[][] & { count: number; columns?: { name: string; type: number }[] }

const JSON_TYPES = new Set([114, 3802])

/** Bun parses JSON. A string in it must stay distinct from JSON as text, which the embedded database returns. */
function keepJsonStrings(rows: Rows): void {
  const { columns = [] } = rows
  for (let i = 0; i < columns.length; i++)
    if (JSON_TYPES.has((columns[i] as { type: number }).type))
      for (const row of rows) if (typeof row[i] === 'string') row[i] = JSON.stringify(row[i])
}

const columnsOf = (rows: Rows): string[] => rows.columns?.map((c) => c.name) ?? []

function toDbError(error: unknown): DbError {
  if (error instanceof DbError) return error
  const e = error as { code?: string; errno?: string; message?: string; constraint?: string }
  const state = e.errno && /^[0-9A-Z]{5}$/.test(e.errno) ? e.errno : undefined
  const message = e.message ?? 'database error'
  if (state === '57014') return new DbError('timeout', 'statement took too long', undefined, { cause: error })
  if (state === '53100') return new DbError('disk_full', message, undefined, { cause: error })
  // 57P01–57P05 server stopping or starting, 53300 too many connections, 08* connection trouble
  if (!state || /^(57P0|53300|08)/.test(state)) return new DbError('unavailable', message, undefined, { cause: error })
  return new DbError(state, message, e.constraint, { cause: error })
}
