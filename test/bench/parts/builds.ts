import { type Bench, compare, type DatabaseName, median, type Part, type Row, ratioOf } from '../part.ts'
import { cpuPerCall, type Process, rate, rssMb } from '../processes.ts'
import { sseCalls } from '../sse-load.ts'
import { createWorld, emptyEnv, serve, twin, type World } from '../world.ts'

interface Build {
  program: string | undefined
  world: World
}

const body = JSON.stringify({ title: 'bench', content: 'x'.repeat(500), scope: 'team' })

/** This build against an older one, whose binary OLD_BUILD names; nothing without it. Each has its own data. */
export const part: Part = async function* (bench) {
  const { OLD_BUILD } = process.env
  if (!OLD_BUILD) return
  for (const database of bench.databases) {
    const old = { program: OLD_BUILD, world: await createWorld(await emptyEnv(database), OLD_BUILD) }
    const ours = { program: undefined, world: await createWorld(await emptyEnv(database)) }
    yield* starts(bench, database, ours, old)
    yield* requests(bench, database, ours, old)
  }
}

/** From the start of the process to the first answer of `/health`, and its memory 20 s later. */
async function* starts(bench: Bench, database: DatabaseName, ...builds: [Build, Build]): AsyncGenerator<Row> {
  const ms: [number[], number[]] = [[], []]
  const mb: [number[], number[]] = [[], []]
  for (let round = 0; round < bench.rounds; round++)
    for (const [i, { program, world }] of builds.entries()) {
      const begun = performance.now()
      const server = await serve({ ...twin(world), EMBEDDINGS: 'off' }, program)
      if (!(await fetch(`${server.url}/health`)).ok) throw new Error('not healthy')
      ms[i]?.push(performance.now() - begun)
      await Bun.sleep(20_000)
      mb[i]?.push(rssMb(server.pid))
      await server.stop()
    }
  yield row(`start on existing data, ${database}`, ms, 'ms', { most: 1 })
  yield row(`memory 20 s after the start, ${database}`, mb, 'MB', { most: 1 })
}

async function* requests(bench: Bench, database: DatabaseName, ours: Build, old: Build): AsyncGenerator<Row> {
  const [one, other] = [await running(ours), await running(old)]
  const both = async (
    side: (server: Running) => (seconds: number) => Promise<number>,
  ): Promise<[number[], number[]]> => {
    const found = await compare(bench, { one: side(one), other: side(other) })
    return [found.one, found.other]
  }
  yield row(`GET one note, ${database}`, await both(reads), '/s', { least: 1 })
  yield row(`MCP: read a task over SSE, server CPU, ${database}`, await both(calls), 'µs', { most: 1 })
  // The last, because new notes are indexed for a while.
  yield row(`POST a note, ${database}`, await both(creates), '/s', { least: 1 })
  await one.server.stop()
  await other.server.stop()
}

interface Running {
  server: Process
  world: World
}

const running = async ({ program, world }: Build): Promise<Running> => ({
  server: await serve({ ...twin(world), EMBEDDINGS: 'off' }, program),
  world,
})

const reads =
  ({ server, world }: Running) =>
  (seconds: number) =>
    rate(`${server.url}/api/notes/${world.noteId}`, seconds, { token: world.token })

const creates =
  ({ server, world }: Running) =>
  (seconds: number) =>
    rate(`${server.url}/api/notes`, seconds, { token: world.token, body })

const calls =
  ({ server, world }: Running) =>
  (seconds: number) => {
    const tool = { name: 'get_task', arguments: { task: world.taskId } }
    return cpuPerCall(server, (until) => sseCalls(server.url, world.tokens[0], tool, until), seconds)
  }

const row = (what: string, [ours, old]: [number[], number[]], unit: string, bar: Row['bar']): Row => ({
  what: `${what}, against an older build`,
  ours: `${median(ours).toFixed(0)} ${unit}`,
  against: `older ${median(old).toFixed(0)} ${unit}`,
  ratio: ratioOf(ours, old),
  bar,
})
