import { newId } from '../db/columns.ts'
import { DbError, type Driver } from '../db/driver.ts'
import type { Log } from '../log.ts'
import type { JobDefinition } from './definition.ts'
import * as sql from './statements.ts'

export interface ClaimedJob {
  id: string
  data: Record<string, unknown>
  attempt: number
  lease: string
  /** Milliseconds that the database's clock is ahead of ours. */
  skew: number
}

export interface AttemptContext<A> {
  driver: Driver
  log: Log
  app: A
  backoff(attempt: number): number
  stopping(): boolean
}

export const serverStopped = new Error('the server stopped')
export const leaseLost = new Error('another instance took the job over')

type Scheduled<A> = JobDefinition<A> & { next?: (after: Date) => Date }

/** What storing an outcome needs. */
type Storing = Omit<AttemptContext<never>, 'app'>
type AnyJob = Scheduled<never>

/** Runs a job once and stores the outcome. Never rejects. Returns true if the job waits again. */
export async function runAttempt<A>(
  around: AttemptContext<A>,
  definition: Scheduled<A>,
  job: ClaimedJob,
  abort: AbortController,
): Promise<boolean> {
  const { next, retries = 10, timeoutSeconds = 300 } = definition
  const timeout = setTimeout(
    () => abort.abort(new Error(`it took longer than ${timeoutSeconds} s`)),
    timeoutSeconds * 1000,
  )
  try {
    // Claimed more often than retries allow, because every attempt crashed its process.
    if (job.attempt > retries + 1) throw new Error('the server crashed while running it')
    const aborted = new Promise<never>((_, reject) =>
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason)),
    )
    await Promise.race([definition.run(around.app, job.data, abort.signal), aborted])
    clearTimeout(timeout)
    if (next) await settle(around, definition, job, sql.retry, [0, null, untilNext(next, job)])
    else await settle(around, definition, job, sql.remove, [])
    around.log.debug('job done', jobFacts(definition, job))
    return next !== undefined
  } catch (error) {
    clearTimeout(timeout)
    if (isFinal(definition, job, error) && !(await reportFailed(around, definition, job))) return true
    await storeFailure(around, definition, job, error)
    return true
  }
}

/** No other attempt follows. */
const isFinal = ({ retries = 10 }: AnyJob, { attempt }: ClaimedJob, error: unknown): boolean =>
  error !== leaseLost && error !== serverStopped && attempt > retries

/**
 * Repeats it a few times while it throws. The job is put aside even so: while it is held, a job that runs alone would
 * keep the others waiting. Returns false if the server stops: the job is held until its lease ends, and is run again.
 */
async function reportFailed<A>(around: AttemptContext<A>, definition: Scheduled<A>, job: ClaimedJob): Promise<boolean> {
  const facts = jobFacts(definition, job)
  for (let wait = 250; ; wait *= 4) {
    try {
      await definition.onFailed?.(around.app, job.data)
      return true
    } catch (error) {
      if (around.stopping()) {
        around.log.warn('the failure of a job was not handled; the job will run again', { ...facts, error })
        return false
      }
      if (wait > 4000) {
        around.log.error('the failure of a job was not handled', { ...facts, error })
        return true
      }
      await Bun.sleep(wait)
    }
  }
}

async function storeFailure(around: Storing, definition: AnyJob, job: ClaimedJob, error: unknown): Promise<void> {
  const { log, backoff } = around
  const { next } = definition
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, 500)
  const facts = jobFacts(definition, job)
  const store = (text: string, params: unknown[]) => settle(around, definition, job, text, params)
  if (error === leaseLost) log.warn('job given up', { ...facts, error })
  else if (error === serverStopped) await store(sql.retry, [job.attempt - 1, reason, 0])
  else if (!isFinal(definition, job, error)) {
    const wait = backoff(job.attempt)
    await store(sql.retry, [job.attempt, reason, wait])
    log.warn('job failed, will be tried again', { ...facts, inSeconds: Math.round(wait / 1000), error })
  } else {
    if (next) await store(sql.buryScheduled, [reason, untilNext(next, job), newId(), job.attempt])
    else await store(sql.bury, [reason])
    log.error('job failed permanently', { ...facts, error })
  }
}

/** Runs the statement on the job's row, as long as this attempt holds its lease. Repeats it while it fails. */
async function settle(
  around: Storing,
  definition: AnyJob,
  job: ClaimedJob,
  text: string,
  params: readonly unknown[],
): Promise<void> {
  for (let wait = 1000; ; wait *= 2) {
    try {
      await around.driver.query(text, [job.id, job.lease, ...params])
      return
    } catch (error) {
      // The key was enqueued again meanwhile, and that job does the work.
      if (error instanceof DbError && error.code === '23505') return settle(around, definition, job, sql.remove, [])
      if (wait > 16_000 || around.stopping())
        return around.log.warn('the result of a job was not saved; the job will run again', {
          ...jobFacts(definition, job),
          error,
        })
      await Bun.sleep(wait)
    }
  }
}

const jobFacts = ({ name }: AnyJob, job: ClaimedJob) => ({ job: name, id: job.id, attempt: job.attempt })
const untilNext = (next: (after: Date) => Date, { skew }: ClaimedJob): number =>
  next(new Date(Date.now() + skew)).getTime() - Date.now() - skew
