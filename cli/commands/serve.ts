import { openDatabase } from '../../src/db/index.ts'
import type { HttpServer } from '../../src/http/server.ts'
import { createLog } from '../../src/log.ts'
import { version } from '../../src/version.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'
import { Refusal } from '../terminal/report.ts'

interface Options extends CommonOptions {
  /** A team to look around in, where nobody is yet. */
  demo?: boolean
  /** `tutti upgrade` tries whether it comes up: nothing is sent, nothing is worked on. */
  trial?: boolean
}

export async function serve({ demo, trial, ...options }: Options): Promise<void> {
  const config = settingsOf(options)
  const asked = stopRequest(trial)
  const log = createLog(config.LOG_LEVEL)
  // The database starts on threads of its own while this one loads the rest of the program: a third off a restart.
  const opening = openDatabase(config, log)
  opening.catch(() => undefined)
  const [{ contextOf }, { createApp }, { system }, accounts, { startHttp }, { serveControl }] = await Promise.all([
    import('../../src/action.ts'),
    import('../../src/app.ts'),
    import('../../src/auth/actor.ts'),
    import('../../src/features/accounts/service.ts'),
    import('../../src/http/server.ts'),
    import('../../src/control/server.ts'),
  ])
  const app = await createApp(config, { log, driver: await opening, background: !trial })
  const ctx = contextOf(app, system)
  let server: HttpServer
  let welcome: string | undefined
  try {
    // Before anybody can reach it.
    if (demo) welcome = await (await import('../../seeds/index.ts')).loadDemoTeam(ctx, {})
    server = startHttp(app)
  } catch (error) {
    await app.close()
    if ((error as { code?: string }).code === 'EADDRINUSE')
      throw new Refusal(`Port ${config.PORT} is in use. Choose another one with --port.`, 6)
    throw error
  }
  const control = await serveControl(app)
  // A bug somewhere must not take down everybody's work.
  process.on('unhandledRejection', (error) => log.error('unhandled rejection', { error }))

  console.log(`Tutti ${version} is at ${server.url}`)
  if (welcome) console.log(`\n${welcome}\n`)
  else if (!trial && !(await accounts.firstAdmin(ctx, {}))) {
    const token = await accounts.issueSetupToken(ctx, {})
    console.log(
      `\nNobody is in charge yet. Open this link once to become the administrator:\n\n  ${server.url}/setup#${token}\n`,
    )
  }
  app.log.info('ready', { version, database: app.driver.kind, dataDir: config.DATA_DIR })

  app.log.info('stopping', { signal: await asked })
  await server.stop()
  control.stop()
  await app.close()
  process.exit(0)
}

/**
 * From the very beginning, so that a signal during the start also ends in a clean stop. The second one does not wait. A trial ends with
 * whoever started it.
 */
function stopRequest(trial = false): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let before = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (before) process.exit(1)
      before = true
      resolve(signal)
    })
  // Not a reason to go on, when the start has failed.
  if (trial)
    process.stdin
      .once('end', () => resolve('end of the trial'))
      .resume()
      .unref()
  return promise
}
