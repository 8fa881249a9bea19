import { newId } from '../db/columns.ts'
import type { Driver, Queryable } from '../db/driver.ts'
import type { Log } from '../log.ts'
import { leaseLost, runAttempt, serverStopped } from './attempt.ts'
import { parseCron } from './cron.ts'
import type { Job, JobDefinition } from './definition.ts'
import * as sql from './statements.ts'

export interface JobsOptions {
  concurrency?: number
  /** Milliseconds after which other instances take over the job of one that died; renewed while a job runs. */
  lease?: number
  /** Milliseconds between routine checks for due jobs. */
  poll?: number
  /** Milliseconds that running jobs have to finish when the server stops. */
  grace?: number
  /** Milliseconds to wait after a failed attempt, the first being 1. */
  backoff?: (attempt: number) => number
}

type Running = { resumable?: true; lease: string; abort: AbortController; done: Promise<void> }

const backoff = (attempt: number) => Math.min(3_600_000, 5000 * 2 ** (attempt - 1)) * (0.8 + Math.random() * 0.4)
const array = (values: Iterable<string>) => `{${[...values].join(',')}}`

/**
 * Durable jobs in the table `jobs`. Instances compete with SKIP LOCKED and hold a job by a lease. Each check claims due
 * jobs and returns when the next one is due, so no frequent polling is needed: `wake` and that time start a check.
 */
export class Jobs<A> {
  readonly #definitions = new Map<string, JobDefinition<A> & { next?: (after: Date) => Date }>()
  readonly #running = new Map<string, Running>()
  readonly #options: Required<JobsOptions>
  #app: A | undefined
  #scheduled = false
  #checking: Promise<void> | undefined
  #again = false
  #full = false
  #unavailable = false
  #timer: Timer | undefined
  #renewal: Timer | undefined

  constructor(
    private readonly driver: Driver,
    definitions: readonly JobDefinition<A>[],
    private readonly log: Log,
    options: JobsOptions = {},
  ) {
    // Nothing else can add a job to an embedded database, so routine checks there are only a safety net.
    const poll = driver.kind === 'pglite' ? 60_000 : 5000
    this.#options = { concurrency: 5, lease: 30_000, poll, grace: 5000, backoff, ...options }
    for (const d of definitions) {
      if (this.#definitions.has(d.name) || !/^[\w.:-]+$/.test(d.name))
        throw new Error(`job "${d.name}": defined twice, or an invalid name`)
      this.#definitions.set(d.name, { ...d, next: d.every === undefined ? undefined : parseCron(d.every) })
    }
  }

  async start(app: A): Promise<void> {
    this.#app = app
    this.#renewal = setInterval(() => void this.#renew(), this.#options.lease / 3)
    this.#check()
  }

  /** Adds jobs in the caller's transaction. */
  async insert(tx: Queryable, jobs: readonly Job[]): Promise<void> {
    const rows = new Map<string, object>()
    for (const { name, key, data, runAt } of jobs) {
      if (!this.#definitions.has(name)) throw new Error(`job "${name}" is not defined`)
      const id = newId()
      rows.set(key === undefined ? id : `${name} ${key}`, { id, name, key, data, run_at: runAt })
    }
    // Sorted, so that two transactions lock waiting jobs in the same order.
    const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
    if (sorted.length > 0) await tx.query(sql.enqueue, [JSON.stringify(sorted)])
  }

  /** Call after the commit: checks now instead of at the next poll. */
  wake(_jobs: readonly Job[]): void {
    this.#check()
  }

  /** `failed` counts jobs out of retries, kept for 30 days. Schedules do not count as waiting. */
  async status(): Promise<{ waiting: number; active: number; failed: number }> {
    const [row = []] = (await this.driver.query(sql.count)).rows
    return { waiting: Number(row[0]), active: Number(row[1]), failed: Number(row[2]) }
  }

  /** Lets running jobs finish for a while, then returns them to the queue. */
  async stop(): Promise<void> {
    this.#app = undefined
    clearTimeout(this.#timer)
    await this.#checking
    for (const { resumable, abort } of this.#running.values()) if (resumable) abort.abort(serverStopped)
    const all = Promise.all([...this.#running.values()].map((r) => r.done))
    await atMost(this.#options.grace, all)
    for (const { abort } of this.#running.values()) abort.abort(serverStopped)
    await atMost(1000, all)
    clearInterval(this.#renewal)
  }

  #check(): void {
    this.#again = this.#checking !== undefined
    if (this.#again || !this.#app) return
    clearTimeout(this.#timer)
    this.#checking = this.#claim(this.#app)
      .then(
        (wait) => {
          if (this.#unavailable) this.log.info('jobs resumed')
          this.#unavailable = false
          return wait
        },
        (error: unknown) => {
          if (!this.#unavailable) this.log.warn('jobs paused', { error })
          this.#unavailable = true
          return Math.min(2000, this.#options.poll)
        },
      )
      .then((wait) => {
        this.#checking = undefined
        if (this.#again) this.#check()
        else if (this.#app) this.#timer = setTimeout(() => this.#check(), wait)
      })
  }

  /** Starts due jobs. Returns the milliseconds until the next check. */
  async #claim(app: A): Promise<number> {
    if (!this.#scheduled) await this.#schedule()
    const { concurrency, lease: ms, poll } = this.#options
    const free = concurrency - this.#running.size
    this.#full = free <= 0
    if (this.#full) return poll
    const lease = newId()
    const { rows } = await this.driver.query(sql.claim, [
      array(this.#definitions.keys()),
      array(this.#running.keys()),
      free,
      lease,
      ms,
      array([...this.#definitions.values()].flatMap(({ name, alone }) => (alone ? [name] : []))),
    ])
    this.#full = rows.length > free
    let wait = poll
    for (const [id, name, data, attempts, time] of rows) {
      if (id === null) {
        if (time !== null) wait = Math.min(poll, Math.max(1, Math.ceil(Number(time))))
        continue
      }
      const job = {
        id: String(id),
        data: JSON.parse(String(data)),
        attempt: Number(attempts),
        lease,
        skew: Number(time) - Date.now(),
      }
      const abort = new AbortController()
      const around = {
        driver: this.driver,
        log: this.log,
        app,
        backoff: this.#options.backoff,
        stopping: () => !this.#app,
      }
      const definition = this.#definitions.get(String(name))!
      const done = runAttempt(around, definition, job, abort).then((waits) => {
        this.#running.delete(job.id)
        if (waits || this.#full || definition.alone) this.#check()
      })
      this.#running.set(job.id, { resumable: definition.resumable, lease, abort, done })
    }
    return wait
  }

  async #schedule(): Promise<void> {
    const now = new Date()
    const rows = [...this.#definitions.values()].flatMap(({ name, next }) =>
      next ? { id: `cron:${name}`, name, data: {}, run_at: next(now) } : [],
    )
    if (rows.length > 0) await this.driver.query(sql.schedule, [JSON.stringify(rows)])
    this.#scheduled = true
  }

  async #renew(): Promise<void> {
    const jobs = [...this.#running]
    if (jobs.length === 0) return
    const params = [array(jobs.map(([id]) => id)), array(jobs.map(([, { lease }]) => lease)), this.#options.lease]
    const kept = await this.driver.query(sql.renew, params).catch(() => undefined) // the next check logs it
    const ids = new Set(kept?.rows.map(([id]) => id))
    if (kept) for (const [id, { abort }] of jobs) if (!ids.has(id)) abort.abort(leaseLost)
  }
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, ms)))])
  clearTimeout(timer)
}
