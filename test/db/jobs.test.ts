import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '../../migrations/index.ts'
import { DbError, type Driver } from '../../src/db/driver.ts'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { applyMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import type { JobDefinition as DefinitionFor, Job } from '../../src/jobs/definition.ts'
import { Jobs, type JobsOptions } from '../../src/jobs/queue.ts'
import type { Log } from '../../src/log.ts'
import { allowing } from '../support/timing.ts'

const onPostgres = process.env.TEST_DB === 'postgres'
const base = process.env.TEST_DATABASE_URL ?? ''
const database = `jobs_${process.pid}`
const dir = join(mkdtempSync(join(tmpdir(), 'tutti-jobs-')), 'db')
const url = new URL(base || 'postgres://nowhere')
url.pathname = database
const open = () => (onPostgres ? openPostgres({ url: url.href }) : openEmbedded({ dir }))
const app = { name: 'a stand-in: jobs only pass it on' }
type JobDefinition = DefinitionFor<typeof app>

let driver: Driver
/** A second connection where there can be one. */
let other: Driver
const made: Jobs<typeof app>[] = []

async function admin(statement: string) {
  const postgres = await openPostgres({ url: base })
  await postgres.exec(statement)
  await postgres.close()
}

beforeAll(async () => {
  if (onPostgres) await admin(`create database ${database}`)
  driver = await open()
  other = onPostgres ? await open() : driver
  await applyMigrations(driver, migrations)
})

afterAll(async () => {
  await driver.close()
  if (onPostgres) {
    await other.close()
    await admin(`drop database ${database} with (force)`)
  }
  rmSync(join(dir, '..'), { recursive: true, force: true })
})

beforeEach(() => driver.exec('delete from jobs'))

afterEach(async () => {
  await Promise.all(made.splice(0).map((jobs) => jobs.stop()))
})

/** Tests learn from the log that a job has been settled. */
class Said implements Log {
  readonly lines: { message: string; fields: Record<string, unknown> }[] = []
  #waiting: (() => void)[] = []
  #say = (message: string, fields: object = {}) => {
    this.lines.push({ message, fields: { ...fields } })
    for (const check of this.#waiting) check()
  }
  debug = this.#say
  info = this.#say
  warn = this.#say
  error = this.#say
  count = (message: string) => this.lines.filter((l) => l.message === message).length
  until = (message: string, times = 1): Promise<Record<string, unknown>> =>
    new Promise((resolve) => {
      const check = () => {
        const found = this.lines.filter((l) => l.message === message)
        if (found.length >= times) resolve(found[times - 1]!.fields)
      }
      this.#waiting.push(check)
      check()
    })
}

/** Without polling and backoff, so that only the commit or a timer starts a job. */
const make = (definitions: JobDefinition[], options: JobsOptions = {}, on: Driver = driver, log = new Said()) => {
  const jobs = new Jobs(on, definitions, log, { poll: 600_000, backoff: () => 0, ...options })
  made.push(jobs)
  return Object.assign(jobs, { said: log })
}

async function enqueue(jobs: Jobs<typeof app>, list: Job[], on: Driver = driver) {
  const tx = await on.begin()
  await jobs.insert(tx, list)
  await tx.commit()
  jobs.wake(list)
}

// A driver's rows may carry properties of their own.
const rows = async (columns: string) =>
  Array.from((await driver.query(`select ${columns} from jobs order by created_at, id`)).rows, (row) => [...row])
const none = { waiting: 0, active: 0, failed: 0 }
const until = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

describe('a job', () => {
  test('runs after the commit with its data and the app, and is then deleted', async () => {
    const got: unknown[] = []
    const jobs = make([{ name: 'a', run: async (...args) => void got.push(...args.slice(0, 2)) }])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: { text: 'Grüße "1"', list: [1, null] } }])
    await jobs.said.until('job done')
    expect(got).toEqual([app, { text: 'Grüße "1"', list: [1, null] }])
    expect(await jobs.status()).toEqual(none)
  })

  test('never runs when its transaction is rolled back', async () => {
    const got: unknown[] = []
    const jobs = make([{ name: 'a', run: async (_, data) => void got.push(data.n) }])
    await jobs.start(app)
    const tx = await driver.begin()
    await jobs.insert(tx, [{ name: 'a', data: { n: 1 } }])
    await tx.rollback()
    await enqueue(jobs, [{ name: 'a', data: { n: 2 } }])
    await jobs.said.until('job done')
    expect(got).toEqual([2])
    expect(await rows('id')).toHaveLength(0)
  })

  test('starts at once when woken, however many there are', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const jobs = make([{ name: 'a', run: async () => resolve(performance.now()) }])
    await jobs.start(app)
    const from = performance.now()
    await enqueue(jobs, [{ name: 'a', data: {} }])
    expect((await promise) - from).toBeLessThan(allowing(1000))
    const many = Array.from({ length: 40 }, (_, n) => ({ name: 'a', data: { n } }))
    await enqueue(jobs, many)
    await jobs.said.until('job done', 41)
  })

  test('runs at its time, without polling', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const jobs = make([{ name: 'a', run: async () => resolve(Date.now()) }])
    await jobs.start(app)
    const runAt = Date.now() + allowing(100)
    await enqueue(jobs, [{ name: 'a', data: {}, runAt: new Date(runAt).toISOString() }])
    expect(await jobs.status()).toEqual({ ...none, waiting: 1 })
    expect(await promise).toBeGreaterThanOrEqual(runAt - 1)
  })

  test('must be defined', async () => {
    const jobs = make([{ name: 'a', run: async () => undefined }])
    await expect(jobs.insert(driver, [{ name: 'b', data: {} }])).rejects.toThrow('"b" is not defined')
    expect(() => make([{ name: 'a, b', run: async () => undefined }])).toThrow('invalid name')
  })

  test('with a name unknown to this instance is left for another instance', async () => {
    const old = make([{ name: 'a', run: async () => undefined }])
    const current = make([{ name: 'b', run: async () => undefined }])
    await old.start(app)
    await enqueue(current, [{ name: 'b', data: {} }])
    await enqueue(old, [{ name: 'a', data: {} }])
    await old.said.until('job done')
    expect(await current.status()).toEqual({ ...none, waiting: 1 })
    await current.start(app)
    await current.said.until('job done')
  })
})

