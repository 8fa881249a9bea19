/**
 * `bun run bench [--seconds 3] [--rounds 5] [--only mcp,streams] [--write]`: speed and memory as ratios within one run, against the bare limit and against Node with the
 * official MCP SDK. Wants dist/tutti, wrk, node and, for the Postgres half, TEST_DATABASE_URL. `--write` keeps the table in README.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { freshDatabase } from '../support/postgres.ts'
import { cpuSeconds, median, type Process, quiet, rate, rssMb, start } from './processes.ts'
import { restReads, sseCalls } from './sse-load.ts'
import { streamCost } from './streams.ts'

const STREAMS = 500

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    write: { type: 'boolean' },
  },
})
const wanted = (part: string): boolean => options.only === undefined || options.only.split(',').includes(part)
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)
const binary = resolve(import.meta.dir, '../../dist/tutti')
const limits = {
  RATE_LIMIT_PER_MINUTE: '1000000',
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_MCP: '1000000',
  RATE_LIMIT_LOGIN: '1000',
}
const rows: string[][] = []
const note = (what: string, ours: string, against: string, ratio: string, bar: string) => {
  rows.push([what, ours, against, ratio, bar])
  console.log([what.padEnd(44), ours.padEnd(22), against.padEnd(34), ratio.padEnd(8), bar].join(' '))
}
const bar = (ok: boolean, text: string) => `${text} ${ok ? 'met' : '**missed**'}`

interface World {
  env: Record<string, string | undefined>
  token: string
  userId: string
  noteId: string
  taskId: string
  /** For MCP; ten streams each. */
  tokens: string[]
}

const serve = (env: World['env']) => start([binary, 'serve', '--port', '0'], { ...env, LOG_LEVEL: 'warn' })

async function world(env: World['env']): Promise<World> {
  const server = await serve(env)
  const create = Bun.spawn(
    [binary, 'admin', 'create', '--email', 'ada@example.com', '--name', 'Ada', '--password-stdin'],
    {
      env: { PATH: process.env.PATH, ...env },
      stdin: new Blob(['violet anchor prefers rain']),
      stdout: 'ignore',
    },
  )
  if ((await create.exited) !== 0) throw new Error('admin create failed')
  const post = async <T>(path: string, body: object, token?: string): Promise<T> => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as T
  }
  const session = await post<{ token: string; user: { id: string } }>('/api/auth/login', {
    email: 'ada@example.com',
    password: 'violet anchor prefers rain',
  })
  const key = await post<{ token: string }>('/api/settings/api-keys', { name: 'bench' }, session.token)
  const team = (await (
    await fetch(`${server.url}/api/team`, { headers: { authorization: `Bearer ${key.token}` } })
  ).json()) as {
    id: string
  }
  const tokens: string[] = []
  for (let i = 0; i < STREAMS / 10; i++)
    tokens.push(
      (await post<{ token: string }>('/api/mcp-tokens', { name: `bench ${i}`, organizationId: team.id }, session.token))
        .token,
    )
  let noteId = ''
  for (let i = 0; i < (wanted('rest') ? 200 : 1); i++)
    noteId = (
      await post<{ id: string }>(
        '/api/notes',
        { title: `Note ${i}`, content: 'lorem ipsum '.repeat(40), tags: ['bench'], scope: 'team' },
        key.token,
      )
    ).id
  const project = await post<{ slug: string }>('/api/projects', { name: 'Bench' }, key.token)
  const tasks = `/api/projects/${project.slug}/tasks`
  const first = await post<{ key: string }>(
    tasks,
    { title: 'The first', description: 'lorem ipsum '.repeat(40) },
    key.token,
  )
  const task = {
    title: 'The second',
    description: 'lorem ipsum '.repeat(40),
    labels: ['bench'],
    blockedBy: [first.key],
  }
  const { id: taskId } = await post<{ id: string }>(tasks, task, key.token)
  await post(`/api/tasks/${taskId}/comments`, { body: 'Looks good to me.' }, key.token)
  // What is written is made searchable afterwards; a server that still does so is not what is measured.
  await quiet(server)
  await server.stop()
  return { env, token: key.token, tokens, userId: session.user.id, noteId, taskId }
}

