import type { Driver } from '../driver.ts'

export type Log = (level: 'info' | 'warn' | 'error', message: string, fields?: object) => void

export interface EmbeddedOptions {
  /** The data directory: the database goes to `db` in it, the lock to `lock`. */
  dir: string
  /** `relaxed` answers before the disk has it: a power cut can undo about the last 200 ms, never leave it inconsistent. Default `full`. */
  durability?: 'full' | 'relaxed'
  /** Milliseconds, 0 for none. Default 5000. */
  statementTimeout?: number
  /** Milliseconds a transaction may hold up everybody else before it is rolled back; statements without a limit do not count. Default 30000. */
  transactionTimeout?: number
  /** Default 16MB. */
  sharedBuffers?: string
  /** Below it, changes are refused with `disk_full`. Default 100 MiB. */
  minFreeBytes?: number
  log?: Log
  /** The disk failed to store what Postgres wrote: the process must end, the next start recovers. Default: exit with 1. */
  onFatal?: (reason: string) => void
}

export interface EmbeddedDriver extends Driver {
  readonly kind: 'pglite'
  /** A complete copy of the database, safely on disk; all queries wait meanwhile. `to` must not exist. */
  snapshot(to: string): Promise<void>
  /** How often the worker had to be replaced: time limits, crashes. */
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
    // Only how many old segments a checkpoint keeps for reuse: nothing here starts a checkpoint by size.
    min_wal_size: '16MB',
    max_wal_size: '64MB',
    // The thread's own stack (4 MB, fixed) must not overflow first: that is a crash instead of an error.
    max_stack_depth: '200kB',
    timezone: 'UTC',
    // Errors go to the caller; stderr is only read for the reason of an end.
    log_min_messages: 'fatal',
  }
}
