import { join } from 'node:path'
import type { DatabaseName, Part, Row } from '../part.ts'
import { emptyEnv } from '../world.ts'

interface Searched {
  exact: { p50: number; p95: number }
  hybrid: { p50: number; p95: number }
  large: { p50: number; p95: number }
  recall: number
  recallOfMany: number
}

/** Hybrid search of memories, in a database of its own. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) yield* searches(database)
}

async function* searches(database: DatabaseName): AsyncIterable<Row> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../memory.ts')], {
    env: { PATH: process.env.PATH, ...(await emptyEnv(database)) },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const found = JSON.parse(await new Response(child.stdout).text()) as Searched
  yield {
    what: `hybrid search, 100 of 10,000 memories, p95, ${database}`,
    ours: `${found.hybrid.p95} ms`,
    against: `one exact read by index ${found.exact.p95} ms`,
    ratio: found.hybrid.p95 / found.exact.p95,
    bar: { most: 3 },
  }
  yield {
    what: `recall@10 of its vector stage, ${database}`,
    ours: found.recall.toFixed(3),
    against: 'exact scan',
    value: found.recall,
    bar: { least: 0.95 },
  }
  yield {
    what: `hybrid search, 100,000 memories of one team, p95, ${database}`,
    ours: `${found.large.p95} ms`,
    against: `recall@10 ${found.recallOfMany.toFixed(2)}`,
    value: found.large.p95,
    bar: { most: 300, unit: 'ms' },
  }
}
