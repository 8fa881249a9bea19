/**
 * Several instances on one Postgres: three behind HAProxy against one, all on the same cores; how soon one hears of
 * what another wrote; and what PgBouncer costs Tutti. HAProxy and PgBouncer are those of `test/support/cluster.sh`.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { startPooler } from '../../cluster/pooler.ts'
import { Programs } from '../../cluster/programs.ts'
import { startProxy } from '../../cluster/proxy.ts'
import { noteBody } from '../hub-sides.ts'
import { listen, percentile, socketUrl } from '../listeners.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { cpuSeconds, type Process, rate } from '../processes.ts'
import { call, newFolder, serve, type World } from '../world.ts'

export const part: Part = async function* (bench) {
  if (!bench.databases.includes('Postgres') || process.getuid?.() !== 0) {
    console.log('LEFT OUT: several instances need Postgres, and root for the programs of Debian')
    return
  }
  const world = await bench.world('Postgres')
  const programs = await Programs.create()
  try {
    const one = await start(world)
    yield* behindProxy(bench, world, programs, one)
    yield* throughPooler(bench, world, programs, one)
    await one.stop()
  } finally {
    await programs.stop()
  }
}

const REQUESTS: { what: string; path: string; body?: string }[] = [
  { what: 'list 50 notes', path: '/api/notes?limit=50' },
  { what: 'create a note', path: '/api/notes', body: JSON.stringify(noteBody) },
]

/** An instance with a folder of its own, and the secret that all instances share. */
function start({ env }: World, more: World['env'] = {}): Promise<Process> {
  const folder = newFolder()
  copyFileSync(join(env.DATA_DIR as string, 'secret'), join(folder, 'secret'))
  return serve({ ...env, DATA_DIR: folder, ...more })
}

async function* behindProxy(bench: Bench, world: World, programs: Programs, one: Process): AsyncIterable<Row> {
  const three = [await start(world), await start(world), await start(world)] as const
  const ports = three.map(({ url }) => Number(new URL(url).port))
  const proxy = await startProxy(programs, { instances: ports, balance: 'roundrobin' })
  const { token } = world
  for (const { what, path, body } of REQUESTS) {
    const found = await compare(bench, {
      three: (seconds) => rate(proxy.url + path, seconds, { token, body }),
      one: (seconds) => rate(one.url + path, seconds, { token, body }),
    })
    yield {
      what: `${what}, 3 instances behind HAProxy`,
      ours: `${median(found.three).toFixed(0)}/s`,
      against: `one direct ${median(found.one).toFixed(0)}/s`,
      ratio: ratioOf(found.three, found.one),
      bar: { least: 0.9 },
    }
  }
  yield await heardElsewhere(bench, world, three[0], three[1])
  for (const instance of three) await instance.stop()
}

const WRITES_PER_SECOND = 20

/** How long after the answer to a write a listener of another instance hears of it. */
async function heardElsewhere({ seconds, rounds }: Bench, { token }: World, from: Process, to: Process): Promise<Row> {
  const { id } = await call<{ id: string }>(from, '/api/team', { token })
  const listeners = await listen(socketUrl(to, '/api/ws'), 1, [{ token, topic: `organization:${id}` }])
  const delays: number[] = []
  for (let n = 0; n < seconds * rounds * WRITES_PER_SECOND; n++) {
    const heard = listeners.next(1)
    await call(from, '/api/notes', { body: noteBody, token })
    const answered = performance.now()
    delays.push(Math.max(0, ((await heard)[0] as number) - answered))
    await Bun.sleep(1000 / WRITES_PER_SECOND)
  }
  listeners.close()
  const value = percentile(delays, 0.99)
  return {
    what: 'event to another instance after the write, p99',
    ours: `${value.toFixed(0)} ms (median ${median(delays).toFixed(0)})`,
    value,
    bar: { most: 50, unit: 'ms' },
  }
}

async function* throughPooler(bench: Bench, world: World, programs: Programs, direct: Process): AsyncIterable<Row> {
  const database = world.env.DATABASE_URL as string
  // As the manual advises; otherwise limits are set in every transaction.
  const name = new URL(database).pathname.slice(1)
  await using on = new SQL(database, { max: 1 })
  for (const limit of ['statement_timeout = 5000', 'idle_in_transaction_session_timeout = 30000', 'jit = off'])
    await on.unsafe(`alter database "${name}" set ${limit}`)
  const url = await startPooler(programs, database, 'max_prepared_statements = 200')
  const pooled = await start(world, { DATABASE_URL: url, LISTEN_URL: database })
  for (const { what, path, body } of REQUESTS) {
    /** CPU milliseconds for a request. */
    const cost = (server: Process) => async (seconds: number) => {
      const before = cpuSeconds(server.pid)
      const requests = (await rate(server.url + path, seconds, { token: world.token, body })) * seconds
      return ((cpuSeconds(server.pid) - before) * 1000) / requests
    }
    const found = await compare(bench, { pooled: cost(pooled), direct: cost(direct) })
    yield {
      what: `${what}, CPU of Tutti through PgBouncer`,
      ours: `${median(found.pooled).toFixed(2)} ms`,
      against: `direct ${median(found.direct).toFixed(2)} ms`,
      ratio: ratioOf(found.pooled, found.direct),
      bar: { most: 1.1 },
    }
  }
  await pooled.stop()
}
