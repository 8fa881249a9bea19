import { type Bench, median, type Part, type Row, ratioOf } from '../part.ts'
import { call, serve, type World } from '../world.ts'

/** What the assistant adds to the time of a streamed answer, against the same answer from the model server itself. */
export const part: Part = async function* (bench) {
  const model = slowModel()
  try {
    for (const database of bench.databases) yield* streaming(bench, database, await bench.world(database), model)
  } finally {
    model.stop()
  }
}

/** As fast as a model of a few billion parameters on a processor, with an answer of some sentences: 5 s. */
const PIECES = 200
const PACE_MS = 25

interface Model {
  url: string
  /** What it was asked last: the prompt with its sources. */
  asked(): object
  stop(): void
}

/** A chat server that says one word after the other, at an even pace whatever the load. */
function slowModel(): Model {
  let asked = {}
  const line = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      asked = (await request.json()) as object
      const pieces = async function* () {
        const started = performance.now()
        for (let i = 1; i <= PIECES; i++) {
          await Bun.sleep(Math.max(0, started + i * PACE_MS - performance.now()))
          yield line({ choices: [{ index: 0, delta: { content: `word${i} ` }, finish_reason: null }] })
        }
        yield line({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
        yield line('[DONE]')
      }
      return new Response(pieces() as never, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/v1`, asked: () => asked, stop: () => void server.stop(true) }
}

async function* streaming(bench: Bench, database: string, world: World, model: Model): AsyncIterable<Row> {
  const ours = await serve({ ...world.env, CHAT_URL: model.url, CHAT_MODEL: 'slow' })
  const { id } = await call<{ id: string }>(ours, '/api/ai/sessions', { body: {}, token: world.token })
  const sides = {
    ours: () => timeOf(`${ours.url}/api/ai/sessions/${id}/messages`, { content: 'lorem ipsum' }, world.token),
    // The same prompt, with the same sources.
    direct: () => timeOf(`${model.url}/chat/completions`, model.asked()),
  }
  await sides.ours()
  await sides.direct()
  const found = { ours: [] as number[], direct: [] as number[] }
  for (let round = 0; round < bench.rounds; round++)
    for (const side of round % 2 ? (['direct', 'ours'] as const) : (['ours', 'direct'] as const))
      found[side].push(await sides[side]())
  yield {
    what: `a streamed answer of ${PIECES} words, ${database}`,
    ours: `${median(found.ours).toFixed(0)} ms`,
    against: `model server ${median(found.direct).toFixed(0)} ms`,
    ratio: ratioOf(found.ours, found.direct),
    bar: { most: 1.05 },
  }
  await ours.stop()
}

/** Returns the milliseconds until the last byte of a stream. */
async function timeOf(url: string, body: object, token?: string): Promise<number> {
  const started = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!text.includes(`word${PIECES}`)) throw new Error(`no whole answer: ${text.slice(0, 500)}`)
  return performance.now() - started
}
