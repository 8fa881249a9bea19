/** Copies of what a user sees: against PouchDB from express-pouchdb, single changes by the web API, and itself. */
import { join } from 'node:path'
import { Client } from '../../../cli/api/client.ts'
import { memoryCredentials } from '../../../cli/api/profiles.ts'
import { Copy } from '../../../cli/copy/copy.ts'
import { exchangeWithServer, pullChanges, pushChanges, registerDevice } from '../../../cli/copy/exchange.ts'
import { loadConfig } from '../../../src/config.ts'
import { openDatabase } from '../../../src/db/index.ts'
import { createLog } from '../../../src/log.ts'
import { type Bench, compare, median, type Part, type Row, ratioOf, WARM_UP_SECONDS } from '../part.ts'
import { type Pouch, pouchDb, type Took } from '../pouchdb.ts'
import { cpuSeconds, forgetPeak, type Process, peakRssMb, rate, rssMb } from '../processes.ts'
import { call, createWorld, emptyEnv, newFolder, serve, type World } from '../world.ts'

const RECORDS = 10_000
const MANY = 100_000
const CHANGED = 100
const EDITS = 500
const DEVICES = 4

export const part: Part = async function* (bench) {
  const pouch = await pouchDb(RECORDS)
  for (const database of bench.databases) {
    const world = await createWorld({ ...(await emptyEnv(database)), EMBEDDINGS: 'off' })
    await fill(world, RECORDS - 200)
    const server = await serve(world.env)
    yield* copies(bench, database, server, world, pouch)
    yield* pushes(bench, database, server, world)
    yield* writes(bench, database, server, world)
    await server.stop()
    await fill(world, MANY - RECORDS)
    yield await exported(database, world)
  }
  await pouch.server.stop()
}

/** Adds notes of the team by SQL. No server may run on an embedded database meanwhile. */
async function fill({ env, noteId }: World, count: number): Promise<void> {
  const config = loadConfig({ env: { ...env, DB_STATEMENT_TIMEOUT_MS: '600000' } })
  const driver = await openDatabase(config, createLog('error'))
  const own = 'organization_id, created_by_id, project_id, content, tags, links, scope, pinned, mentions, version'
  await driver.query(
    `insert into notes (id, created_at, updated_at, title, slug, ${own})
      select gen_random_uuid(), now(), now(), 'Note ' || n, gen_random_uuid()::text, ${own}
      from notes, generate_series(1, $2::int) n where id = $1`,
    [noteId, count],
    { timeout: 0 },
  )
  await driver.exec('vacuum analyze notes')
  await driver.close()
}

/** Runs something here against a server, and returns how long it took. */
async function timed({ pid }: Process, work: () => Promise<unknown>): Promise<Took> {
  const [from, here, there] = [performance.now(), process.cpuUsage(), cpuSeconds(pid)]
  await work()
  const { user, system } = process.cpuUsage(here)
  return { ms: performance.now() - from, cpuMs: (user + system) / 1000 + (cpuSeconds(pid) - there) * 1000 }
}

/** A computer of the user, with a copy of its own. */
class Device {
  readonly copy: Copy
  readonly client: Client

  constructor(
    private readonly server: Process,
    { token, userId }: World,
  ) {
    const path = join(newFolder(), 'copy.sqlite')
    this.copy = new Copy({ server: server.url, userId }, path)
    this.client = new Client(server.url, memoryCredentials({ token }))
  }

  firstSync = (): Promise<Took> => timed(this.server, () => exchangeWithServer(this.copy, this.client))
  pull = (): Promise<Took> => timed(this.server, () => pullChanges(this.copy, this.client))

  /** Removes the copy and the device. */
  async end(): Promise<void> {
    await this.client.request('DELETE', `/api/sync/devices/${this.copy.get('deviceId')}`)
    this.copy.delete()
  }
}

const seconds = ({ ms, cpuMs }: Took): string => `${(ms / 1000).toFixed(2)} s, CPU ${(cpuMs / 1000).toFixed(2)} s`
const middle = (list: Took[]): Took => ({
  ms: median(list.map(({ ms }) => ms)),
  cpuMs: median(list.map(({ cpuMs }) => cpuMs)),
})

