import { SQL } from 'bun'
import { placeOf } from '../../text/database-address.ts'
import { DbError } from '../driver.ts'
import { toDbError } from './values.ts'

/** What holds for every statement of a connection. */
export interface Limits {
  /** Milliseconds. */
  statementTimeout: number
  /** Milliseconds that a transaction may stay idle between statements. */
  transactionTimeout: number
}

export interface SessionOptions extends Limits {
  poolSize: number
  /** `application_name` of this process's connections. */
  name: string
}

/** Returns the settings of a connection that has these limits. */
export const settingsOf = ({ statementTimeout, transactionTimeout }: Limits): Record<string, string> => ({
  // JIT-compiling one of our longer statements takes many times as long as running it.
  jit: 'off',
  statement_timeout: String(statementTimeout),
  idle_in_transaction_session_timeout: String(transactionTimeout),
})

/** Returns a statement that sets the limits for the transaction it is in. */
export const settingLocally = (limits: Limits): string =>
  `select ${Object.entries(settingsOf(limits))
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')}`

/** Returns the statements that give the role these limits, so that no transaction has to set them. */
export const limiting = (limits: Limits): string =>
  Object.entries(settingsOf(limits))
    .map(([name, value]) => `alter role current_user set ${name} = ${value}`)
    .join('; ')

export const connect = (
  server: string,
  { poolSize, name }: Pick<SessionOptions, 'poolSize' | 'name'>,
  settings: Record<string, string> = {},
  onclose?: (error: Error | null) => void,
): SQL =>
  new SQL(server, {
    max: poolSize,
    connectionTimeout: 5,
    idleTimeout: 300,
    connection: { application_name: name, TimeZone: 'UTC', ...settings },
    ...(onclose && { onclose, idleTimeout: 0 }),
  })

/** Connections to one server, and what is known of it. */
export interface Session {
  readonly sql: SQL
  readonly version: string
  /** A pooler is in between, which gives each transaction another connection: settings last for a transaction. */
  readonly isPooled: boolean
  /** Whether statements without settings of their own are limited nevertheless, by the settings of the role. */
  readonly isLimited: boolean
  /** Whether that holds for transactions, too, which also have a limit for the time between statements. */
  readonly limitsTransactions: boolean
}

/**
 * Connects to a server, with our limits as settings of each connection. A pooler refuses such settings, or drops them;
 * then connections come without them.
 */
export async function openSession(server: string, options: SessionOptions): Promise<Session> {
  const sql = connect(server, options, settingsOf(options))
  try {
    const { version, timeout } = await factsOf(sql)
    if (timeout === options.statementTimeout)
      return { sql, version, isPooled: false, isLimited: true, limitsTransactions: true }
  } catch (error) {
    if (!isRefusedSetting(error)) {
      await sql.close({ timeout: 0 })
      throw at(server, error)
    }
  }
  await sql.close({ timeout: 0 })
  return openPooled(server, options)
}

async function openPooled(server: string, options: SessionOptions): Promise<Session> {
  const sql = connect(server, options)
  try {
    const { version, timeout, idle, jit } = await factsOf(sql)
    await requirePrepared(sql)
    const isLimited = timeout > 0
    return { sql, version, isPooled: true, isLimited, limitsTransactions: isLimited && idle > 0 && jit === 'off' }
  } catch (error) {
    await sql.close({ timeout: 0 })
    throw at(server, error)
  }
}

const at = (server: string, error: unknown): DbError => {
  const { code, message } = toDbError(error)
  return new DbError(code, `${placeOf(server)}: ${message}`, undefined, { cause: error })
}

const ANSWER_MS = 7000

/** PgBouncer names the parameter; the code alone stands for many errors. */
const isRefusedSetting = (error: unknown): boolean => /unsupported startup parameter/.test((error as Error).message)

interface Facts {
  version: string
  /** Milliseconds; 0 is no limit. */
  timeout: number
  idle: number
  jit: string
}

async function factsOf(sql: SQL): Promise<Facts> {
  const names = ['server_version', 'statement_timeout', 'idle_in_transaction_session_timeout', 'jit']
  const settings = names.map((name) => `(select setting from pg_settings where name = '${name}')`)
  const rows = (await within(ANSWER_MS, sql.unsafe(`select ${settings}`).values())) as string[][]
  const [version = '', timeout, idle, jit = ''] = rows[0] ?? []
  return { version, timeout: Number(timeout), idle: Number(idle), jit }
}

/**
 * Throws if the pooler forgets whose prepared statements are whose. Each connection numbers its own, so without the
 * pooler's help the second one meets statements of the first on the connection to the server that they share.
 */
async function requirePrepared(sql: SQL): Promise<void> {
  const clients = [await sql.reserve(), await sql.reserve()]
  try {
    for (let i = 0; i < 8; i++)
      for (const client of clients) await within(ANSWER_MS, client.unsafe(`select $1::int + ${i}`, [1]))
  } finally {
    for (const client of clients) void client.release()
  }
}

/** Rejects if the work takes longer. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DbError('unavailable', 'the database does not respond')), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
