import { join } from 'node:path'
import type { DatabaseName, Part, Row } from '../part.ts'
import { emptyEnv } from '../world.ts'

interface Measured {
  /** Milliseconds of the median search, and the share of the right ten that were found. */
  all: { ours: number; peer: number; recall: number }
  filtered: { ours: number; peer: number; recall: number }
  /** After the job that builds an index for very large owners, which only Postgres has. `checked`: what the job found. */
  indexed?: { ours: number; peer: number; recall: number; seconds: number; state: string; checked: number }
}

/** Search by meaning in a team with 100,000 passages, against sqlite-vec; in a database of its own. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) yield* searches(database)
}

async function* searches(database: DatabaseName): AsyncIterable<Row> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../vectors.ts')], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...(await emptyEnv(database)) },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { all, filtered, indexed } = JSON.parse(await new Response(child.stdout).text()) as Measured
  yield {
    what: `nearest of 100,000 passages, p50, ${database}`,
    ours: `${all.ours.toFixed(1)} ms`,
    against: `sqlite-vec, exact ${all.peer.toFixed(1)} ms`,
    ratio: all.ours / all.peer,
    bar: { most: 1 },
  }
  yield {
    what: `recall@10 of it, ${database}`,
    ours: all.recall.toFixed(3),
    against: 'exact scan',
    value: all.recall,
    bar: { least: 0.95 },
  }
  yield {
    what: `nearest of the 1 % in a project, p50, ${database}`,
    ours: `${filtered.ours.toFixed(1)} ms`,
    against: `sqlite-vec, exact ${filtered.peer.toFixed(1)} ms`,
    ratio: filtered.ours / filtered.peer,
    bar: { most: 2 },
  }
  if (!indexed) return
  const { seconds, state, checked } = indexed
  const found = `built and checked in ${seconds.toFixed(0)} s: found ${checked.toFixed(2)}, ${state}`
  yield {
    what: `nearest of 100,000 after the job for large owners (${found}), p50, ${database}`,
    ours: `${indexed.ours.toFixed(1)} ms`,
    against: `sqlite-vec, exact ${indexed.peer.toFixed(1)} ms`,
    ratio: indexed.ours / indexed.peer,
    bar: { most: 1 },
  }
  yield {
    what: `recall@10 after that job, ${database}`,
    ours: indexed.recall.toFixed(3),
    against: 'exact scan',
    value: indexed.recall,
    bar: { least: 0.95 },
  }
}
