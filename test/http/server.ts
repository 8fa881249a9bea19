import { createApp } from '../../src/app.ts'
import type { Driver } from '../../src/db/driver.ts'
import { startHttp } from '../../src/server/server.ts'
import type { TestApp } from '../support/app.ts'

/** A second server on the database of the first, through a driver that the test controls. */
export async function serverOver(t: TestApp, hands: Partial<Driver>): Promise<TestApp> {
  const driver = new Proxy(t.app.driver, {
    get: (target, name) =>
      name === 'close' ? async () => undefined : (hands[name as keyof Driver] ?? Reflect.get(target, name, target)),
  })
  const app = await createApp(t.app.config, { driver, log: t.app.log, background: false })
  const server = startHttp(app, { checkAnswers: true })
  return {
    app,
    server,
    url: `http://127.0.0.1:${server.port}`,
    close: async () => {
      await server.stop(100)
      await app.close()
    },
  }
}
