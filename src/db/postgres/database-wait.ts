import { DbError, type Driver } from '../driver.ts'
import type { Log } from './statement-runner.ts'

const AGAIN_MS = 500

interface WaitOptions {
  seconds: number
  log?: Log
}

/** Repeats the first steps of a server while the database is unreachable or refuses writes. */
export class DatabaseWait {
  /** Whether the server waits at this moment. */
  isWaiting = false

  constructor(private readonly options: WaitOptions) {}

  /** Repeats `work` until it succeeds. Rejects when the time is over or waiting cannot help. */
  async until<T>(work: () => Promise<T>): Promise<T> {
    const { seconds, log } = this.options
    let began = 0
    const elapsed = () => performance.now() - began
    try {
      for (;;)
        try {
          const result = await work()
          if (this.isWaiting) log?.('info', 'the database is ready', { seconds: Math.round(elapsed() / 1000) })
          return result
        } catch (error) {
          if (!this.isWaiting) began = performance.now()
          if (!isTemporary(error) || elapsed() + AGAIN_MS > seconds * 1000) throw error
          if (!this.isWaiting)
            log?.('warn', 'waiting for the database', { reason: (error as Error).message, atMostSeconds: seconds })
          this.isWaiting = true
          await Bun.sleep(AGAIN_MS)
        }
    } finally {
      this.isWaiting = false
    }
  }
}

/** Throws if the server refuses writes, as a standby does. */
export async function requireWritable(driver: Driver): Promise<void> {
  const { rows } = await driver.query(`select current_setting('transaction_read_only')`)
  if (rows[0]?.[0] !== 'off') throw new DbError('unavailable', 'the database server accepts no writes')
}

/** 57P0x: the server stops or starts. 53300: too many connections. 08xxx: connection trouble. 25006: a standby. */
const TEMPORARY_STATE = /^(?:57P0.|53300|08...|25006)$/
/** Names that Bun gives to errors of its own. */
const TEMPORARY_NAME = /^ERR_POSTGRES_(?:CONNECTION_|IDLE_TIMEOUT|LIFETIME_TIMEOUT)/
/** Class 28: refused credentials. 3D000: unknown database. No other server of the same cluster would accept them. */
const LASTING_STATE = /^(?:28...|3D000)$/

/** Whether an error may disappear without a change of settings. */
export function isTemporary(error: unknown): boolean {
  const roots = rootsOf(error)
  return roots.some(isTemporaryRoot) && !roots.some(({ errno }) => LASTING_STATE.test(errno ?? ''))
}

interface Root {
  code?: string
  errno?: string
}

/** Returns the first causes of an error; several if several servers were tried. */
function rootsOf(error: unknown): Root[] {
  if (error instanceof AggregateError) return error.errors.flatMap(rootsOf)
  const { cause } = (error ?? {}) as { cause?: unknown }
  return cause instanceof Error ? rootsOf(cause) : [(error ?? {}) as Root]
}

const isTemporaryRoot = ({ code: name = '', errno }: Root): boolean =>
  errno ? TEMPORARY_STATE.test(errno) : name === 'unavailable' || TEMPORARY_NAME.test(name)
