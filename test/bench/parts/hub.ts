/** The hub, against `ws` on Node, Nchan and a bare `Bun.serve` that inserts the same rows and publishes. */
import { join } from 'node:path'
import { bareOf } from '../bare-process.ts'
import { IDLE, noteBody, otherSide, ourSide, type Side } from '../hub-sides.ts'
import { type Listeners, percentile } from '../listeners.ts'
import { nchan } from '../nchan.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { loopSeconds, type Process, rate, rssMb, start } from '../processes.ts'
import { serve, twin, type World } from '../world.ts'

const MANY = 1000
const WRITES_PER_SECOND = 100

export const part: Part = async function* (bench) {
  for (const database of bench.databases) {
    const world = await bench.world(database)
    const env = twin(world)
    const ours = await serve(env)
    const bare = await bareOf(world, twin(world))
    const node = await start(['node', join(import.meta.dir, '../node-ws.mjs')], {})
    const nginx = await nchan()
    const sides = {
      ours: await ourSide(ours, world, env),
      bare: otherSide(bare),
      ws: otherSide(node),
      ...(nginx && { nchan: otherSide(nginx) }),
    }
    if (!nginx) console.log('LEFT OUT: Nchan (Debian: libnginx-mod-nchan)')
    if (database === bench.databases[0]) yield* idle(sides)
    yield* fanOut(bench, database, sides)
    yield* whileMany(bench, database, world, sides)
    for (const server of [ours, bare, node, nginx]) await server?.stop()
  }
}

/** What an open, subscribed socket costs in memory. */
async function* idle({ ours, ws, nchan }: { ours: Side; ws: Side; nchan?: Side }): AsyncIterable<Row> {
  const cost = async ({ server, open }: Side): Promise<number> => {
    ;(await open(MANY)).close()
    await Bun.sleep(2000)
    const before = rssMb(server.pid)
    const listeners = await open(IDLE)
    await Bun.sleep(2000)
    const kb = ((rssMb(server.pid) - before) * 1024) / IDLE
    listeners.close()
    return kb
  }
  const kb = await cost(ours)
  for (const [name, side] of Object.entries({ ws, nchan })) {
    if (!side) continue
    const other = await cost(side)
    yield {
      what: `${IDLE} idle subscribed sockets, against ${name}`,
      ours: `${kb.toFixed(1)} KB each`,
      against: `${name} ${other.toFixed(1)} KB`,
      ratio: kb / other,
      bar: { most: 0.6 },
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

const EVENTS = 50

/** How long the event loop works for one note and its event: at least as long as it is blocked at a time. */
async function blocked(database: string, { server, say }: Side, listeners: Listeners): Promise<Row> {
  const before = loopSeconds(server.pid)
  for (let i = 0; i < EVENTS; i++) {
    const heard = listeners.next(1)
    await say()
    await heard
  }
  const ms = ((loopSeconds(server.pid) - before) * 1000) / EVENTS
  return {
    what: `event loop for 1 event to ${MANY} sockets, ${database}`,
    ours: `${ms.toFixed(1)} ms`,
    value: ms,
    bar: { most: 10, unit: 'ms' },
  }
}

/** What a thousand listeners cost those who write. */
async function* whileMany(
  bench: Bench,
  database: string,
  world: World,
  { ours, bare }: Record<string, Side>,
): AsyncIterable<Row> {
  if (!ours || !bare) return
  const received = async ({ open, say }: Side): Promise<(seconds: number) => Promise<number>> => {
    const listeners = await open(MANY)
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
  const delay = await compare(bench, { ours: await received(ours), bare: await received(bare) })
  yield {
    what: `POST to received by ${MANY}, p99, ${database}`,
    ours: `${median(delay.ours).toFixed(1)} ms`,
    against: `bare ${median(delay.bare).toFixed(1)} ms`,
    ratio: ratioOf(delay.ours, delay.bare),
    bar: { most: 2 },
  }
  const alone = await serve(twin(world))
  const loop: Record<'ours' | 'alone', number[]> = { ours: [], alone: [] }
  const post =
    (side: 'ours' | 'alone', { url, pid }: Process) =>
    async (seconds: number) => {
      const before = loopSeconds(pid)
      const perSecond = await rate(`${url}/api/notes`, seconds, { token: world.token, body: JSON.stringify(noteBody) })
      loop[side].push(((loopSeconds(pid) - before) / (perSecond * seconds)) * 1000)
      return perSecond
    }
  const writes = await compare(bench, { ours: post('ours', ours.server), alone: post('alone', alone) })
  await alone.stop()
  // The listeners take time of the same cores, which the rate above pays for and this does not.
  yield {
    what: `event loop for a POST while ${MANY} listen, ${database}`,
    ours: `${median(loop.ours).toFixed(2)} ms`,
    against: `nobody listens ${median(loop.alone).toFixed(2)} ms`,
    ratio: ratioOf(loop.ours, loop.alone),
  }
  yield {
    what: `POST a note while ${MANY} listen, ${database}`,
    ours: `${median(writes.ours).toFixed(0)}/s`,
    against: `nobody listens ${median(writes.alone).toFixed(0)}/s`,
    ratio: ratioOf(writes.ours, writes.alone),
    bar: { least: 0.9 },
  }
}
