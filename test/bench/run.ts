/**
 * `bun run bench [--only reads,mcp] [--seconds 3] [--rounds 5] [--write] [--check]`: speed and memory, as ratios within
 * one run where there is something to compare with. Each file in `parts/` is a part. Wants dist/tutti, wrk, node and,
 * for the Postgres half, TEST_DATABASE_URL. `--write` replaces the measured parts in the table of README.md. `--check`
 * ends with 1 if a figure misses its bar by more than 20 %.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Bench, barText, type DatabaseName, margin, type Part, type Row } from './part.ts'
import { cleanUp, createWorld, emptyEnv, type World } from './world.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    write: { type: 'boolean' },
    check: { type: 'boolean' },
  },
})

const folder = join(import.meta.dir, 'parts')
const names = readdirSync(folder).map((file) => file.replace(/\.ts$/, ''))
const wanted = options.only?.split(',') ?? names.toSorted()
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')} (there are: ${names.join(', ')})`)

const worlds = new Map<DatabaseName, Promise<World>>()
const bench: Bench = {
  seconds: Number(options.seconds),
  rounds: Number(options.rounds),
  databases: process.env.TEST_DATABASE_URL ? ['embedded', 'Postgres'] : ['embedded'],
  world(database) {
    const made = worlds.get(database) ?? emptyEnv(database).then((env) => createWorld(env))
    worlds.set(database, made)
    return made
  },
}

const cells = (row: Row): string[] => [
  row.what,
  row.ours,
  row.against ?? '–',
  row.ratio === undefined ? '–' : row.ratio.toFixed(2),
  barText(row),
]

const TOLERATED = 0.8
const missed: Row[] = []
const measured = new Map<string, string[]>()
if (bench.databases.length === 1) console.log('LEFT OUT: Postgres, because TEST_DATABASE_URL is not set')
try {
  for (const name of wanted) {
    const { part } = (await import(join(folder, `${name}.ts`))) as { part: Part }
    const lines: string[] = []
    for await (const row of part(bench)) {
      console.log([name.padEnd(10), ...cells(row).map((cell, i) => cell.padEnd([56, 20, 32, 6, 0][i] ?? 0))].join(' '))
      lines.push(`| ${[name, ...cells(row), new Date().toISOString().slice(0, 10)].join(' | ')} |`)
      if ((margin(row) ?? 1) < TOLERATED) missed.push(row)
    }
    measured.set(name, lines)
  }
} finally {
  await cleanUp()
}
if (options.write) writeTable()
if (options.check && missed.length > 0) {
  console.error(`More than 20 % worse than the bar:\n${missed.map((row) => `- ${cells(row).join(' · ')}`).join('\n')}`)
  process.exit(1)
}
process.exit(0)

/** Keeps the rows of parts that were not measured this time. */
function writeTable(): void {
  const path = join(import.meta.dir, 'README.md')
  const text = readFileSync(path, 'utf8')
  const kept = (/<!-- results -->([\s\S]*)<!-- end -->/.exec(text)?.[1] ?? '').split('\n')
  const old = (name: string) => kept.filter((line) => line.startsWith(`| ${name} |`))
  const machine = [
    `${cpus().length} cores ${process.arch}, ${Math.round(totalmem() / 2 ** 30)} GiB, Bun ${Bun.version}`,
    `load average ${loadavg()[2]?.toFixed(0)} in the last 15 minutes (2 is only the bench)`,
    `${bench.rounds} rounds of ${bench.seconds} s after 4 s of warm-up, 16 connections, load generator on the same cores`,
  ]
  const table = [
    `${machine.join('; ')}.`,
    '',
    '| Part | What | Ours | Against | Ratio | Bar | Measured |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...names.toSorted().flatMap((name) => measured.get(name) ?? old(name)),
  ].join('\n')
  writeFileSync(
    path,
    text.replace(/<!-- results -->[\s\S]*<!-- end -->/, () => `<!-- results -->\n${table}\n<!-- end -->`),
  )
}
