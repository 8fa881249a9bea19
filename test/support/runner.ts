/**
 * Runs what `test/run` planned, in a few processes side by side, the longest first, and counts.
 *
 *   bun test/support/runner.ts FOLDER [BUN-TEST-OPTION...]
 *
 * FOLDER holds `plan`, one line `GROUP<tab>FILE` for each test file, and gets the logs, `counts` and `summary`.
 */
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { optimisedLater } from './jit.ts'

interface Group {
  env?: Record<string, string>
  /**
   * Into how many processes the files are split at most. A new process costs four seconds of CPU for its database and
   * its JIT, and another three for its browser and server; but the last ones should not keep one core waiting.
   */
  processes: number
  /** Runs where only the loopback interface exists: a test that needs the outside fails. Needs root. */
  offline?: boolean
  /** Temporary files are kept in memory, except where the disk is what is tested. */
  onDisk?: boolean
}

const groups: Record<string, Group> = {
  'tests-pglite': { env: { TEST_DB: 'pglite', TEST_EMBEDDINGS: 'off' }, processes: 3 },
  'tests-postgres': { env: { TEST_DB: 'postgres', TEST_EMBEDDINGS: 'off' }, processes: 2 },
  'meaning-pglite': { env: { TEST_DB: 'pglite', TEST_EMBEDDINGS: 'on' }, processes: 1 },
  'meaning-postgres': { env: { TEST_DB: 'postgres', TEST_EMBEDDINGS: 'on' }, processes: 1 },
  // The Postgres of the other groups listens outside of its network.
  'offline-pglite': {
    env: { TEST_DB: 'pglite', TEST_EMBEDDINGS: 'off', TEST_DATABASE_URL: '' },
    processes: 5,
    offline: true,
  },
  full: { env: { TEST_DB: 'pglite', TEST_EMBEDDINGS: 'off' }, processes: 5 },
  binary: { processes: 16 },
  faults: { processes: 7, onDisk: true },
  cluster: { processes: 1 },
  browser: { env: { TEST_EMBEDDINGS: 'off' }, processes: 3 },
}

/** Seconds for each file of each group, on a quiet machine: `test/run --timings` writes it. It only decides what starts first. */
type Timings = Record<string, Record<string, number>>
const TIMINGS = join(import.meta.dir, 'timings.json')
const UNKNOWN_FILE = 3
/** So much work is worth a process of its own. */
const LEAST_SECONDS = 10
const SLOWEST = 20
const LINES_PER_FAILURE = 60

/** Files that measure CPU time. They run in a process of their own, with the compilers as they are in the product. */
const MEASURING = /\/(contract\/nasty|features\/(markdown|specs-compare|sync-budget)|http\/bodies)\.test\.ts$/

interface Job {
  name: string
  group: string
  seconds: number
  files: string[]
  env?: Record<string, string>
}

interface Result {
  passed: number
  failed: number
  skipped: number
  seconds: number
  cpuSeconds: number
  failures: string[]
}

const [folder = '', ...options] = process.argv.slice(2)
const known = existsSync(TIMINGS) ? (JSON.parse(readFileSync(TIMINGS, 'utf8')) as Timings) : {}
const measured: Timings = {}
const running = new Set<Subprocess>()

function planned(): Map<string, string[]> {
  const plan = new Map<string, string[]>()
  for (const line of readFileSync(join(folder, 'plan'), 'utf8').split('\n').filter(Boolean)) {
    const [group = '', file = ''] = line.split('\t')
    plan.set(group, [...(plan.get(group) ?? []), file])
  }
  return plan
}

const jobsOf = (group: string, files: readonly string[]): Job[] => [
  ...split(
    group,
    files.filter((file) => !MEASURING.test(file)),
    (groups[group] as Group).processes,
  ).map((job) => ({ ...job, env: optimisedLater })),
  ...split(
    group,
    files.filter((file) => MEASURING.test(file)),
    1,
  ).map((job) => ({ ...job, name: `${group}-measuring` })),
]

/** Splits files of a group into processes of about equal length. */
function split(group: string, files: readonly string[], processes: number): Job[] {
  const costs = files.map((file) => ({ file, seconds: known[group]?.[file] ?? UNKNOWN_FILE }))
  const total = costs.reduce((sum, { seconds }) => sum + seconds, 0)
  const count = Math.min(files.length, processes, Math.ceil(total / LEAST_SECONDS))
  const jobs = Array.from(
    { length: count },
    (_, n): Job => ({ name: `${group}-${n + 1}`, group, seconds: 0, files: [] }),
  )
  for (const { file, seconds } of costs.sort((a, b) => b.seconds - a.seconds)) {
    const shortest = jobs.reduce((least, job) => (job.seconds < least.seconds ? job : least))
    shortest.files.push(file)
    shortest.seconds += seconds
  }
  // Files run in the order of their names, so a failure that depends on the order can be repeated.
  for (const job of jobs) job.files.sort()
  return jobs
}

