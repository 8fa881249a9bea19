import type { Result } from '../driver.ts'
import type { Log } from './options.ts'

/** What maintenance needs from the database. */
interface MaintainableDatabase {
  isReady(): boolean
  /** True when nothing is running or waiting, and nothing was answered for a while. */
  isQuiet(): boolean
  /** Grows with every change. */
  changes(): number
  query(text: string): Promise<Result>
  run(sql: string): Promise<void>
}

const TICK_MS = 5000
const CHECKPOINT_MS = 5 * 60_000
const CHECKPOINT_BYTES = 64 * 1024 * 1024
const VACUUM_MS = 60_000
/** How long a busy database can delay a vacuum that is due. */
const PATIENCE_MS = 5 * 60_000

/**
 * Uses autovacuum's own thresholds, and finds tables (system catalogs, too) whose transaction ids grow old. TOAST
 * tables are vacuumed with theirs.
 */
const DUE = `select format('%I.%I', s.schemaname, s.relname)
from pg_stat_all_tables s join pg_class c on c.oid = s.relid, lateral (select greatest(c.reltuples, 0) as size) t
where s.schemaname <> 'pg_toast' and (
  s.n_dead_tup > 50 + 0.2 * t.size or s.n_mod_since_analyze > 50 + 0.1 * t.size
  or s.n_ins_since_vacuum > 1000 + 0.2 * t.size or age(c.relfrozenxid) > 150000000)
order by s.n_dead_tup`

/**
 * Tables that the planner takes for small and that have three times the rows it knows of. Prepared statements keep the
 * plan for the small table until it is analyzed, which made the look-up of every credential four times slower in a
 * burst. The counters are read directly, and the size is the planner's: the view over them and the sizes of all files
 * took 60 ms.
 */
const GROWN = `select format('%I.%I', n.nspname, c.relname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname !~ '^(pg_|information_schema$)' and c.relpages < 2000
  and pg_stat_get_live_tuples(c.oid) > 100 + 3 * greatest(c.reltuples, 0)`

/** Does the work of the checkpointer and autovacuum. PGlite has neither, so WAL and dead rows would grow forever. */
export class Maintenance {
  readonly #timer: Timer
  #busy = false
  #stopped = false
  #checkpoint = { at: performance.now(), changes: 0 }
  #analyzed = 0
  #vacuum = { at: performance.now(), changes: 0 }
  #due: string[] = []
  #dueSince = 0

  constructor(
    private readonly db: MaintainableDatabase,
    private readonly log: Log,
  ) {
    this.#timer = setInterval(() => void this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  async #tick(): Promise<void> {
    if (this.#busy || !this.db.isReady()) return
    this.#busy = true
    try {
      await this.checkpointIfDue()
      await this.analyzeIfDue()
      await this.vacuumIfDue()
    } catch (error) {
      if (!this.#stopped) this.log('warn', 'database maintenance failed', { error: (error as Error).message })
    } finally {
      this.#busy = false
    }
  }

  async checkpointIfDue(now = performance.now()): Promise<void> {
    const changes = this.db.changes()
    if (changes === this.#checkpoint.changes) return
    if (now - this.#checkpoint.at < CHECKPOINT_MS && (await this.#walBytes()) < CHECKPOINT_BYTES) return
    await this.db.run('CHECKPOINT')
    this.#checkpoint = { at: now, changes }
  }

  /** Does not wait for quiet: it takes milliseconds, and a database that is busy needs good plans most. */
  async analyzeIfDue(): Promise<void> {
    const changes = this.db.changes()
    if (changes === this.#analyzed) return
    this.#analyzed = changes
    for (const [table] of (await this.db.query(GROWN)).rows) await this.db.run(`ANALYZE ${table}`)
  }

  async vacuumIfDue(now = performance.now()): Promise<void> {
    const changes = this.db.changes()
    if (this.#due.length === 0 && now - this.#vacuum.at >= VACUUM_MS && changes !== this.#vacuum.changes) {
      this.#vacuum = { at: now, changes }
      this.#due = (await this.db.query(DUE)).rows.map(([table]) => table as string)
      this.#dueSince = now
    }
    while (this.#due.length > 0 && (this.db.isQuiet() || now - this.#dueSince > PATIENCE_MS)) {
      await this.db.run(`VACUUM (ANALYZE) ${this.#due.shift()}`)
    }
  }

  /** Bytes written since the last checkpoint. */
  async #walBytes(): Promise<number> {
    return Number(
      (await this.db.query('select pg_current_wal_insert_lsn() - redo_lsn from pg_control_checkpoint()')).rows[0]?.[0],
    )
  }
}