/** Ours and the bare limit in turn, so that a busy moment of the machine hits both. */
async function rest(name: string, w: World): Promise<void> {
  const body = JSON.stringify({ title: 'bench', content: 'x'.repeat(500), scope: 'team' })
  const cases = {
    'GET one note': { path: `/api/notes/${w.noteId}`, bare: '/get', least: 0.4 },
    'list 50 notes': { path: '/api/notes?limit=50', bare: '/list', least: undefined },
    'POST a note, durable': { path: '/api/notes', bare: '/create', body, least: 0.35 },
  }
  const found = new Map(Object.keys(cases).map((c) => [c, { ours: [] as number[], bare: [] as number[] }]))
  for (let round = 0; round < rounds; round++) {
    const ours = await serve(w.env)
    for (const [what, c] of Object.entries(cases))
      found
        .get(what)
        ?.ours.push(await rate(ours.url + c.path, seconds, { token: w.token, body: 'body' in c ? c.body : undefined }))
    await ours.stop()
    const bare = await start([process.execPath, join(import.meta.dir, 'bare.ts'), w.userId, w.noteId], {
      ...w.env,
      LOG_LEVEL: 'error',
    })
    for (const [what, c] of Object.entries(cases))
      found.get(what)?.bare.push(await rate(bare.url + c.bare, seconds, { body: 'body' in c ? c.body : undefined }))
    await bare.stop()
  }
  for (const [what, { ours, bare }] of found) {
    const ratio = median(ours.map((value, i) => value / (bare[i] as number)))
    const least = cases[what as keyof typeof cases].least
    note(
      `${what}, ${name}`,
      `${median(ours).toFixed(0)}/s`,
      `bare ${median(bare).toFixed(0)}/s`,
      ratio.toFixed(2),
      least ? bar(ratio >= least, `≥ ${least}`) : '–',
    )
  }
}

/** One task, read by its id: over SSE, over SSE from the usual Node server, and by REST. */
async function mcp(w: World): Promise<void> {
  const statements = await recordGet(w)
  const tool = { name: 'get_task', arguments: { task: w.taskId } }
  const calls = 2500
  const found = { ours: [] as number[], node: [] as number[], rest: [] as number[] }
  const measure = async (who: keyof typeof found, server: Process, work: (count: number) => Promise<void>) => {
    // Long enough for what runs often to have been compiled.
    await work(calls)
    const before = cpuSeconds(server.pid)
    await work(calls)
    found[who].push(((cpuSeconds(server.pid) - before) / calls) * 1e6)
  }
  for (let round = 0; round < rounds; round++) {
    const ours = await serve(w.env)
    await measure('ours', ours, (count) => sseCalls(ours.url, w.tokens[0], tool, count))
    await measure('rest', ours, (count) => restReads(`${ours.url}/api/tasks/${w.taskId}`, w.token, count))
    await ours.stop()
    const command = ['node', join(import.meta.dir, 'node-mcp.mjs'), JSON.stringify(statements)]
    const node = await start(command, { DATABASE_URL: w.env.DATABASE_URL })
    await measure('node', node, (count) => sseCalls(node.url, undefined, tool, count))
    await node.stop()
  }
  const against = (other: 'node' | 'rest') => median(found.ours.map((value, i) => value / (found[other][i] as number)))
  const ours = `${median(found.ours).toFixed(0)} µs`
  const [node, rest] = [against('node'), against('rest')]
  const what = 'MCP: read a task over SSE, server CPU, Postgres'
  note(
    what,
    ours,
    `Node + Express + SDK ${median(found.node).toFixed(0)} µs`,
    node.toFixed(2),
    bar(node <= 0.5, '≤ 0.5'),
  )
  note(what, ours, `the same by REST ${median(found.rest).toFixed(0)} µs`, rest.toFixed(2), bar(rest <= 3, '≤ 3'))
}

async function streams(w: World): Promise<void> {
  const server = await serve(w.env)
  const { kb, streams, leftMb } = await streamCost(server, w.tokens, {
    name: 'get_task',
    arguments: { task: w.taskId },
  })
  await server.stop()
  note(
    `${streams} SSE streams, Postgres`,
    `${kb.toFixed(0)} KB each`,
    `${leftMb.toFixed(1)} MB after closing`,
    '–',
    bar(kb <= 60, '≤ 60 KB'),
  )
}

