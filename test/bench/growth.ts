/**
 * `bun test/bench/growth.ts [--sizes 1000,20000,100000] [--only embedded] [--call tree,list] [--write]`: how the time of a
 * call grows with the number of tasks in one project. For the Postgres half set TEST_DATABASE_URL. `--call` measures
 * only calls with one of these texts in their name. `--write` keeps the table in README.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { anonymous, system } from '../../src/auth/actor.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { loadConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/db/index.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import type { Agent } from '../../src/features/agents/schema.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import type { NextTask } from '../../src/features/tasks/schema.ts'
import { sumDays } from '../../src/features/teams/days.ts'
import { createLog } from '../../src/log.ts'
import { startHttp } from '../../src/server/server.ts'
import type { TestApp } from '../support/app.ts'
import { Meter } from '../support/cpu.ts'
import { freshDatabase } from '../support/postgres.ts'
import { fill } from './growth-data.ts'

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,20000,100000' },
    only: { type: 'string' },
    call: { type: 'string' },
    write: { type: 'boolean' },
  },
})
const sizes = options.sizes.split(',').map(Number)
const RUNS = 12
/** Rounds of runs. */
const MOST_WARMING = 8

type Answer<T> = Promise<{ status: number; body: T }>
interface Bench {
  t: TestApp
  who: {
    organizationId: string
    fetch<T>(method: string, path: string, body?: object): Answer<T>
    /** Reads the answer but does not parse it: what a client does with it is not measured. */
    get(path: string): Promise<void>
  }
  project: Project
}
type Work = (bench: Bench) => Promise<unknown>
interface Measured {
  bench: Bench
  meter: Meter
}

const ok = async <T>(answer: Answer<T>): Promise<T> => {
  const { status, body } = await answer
  if (status >= 300) throw new Error(JSON.stringify(body))
  return body
}
const get =
  (path: (bench: Bench) => string): Work =>
  (bench) =>
    bench.who.get(path(bench))
const next = ({ who, project }: Bench, how = {}) =>
  ok(who.fetch<NextTask>('POST', '/api/tasks/next', { projectId: project.id, ...how }))

/** What is measured, and the bar: how many times the time of the smallest size the largest may take. */
const calls: Record<string, { bar: number; work: Work }> = {
  'next task, claimed and given back': {
    bar: 2,
    work: async (bench) => {
      const { task } = await next(bench)
      await ok(bench.who.fetch('POST', `/api/tasks/${task?.id}/release`))
    },
  },
  'next task of the team, only asked for': {
    bar: 2,
    work: ({ who }) => ok(who.fetch('POST', '/api/tasks/next', { claim: false })),
  },
  'complete a task': {
    bar: 2,
    work: async (bench) => {
      const { task } = await next(bench, { claim: false })
      await ok(bench.who.fetch('POST', `/api/tasks/${task?.id}/complete`, {}))
    },
  },
  'ready list': { bar: 2, work: get(({ project }) => `/api/tasks?ready=true&projectId=${project.id}`) },
  'blocked list': { bar: 2, work: get(({ project }) => `/api/tasks?status=blocked&projectId=${project.id}`) },
  'ready list of the team': { bar: 2, work: get(() => '/api/tasks?ready=true') },
  'project list by updatedAt': { bar: 2, work: get(({ project }) => `/api/tasks?projectId=${project.id}`) },
  'project list by position': {
    bar: 2,
    work: get(({ project }) => `/api/tasks?sort=position&projectId=${project.id}`),
  },
  'context of a session': { bar: 2, work: get(({ project }) => `/api/context?projectId=${project.id}`) },
  'agents of the team': { bar: 2, work: get(() => '/api/agents?total=true') },
  tree: { bar: 3, work: get(({ project }) => `/api/projects/${project.id}/tree`) },
  'project with its numbers': { bar: 3, work: get(({ project }) => `/api/projects/${project.id}`) },
  suggestions: { bar: 3, work: get(() => '/api/search/suggestions?q=comm') },
  'search for a common word': { bar: 3, work: get(() => '/api/search?q=common') },
  'search for a rare word': { bar: 3, work: get(() => '/api/search?q=zebra') },
  'analytics of the team': { bar: 3, work: get(({ who }) => `/api/teams/${who.organizationId}/analytics`) },
}

