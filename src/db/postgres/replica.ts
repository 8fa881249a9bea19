import { displayAddress } from '../../text/database-address.ts'
import { DbError, type Driver, type Queryable } from '../driver.ts'
import type { Log } from './statement-runner.ts'
import { toDbError } from './values.ts'

export interface ReplicaOptions {
  primary: Driver
  /** Standbys of the primary. The first usable one is read. */
  servers: readonly string[]
  open(server: string): Promise<Driver>
  log?: Log
  /** A standby that is further behind than this is not read. */
  mostBehindMs?: number
  /** Milliseconds between two checks. */
  everyMs?: number
}

interface Sample {
  at: number
  position: bigint
}

/**
 * A standby for reads. Its delay is measured with WAL positions of the primary, one per check, so neither the clocks of
 * the servers nor an idle primary matter. It counts as unavailable as soon as the last proof of its freshness is too
 * old, so no failure has to be detected in time.
 */
export class Replica {
  readonly #samples: Sample[] = []
  readonly #mostBehindMs: number
  /** Until then nothing is logged about a standby that is still catching up, as after migrations. */
  readonly #patientUntil: number
  #opened: { driver: Driver; server: string } | undefined
  /** Everything committed before this time is on the standby. */
  #hasAllBefore = Number.NEGATIVE_INFINITY
  #reason: string | undefined
  #isTold: boolean | undefined
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  #isClosed = false

  constructor(private readonly options: ReplicaOptions) {
    this.#mostBehindMs = options.mostBehindMs ?? 5000
    this.#patientUntil = performance.now() + this.#mostBehindMs
  }

  /** Checks the standby at once, then regularly. */
  async start(): Promise<void> {
    await this.#look()
    this.#timer = setInterval(() => void this.#look(), this.options.everyMs ?? 1000).unref()
  }

  /** The standby, if it is available and recent enough. */
  get current(): Driver | undefined {
    return performance.now() - this.#hasAllBefore <= this.#mostBehindMs ? this.#opened?.driver : undefined
  }

  /** Why `current` is undefined. */
  get reason(): string {
    const seconds = Math.round((performance.now() - this.#hasAllBefore) / 1000)
    return this.#reason ?? (Number.isFinite(seconds) ? `it is ${seconds} s behind` : 'it has not caught up yet')
  }

  /** Returns the standby once it has everything that is committed now; undefined if that takes too long. */
  async upToDate(): Promise<{ driver: Driver; place: string; waitedMs: number } | undefined> {
    const began = performance.now()
    do {
      await this.#look()
      const opened = this.#opened
      const waitedMs = performance.now() - began
      if (opened && this.#hasAllBefore >= began)
        return { driver: opened.driver, place: displayAddress(opened.server), waitedMs }
      await Bun.sleep(20)
    } while (this.#reason === undefined && performance.now() - began < this.#mostBehindMs)
    return undefined
  }

  /** A read has failed: the standby is not read again before its next check. */
  markFailed(): void {
    this.#hasAllBefore = Number.NEGATIVE_INFINITY
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#looking
    await this.#opened?.driver.close()
  }

  #look(): Promise<void> {
    this.#looking ??= this.#see().finally(() => {
      this.#looking = undefined
      if (!this.#isClosed) this.#tell()
    })
    return this.#looking
  }

  async #see(): Promise<void> {
    let timeline: number
    try {
      const at = performance.now()
      const found = await placeIn(this.options.primary)
      timeline = found.timeline
      this.#samples.push({ at, position: found.position })
    } catch {
      return // Without the primary nothing is known. What calls us needs it too, and says so.
    }
    try {
      this.#opened ??= await this.#open()
      const replayed = await replayedBy(this.#opened.driver)
      if (replayed.timeline !== timeline) throw new DbError('unavailable', OTHER_TIMELINE)
      const reached = this.#samples.findLastIndex(({ position }) => position <= replayed.position)
      // Drops all samples that the standby has reached.
      if (reached >= 0) this.#hasAllBefore = (this.#samples.splice(0, reached + 1).at(-1) as Sample).at
      this.#reason = undefined
    } catch (error) {
      this.#reason = toDbError(error).message
      const { driver } = this.#opened ?? {}
      this.#opened = undefined
      this.markFailed()
      await driver?.close()
    }
    if (this.#samples.length > MOST_SAMPLES) this.#samples.splice(0, this.#samples.length - MOST_SAMPLES)
  }

  async #open(): Promise<{ driver: Driver; server: string }> {
    const { servers, primary, open } = this.options
    const reasons: string[] = []
    for (const server of servers) {
      let driver: Driver | undefined
      try {
        driver = await open(server)
        await requireStandby(driver, primary)
        return { driver, server }
      } catch (error) {
        await driver?.close()
        const { message } = toDbError(error)
        // An error of `open` already names the server.
        reasons.push(driver ? `${displayAddress(server)}: ${message}` : message)
      }
    }
    throw new DbError('unavailable', reasons.join('; '))
  }

  /** Logs when the standby begins to be read, and when it no longer is. */
  #tell(): void {
    const { log } = this.options
    const isRead = this.current !== undefined
    if (isRead === this.#isTold) return
    if (this.#isTold === undefined && !isRead && !this.#reason && performance.now() < this.#patientUntil) return
    this.#isTold = isRead
    if (isRead)
      log?.('info', 'exports, backups and analytics are read from a standby', {
        server: displayAddress(this.#opened?.server ?? ''),
      })
    else log?.('warn', 'the standby is not read; the primary does its work', { reason: this.reason })
  }
}

/** A check that waits for the standby takes a sample every 20 ms. */
const MOST_SAMPLES = 1000

const numberOf = (position: string): string => `(${position} - '0/0'::pg_lsn)::text`

/** A position in the WAL. Each failover begins another timeline, in which positions mean something else. */
interface Place {
  position: bigint
  timeline: number
}

/** Returns the flushed WAL position of the primary, which includes everything confirmed. */
async function placeIn(primary: Queryable): Promise<Place> {
  const { rows } = await primary.query(
    `select ${numberOf('pg_current_wal_flush_lsn()')}, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`,
  )
  const [position, timeline] = rows[0] ?? []
  return { position: BigInt(String(position)), timeline: Number.parseInt(String(timeline), 16) }
}

/**
 * Returns the WAL position that a standby has replayed. Its timeline comes from the WAL receiver, which some users may
 * not see, or else from its last checkpoint, minutes after a failover.
 */
async function replayedBy(standby: Queryable): Promise<Place> {
  const { rows } = await standby.query(
    `select pg_is_in_recovery(), ${numberOf('pg_last_wal_replay_lsn()')},
      greatest((select max(received_tli) from pg_stat_wal_receiver),
        (select timeline_id from pg_control_checkpoint()))`,
  )
  const [isStandby, position, timeline] = rows[0] ?? []
  if (isStandby !== true) throw new DbError('unavailable', NO_STANDBY)
  return { position: BigInt(String(position ?? 0)), timeline: Number(timeline) }
}

const OTHER_TIMELINE = 'it does not follow this primary: it is on another timeline, as after a failover'
const NO_STANDBY = 'it is not a standby'

/** Throws unless the server is a standby of the primary. */
async function requireStandby(driver: Driver, primary: Driver): Promise<void> {
  await replayedBy(driver)
  const identity = 'select system_identifier::text, current_database()::text from pg_control_system()'
  const [theirs, ours] = await Promise.all([driver.query(identity), primary.query(identity)])
  if (String(theirs.rows[0]) !== String(ours.rows[0]))
    throw new DbError('unavailable', 'it is a standby of another database')
}
