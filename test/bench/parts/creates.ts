import { bareOf } from '../bare-process.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { rate } from '../processes.ts'
import { serve, twin, type World } from '../world.ts'

/** Creating a note, durably, against a bare insert of the note and its event in one transaction. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) yield* creates(bench, database, await bench.world(database))
}

async function* creates(bench: Bench, database: string, world: World): AsyncIterable<Row> {
  const body = JSON.stringify({ title: 'bench', content: 'x'.repeat(500), scope: 'team' })
  const [oursEnv, bareEnv] = [twin(world), twin(world)]
  const ours = await serve(oursEnv)
  const bare = await bareOf(world, bareEnv)
  const found = await compare(bench, {
    ours: (seconds) => rate(`${ours.url}/api/notes`, seconds, { token: world.token, body }),
    bare: (seconds) => rate(`${bare.url}/create`, seconds, { body }),
  })
  await ours.stop()
  await bare.stop()
  yield {
    what: `POST a note, durable, ${database}`,
    ours: `${median(found.ours).toFixed(0)}/s`,
    against: `bare insert + event ${median(found.bare).toFixed(0)}/s`,
    ratio: ratioOf(found.ours, found.bare),
    bar: { least: 0.6 },
  }
}
