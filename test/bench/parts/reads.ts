import { bareOf } from '../bare-process.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { rate } from '../processes.ts'

import { serve, twin, type World } from '../world.ts'

/** One note and a page of 50 against the bare limit. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) yield* reads(bench, database, await bench.world(database))
}

async function* reads(bench: Bench, database: string, world: World): AsyncIterable<Row> {
  const cases = [
    { what: 'GET one note', path: `/api/notes/${world.noteId}`, bare: '/get', least: 0.65 },
    { what: 'list 50 notes', path: '/api/notes?limit=50', bare: '/list', least: 0.6 },
  ]
  const copy = twin(world)
  const ours = await serve(world.env)
  const bare = await bareOf(world, copy)
  for (const { what, path, bare: barePath, least } of cases) {
    const found = await compare(bench, {
      ours: (seconds) => rate(ours.url + path, seconds, { token: world.token }),
      bare: (seconds) => rate(bare.url + barePath, seconds),
    })
    yield {
      what: `${what}, ${database}`,
      ours: `${median(found.ours).toFixed(0)}/s`,
      against: `bare ${median(found.bare).toFixed(0)}/s`,
      ratio: ratioOf(found.ours, found.bare),
      bar: { least },
    }
  }
  await ours.stop()
  await bare.stop()
}