async function* copies(
  { rounds }: Bench,
  database: string,
  server: Process,
  world: World,
  pouch: Pouch,
): AsyncIterable<Row> {
  const [first, theirs, later]: [Took[], Took[], Took[]] = [[], [], []]
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const device = new Device(server, world)
    const ours = await device.firstSync()
    const peer = await pouch.firstSync()
    const notes = device.copy.list('note')
    if (notes.length < RECORDS) throw new Error(`${notes.length} notes were copied`)
    for (const { id } of notes.slice(round * CHANGED, (round + 1) * CHANGED))
      await device.client.request('PUT', `/api/notes/${id}`, { title: `Changed ${round}` })
    const next = await device.pull()
    if (device.copy.list('note', "r ->> 'title' = ?", `Changed ${round}`).length !== CHANGED)
      throw new Error('not all changes were pulled')
    await device.end()
    if (round === 0) continue
    first.push(ours)
    theirs.push(peer)
    later.push(next)
  }
  const ms = (list: Took[]) => list.map((took) => took.ms)
  yield {
    what: `first sync of ${RECORDS} records, ${database}`,
    ours: seconds(middle(first)),
    against: `PouchDB ${seconds(middle(theirs))}`,
    ratio: ratioOf(ms(first), ms(theirs)),
    bar: { most: 0.5 },
  }
  yield {
    what: `pull of ${CHANGED} changed of ${RECORDS}, ${database}`,
    ours: seconds(middle(later)),
    against: `first sync ${seconds(middle(first))}`,
    ratio: ratioOf(ms(later), ms(first)),
    bar: { most: 0.05 },
  }
}

/** Edits of a device in one push, against as many single changes on one connection: CPU time of the server. */
async function* pushes({ rounds }: Bench, database: string, server: Process, world: World): AsyncIterable<Row> {
  const device = new Device(server, world)
  await device.firstSync()
  const { copy, client } = device
  const ids = copy.list('note').map(({ id }) => id)
  const cost = async (work: () => Promise<unknown>): Promise<number> => {
    const before = cpuSeconds(server.pid)
    await work()
    return ((cpuSeconds(server.pid) - before) * 1000) / EDITS
  }
  const [pushed, single]: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    const some = ids.slice(round * EDITS, (round + 1) * EDITS)
    copy.change(() => {
      for (const id of some) copy.update('note', id, { title: `Pushed ${round}` })
    })
    const together = await cost(() => pushChanges(copy, client))
    const alone = await cost(async () => {
      for (const id of some) await client.request('PUT', `/api/notes/${id}`, { title: `Single ${round}` })
    })
    await pullChanges(copy, client)
    if (round === 0) continue
    pushed.push(together)
    single.push(alone)
  }
  await device.end()
  yield {
    what: `push of ${EDITS} edits, ${database}`,
    ours: `${median(pushed).toFixed(2)} ms of CPU each`,
    against: `single changes ${median(single).toFixed(2)} ms`,
    // As many in the same time.
    ratio: ratioOf(single, pushed),
    bar: { least: 0.8 },
  }
}

/** What copies cost those who write: the feed is the table of events, so it should be nothing. */
async function* writes({ seconds }: Bench, database: string, server: Process, world: World): AsyncIterable<Row> {
  const body = JSON.stringify({ title: 'bench', content: 'x'.repeat(500), scope: 'team' })
  const post = async (length: number) => {
    const before = cpuSeconds(server.pid)
    const perSecond = await rate(`${server.url}/api/notes`, length, { token: world.token, body })
    return ((cpuSeconds(server.pid) - before) * 1000) / (perSecond * length)
  }
  const devices: Device[] = []
  const withDevices = async (length: number) => {
    while (devices.length < DEVICES) {
      const device = new Device(server, world)
      await registerDevice(device.copy, device.client)
      devices.push(device)
    }
    return post(length)
  }
  const without = async (length: number) => {
    for (const device of devices.splice(0)) await device.end()
    return post(length)
  }
  const found = await compare({ seconds, rounds: 9 }, { ours: withDevices, without })
  for (const device of devices) await device.end()
  yield {
    what: `POST a note while ${DEVICES} devices sync, ${database}`,
    ours: `${median(found.ours).toFixed(2)} ms of CPU`,
    against: `without devices ${median(found.without).toFixed(2)} ms`,
    // As many in the same time.
    ratio: ratioOf(found.without, found.ours),
    bar: { least: 0.98 },
  }
}

async function exported(database: string, world: World): Promise<Row> {
  const server = await serve(world.env)
  const read = async (path: string): Promise<number> => {
    const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${world.token}` } })
    let lines = 0
    for await (const chunk of response.body as ReadableStream<Uint8Array>)
      for (const byte of chunk) if (byte === 10) lines++
    return lines
  }
  const { slug } = (await call<{ items: { slug: string }[] }>(server, '/api/projects', { token: world.token })).items[0] as { slug: string } // biome-ignore format: one read
  // As before every measurement: a server that has just started takes memory for the first load of any kind.
  await rate(`${server.url}/api/notes?limit=50`, WARM_UP_SECONDS, { token: world.token })
  await read(`/api/sync/export?format=ndjson&project=${slug}`)
  await Bun.sleep(1000)
  const before = rssMb(server.pid)
  forgetPeak(server.pid)
  const lines = await read('/api/sync/export?format=ndjson')
  const more = peakRssMb(server.pid) - before
  await server.stop()
  if (lines < MANY) throw new Error(`only ${lines} lines were exported`)
  return {
    what: `memory of an export of ${MANY} records, ${database}`,
    ours: `+ ${more.toFixed(0)} MB RSS`,
    value: more,
    bar: { most: 50, unit: 'MB' },
  }
}
