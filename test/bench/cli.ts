/**
 * How long the command line takes to begin: `bun test/bench/cli.ts`, with dist/tutti built. Measures wall time, each in turn so that
 * what else the machine does falls on all alike, and compares medians with the bars: `--version` and `--help` at most twice an empty
 * compiled program, `tasks list` at most twice curl on the same endpoint plus that.
 */
import { join } from 'node:path'
import { apiKeyFor, BINARY, folder, serve, tutti } from '../support/binary.ts'

const ROUNDS = Number(process.argv[2] ?? 30)
const empty = join(folder(), 'empty')
await Bun.write(`${empty}.ts`, '')
await Bun.$`${process.execPath} build --compile ${empty}.ts --outfile ${empty}`.quiet()

const server = await serve()
const key = await apiKeyFor(server)
const env = { PATH: process.env.PATH ?? '', HOME: folder() }
await tutti(['login', server.url, '--with-token'], { env, stdin: key })
await tutti(['projects', 'create', 'Bench', '--key', 'BEN'], { env })
for (let i = 0; i < 50; i++) await tutti(['tasks', 'create', `Task ${i}`, '-p', 'BEN'], { env })

const commands = {
  empty: [empty],
  curl: ['curl', '-sf', '-o', '/dev/null', '-H', `authorization: Bearer ${key}`, `${server.url}/api/tasks`],
  '--version': [BINARY, '--version'],
  '--help': [BINARY, '--help'],
  'tasks list': [BINARY, 'tasks', 'list'],
}
type Name = keyof typeof commands
const taken = Object.fromEntries(Object.keys(commands).map((name) => [name, [] as number[]])) as Record<Name, number[]>
for (let round = 0; round < ROUNDS; round++)
  for (const [name, command] of Object.entries(commands)) {
    const started = performance.now()
    const code = await Bun.spawn(command, { env, stdout: 'ignore', stderr: 'ignore' }).exited
    taken[name as Name].push(performance.now() - started)
    if (code !== 0) throw new Error(`${name} ended with ${code}`)
  }
await server.stop()

const median = (name: Name): number => taken[name].toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number
const bars: Partial<Record<Name, number>> = {
  '--version': 2 * median('empty'),
  '--help': 2 * median('empty'),
  'tasks list': 2 * median('curl') + 2 * median('empty'),
}
for (const name of Object.keys(commands) as Name[]) {
  const bar = bars[name]
  const verdict = bar === undefined ? '' : `, at most ${bar.toFixed(1)}: ${median(name) <= bar ? 'ok' : 'TOO SLOW'}`
  console.log(`${name.padEnd(12)} ${median(name).toFixed(1)} ms${verdict}`)
  if (bar !== undefined && median(name) > bar) process.exitCode = 1
}