describe('a failing job', () => {
  const failing = (failures: number, definition: Partial<JobDefinition> = {}): JobDefinition => {
    let runs = 0
    return {
      name: 'a',
      run: async () => void (++runs <= failures && (await Promise.reject(new Error(`no ${runs}`)))),
      ...definition,
    }
  }

  test('is retried until it succeeds, with a delay that depends on the attempt', async () => {
    const attempts: number[] = []
    const jobs = make([failing(2)], { backoff: (attempt) => attempts.push(attempt) })
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await jobs.said.until('job done')
    expect(attempts).toEqual([1, 2])
    expect(await jobs.status()).toEqual(none)
  })

  test('waits about 5 s after the first attempt and longer after later ones', async () => {
    const said = new Said()
    const jobs = new Jobs(driver, [failing(Number.POSITIVE_INFINITY)], said, { poll: 600_000 })
    made.push(jobs)
    const waits: number[] = []
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    for (let n = 1; n <= 10; n++) {
      waits.push(Number((await said.until('job failed, will be tried again', n)).inSeconds))
      expect(await jobs.status()).toEqual({ ...none, waiting: 1 })
      await driver.exec(`update jobs set run_at = now() where state = 'waiting'`)
      jobs.wake([])
    }
    await said.until('job failed permanently')
    for (const [n, wait] of waits.entries())
      expect(Math.abs(wait - Math.min(3600, 5 * 2 ** n))).toBeLessThanOrEqual(1 + 2 ** n)
  })

  test('is dead after its retries, and is deleted after 30 days', async () => {
    const jobs = make([failing(Number.POSITIVE_INFINITY, { retries: 1 })])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    expect(await jobs.said.until('job failed permanently')).toMatchObject({ job: 'a', attempt: 2 })
    expect(await jobs.status()).toEqual({ ...none, failed: 1 })
    expect(await rows('name, state, attempt, error')).toEqual([['a', 'failed', 2, 'no 2']])
    await driver.exec(`update jobs set run_at = now() - interval '31 days'`)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await jobs.said.until('job failed permanently', 2)
    expect(await jobs.status()).toEqual({ ...none, failed: 1 })
  })

  test('reports that its last attempt failed before it is dead, and again if that fails', async () => {
    const reported: unknown[] = []
    const onFailed = async (_: object, data: object) => {
      if (reported.push(data) === 1) throw new Error('not now')
    }
    const jobs = make([failing(Number.POSITIVE_INFINITY, { retries: 1, onFailed })])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: { id: 7 } }])
    await jobs.said.until('job failed permanently')
    expect(reported).toEqual([{ id: 7 }, { id: 7 }])
    expect(await jobs.status()).toEqual({ ...none, failed: 1 })
  })

  test('is dead even if its failure cannot be handled, so that others can run', async () => {
    const onFailed = () => Promise.reject(new Error('never'))
    const jobs = make([failing(Number.POSITIVE_INFINITY, { retries: 0, alone: true, onFailed })])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    expect(await jobs.said.until('the failure of a job was not handled')).toMatchObject({ error: new Error('never') })
    await jobs.said.until('job failed permanently')
    expect(await jobs.status()).toEqual({ ...none, failed: 1 })
  })

  test('is aborted when it takes too long', async () => {
    const ended: unknown[] = []
    const run = async (_: object, __: object, signal: AbortSignal) =>
      until(signal).then(() => void ended.push(signal.reason))
    const jobs = make([{ name: 'a', run, retries: 0, timeoutSeconds: 0.02 }])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    expect(await jobs.said.until('job failed permanently')).toMatchObject({
      error: new Error('it took longer than 0.02 s'),
    })
    expect(ended).toHaveLength(1)
  })
})

