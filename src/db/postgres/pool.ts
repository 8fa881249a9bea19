import { SQL } from 'bun'
import { displayAddress } from '../../text/database-address.ts'
import { DbError } from '../driver.ts'
import { withTimeout } from './sessions.ts'
import type { Log } from './statement-runner.ts'
import { toDbError } from './values.ts'

const AGAIN_MS = 500
const ANSWER_MS = 5000

/** Returns the first server to respond that accepts writes. */
export async function findPrimary(servers: readonly string[], name: string): Promise<string> {
  if (servers.length === 1) return servers[0] as string
  try {
    return await Promise.any(servers.map((server) => requirePrimary(server, name)))
  } catch (error) {
    const reasons = (error as AggregateError).errors.map((e: unknown) => toDbError(e).message)
    throw new DbError('unavailable', `no server accepts writes: ${reasons.join('; ')}`, undefined, { cause: error })
  }
}

async function requirePrimary(server: string, name: string): Promise<string> {
  const sql = new SQL(server, { max: 1, connectionTimeout: 3, connection: { application_name: name } })
  try {
    const asked = sql.unsafe(`select current_setting('transaction_read_only')`).values() as Promise<string[][]>
    const rows = await withTimeout(ANSWER_MS, asked)
    if (rows[0]?.[0] !== 'off') throw new DbError('unavailable', 'it is a standby')
    return server
  } catch (error) {
    throw new DbError('unavailable', `${displayAddress(server)}: ${toDbError(error).message}`, undefined, {
      cause: error,
    })
  } finally {
    void sql.close({ timeout: 0 })
  }
}

interface PoolOptions {
  servers: readonly string[]
  name: string
  connect(server: string): SQL
  log?: Log
}

/** The connections to the server that accepts writes, of one or several. */
export class PrimaryPool {
  #sql: SQL
  #server: string
  #isSeeking = false
  #isClosed = false

  constructor(
    private readonly options: PoolOptions,
    server: string,
    sql: SQL,
  ) {
    this.#server = server
    this.#sql = sql
  }

  get sql(): SQL {
    return this.#sql
  }

  get server(): string {
    return this.#server
  }

  /** Searches until a server accepts writes, and closes the connections to the previous one. */
  seekPrimary(): void {
    if (this.options.servers.length < 2 || this.#isSeeking || this.#isClosed) return
    this.#isSeeking = true
    void this.#seek().finally(() => {
      this.#isSeeking = false
    })
  }

  async #seek(): Promise<void> {
    const { servers, name, connect, log } = this.options
    for (let found: string | undefined; !found && !this.#isClosed; await Bun.sleep(AGAIN_MS)) {
      found = await findPrimary(servers, name).catch(() => undefined)
      if (found === undefined || found === this.#server || this.#isClosed) continue
      const before = this.#sql
      this.#server = found
      this.#sql = connect(found)
      log?.('warn', 'another database server accepts writes', { server: displayAddress(found) })
      void before.close({ timeout: 0 })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sql.close({ timeout: 5 })
  }
}
