import type { Part } from '../part.ts'
import { streamCost } from '../streams.ts'
import { serve } from '../world.ts'

/** What an open SSE stream costs in memory. */
export const part: Part = async function* (bench) {
  if (!bench.databases.includes('Postgres')) return
  const world = await bench.world('Postgres')
  const server = await serve(world.env)
  const tool = { name: 'get_task', arguments: { task: world.taskId } }
  const { kb, streams, leftMb } = await streamCost(server, world.tokens, tool)
  await server.stop()
  yield {
    what: `${streams} SSE streams, Postgres`,
    ours: `${kb.toFixed(0)} KB each`,
    against: `${leftMb.toFixed(1)} MB after closing`,
    value: kb,
    bar: { most: 60, unit: 'KB' },
  }
}
