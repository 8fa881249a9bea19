import type { Part } from '../part.ts'
import { cpuSeconds, peakRssMb, rate, rssMb } from '../processes.ts'
import { serve, twin } from '../world.ts'

const MOST = { embedded: 180, Postgres: 100 }

/** Memory 60 s after the start without the model, CPU time while idle, and the most memory under load. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) {
    const world = await bench.world(database)
    // With the model on, it stays in memory for five minutes after its last text.
    const server = await serve({ ...twin(world), EMBEDDINGS: 'off' })
    await Bun.sleep(60_000)
    const idle = rssMb(server.pid)
    const before = cpuSeconds(server.pid)
    await Bun.sleep(10_000)
    const cpu = (cpuSeconds(server.pid) - before) / 10
    yield {
      what: `memory 60 s after the start, ${database}`,
      ours: `${idle.toFixed(0)} MB RSS`,
      // A thread that ends meanwhile takes its time with it: a negative figure is none.
      against: cpu < 0 ? undefined : `${(cpu * 100).toFixed(2)} % CPU`,
      value: idle,
      bar: { most: MOST[database], unit: 'MB' },
    }
    const body = JSON.stringify({ title: 'bench', content: 'x'.repeat(500), scope: 'team' })
    for (let round = 0; round < bench.rounds; round++) {
      await rate(`${server.url}/api/notes?limit=50`, bench.seconds, { token: world.token })
      await rate(`${server.url}/api/notes`, bench.seconds, { token: world.token, body })
    }
    const peak = peakRssMb(server.pid)
    await server.stop()
    yield {
      what: `most memory under load, ${database}`,
      ours: `${peak.toFixed(0)} MB RSS`,
      value: peak,
      bar: { most: 300, unit: 'MB' },
    }
  }
}
