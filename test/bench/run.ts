/**
 * `bun run bench [--seconds 3] [--rounds 5] [--write]`: speed and memory as ratios within one run, against the bare limit and against Node with the
 * official MCP SDK. Wants dist/tutti, wrk, node and, for the Postgres half, TEST_DATABASE_URL. `--write` keeps the table in README.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { freshDatabase } from '../support/postgres.ts'
import { cpuSeconds, median, type Process, rate, rssMb, start } from './processes.ts'
import { sseCalls } from './sse-load.ts'

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, rounds: { type: 'string', default: '5' }, write: { type: 'boolean' } },
})
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)
const binary = resolve(import.meta.dir, '../../dist/tutti')
const limits = { RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_BURST: '1000000', RATE_LIMIT_MCP: '1000000', RATE_LIMIT_LOGIN: '1000' }
const rows: string[][] = []
const note = (what: string, ours: string, against: string, ratio: string, bar: string) => {
  rows.push([what, ours, against, ratio, bar])
  console.log([what.padEnd(44), ours.padEnd(22), against.padEnd(34), ratio.padEnd(8), bar].join(' '))
}
const bar = (ok: boolean, text: string) => `${text} ${ok ? 'met' : '**missed**'}`

interface World {
  env: Record<string, string | undefined>
  token: string
  mcp: string
  userId: string
  noteId: string
}

const serve = (env: World['env']) => start([binary, 'serve', '--port', '0'], { ...env, LOG_LEVEL: 'warn' })

async function world(env: World['env']): Promise<World> {
  const server = await serve(env)
  const create = Bun.spawn([binary, 'admin', 'create', '--email', 'ada@example.com', '--name', 'Ada', '--password-stdin'], {
    env: { PATH: process.env.PATH, ...env },
    stdin: new Blob(['violet anchor prefers rain']),
    stdout: 'ignore',
  })
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
  const team = (await (await fetch(`${server.url}/api/team`, { headers: { authorization: `Bearer ${key.token}` } })).json()) as {
    id: string
  }
  const mcp = await post<{ token: string }>('/api/mcp-tokens', { name: 'bench', organizationId: team.id }, session.token)
  let noteId = ''
  for (let i = 0; i < 200; i++)
    noteId = (
      await post<{ id: string }>(
        '/api/notes',
        { title: `Note ${i}`, content: 'lorem ipsum '.repeat(40), tags: ['bench'], scope: 'team' },
        key.token,
      )
    ).id
  await server.stop()
  return { env, token: key.token, mcp: mcp.token, userId: session.user.id, noteId }
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
      found.get(what)?.ours.push(await rate(ours.url + c.path, seconds, { token: w.token, body: 'body' in c ? c.body : undefined }))
    await ours.stop()
    const bare = await start([process.execPath, join(import.meta.dir, 'bare.ts'), w.userId, w.noteId], { ...w.env, LOG_LEVEL: 'error' })
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

async function mcp(w: World): Promise<void> {
  const statements = await recordGet(w)
  const calls = 4000
  const found = { ours: [] as number[], node: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const who of ['ours', 'node'] as const) {
      const server: Process =
        who === 'ours'
          ? await serve(w.env)
          : await start(['node', join(import.meta.dir, 'node-mcp.mjs'), JSON.stringify(statements)], { DATABASE_URL: w.env.DATABASE_URL })
      const token = who === 'ours' ? w.mcp : undefined
      await sseCalls(server.url, token, w.noteId, 500)
      const before = cpuSeconds(server.pid)
      await sseCalls(server.url, token, w.noteId, calls)
      found[who].push(((cpuSeconds(server.pid) - before) / calls) * 1e6)
      await server.stop()
    }
  }
  const ratio = median(found.ours.map((value, i) => value / (found.node[i] as number)))
  note(
    'MCP tools/call over SSE, server CPU, Postgres',
    `${median(found.ours).toFixed(0)} µs`,
    `Node + Express + SDK ${median(found.node).toFixed(0)} µs`,
    ratio.toFixed(2),
    bar(ratio <= 0.5, '≤ 0.5'),
  )
}

/** The statements that read a note, for the Node baseline: found where the product runs them. */
async function recordGet(w: World): Promise<unknown[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'record.ts'), w.userId, w.noteId], {
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
  note('first start, empty folder to healthy', `${median(first).toFixed(0)} ms`, '–', '–', bar(median(first) <= 3000, '≤ 3 s'))
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
  note(`idle for 60 s, ${name}`, `${mb.toFixed(0)} MB RSS`, `${(cpu * 100).toFixed(2)} % CPU`, '–', bar(mb < most, `< ${most} MB`))
}

const dir = mkdtempSync(join(tmpdir(), 'tutti-bench-'))
const embedded = await world({ DATA_DIR: dir, ...limits })
await rest('embedded', embedded)
await credential('embedded', embedded)
await starts()
await idle('embedded', { DATA_DIR: dir }, 220)
if (process.env.TEST_DATABASE_URL) {
  const database = await freshDatabase()
  const env = { DATA_DIR: mkdtempSync(join(tmpdir(), 'tutti-bench-')), DATABASE_URL: database.url, ...limits }
  const external = await world(env)
  await rest('Postgres', external)
  await credential('Postgres', external)
  await mcp(external)
  await idle('Postgres', env, 100)
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
  writeFileSync(path, text.replace(/<!-- results -->[\s\S]*<!-- end -->/, `<!-- results -->\n${machine}\n\n${table}\n<!-- end -->`))
}
