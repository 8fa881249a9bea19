import { readdirSync, readFileSync } from 'node:fs'
import type { TestApp } from './app.ts'

/** Milliseconds of CPU time. Unlike elapsed time it does not grow when other processes use the cores. */
export interface Cost {
  /** The longest stretch for which the main thread ran without returning to its event loop. */
  held: number
  /** All that the thread of the embedded database used; 0 on Postgres, which runs elsewhere. */
  database: number
  /** All threads of the process. */
  total: number
}

const onCpu = (thread: string): number => {
  const [nanoseconds = '0'] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}
/** CPU time of this thread. */
export const mainThread = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
const all = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Returns the CPU time of the longest stretch in which the work did not let the event loop run. */
export async function longestStretch(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = mainThread()
  let running = true
  const look = () => {
    const now = mainThread()
    longest = Math.max(longest, now - last)
    last = now
    if (running) setImmediate(look)
  }
  setImmediate(look)
  await work()
  await new Promise<void>((resolve) => setImmediate(resolve))
  running = false
  return longest
}

const times = (): Map<string, number> => new Map(readdirSync('/proc/self/task').map((id) => [id, onCpu(id)]))

/** Finds the thread of the embedded database by giving it work. */
async function databaseThread({ app }: TestApp): Promise<string | undefined> {
  if (app.driver.kind !== 'pglite') return undefined
  const before = times()
  await app.driver.query('select count(*) from generate_series(1, 2000000)')
  before.delete(String(process.pid))
  const gains = [...before].map(([id, ms]): [string, number] => [id, onCpu(id) - ms])
  return gains.toSorted((a, b) => b[1] - a[1])[0]?.[0]
}

/** Measures calls of one app. Close to the truth only while nothing else runs in the process. */
export class Meter {
  private constructor(private readonly thread: string | undefined) {}

  static async of(t: TestApp): Promise<Meter> {
    return new Meter(await databaseThread(t))
  }

  #database = (): number => (this.thread === undefined ? 0 : onCpu(this.thread))

  /** Runs the work. `held` is all that the main thread used, which is quick to find and never too low. */
  async rough(work: () => Promise<unknown>): Promise<Cost> {
    const [held, database, total] = [mainThread(), this.#database(), all()]
    await work()
    return { held: mainThread() - held, database: this.#database() - database, total: all() - total }
  }

  /** Like `rough`, but `held` is one stretch. */
  async exact(work: () => Promise<unknown>): Promise<Cost> {
    let cost: Cost | undefined
    const held = await longestStretch(async () => {
      cost = await this.rough(work)
    })
    return { ...(cost as Cost), held }
  }

  /**
   * Returns the least of several runs, once one run is within the limits: compilation and garbage collection come on
   * top of what the work itself costs, and by chance.
   */
  async least(work: () => Promise<unknown>, limits: Partial<Cost>, runs = 5): Promise<Cost> {
    const fits = (cost: Cost) => names.every((name) => cost[name] <= (limits[name] ?? Number.POSITIVE_INFINITY))
    let least = await this.rough(work)
    for (let run = 1; run < runs && !fits(least); run++) {
      const next = await this.exact(work)
      least = Object.fromEntries(names.map((name) => [name, Math.min(least[name], next[name])])) as unknown as Cost
    }
    return least
  }
}

const names = ['held', 'database', 'total'] as const
