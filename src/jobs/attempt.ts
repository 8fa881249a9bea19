import { newId } from '../db/columns.ts'
import { DbError, type Driver } from '../db/driver.ts'
import type { Log } from '../log.ts'
import type { App } from '../services.ts'
import type { JobDefinition } from './queue.ts'
import * as sql from './statements.ts'

export interface Claimed {
  id: string
  data: Record<string, unknown>
  attempt: number
  lease: string
  /** Milliseconds that the database's clock is ahead of ours. */
  skew: number
}

export interface Surroundings {
  driver: Driver
  log: Log
  app: App
  backoff(attempt: number): number
  stopping(): boolean
}

export const stopped = new Error('the server stopped')
export const lost = new Error('another instance took the job over')

/** Runs a job once and stores the outcome. Never rejects. Returns true if the job waits again. */
export async function attempt(
  { driver, log, app, backoff, stopping }: Surroundings,
  definition: JobDefinition & { next?: (after: Date) => Date },
  job: Claimed,
  abort: AbortController,
): Promise<boolean> {
  const { name, next, retries = 10, timeoutSeconds = 300 } = definition
  const mine = [job.id, job.lease]
  const about = { job: name, id: job.id, attempt: job.attempt }
  const untilNext = () => (next ? next(new Date(Date.now() + job.skew)).getTime() - Date.now() - job.skew : 0)

  const settle = async (text: string, params: unknown[]): Promise<void> => {
    for (let wait = 1000; ; wait *= 2) {
      try {
        await driver.query(text, params)
        return
      } catch (error) {
        // The key was enqueued again meanwhile, and that job does the work.
        if (error instanceof DbError && error.code === '23505') return settle(sql.remove, mine)
        if (wait > 16_000 || stopping()) return log.warn('job not settled, it will run again', { ...about, error })
        await Bun.sleep(wait)
      }
    }
  }

  const timeout = setTimeout(
    () => abort.abort(new Error(`it took longer than ${timeoutSeconds} s`)),
    timeoutSeconds * 1000,
  )
  try {
    // Claimed more often than retries allow: every attempt ended its process.
    if (job.attempt > retries + 1) throw new Error('the server crashed while running it')
    const aborted = new Promise<never>((_, reject) =>
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason)),
    )
    await Promise.race([definition.run(app, job.data, abort.signal), aborted])
    clearTimeout(timeout)
    if (next) await settle(sql.retry, [...mine, 0, null, untilNext()])
    else await settle(sql.remove, mine)
    log.debug('job done', about)
    return next !== undefined
  } catch (error) {
    clearTimeout(timeout)
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 500)
    if (error === lost) log.warn('job given up', { ...about, error })
    else if (error === stopped) await settle(sql.retry, [...mine, job.attempt - 1, reason, 0])
    else if (job.attempt <= retries) {
      const wait = backoff(job.attempt)
      await settle(sql.retry, [...mine, job.attempt, reason, wait])
      log.warn('job failed, will be tried again', { ...about, inSeconds: Math.round(wait / 1000), error })
    } else {
      if (next) await settle(sql.buryScheduled, [...mine, reason, untilNext(), newId(), job.attempt])
      else await settle(sql.bury, [...mine, reason])
      log.error('job failed for good', { ...about, error })
    }
    return true
  }
}
