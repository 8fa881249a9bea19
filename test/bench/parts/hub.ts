/** The hub, against `ws` on Node, Nchan and a bare `Bun.serve` that inserts the same rows and publishes. */
import { join } from 'node:path'
import { bareOf } from '../bare-process.ts'
import { IDLE, noteBody, otherSide, ourSide, type Side } from '../hub-sides.ts'
import { type Ear, type Listeners, percentile } from '../listeners.ts'
import { nchan } from '../nchan.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { loopSeconds, rate, settledRssMb, start } from '../processes.ts'
import { take } from '../takers.ts'
import { serve, twin, type World } from '../world.ts'

const MANY = 1000
const FEW = 100
const WRITES_PER_SECOND = 100

export const part: Part = async function* (bench) {
  for (const database of bench.databases) {
    const world = await bench.world(database)
    // The model of search would be loaded some time later, and counted as memory of sockets.
    const env = { ...twin(world), EMBEDDINGS: 'off' }
    const ours = await serve(env)
    const bare = await bareOf(world, twin(world))
    const node = await start(['node', '--expose-gc', join(import.meta.dir, '../node-ws.mjs')], {})
    const nginx = await nchan()
    const sides = {
      ours: await ourSide(ours, world, env),
      bare: otherSide(bare),
      ws: { ...otherSide(node), collect: () => fetch(`${node.url}/collect`) },
      ...(nginx && { nchan: otherSide(nginx) }),
    }
    if (!nginx) console.log('LEFT OUT: Nchan (Debian: libnginx-mod-nchan)')
    if (database === bench.databases[0]) yield* idle(sides)
    yield* fanOut(bench, database, sides)
    yield await received(bench, database, sides)
    yield* whileMany(bench, database, world, sides.ours)
    for (const server of [ours, bare, node, nginx]) await server?.stop()
  }
}

/**
 * What an open, subscribed socket costs in memory, once that has settled, about half a minute later. A few sockets before
 * leave no room that the many could use. Bun collects its garbage by itself by then, Node does not unless it is told to,
 * which nobody does; so the last row, for which it is told, has no bar.
 */
async function* idle({ ours, bare, ws, nchan }: Record<string, Side | undefined>): AsyncIterable<Row> {
  const cost = async ({ server, open, collect }: Side): Promise<number> => {
    const settled = async () => {
      await collect?.()
      return settledRssMb(server)
    }
    ;(await open(FEW)).close()
    const before = await settled()
    const listeners = await open(IDLE)
    const kb = (((await settled()) - before) * 1024) / IDLE
    listeners.close()
    return kb
  }
  const kb = await cost(ours as Side)
  const others = { bare, nchan, ws: ws && { ...ws, collect: undefined }, 'ws, told to collect its garbage': ws }
  for (const [name, side] of Object.entries(others)) {
    if (!side) continue
    const other = await cost(side)
    yield {
      what: `${IDLE} idle subscribed sockets, against ${name}`,
      ours: `${kb.toFixed(1)} KB each`,
      against: `${name} ${other.toFixed(1)} KB`,
      ratio: kb / other,
      ...((name === 'ws' || name === 'nchan') && { bar: { most: 0.6 } }),
    }
  }
}

const bars: Record<string, number> = { bare: 1.3, nchan: 1.1, ws: 0.8 }

/** How long one event takes from the first socket that hears it to 99 of 100. */
async function* fanOut(bench: Bench, database: string, sides: Record<string, Side>): AsyncIterable<Row> {
  const rooms = new Map<string, Listeners>()
  for (const [name, { open }] of Object.entries(sides)) rooms.set(name, await open(MANY))
  const found = await compare(
    bench,
    Object.fromEntries(
      Object.entries(sides).map(([name, { say }]) => [
        name,
        async (seconds: number) => {
          const spreads: number[] = []
          for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
            const heard = rooms.get(name)?.next(1)
            await say()
            const times = (await heard) ?? []
            spreads.push(percentile(times, 0.99) - Math.min(...times))
          }
          return median(spreads)
        },
      ]),
    ),
  )
  yield await blocked(database, sides.ours as Side, rooms.get('ours') as Listeners)
  for (const listeners of rooms.values()) listeners.close()
  for (const [name, most] of Object.entries(bars)) {
    const other = found[name]
    if (!other) continue
    yield {
      what: `1 event to ${MANY} sockets, ${database}, against ${name}`,
      ours: `${median(found.ours as number[]).toFixed(1)} ms`,
      against: `${name} ${median(other).toFixed(1)} ms`,
      ratio: ratioOf(found.ours as number[], other),
      bar: { most },
    }
  }
}