/** Accepts only counts that end with bun's own last line: a crash, or a process.exit(0) in a test, prints none. */
function countsIn(log: string, name: string, exitCode: number): Pick<Result, 'passed' | 'failed' | 'skipped'> {
  const [, passed, rest = ''] =
    [...log.matchAll(/^ (\d+) pass\n((?:(?: |snapshots:).*\n)*)Ran \d+ tests? across /gm)].at(-1) ?? []
  if (passed === undefined) {
    console.log(`test/run: ${name} ended without a summary, with ${exitCode}`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const sum = (what: RegExp) => [...rest.matchAll(what)].reduce((total, [, n]) => total + Number(n), 0)
  const failed = sum(/^ (\d+) fail$/gm)
  const unexplained = exitCode !== 0 && failed === 0
  if (unexplained) console.log(`test/run: ${name} exited with ${exitCode}`)
  return { passed: Number(passed), failed: unexplained ? 1 : failed, skipped: sum(/^ (\d+) (?:skip|todo)$/gm) }
}

/** Returns each failed test with what was printed since the test before it, because bun prints errors above the name. */
function failuresIn(log: string, name: string): string[] {
  const failures: string[] = []
  let printed: string[] = []
  for (const line of log.split('\n')) {
    if (/^\d+ tests? failed:$/.test(line)) break // bun lists them once more
    printed.push(line)
    if (!/^\((pass|fail|skip|todo)\) /.test(line)) continue
    if (line.startsWith('(fail)')) failures.push([`-- ${name}`, ...printed.slice(-LINES_PER_FAILURE)].join('\n'))
    printed = []
  }
  return failures
}

/** Remembers how long each file took, as bun wrote it down. */
function measure(group: string, path: string): void {
  if (!existsSync(path)) return
  const { files } = JSON.parse(readFileSync(path, 'utf8')) as { files: Record<string, number> }
  measured[group] ??= {}
  for (const [file, ms] of Object.entries(files)) measured[group][file] = Math.round(ms / 100) / 10
}

async function run({ name, group, files, env: compilers }: Job): Promise<Result> {
  const { env, onDisk, offline } = groups[group] as Group
  const { FORCE_COLOR: _, ...inherited } = process.env
  const [log, times] = [join(folder, `${name}.log`), join(folder, `${name}.json`)]
  const output = openSync(log, 'w') // not a pipe: a server that a test left behind would hold it open for ever
  const timeout = process.env.TEST_TIMEOUT ?? '300000'
  const flags = ['--timeout', timeout, '--timings', times, '--update-timings', ...options]
  const started = performance.now()
  const within = offline ? ['unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh'] : []
  const child = Bun.spawn([...within, process.execPath, 'test', ...flags, ...files.map((file) => `./${file}`)], {
    env: { ...inherited, ...compilers, ...env, TMPDIR: (onDisk ? undefined : process.env.TEST_MEMORY_DIR) ?? folder },
    stdin: 'ignore',
    stdout: output,
    stderr: output,
  })
  running.add(child)
  const exitCode = await child.exited
  running.delete(child)
  const seconds = (performance.now() - started) / 1000
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
  const said = readFileSync(log, 'utf8')
  console.log(`== ${name} (${files.length} files, ${seconds.toFixed()} s, ${cpuSeconds.toFixed()} s of CPU)\n${said}`)
  measure(group, times)
  return { ...countsIn(said, name, exitCode), seconds, cpuSeconds, failures: failuresIn(said, name) }
}

function summary(results: readonly (Result & { group: string })[]): string {
  const column = (n: number) => n.toFixed().padStart(6)
  const lines = Object.keys(groups).flatMap((group) => {
    const of = results.filter((result) => result.group === group)
    const sum = (key: 'seconds' | 'cpuSeconds') => column(of.reduce((total, result) => total + result[key], 0))
    return of.length === 0
      ? []
      : [`${sum('seconds')} s ${sum('cpuSeconds')} s of CPU  ${group} (${of.length} processes)`]
  })
  const files = Object.entries(measured).flatMap(([group, of]) =>
    Object.entries(of).map(([file, seconds]) => ({
      seconds,
      line: `${seconds.toFixed(1).padStart(6)} s  ${group}  ${file}`,
    })),
  )
  const slowest = files.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  // Last, because whoever reads the end of a long log wants to know what failed.
  const failures = results.flatMap((result) => result.failures)
  const failed = failures.length === 0 ? [] : ['What failed:', ...failures, '']
  return [...lines, '', 'The slowest files:', ...slowest.map(({ line }) => line), '', ...failed].join('\n')
}

async function main(): Promise<void> {
  const jobs = [...planned()].flatMap(([group, files]) => jobsOf(group, files)).sort((a, b) => b.seconds - a.seconds)
  const results: (Result & { group: string })[] = []
  // One more than there are cores: a process waits for its database, its servers and the disk a third of its time. With
  // two for each core a whole run took as long, and more CPU time.
  const atOnce = Number(process.env.TEST_PROCESSES ?? availableParallelism() + 1)
  const work = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) results.push({ group: job.group, ...(await run(job)) })
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const total = (key: 'passed' | 'failed' | 'skipped') => results.reduce((sum, result) => sum + result[key], 0)
  writeFileSync(join(folder, 'summary'), summary(results))
  if (process.env.TEST_WRITE_TIMINGS) writeFileSync(TIMINGS, `${JSON.stringify(measured, null, 2)}\n`)
  // The last thing written: without it, the run ended early.
  writeFileSync(join(folder, 'counts'), `${total('passed')} ${total('failed')} ${total('skipped')}\n`)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    for (const child of running) child.kill()
    process.exit(1)
  })
await main()