async function server(postgres: boolean): Promise<TestApp> {
  const folder = mkdtempSync(join(tmpdir(), 'tutti-growth-'))
  const database = postgres ? await freshDatabase() : undefined
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: folder,
    EMBEDDINGS: 'off',
    DB_STATEMENT_TIMEOUT_MS: '600000',
    RATE_LIMIT_PER_MINUTE: '1000000',
    RATE_LIMIT_BURST: '1000000',
    ...(database && { DATABASE_URL: database.url }),
  }
  const config = loadConfig({ env })
  const log = createLog('error')
  const app = await createApp(config, { driver: await openDatabase(config, log), log, background: false })
  const http = startHttp(app)
  return {
    app,
    server: http,
    url: `http://127.0.0.1:${http.port}`,
    close: async () => {
      await http.stop(100)
      await app.close()
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function world(postgres: boolean, tasks: number): Promise<Bench> {
  const t = await server(postgres)
  const { token, user } = await accounts.addUser(contextOf(t.app, anonymous), {
    email: 'ada@example.com',
    name: 'Ada',
    passwordHash: await hashPassword('violet anchor prefers rain'),
    role: 'user',
  })
  const { organizationId } = await t.app.auth.authenticate(token)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const who: Bench['who'] = {
    organizationId: organizationId as string,
    get: async (path) => {
      const response = await fetch(t.url + path, { headers })
      const { byteLength } = await response.arrayBuffer()
      if (!response.ok || byteLength === 0) throw new Error(`${path}: ${response.status}`)
    },
    fetch: async <T>(method: string, path: string, body?: object) => {
      const response = await fetch(t.url + path, { method, headers, body: body && JSON.stringify(body) })
      return { status: response.status, body: (await response.json()) as T }
    },
  }
  const project = await ok(who.fetch<Project>('POST', '/api/projects', { name: 'Growth' }))
  const agent = await ok(who.fetch<Agent>('POST', '/api/agents', { name: 'Worker', scope: 'team' }))
  const place = { organizationId: who.organizationId, projectId: project.id, userId: user.id, agentId: agent.id }
  await fill(t.app.driver, place, tasks)
  await sumDays(contextOf(t.app, system), {})
  return { t, who, project }
}

/** Milliseconds: CPU time of the whole process on the embedded database, elapsed on Postgres. */
async function once({ bench, meter }: Measured, work: Work): Promise<number> {
  const before = performance.now()
  const { total } = await meter.rough(() => work(bench))
  return bench.t.app.driver.kind === 'pglite' ? total : performance.now() - before
}

async function least(measured: Measured, work: Work): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) times.push(await once(measured, work))
  return Math.min(...times)
}

/** Repeats a call until it gets no faster: its statements are planned, and its code is compiled in every thread. */
async function warm(measured: Measured, work: Work): Promise<void> {
  let before = Number.POSITIVE_INFINITY
  for (let round = 0; round < MOST_WARMING; round++) {
    const now = await least(measured, work)
    if (now > before * 0.95) return
    before = now
  }
}

/** Measures all sizes of a call in turn, each warmed, so that none gains from coming later than another. */
async function compared(all: Measured[], work: Work): Promise<number[]> {
  for (const measured of all) await warm(measured, work)
  const times = all.map(() => Number.POSITIVE_INFINITY)
  for (let run = 0; run < RUNS; run++)
    for (const [i, measured] of all.entries()) times[i] = Math.min(times[i] as number, await once(measured, work))
  return times
}

async function half(database: string): Promise<string[]> {
  const all: Measured[] = []
  for (const size of sizes) {
    const bench = await world(database === 'Postgres', size)
    all.push({ bench, meter: await Meter.of(bench.t) })
  }
  const lines: string[] = []
  for (const [name, { bar, work }] of Object.entries(calls)) {
    if (options.call && !options.call.split(',').some((part) => name.includes(part))) continue
    const times = await compared(all, work)
    const ratio = (times.at(-1) as number) / (times[0] as number)
    const shown = [
      ...times.map((ms) => `${ms.toFixed(1)} ms`),
      ratio.toFixed(1),
      `≤ ${bar} ${ratio <= bar ? 'met' : '**missed**'}`,
    ]
    const line = `| ${[`${name}, ${database}`, ...shown].join(' | ')} |`
    console.log(line)
    lines.push(line)
  }
  for (const { bench } of all) await bench.t.close()
  return lines
}

const head = ['Call', ...sizes.map((size) => size.toLocaleString('en')), 'Ratio', 'Bar']
console.log(`| ${head.join(' | ')} |`)
const lines: string[] = []
if (options.only !== 'postgres') lines.push(...(await half('embedded')))
if (options.only !== 'embedded' && process.env.TEST_DATABASE_URL) lines.push(...(await half('Postgres')))
if (options.write) {
  const path = join(import.meta.dir, 'README.md')
  const table = [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores ${process.arch}, Bun ${Bun.version}, load`,
    `${loadavg()[0]?.toFixed(1)}, the least of ${RUNS} warm runs:`,
    'CPU time of the process on the embedded database, elapsed time on Postgres.',
    '',
    `| ${head.join(' | ')} |`,
    `| ${head.map(() => '---').join(' | ')} |`,
    ...lines,
  ].join('\n')
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(/<!-- growth -->[\s\S]*<!-- end growth -->/, `<!-- growth -->\n${table}\n<!-- end growth -->`),
  )
}
process.exit(0)