const EVENTS = 200

/**
 * How long others wait while one event goes to all: from the answer to the write until everybody has heard, a thread of
 * its own asks for something tiny again and again. The longest of these waits counts.
 */
async function blocked(database: string, { server, say }: Side, listeners: Listeners): Promise<Row> {
  const probe = new Worker(new URL('../probe.ts', import.meta.url))
  const ask = () =>
    new Promise<number>((resolve) => {
      probe.onmessage = ({ data }: MessageEvent<number>) => resolve(data)
      probe.postMessage(`${server.url}/health/live`)
    })
  for (let i = 0; i < EVENTS; i++) await ask()
  const waits: number[] = []
  const before = loopSeconds(server.pid)
  for (let i = 0; i < EVENTS; i++) {
    let isHeard = false
    const heard = listeners.next(1).then(() => {
      isHeard = true
    })
    await say()
    let longest = 0
    while (!isHeard) longest = Math.max(longest, await ask())
    waits.push(longest)
    await heard
  }
  const work = ((loopSeconds(server.pid) - before) * 1000) / EVENTS
  probe.terminate()
  const value = percentile(waits, 0.99)
  return {
    what: `others wait for 1 event to ${MANY} sockets, p99, ${database}`,
    ours: `${value.toFixed(1)} ms (median ${median(waits).toFixed(1)})`,
    against: `all of its work ${work.toFixed(1)} ms`,
    value,
    bar: { most: 10, unit: 'ms' },
  }
}

/** How long it takes from a write until a thousand have heard of it. */
async function received(bench: Bench, database: string, { ours, bare }: Record<'ours' | 'bare', Side>): Promise<Row> {
  const rooms: Listeners[] = []
  const side = async ({ open, say }: Side): Promise<(seconds: number) => Promise<number>> => {
    const listeners = await open(MANY)
    rooms.push(listeners)
    return async (seconds) => {
      const delays: number[] = []
      for (let i = 0; i < seconds * WRITES_PER_SECOND; i++) {
        const heard = listeners.next(1)
        const from = performance.now()
        await say()
        delays.push(percentile(await heard, 0.99) - from)
        await Bun.sleep(Math.max(0, 1000 / WRITES_PER_SECOND - (performance.now() - from)))
      }
      return percentile(delays, 0.99)
    }
  }
  const delay = await compare(bench, { ours: await side(ours), bare: await side(bare) })
  for (const listeners of rooms) listeners.close()
  return {
    what: `POST to received by ${MANY}, p99, ${database}`,
    ours: `${median(delay.ours).toFixed(1)} ms`,
    against: `bare ${median(delay.bare).toFixed(1)} ms`,
    ratio: ratioOf(delay.ours, delay.bare),
    bar: { most: 2 },
  }
}

/** What a thousand listeners cost those who write, on one server with and without them in turn. */
async function* whileMany(
  bench: Bench,
  database: string,
  { token }: World,
  { server, ears }: Side & { ears: Ear[] },
): AsyncIterable<Row> {
  const loop: Record<'many' | 'nobody', number[]> = { many: [], nobody: [] }
  const post = (side: 'many' | 'nobody') => async (seconds: number) => {
    const takers = side === 'many' ? await take(server, MANY, ears) : undefined
    const before = loopSeconds(server.pid)
    const perSecond = await rate(`${server.url}/api/notes`, seconds, { token, body: JSON.stringify(noteBody) })
    await takers?.settled()
    loop[side].push(((loopSeconds(server.pid) - before) / (perSecond * seconds)) * 1000)
    takers?.close()
    // The server notices that they have gone.
    await Bun.sleep(500)
    return perSecond
  }
  const writes = await compare(bench, { many: post('many'), nobody: post('nobody') })
  // The listeners take time of the same cores, which the rate pays for and this does not.
  yield {
    what: `event loop for a POST while ${MANY} listen, ${database}`,
    ours: `${median(loop.many).toFixed(2)} ms`,
    against: `nobody listens ${median(loop.nobody).toFixed(2)} ms`,
    ratio: ratioOf(loop.many, loop.nobody),
  }
  yield {
    what: `POST a note while ${MANY} listen, ${database}`,
    ours: `${median(writes.many).toFixed(0)}/s`,
    against: `nobody listens ${median(writes.nobody).toFixed(0)}/s`,
    ratio: ratioOf(writes.many, writes.nobody),
    bar: { least: 0.9 },
  }
}