/** The statements that read a task, for the Node baseline: found where the product runs them. */
async function recordGet(w: World): Promise<unknown[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'record.ts'), w.userId, w.taskId], {
    env: { PATH: process.env.PATH, ...w.env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  return JSON.parse(await new Response(child.stdout).text()) as unknown[]
}

/** In one process and in turn, so that what differs is the check. */
async function credential(name: string, w: World): Promise<void> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'credential.ts'), w.token, w.noteId], {
    env: { PATH: process.env.PATH, ...w.env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const found = JSON.parse(await new Response(child.stdout).text()) as { with: number[]; without: number[] }
  const ratio = median(found.with.map((value, i) => 1 - (found.without[i] as number) / value))
  note(
    `checking a credential, ${name}`,
    `${median(found.with).toFixed(0)} µs CPU a read`,
    `${median(found.without).toFixed(0)} µs without the check`,
    ratio.toFixed(2),
    bar(ratio <= 0.15, '≤ 0.15'),
  )
}

interface Searched {
  exact: { p50: number; p95: number }
  hybrid: { p50: number; p95: number }
  large: { p50: number; p95: number }
  recall: number
  recallOfMany: number
}

/** In a database of its own. */
async function memory(name: string, env: Record<string, string>): Promise<void> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'memory.ts')], {
    env: { PATH: process.env.PATH, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const found = JSON.parse(await new Response(child.stdout).text()) as Searched
  const ratio = found.hybrid.p95 / found.exact.p95
  note(
    `hybrid search, 100 of 10,000 memories, p95, ${name}`,
    `${found.hybrid.p95} ms`,
    `one exact read by index ${found.exact.p95} ms`,
    ratio.toFixed(2),
    bar(ratio <= 3, '≤ 3'),
  )
  note(
    `the same, recall@10 of its vector stage, ${name}`,
    found.recall.toFixed(3),
    'exact scan',
    '–',
    bar(found.recall >= 0.95, '≥ 0.95'),
  )
  note(
    `hybrid search, 100,000 memories of one team, p95, ${name}`,
    `${found.large.p95} ms`,
    `recall@10 ${found.recallOfMany.toFixed(2)}`,
    '–',
    bar(found.large.p95 <= 300, '≤ 300 ms'),
  )
}

async function healthy(env: World['env']): Promise<Process & { ms: number }> {
  const started = performance.now()
  const server = await start([binary, 'serve', '--port', '0'], { LOG_LEVEL: 'warn', ...env })
  if (!(await fetch(`${server.url}/health`)).ok) throw new Error('not healthy')
  return { ...server, ms: performance.now() - started }
}

async function starts(): Promise<void> {
  const first: number[] = []
  const again: number[] = []
  for (let round = 0; round < rounds; round++) {
    const dir = mkdtempSync(join(tmpdir(), 'tutti-start-'))
    for (const list of [first, again]) {
      const server = await healthy({ DATA_DIR: dir })
      list.push(server.ms)
      await server.stop()
    }
    rmSync(dir, { recursive: true, force: true })
  }
  note(
    'first start, empty folder to healthy',
    `${median(first).toFixed(0)} ms`,
    '–',
    '–',
    bar(median(first) <= 3000, '≤ 3 s'),
  )
  note('restart to healthy', `${median(again).toFixed(0)} ms`, '–', '–', bar(median(again) <= 1000, '≤ 1 s'))
}

async function idle(name: string, env: World['env'], most: number): Promise<void> {
  const server = await healthy(env)
  await Bun.sleep(60_000)
  const mb = rssMb(server.pid)
  const before = cpuSeconds(server.pid)
  await Bun.sleep(10_000)
  const cpu = (cpuSeconds(server.pid) - before) / 10
  await server.stop()
  note(
    `idle for 60 s, ${name}`,
    `${mb.toFixed(0)} MB RSS`,
    `${(cpu * 100).toFixed(2)} % CPU`,
    '–',
    bar(mb < most, `< ${most} MB`),
  )
}

const dir = mkdtempSync(join(tmpdir(), 'tutti-bench-'))
if (wanted('rest') || wanted('credential')) {
  const embedded = await world({ DATA_DIR: dir, ...limits })
  if (wanted('rest')) await rest('embedded', embedded)
  if (wanted('credential')) await credential('embedded', embedded)
}
if (wanted('starts')) await starts()
if (wanted('idle')) await idle('embedded', { DATA_DIR: dir }, 220)
if (wanted('memory')) await memory('embedded', { DATA_DIR: mkdtempSync(join(tmpdir(), 'tutti-bench-')) })
if (process.env.TEST_DATABASE_URL) {
  const database = await freshDatabase()
  const env = { DATA_DIR: mkdtempSync(join(tmpdir(), 'tutti-bench-')), DATABASE_URL: database.url, ...limits }
  const external = await world(env)
  if (wanted('rest')) await rest('Postgres', external)
  if (wanted('credential')) await credential('Postgres', external)
  if (wanted('mcp')) await mcp(external)
  if (wanted('streams')) await streams(external)
  if (wanted('idle')) await idle('Postgres', env, 100)
  if (wanted('memory')) {
    const apart = await freshDatabase()
    await memory('Postgres', { DATA_DIR: mkdtempSync(join(tmpdir(), 'tutti-bench-')), DATABASE_URL: apart.url })
    await apart.drop()
  }
  await database.drop()
} else console.log('LEFT OUT: Postgres and MCP, because TEST_DATABASE_URL is not set')
rmSync(dir, { recursive: true, force: true })

if (options.write) {
  const path = join(import.meta.dir, 'README.md')
  const table = [['What', 'Ours', 'Against', 'Ratio', 'Bar'], ['---', '---', '---', '---', '---'], ...rows]
    .map((r) => `| ${r.join(' | ')} |`)
    .join('\n')
  const machine = `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores ${process.arch}, ${Math.round(totalmem() / 2 ** 30)} GiB, Bun ${Bun.version}, ${rounds} rounds of ${seconds} s, 16 connections, load generator on the same cores.`
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(/<!-- results -->[\s\S]*<!-- end -->/, `<!-- results -->\n${machine}\n\n${table}\n<!-- end -->`),
  )
}
