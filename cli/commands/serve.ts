import { contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { system } from '../../src/auth/actor.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import { startHttp } from '../../src/http/server.ts'
import { serveMachine } from '../../src/machine.ts'
import { version } from '../../src/version.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

export async function serve(options: CommonOptions): Promise<void> {
  const config = settingsOf(options)
  const asked = stopRequest()
  const app = await createApp(config)
  const server = startHttp(app)
  const control = serveMachine(app)

  console.log(`Tutti ${version} is at ${server.url}`)
  const ctx = contextOf(app, system)
  if (!(await accounts.firstAdmin(ctx, {}))) {
    const token = await accounts.issueSetupToken(ctx, {})
    console.log(`\nNobody is in charge yet. Open this link once to become the administrator:\n\n  ${server.url}/setup#${token}\n`)
  }
  app.log.info('ready', { version, database: app.driver.kind, dataDir: config.DATA_DIR })

  app.log.info('stopping', { signal: await asked })
  await server.stop()
  control.stop()
  await app.close()
  process.exit(0)
}

/** From the very beginning, so that a signal during the start also ends in a clean stop. The second one does not wait. */
function stopRequest(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let before = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (before) process.exit(1)
      before = true
      resolve(signal)
    })
  return promise
}