describe('a job key', () => {
  test('belongs to one waiting job, which gets the newest data and keeps the earliest time', async () => {
    const got: unknown[] = []
    const jobs = make(['a', 'b'].map((name) => ({ name, run: async (_, data) => void got.push([name, data.n]) })))
    const later = new Date(Date.now() + 3_600_000).toISOString()
    await enqueue(jobs, [{ name: 'a', key: 'k', data: { n: 1 } }])
    await enqueue(jobs, [
      { name: 'a', key: 'k', data: { n: 2 }, runAt: later },
      { name: 'a', key: 'k', data: { n: 3 }, runAt: later },
      { name: 'b', key: 'k', data: { n: 4 } },
    ])
    expect(await jobs.status()).toEqual({ ...none, waiting: 2 })
    await jobs.start(app)
    await jobs.said.until('job done', 2)
    expect(got.sort()).toEqual([['a', 3], ['b', 4]]) // biome-ignore format: pairs
    expect(await jobs.status()).toEqual(none)
  })

  test('is free again once its job runs', async () => {
    const got: unknown[] = []
    const jobs: Jobs<typeof app> & { said: Said } = make([
      {
        name: 'a',
        run: async (_, data) => {
          got.push(data.n)
          if (data.n === 1) await enqueue(jobs, [{ name: 'a', key: 'k', data: { n: 2 } }])
        },
      },
    ])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', key: 'k', data: { n: 1 } }])
    await jobs.said.until('job done', 2)
    expect(got).toEqual([1, 2])
  })

  test('that was enqueued again while its job failed leaves one job', async () => {
    const got: unknown[] = []
    const jobs: Jobs<typeof app> & { said: Said } = make([
      {
        name: 'a',
        run: async (_, data) => {
          got.push(data.n)
          if (data.n === 2) return
          await enqueue(jobs, [
            { name: 'a', key: 'k', data: { n: 2 }, runAt: new Date(Date.now() + 3_600_000).toISOString() },
          ])
          throw new Error('no')
        },
      },
    ])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', key: 'k', data: { n: 1 } }])
    await jobs.said.until('job failed, will be tried again')
    expect(await rows('data::text, state')).toEqual([['{"n": 2}', 'waiting']])
    await driver.exec('update jobs set run_at = now()')
    jobs.wake([])
    await jobs.said.until('job done')
    expect(got).toEqual([1, 2])
  })

  // Otherwise the waiting job could run before the second change is committed, and nothing would be left to see that change.
  test.if(onPostgres)(
    'keeps its waiting job from running until the transaction that enqueued it again has committed',
    async () => {
      const got: unknown[] = []
      const jobs = make([{ name: 'a', run: async (_, data) => void got.push(data.n) }])
      await enqueue(jobs, [{ name: 'a', key: 'k', data: { n: 1 } }])
      const tx = await other.begin()
      await jobs.insert(tx, [{ name: 'a', key: 'k', data: { n: 2 } }])
      await jobs.start(app)
      await enqueue(jobs, [{ name: 'a', data: { n: 3 } }])
      await jobs.said.until('job done')
      expect(got).toEqual([3])
      await tx.commit()
      jobs.wake([])
      await jobs.said.until('job done', 2)
      expect(got).toEqual([3, 2])
    },
  )
})

