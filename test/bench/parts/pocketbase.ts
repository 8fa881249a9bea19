import { compare, median, type Part, ratioOf } from '../part.ts'
import { pocketBase } from '../pocketbase.ts'
import { rate } from '../processes.ts'
import { newFolder, serve, twin } from '../world.ts'

/** Creating a note against creating a record in PocketBase that waits for the disk as we do. */
export const part: Part = async function* (bench) {
  const theirs = await pocketBase(newFolder()).catch((error: Error) => error)
  if (theirs instanceof Error) {
    console.log(`LEFT OUT: PocketBase, because ${theirs.message}`)
    return
  }
  const world = await bench.world('embedded')
  const ours = await serve(twin(world))
  const note = { title: 'bench', content: 'x'.repeat(500) }
  const body = JSON.stringify({ ...note, scope: 'team' })
  const record = JSON.stringify({ ...note, tags: [], owner: theirs.userId })
  for (const [connections, least] of [
    [16, 1],
    [1, 0.9],
  ] as const) {
    const found = await compare(bench, {
      ours: (seconds) => rate(`${ours.url}/api/notes`, seconds, { token: world.token, body, connections }),
      theirs: (seconds) => rate(theirs.records, seconds, { token: theirs.token, body: record, connections }),
    })
    yield {
      what: `POST a note, durable, embedded, ${connections} connection${connections > 1 ? 's' : ''}`,
      ours: `${median(found.ours).toFixed(0)}/s`,
      against: `PocketBase ${theirs.version}, synchronous=FULL ${median(found.theirs).toFixed(0)}/s`,
      ratio: ratioOf(found.ours, found.theirs),
      bar: { least },
    }
  }
  await ours.stop()
  await theirs.server.stop()
}
