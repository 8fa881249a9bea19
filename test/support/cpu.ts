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

const SAMPLE = Array.from({ length: 2000 }, (_, i) => ({ name: `entry ${i}`, text: 'lorem ipsum '.repeat(5), n: i }))
/** CPU time that `sample` took on the machine for which the limits were chosen. */
const SAMPLE_MS = 35
function sample(): number {
  const begun = mainThread()
  for (let i = 0; i < 40; i++) {
    const entries = JSON.parse(JSON.stringify(SAMPLE)) as typeof SAMPLE
    entries.sort((a, b) => b.n - a.n).map(({ text }) => text.replace(/(\w+) ipsum/g, '$1'))
  }
  return mainThread() - begun
}

/** Returns by which factor this machine is slower than the one for which the limits were chosen, and at least 1. */
export const slowness = (): number => Math.max(1, Math.min(...Array.from({ length: 6 }, () => sample())) / SAMPLE_MS)

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

/** CPU time of a thread, or 0 once it has ended. */
const ifAlive = (thread: string): number => {
  try {
    return onCpu(thread)
  } catch {
    return 0
  }
}
const times = (): Map<string, number> => new Map(readdirSync('/proc/self/task').map((id) => [id, ifAlive(id)]))

/** Finds the thread of the embedded database by giving it work. */
async function databaseThread({ app }: TestApp): Promise<string | undefined> {
  if (app.driver.kind !== 'pglite') return undefined
  const before = times()
  await app.driver.query('select count(*) from generate_series(1, 2000000)')
  before.delete(String(process.pid))
  const gains = [...before].map(([id, ms]): [string, number] => [id, ifAlive(id) - ms])
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
  async least(work: () => Promise<unknown>, limits: Partial<Cost>, runs = 20): Promise<Cost> {
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