describe('several instances', () => {
  test('share the jobs and run none twice', async () => {
    const done: unknown[] = []
    const working = new Set<number>()
    const both = Promise.withResolvers<void>()
    const all = Promise.withResolvers<void>()
    const list = Array.from({ length: 200 }, (_, n) => ({ name: 'a', data: { n } }))
    const instances = [driver, other].map((on, i) => {
      const run: JobDefinition['run'] = async (_, data) => {
        working.add(i)
        if (working.size === 2) both.resolve()
        await both.promise
        if (done.push(data.n) === list.length) all.resolve()
      }
      return make([{ name: 'a', run }], { concurrency: 3 }, on)
    })
    await enqueue(instances[0]!, list)
    await Promise.all(instances.map((jobs) => jobs.start(app)))
    await all.promise
    await Promise.all(instances.map((jobs) => jobs.stop()))
    expect(done.toSorted((a, b) => Number(a) - Number(b))).toEqual(list.map(({ data }) => data.n))
    expect(await instances[0]!.status()).toEqual(none)
  })

  test('run exclusive jobs one at a time, without a gap', async () => {
    let [running, most] = [0, 0]
    const seen: unknown[] = []
    const instances = [driver, other].map((on) => {
      const run: JobDefinition['run'] = async (_, { n }) => {
        most = Math.max(most, ++running)
        seen.push(n)
        // While it runs, the next one waits, and every instance looks for work.
        if (n !== 4) await enqueue(instances[0]!, [{ name: 'a', key: 'all', data: { n: Number(n) + 1 } }])
        for (const jobs of instances) jobs.wake([])
        await driver.query('select 1')
        running--
      }
      return make([{ name: 'a', alone: true, run }], {}, on)
    })
    await enqueue(instances[0]!, [
      { name: 'a', data: { n: 0 } },
      { name: 'a', key: 'all', data: { n: 3 } },
    ])
    await Promise.all(instances.map((jobs) => jobs.start(app)))
    while (!seen.includes(4) || running > 0) await Bun.sleep(5)
    await Promise.all(instances.map((jobs) => jobs.stop()))
    expect(most).toBe(1)
    expect(await instances[0]!.status()).toEqual(none)
  })

  test('take over an exclusive job with an expired lease before they start another one', async () => {
    const seen: unknown[] = []
    const jobs = make([{ name: 'a', alone: true, run: async (_, { n }) => void seen.push(n) }], {}, other)
    await enqueue(jobs, [{ name: 'a', key: 'all', data: { n: 2 } }])
    await enqueue(jobs, [{ name: 'a', data: { n: 1 } }])
    await driver.exec("update jobs set state = 'active', lease = 'gone', run_at = now() where key is null")
    await jobs.start(app)
    await jobs.said.until('job done', 2)
    expect(seen).toEqual([1, 2])
  })

  test('start no second exclusive job while the lease of the first has expired unnoticed', async () => {
    const [started, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const seen: unknown[] = []
    const run: JobDefinition['run'] = async (_, { n }) => {
      seen.push(n)
      started.resolve()
      if (n === 1) await end.promise
    }
    const jobs = make([
      { name: 'a', alone: true, run },
      { name: 'b', run: async () => undefined },
    ])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', key: 'all', data: { n: 1 } }])
    await started.promise
    await driver.exec('update jobs set run_at = now()')
    await enqueue(jobs, [{ name: 'a', key: 'all', data: { n: 2 } }])
    // Claimed after the other one could have been.
    await enqueue(jobs, [{ name: 'b', data: {} }])
    await jobs.said.until('job done')
    expect(seen).toEqual([1])
    end.resolve()
    await jobs.said.until('job done', 3)
    expect(seen).toEqual([1, 2])
  })

  test('run a schedule once, catch up on a missed run, and continue', async () => {
    let runs = 0
    const instances = [driver, other].map((on) =>
      make([{ name: 'a', every: '0 0 1 1 *', run: async () => void runs++ }], {}, on),
    )
    await Promise.all(instances.map((jobs) => jobs.start(app)))
    await Promise.all(instances.map((jobs) => jobs.stop()))
    expect(await instances[0]!.status()).toEqual(none)
    expect(runs).toBe(0)
    await driver.exec(`update jobs set run_at = now() - interval '3 years'`)
    await Promise.all(instances.map((jobs) => jobs.start(app)))
    await Promise.race(instances.map((jobs) => jobs.said.until('job done')))
    await Promise.all(instances.map((jobs) => jobs.stop()))
    expect(runs).toBe(1)
    const newYear = Date.UTC(new Date().getUTCFullYear() + 1, 0, 1) / 1000
    expect(await rows('id, state, attempt, extract(epoch from run_at)::int')).toEqual([
      ['cron:a', 'waiting', 0, newYear],
    ])
  })

  test('keep a schedule whose job is dead', async () => {
    const jobs = make([{ name: 'a', every: '0 0 1 1 *', retries: 0, run: () => Promise.reject(new Error('no')) }])
    await jobs.start(app)
    await jobs.stop()
    await driver.exec('update jobs set run_at = now()')
    await jobs.start(app)
    await jobs.said.until('job failed permanently')
    expect(await rows(`state, attempt, error, run_at > now() + interval '1 hour'`)).toEqual([['waiting', 0, null, true], ['failed', 1, 'no', false]]) // biome-ignore format: pairs
    expect(await jobs.status()).toEqual({ ...none, failed: 1 })
  })

  test('take over a job with an expired lease, and only the new holder settles it', async () => {
    const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const finish = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const instances = [driver, other].map((on, i) =>
      make(
        [
          {
            name: 'a',
            run: () => {
              started[i]!.resolve()
              return finish[i]!.promise
            },
          },
        ],
        {},
        on,
      ),
    )
    await instances[0]!.start(app)
    await enqueue(instances[0]!, [{ name: 'a', data: {} }])
    await started[0]!.promise
    await driver.exec('update jobs set run_at = now()')
    await instances[1]!.start(app)
    await started[1]!.promise
    finish[0]!.resolve()
    await instances[0]!.said.until('job done')
    expect(await rows('state, attempt')).toEqual([['active', 2]])
    finish[1]!.resolve()
    await instances[1]!.said.until('job done')
    expect(await rows('state')).toHaveLength(0)
  })
})

describe('a lease', () => {
  test('is renewed while the job runs', async () => {
    const jobs = make(
      [
        {
          name: 'a',
          run: async () => {
            const [first] = await rows('run_at::text')
            for (let now = first; String(now) === String(first); [now] = await rows('run_at::text'))
              await new Promise(setImmediate)
          },
        },
      ],
      { lease: 90 },
    )
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await jobs.said.until('job done')
  })

  test('that another instance has taken ends the job', async () => {
    const started = Promise.withResolvers<void>()
    const jobs = make(
      [
        {
          name: 'a',
          run: (_, __, signal) => {
            started.resolve()
            return until(signal)
          },
        },
      ],
      { lease: 900 },
    )
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await started.promise
    await driver.exec(`update jobs set lease = 'other', run_at = now() + interval '1 hour'`)
    await jobs.said.until('job given up')
    expect(await rows('state, lease, attempt')).toEqual([['active', 'other', 1]])
  })

  test('expires when the process is killed, and the job runs again', async () => {
    const folder = join(dir, '../killed')
    const opener = onPostgres
      ? `openPostgres({ url: ${JSON.stringify(url.href)} })`
      : `openEmbedded({ dir: ${JSON.stringify(folder)} })`
    const code = `
      import { openEmbedded } from './src/db/embedded/index.ts'
      import { openPostgres } from './src/db/postgres/database.ts'
      import { applyMigrations } from './src/db/migrate.ts'
      import { migrations } from './migrations/index.ts'
      import { Jobs } from './src/jobs/queue.ts'
      const driver = await ${opener}
      await applyMigrations(driver, migrations)
      const log = { debug() {}, info() {}, warn: console.error, error: console.error }
      const jobs = new Jobs(driver, [{ name: 'a', run: () => (console.log('running'), new Promise(() => {})) }], log, { lease: 300 })
      await jobs.start({})
      const tx = await driver.begin()
      await jobs.insert(tx, [{ name: 'a', data: { n: 1 } }])
      await tx.commit()
      jobs.wake([])`
    const child = Bun.spawn([process.execPath, '-e', code], {
      cwd: join(import.meta.dir, '../..'),
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value } = await child.stdout.getReader().read()
    expect(new TextDecoder().decode(value)).toBe('running\n')
    child.kill('SIGKILL')
    await child.exited
    const on = onPostgres ? driver : await openEmbedded({ dir: folder })
    const got: unknown[] = []
    const jobs = make([{ name: 'a', run: async (_, data) => void got.push(data) }], {}, on)
    await jobs.start(app)
    // On a busy machine the first lease may have run out before the process was killed.
    expect((await jobs.said.until('job done')).attempt).toBeGreaterThan(1)
    expect(got).toEqual([{ n: 1 }])
    await jobs.stop()
    if (!onPostgres) await on.close()
  })

  test('that expired more often than the job may fail makes the job dead, because it kills its process', async () => {
    let runs = 0
    const jobs = make([{ name: 'a', retries: 1, run: async () => void runs++ }])
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await driver.exec(`update jobs set state = 'active', lease = 'gone', attempt = 2`)
    await jobs.start(app)
    await jobs.said.until('job failed permanently')
    expect(runs).toBe(0)
    expect(await jobs.status()).toEqual({ ...none, failed: 1 })
  })
})

describe('stopping', () => {
  test('lets a running job finish', async () => {
    const started = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const jobs = make([
      {
        name: 'a',
        run: () => {
          started.resolve()
          return finish.promise
        },
      },
    ])
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await started.promise
    const stop = jobs.stop()
    finish.resolve()
    await stop
    expect(jobs.said.count('job done')).toBe(1)
  })

  test('returns a job that does not finish, without counting the attempt', async () => {
    const started = Promise.withResolvers<void>()
    const jobs = make(
      [
        {
          name: 'a',
          run: () => {
            started.resolve()
            return new Promise(() => undefined)
          },
        },
      ],
      { grace: 10 },
    )
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await started.promise
    await jobs.stop()
    expect(await rows('state, attempt, lease')).toEqual([['waiting', 0, null]])
  })

  test('does not wait for a job that can continue later', async () => {
    const started = Promise.withResolvers<void>()
    const jobs = make(
      [
        {
          name: 'a',
          resumable: true,
          run: (_app, _data, signal) => {
            started.resolve()
            return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
          },
        },
      ],
      { grace: 90_000 },
    )
    await jobs.start(app)
    await enqueue(jobs, [{ name: 'a', data: {} }])
    await started.promise
    const before = performance.now()
    await jobs.stop()
    expect(performance.now() - before).toBeLessThan(60_000)
    expect(await rows('state, attempt, lease')).toEqual([['waiting', 0, null]])
  })
})

test('an unreachable database is logged once, and jobs continue when it is back', async () => {
  let away = true
  const flaky: Driver = {
    ...driver,
    kind: driver.kind,
    query: (...args) => (away ? Promise.reject(new DbError('unavailable', 'away')) : driver.query(...args)),
  }
  const jobs = make([{ name: 'a', run: async () => undefined }], { poll: 1 }, flaky)
  await enqueue(jobs, [{ name: 'a', data: {} }], driver)
  await jobs.start(app)
  await jobs.said.until('jobs paused')
  jobs.wake([])
  away = false
  await jobs.said.until('jobs resumed')
  await jobs.said.until('job done')
  expect(jobs.said.count('jobs paused')).toBe(1)
})
