import { join } from 'node:path'
import { type Bench, compare, median, type Part, ratioOf } from '../part.ts'
import { cpuPerCall, start } from '../processes.ts'
import { restReads, sseCalls } from '../sse-load.ts'
import { serve, type World } from '../world.ts'

/** One task, read by its id: over SSE, over SSE from the usual Node server, and by REST. Figures are server CPU. */
export const part: Part = async function* (bench) {
  if (!bench.databases.includes('Postgres')) return
  const world = await bench.world('Postgres')
  const found = await measure(bench, world)
  const what = 'MCP: read a task over SSE, server CPU, Postgres'
  const ours = `${median(found.ours).toFixed(0)} µs`
  yield {
    what,
    ours,
    against: `Node + Express + SDK ${median(found.node).toFixed(0)} µs`,
    ratio: ratioOf(found.ours, found.node),
    bar: { most: 0.35 },
  }
  yield {
    what: `${what}, against REST`,
    ours,
    against: `the same read by REST ${median(found.rest).toFixed(0)} µs`,
    ratio: ratioOf(found.ours, found.rest),
    bar: { most: 1.2 },
  }
}

async function measure(bench: Bench, world: World) {
  const tool = { name: 'get_task', arguments: { task: world.taskId } }
  const ours = await serve(world.env)
  const command = ['node', join(import.meta.dir, '../node-mcp.mjs'), JSON.stringify(await statementsOf(world))]
  const node = await start(command, { DATABASE_URL: world.env.DATABASE_URL })
  const found = await compare(bench, {
    ours: (seconds) => cpuPerCall(ours, (until) => sseCalls(ours.url, world.tokens[0], tool, until), seconds),
    node: (seconds) => cpuPerCall(node, (until) => sseCalls(node.url, undefined, tool, until), seconds),
    rest: (seconds) =>
      cpuPerCall(ours, (until) => restReads(`${ours.url}/api/tasks/${world.taskId}`, world.token, until), seconds),
  })
  await ours.stop()
  await node.stop()
  return found
}

/** The statements that read a task, for the Node baseline: found where the product runs them. */
async function statementsOf({ env, userId, taskId }: World): Promise<unknown[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../record.ts'), userId, taskId], {
    env: { PATH: process.env.PATH, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  return JSON.parse(await new Response(child.stdout).text()) as unknown[]
}
