/** The hub for those who are behind: a thousand that come back at once, and a hundred that do not read. */
import { connect, type Socket } from 'node:net'
import { bareOf } from '../bare-process.ts'
import { noteBody, ourSide, type Side } from '../hub-sides.ts'
import { EACH, type Ear, listen, percentile, socketUrl } from '../listeners.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { cpuSeconds, forgetPeak, type Process, peakRssMb, rssMb } from '../processes.ts'
import { call, serve, twin, type World } from '../world.ts'

const MANY = 1000
const MISSED = 500
const MUTE = 100
const EVENTS = 10_000
const AT_ONCE = 16

type OurSide = Awaited<ReturnType<typeof ourSide>>

export const part: Part = async function* (bench) {
  for (const database of bench.databases) {
    const world = await bench.world(database)
    const env = twin(world)
    const server = await serve(env)
    const ours = await ourSide(server, world, env, MANY)
    yield await resumed(bench, database, world, ours)
    const other = twin(world)
    const alone = await serve(other)
    // Two servers on one Postgres have the same keys.
    const side = other.DATABASE_URL
      ? { ...ours, server: alone, say: () => call(alone, '/api/notes', { body: noteBody, token: world.token }) }
      : await ourSide(alone, world, other, MANY)
    yield* muted(bench, database, world, ours, side)
    await server.stop()
    await alone.stop()
  }
}

/** Creates notes, some at a time. */
async function write({ url }: Process, { token }: World, count: number): Promise<void> {
  let left = count
  const one = async () => {
    while (left-- > 0) await call({ url }, '/api/notes', { body: noteBody, token })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

/** CPU time of a thousand clients that catch up, against as many bare reads of the same rows. */
async function resumed({ rounds }: Bench, database: string, world: World, { server, ears }: OurSide): Promise<Row> {
  const bare = await bareOf(world, twin(world))
  const [ours, selects]: [number[], number[]] = [[], []]
  const cursor = await cursorAt(server, ears[0] as Ear)
  await write(server, world, MISSED)
  const cost = async ({ pid }: Process, work: () => Promise<unknown>): Promise<number> => {
    const before = cpuSeconds(pid)
    await work()
    return cpuSeconds(pid) - before
  }
  for (let round = 0; round <= rounds; round++) {
    const found = await cost(server, () => comeBack(server, ears, cursor))
    const read = await cost(bare, async () => {
      for (let i = 0; i < MANY; i += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, () => fetch(`${bare.url}/events`).then((r) => r.text())))
    })
    if (round === 0) continue
    ours.push(found)
    selects.push(read)
  }
  await bare.stop()
  return {
    what: `${MANY} resume ${MISSED} events back, ${database}`,
    ours: `${median(ours).toFixed(1)} s of CPU`,
    against: `bare selects ${median(selects).toFixed(1)} s`,
    ratio: ratioOf(ours, selects),
    bar: { most: 3 },
  }
}

async function cursorAt(server: Process, { token }: Ear): Promise<string> {
  const answer = await fetch(`${server.url}/api/events`, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  })
  return ((await answer.json()) as { cursor: string }).cursor
}

/** Opens all sockets with the cursor and waits until each has had every missed event once. */
async function comeBack(server: Process, ears: readonly Ear[], cursor: string): Promise<void> {
  const one = (i: number) =>
    new Promise<void>((resolve, reject) => {
      const { token, topic } = ears[Math.floor(i / EACH)] as Ear
      const socket = new WebSocket(socketUrl(server, '/api/ws'), { headers: { authorization: `Bearer ${token}` } })
      const ids = new Set<string>()
      let events = 0
      socket.onerror = () => reject(new Error(`socket ${i} was refused`))
      socket.onmessage = ({ data }) => {
        const { op, id } = JSON.parse(String(data)) as { op?: string; id: string }
        if (op === 'hello') return socket.send(JSON.stringify({ op: 'subscribe', topics: [topic], cursor }))
        if (op === undefined) {
          events++
          ids.add(id)
        }
        if (op !== 'ready') return
        socket.terminate()
        if (events === MISSED && ids.size === MISSED) resolve()
        else reject(new Error(`socket ${i} had ${events} events, ${ids.size} different ones`))
      }
    })
  await Promise.all(Array.from({ length: MANY }, (_, i) => one(i)))
}

/** What clients that do not read cost in memory, and others in time. */
async function* muted(bench: Bench, database: string, world: World, ours: OurSide, alone: OurSide): AsyncIterable<Row> {
  const { server, ears } = ours
  const both = [server, alone.server]
  for (const one of both) await write(one, world, EVENTS)
  const mute = await Promise.all(Array.from({ length: MUTE }, (_, i) => deaf(server, ears[Math.floor(i / 10)] as Ear)))
  const delay = async (side: Side, others: readonly Ear[]) => {
    const listeners = await listen(socketUrl(side.server, '/api/ws'), EACH, others)
    return async (seconds: number) => {
      const delays: number[] = []
      for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
        const heard = listeners.next(1)
        const from = performance.now()
        await side.say()
        delays.push(percentile(await heard, 0.99) - from)
      }
      return percentile(delays, 0.99)
    }
  }
  const found = await compare(
    { ...bench, seconds: 2 },
    { ours: await delay(ours, ears.slice(50)), alone: await delay(alone, alone.ears.slice(50)) },
  )
  // Writing as much makes a server grow by itself, so the other one does the same without them.
  const grown: number[] = []
  for (const one of both) {
    const before = rssMb(one.pid)
    forgetPeak(one.pid)
    await write(one, world, EVENTS)
    grown.push(peakRssMb(one.pid) - before)
  }
  for (const socket of mute) socket.destroy()
  const [withThem = 0, without = 0] = grown
  yield {
    what: `${MUTE} sockets that do not read ${EVENTS} events, ${database}`,
    ours: `+ ${withThem.toFixed(0)} MB RSS`,
    against: `without them + ${without.toFixed(0)} MB`,
    value: withThem - without,
    bar: { most: 60, unit: 'MB' },
  }
  yield {
    what: `others beside ${MUTE} that do not read, p99, ${database}`,
    ours: `${median(found.ours).toFixed(1)} ms`,
    against: `without them ${median(found.alone).toFixed(1)} ms`,
    ratio: ratioOf(found.ours, found.alone),
    bar: { most: 1.2 },
  }
}

/** A socket that subscribes and then reads nothing. */
async function deaf(server: Process, { token, topic }: Ear): Promise<Socket> {
  const { port, host } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
  socket.write(
    `GET /api/ws HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
      `Authorization: Bearer ${token}\r\n\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  const message = Buffer.from(JSON.stringify({ op: 'subscribe', topics: [topic] }))
  // One text frame with a mask of zeros.
  socket.write(Buffer.concat([Buffer.of(0x81, 0x80 | message.length, 0, 0, 0, 0), message]))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  return socket
}
