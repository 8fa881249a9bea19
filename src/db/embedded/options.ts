import type { Driver } from '../driver.ts'

export type Log = (level: 'info' | 'warn' | 'error', message: string, fields?: object) => void

export interface EmbeddedOptions {
  /** The data directory. The database is stored in `db` below it, the lock in `lock`. */
  dir: string
  /**
   * `relaxed` confirms a commit before it is on disk: a power cut can undo about the last 200 ms, but never leaves the
   * database inconsistent. Default: `full`.
   */
  durability?: 'full' | 'relaxed'
  /** Milliseconds; 0 means none. Default: 5000. */
  statementTimeout?: number
  /**
   * Milliseconds a transaction may block all others before it is rolled back; statements without a limit do not count.
   * Default: 30000.
   */
  transactionTimeout?: number
  /** Default: 16MB. */
  sharedBuffers?: string
  /** With less free space, changes are refused with `disk_full`. Default: 100 MiB. */
  minFreeBytes?: number
  log?: Log
  /**
   * The disk failed to store what Postgres wrote. The process must end; the next start recovers. Default: exit with 1.
   */
  onFatal?: (reason: string) => void
}

export interface EmbeddedDriver extends Driver {
  readonly kind: 'pglite'
  /** Copies the database and syncs the copy; all queries wait meanwhile. `to` must not exist. */
  snapshot(to: string): Promise<void>
  /** How often the worker was replaced, because of time limits or crashes. */
  readonly restarts: number
}

export function postgresSettings({
  durability = 'full',
  sharedBuffers = '16MB',
}: EmbeddedOptions): Record<string, string> {
  return {
    // fdatasync, the default, is a stub in this runtime
    wal_sync_method: 'fsync',
    synchronous_commit: durability === 'full' ? 'on' : 'off',
    shared_buffers: sharedBuffers,
    // Only limits how many old segments a checkpoint keeps for reuse: nothing here starts a checkpoint by size.
    min_wal_size: '16MB',
    max_wal_size: '64MB',
    // Postgres's limit must be hit before the thread's own stack (4 MB, fixed) overflows, which would crash it.
    max_stack_depth: '200kB',
    timezone: 'UTC',
    // Errors are returned to the caller; stderr is only read to learn why Postgres ended.
    log_min_messages: 'fatal',
  }
}
