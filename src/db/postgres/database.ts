import { SQL } from 'bun'
import { DbError, type Driver, type QueryOptions } from '../driver.ts'
import { Deadlines } from './deadlines.ts'
import { begin, type Client, type Run } from './transaction.ts'
import { columnsOf, keepJsonStrings, type Rows, toDbError, toParam } from './values.ts'

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

/** What this process has noticed about the server. */
interface Reach {
  opened: boolean
  closed: boolean
  /** Why the server cannot be reached. */
  away?: string
}

export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const { statementTimeout = 5000, log } = options
  const sql = connect(options, statementTimeout)
  const reach: Reach = { opened: false, closed: false }
  // The server's own limit does not help when it is unreachable: a connection into a black hole never answers.
  const overdue = new Deadlines(statementTimeout + 2000)
  const run = runner(reach, overdue, log)
  const version = await versionOf(sql, run, options.url)
  reach.opened = true

  return {
    kind: 'postgres',

    query: (text, params = [], options?: QueryOptions) =>
      options?.timeout === undefined || options.timeout === statementTimeout
        ? run(sql, text, params)
        : withTimeout(sql, options.timeout, (c) => run(c, text, params, false)),

    begin: () => begin(sql, run, overdue),

    exec: (text) => withTimeout(sql, 0, (c) => runScript(c, text)),

    async notify(channel, payload) {
      await run(sql, 'select pg_notify($1, $2)', [channel, payload])
    },

    async listen(channel, onMessage) {
      await sql.listen(channel, (payload: string) => onMessage(payload))
    },

    status: () => ({
      ok: !reach.away && !reach.closed,
      version: `PostgreSQL ${version}`,
      detail: (reach.away ? { away: reach.away } : {}) as Record<string, string>,
    }),

    async close() {
      reach.closed = true
      overdue.stop()
      await sql.close({ timeout: 5 })
    },
  }
}

const connect = (
  { url, poolSize = 10, transactionTimeout = 30_000, name = 'tutti' }: PostgresOptions,
  statementTimeout: number,
): SQL =>
  new SQL(url, {
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

/** Runs statements, and logs when the server goes away and when it is back. */
const runner =
  (reach: Reach, overdue: Deadlines, log: PostgresOptions['log']): Run =>
  async (on, text, params, limited = true) => {
    try {
      const asked = on.unsafe(text, params.map(toParam)).values() as Promise<Rows>
      const rows = await (limited ? overdue.watch(asked) : asked)
      keepJsonStrings(rows)
      if (reach.away) {
        log?.('info', 'the database is reachable again')
        reach.away = undefined
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
      if (db.code === 'unavailable' && reach.opened && !reach.away && !reach.closed) {
        reach.away = db.message
        log?.('warn', 'the database is unreachable', { reason: db.message })
      }
      throw db
    }
  }

const versionOf = (sql: SQL, run: Run, url: string): Promise<string> =>
  run(sql, 'show server_version', []).then(
    (r) => String(r.rows[0]?.[0]),
    (error: DbError) => {
      const { host, pathname } = new URL(url)
      throw new DbError(error.code, `postgres://${host}${pathname}: ${error.message}`, undefined, { cause: error })
    },
  )

async function runScript(client: Client, text: string): Promise<void> {
  try {
    await client.unsafe(text).simple()
  } catch (error) {
    // A script that began a transaction must not return its connection with the transaction open.
    await client.unsafe('rollback').catch(() => undefined)
    throw toDbError(error)
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
