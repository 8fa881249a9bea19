import type { Config } from '../config.ts'

/** One job to run. */
export interface Job {
  name: string
  data: Record<string, unknown>
  /** Earliest start. Default: now. */
  runAt?: string
  /** At most one waiting job of this name has this key: it gets the newer data and the earlier start. */
  key?: string
}

/**
 * A kind of job. `A` is `App`, which every job gets: a feature writes `JobDefinition<App>`. It is a parameter because
 * an app has jobs.
 */
export interface JobDefinition<A, D = Record<string, unknown>> {
  name: string
  /**
   * Runs at least once: again after a crash, or after this instance lost its connection to the database. `signal` asks
   * it to end.
   */
  run(app: A, data: D, signal: AbortSignal): Promise<void>
  /** Attempts after the first. Default: 10, with waits doubling from 5 s up to an hour. */
  retries?: number
  /**
   * Called when the last attempt has failed, before the job is put aside. It runs at least once: again after a crash,
   * and a few times if it throws.
   */
  onFailed?(app: A, data: D): Promise<void>
  /** Cron expression in UTC. Runs once across instances. After downtime, one run replaces all missed ones. */
  every?: string
  /** If it returns false, only other instances run the job. */
  when?(config: Config): boolean
  /** Default: 300. */
  timeoutSeconds?: number
  /** Works in small steps and can be stopped between any two, so a stopping server does not wait for it. */
  resumable?: true
  /** Only one job of this name runs at a time across instances, because each run does all pending work. */
  alone?: true
}
