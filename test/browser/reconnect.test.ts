import { expect } from 'bun:test'
import { folder, freePort, type Served, serve } from '../support/binary.ts'
import { allowing } from '../support/timing.ts'
import { isLive, thorough, Visitor } from './support.ts'

const RESTARTS = 5

thorough(
  'a page is live again within two seconds after a restarted server is ready, in the median',
  async () => {
    const options = { dir: folder(), port: String(await freePort()) }
    let served: Served = await serve(options)
    const ada = await Visitor.open({ at: { url: served.url, output: () => served.output() } })
    try {
      await ada.register('Ada')
      await ada.goto('/projects')
      await isLive(ada)
      const delays: number[] = []
      for (let i = 0; i < RESTARTS; i++) {
        await served.kill()
        await ada.page.getByText('Offline. Reconnecting…').waitFor()
        served = await serve(options)
        const readyAt = performance.now()
        await isLive(ada)
        delays.push(performance.now() - readyAt)
      }
      const median = delays.sort((a, b) => a - b)[Math.floor(RESTARTS / 2)] as number
      expect(median).toBeLessThan(allowing(2000))
    } finally {
      await ada.context.close()
      await served.stop()
    }
  },
  300_000,
)
