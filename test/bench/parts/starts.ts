import { median, type Part } from '../part.ts'
import type { Process } from '../processes.ts'
import { newFolder, serve, twin, type World } from '../world.ts'

async function healthy(env: World['env']): Promise<Process & { ms: number }> {
  const started = performance.now()
  const server = await serve(env)
  if (!(await fetch(`${server.url}/health`)).ok) throw new Error('not healthy')
  return { ...server, ms: performance.now() - started }
}

/** From the start of the process to the first answer of `/health`. */
export const part: Part = async function* (bench) {
  const world = await bench.world('embedded')
  const env = twin(world)
  const first: number[] = []
  const again: number[] = []
  for (let round = 0; round < bench.rounds * 2; round++)
    for (const [list, where] of [
      [first, { DATA_DIR: newFolder() }],
      [again, env],
    ] as const) {
      const server = await healthy(where)
      list.push(server.ms)
      await server.stop()
    }
  const row = (what: string, ms: number[], most: number) => ({
    what,
    ours: `${median(ms).toFixed(0)} ms`,
    value: median(ms),
    bar: { most, unit: 'ms' },
  })
  yield row('first start, empty folder to healthy', first, 3000)
  yield row('start on existing data, embedded', again, 700)
}
