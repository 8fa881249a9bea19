import { compare, median, type Part, ratioOf } from '../part.ts'
import { cpuSeconds, type Process, quiet, rate } from '../processes.ts'
import { call, serve, twin } from '../world.ts'

const note = { title: 'A note of a burst', content: 'lorem ipsum dolor sit amet consetetur '.repeat(14), scope: 'team' }
const BURST = 1000
const BURSTS = [
  {
    what: '20 words',
    content: 'the lock of the folder is taken before the first file is written and given back at the end',
  },
  { what: '500 characters', content: note.content },
]

/** What the model costs while many notes are created, and how soon it has caught up with them. */
export const part: Part = async function* (bench) {
  const world = await bench.world('embedded')
  const [onEnv, offEnv] = [twin(world), { ...twin(world), EMBEDDINGS: 'off' }]
  const [on, off] = [await serve(onEnv), await serve(offEnv)]
  const body = JSON.stringify(note)
  const cost = async (server: Process, seconds: number) => {
    const before = cpuSeconds(server.pid)
    const perSecond = await rate(`${server.url}/api/notes`, seconds, { token: world.token, body })
    return ((cpuSeconds(server.pid) - before) / (perSecond * seconds)) * 1e6
  }
  const found = await compare(bench, { on: (seconds) => cost(on, seconds), off: (seconds) => cost(off, seconds) })
  yield {
    what: 'POST a note in a burst while the model is on, CPU, embedded',
    ours: `${median(found.on).toFixed(0)} µs`,
    against: `EMBEDDINGS=off ${median(found.off).toFixed(0)} µs`,
    ratio: ratioOf(found.on, found.off),
    bar: { most: 1.2 },
  }
  await on.stop()
  await off.stop()
  for (const { what, content } of BURSTS) {
    const server = await serve(twin(world))
    await create(server, world.token, content)
    const ended = performance.now()
    const before = cpuSeconds(server.pid)
    await quiet(server)
    // No model is faster than that.
    if (cpuSeconds(server.pid) - before < BURST * 0.003) throw new Error('nothing was embedded')
    const value = (performance.now() - ended) / 1000
    await server.stop()
    yield {
      what: `vectors of ${BURST} notes of ${what} caught up after the burst, embedded`,
      ours: `${value.toFixed(0)} s`,
      value,
      bar: { most: 60, unit: 's' },
    }
  }
}

async function create(server: Process, token: string, content: string): Promise<void> {
  let left = BURST
  const one = async () => {
    while (left-- > 0) await call(server, '/api/notes', { body: { ...note, content }, token })
  }
  await Promise.all(Array.from({ length: 16 }, one))
}
