import { SQL } from 'bun'
import { displayAddress } from '../../text/database-address.ts'
import { DbError } from '../driver.ts'
import { toDbError } from './values.ts'

/** Time limits of a connection. */
export interface TimeLimits {
  /** Milliseconds. */
  statementTimeout: number
  /** Milliseconds that a transaction may stay idle between statements. */
  transactionTimeout: number
}

export interface SessionOptions extends TimeLimits {
  poolSize: number
  /** `application_name` of this process's connections. */
  name: string
}

/** Returns the settings of a connection that has these limits. */
export const connectionSettings = ({ statementTimeout, transactionTimeout }: TimeLimits): Record<string, string> => ({
  // JIT-compiling one of our longer statements takes many times as long as running it.
  jit: 'off',
  statement_timeout: String(statementTimeout),
  idle_in_transaction_session_timeout: String(transactionTimeout),
})

/** Returns a statement that sets the limits for the transaction it is in. */
export const setLimitsLocally = (limits: TimeLimits): string =>
  `select ${Object.entries(connectionSettings(limits))
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')}`

export const openConnection = (
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

/** Connections to one server, and facts about it. */
export interface Session {
  readonly sql: SQL
  readonly version: string
  /** A pooler gives each transaction another connection, so settings last for one transaction. */
  readonly isPooled: boolean
  /**
   * Statements that would give the role our limits, so that no transaction has to set them; undefined if every
   * connection has them.
   */
  readonly missing: string | undefined
}

/**
 * Connects to a server, with our limits as settings of each connection. A pooler refuses such settings, or drops them;
 * then connections come without them.
 */
export async function openSession(server: string, options: SessionOptions): Promise<Session> {
  const sql = openConnection(server, options, connectionSettings(options))
  try {
    const { version, isOurs } = await factsOf(sql, options)
    if (isOurs) return { sql, version, isPooled: false, missing: undefined }
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
  const sql = openConnection(server, options)
  try {
    const { version, missing } = await factsOf(sql, options)
    await requirePrepared(sql)
    return { sql, version, isPooled: true, missing }
  } catch (error) {
    await sql.close({ timeout: 0 })
    throw at(server, error)
  }
}

const at = (server: string, error: unknown): DbError => {
  const { code, message } = toDbError(error)
  return new DbError(code, `${displayAddress(server)}: ${message}`, undefined, { cause: error })
}

const ANSWER_MS = 7000

/** PgBouncer names the parameter; the code alone stands for many errors. */
const isRefusedSetting = (error: unknown): boolean => /unsupported startup parameter/.test((error as Error).message)

interface Facts {
  version: string
  /** The limits come from the start of the connection, and not from settings of the role or the database. */
  isOurs: boolean
  /** See `Session`. A limit that differs from ours counts as missing. */
  missing: string | undefined
}

async function factsOf(sql: SQL, limits: TimeLimits): Promise<Facts> {
  const names = Object.keys(connectionSettings(limits)).join("', '")
  const asked = sql.unsafe(`select current_setting('server_version'), quote_ident(current_user), name, setting, source
    from pg_settings where name in ('${names}')`)
  const rows = (await withTimeout(ANSWER_MS, asked.values())) as string[][]
  const found = new Map(rows.map(([, , name, setting, source]) => [name, { setting, source }]))
  const [version = '', role = ''] = rows[0] ?? []
  const missing = Object.entries(connectionSettings(limits))
    .filter(([name, value]) => found.get(name)?.setting !== value)
    .map(([name, value]) => `alter role ${role} set ${name} = ${value}`)
  return {
    version,
    isOurs: found.get('statement_timeout')?.source === 'client' && missing.length === 0,
    missing: missing.length > 0 ? missing.join('; ') : undefined,
  }
}

/**
 * Throws if the pooler does not track prepared statements. Connections number their statements themselves, so two of
 * them would clash on a shared connection to the server.
 */
async function requirePrepared(sql: SQL): Promise<void> {
  const clients = [await sql.reserve(), await sql.reserve()]
  try {
    for (let i = 0; i < 8; i++)
      for (const client of clients) await withTimeout(ANSWER_MS, client.unsafe(`select $1::int + ${i}`, [1]))
  } finally {
    for (const client of clients) void client.release()
  }
}

/** Rejects if the work takes longer. */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DbError('unavailable', 'the database does not respond')), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
