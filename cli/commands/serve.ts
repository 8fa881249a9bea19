import type { Ctx } from '../../src/action.ts'
import type { Config } from '../../src/config.ts'
import { openDatabase } from '../../src/db/index.ts'
import type { HttpServer } from '../../src/http/server.ts'
import { createLog } from '../../src/log.ts'
import { version } from '../../src/version.ts'
import { type CommonOptions, settingsOf } from '../operating/settings.ts'
import { Refusal } from '../terminal/report.ts'

interface Options extends CommonOptions {
  /** Serves a fictional team, which is created at the first start. */
  demo?: boolean
  /** The time that the clock of the demo always shows. */
  at?: string
  /** Set by `tutti upgrade` to see whether a version starts: runs no jobs and sends nothing. */
  trial?: boolean
}

export async function serve({ demo, at, trial, ...options }: Options): Promise<void> {
  const clock = at === undefined ? undefined : stopped(at, demo)
  const config = demo ? demoSettings(options) : settingsOf(options)
  const asked = stopRequest(trial)
  const log = createLog(config.LOG_LEVEL)
  // The database opens on its own threads while this one loads the rest of the program: a third faster start.
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
  const app = await createApp(config, { log, driver: await opening, background: !trial, clock })
  const ctx = contextOf(app, system)
  let server: HttpServer
  let link: string | undefined
  try {
    // Before the server can be reached.
    if (demo) link = await demoLink(ctx)
    server = startHttp(app)
  } catch (error) {
    await app.close()
    if ((error as { code?: string }).code === 'EADDRINUSE')
      throw new Refusal(`Port ${config.PORT} is in use. Choose another with --port.`, 6)
    throw error
  }
  const control = await serveControl(app)
  // One bug must not end everyone's work.
  process.on('unhandledRejection', (error) => log.error('unhandled rejection', { error }))

  console.log(`Tutti ${version} is running at ${server.url}`)
  if (link) console.log(demoText(config, server.url + link))
  else if (!trial && !(await accounts.firstAdmin(ctx, {}))) {
    const token = await accounts.issueSetupToken(ctx, {})
    console.log(
      `\nNo administrator yet. Open this link, which works once, to become the administrator:\n\n` +
        `  ${server.url}/setup#${token}\n`,
    )
  }
  app.log.info('ready', { version, database: app.driver.kind, dataDir: config.DATA_DIR })

  app.log.info('stopping', { signal: await asked })
  await server.stop()
  control.stop()
  if (link) await endDemoLink(ctx)
  await app.close()
  process.exit(0)
}

/** A demo has a folder of its own and sends nothing: its people and hosts exist nowhere. */
function demoSettings(options: CommonOptions): Config {
  const given = settingsOf(options)
  const config = given.sources.DATA_DIR === 'default' ? settingsOf({ ...options, dataDir: './tutti-demo' }) : given
  return { ...config, SMTP_URL: undefined, OUTBOUND: 'off' }
}

function stopped(at: string, demo = false): () => Date {
  if (!demo) throw new Refusal('--at needs --demo: only the clock of a demo can be stopped.', 2)
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) throw new Refusal('--at takes an instant, such as 2026-11-17T16:12:00Z.', 2)
  return () => time
}

async function demoLink(ctx: Ctx): Promise<string> {
  console.log('Preparing the demo…')
  return (await import('../../seeds/index.ts')).openDemo(ctx, {})
}

async function endDemoLink(ctx: Ctx): Promise<void> {
  const [{ visitor }, { withdrawLink }] = await Promise.all([
    import('../../seeds/index.ts'),
    import('../../src/features/codes/service.ts'),
  ])
  await withdrawLink(ctx, { email: visitor.email })
}

const demoText = ({ DATA_DIR }: Config, link: string): string => `
This is a demo: a fictional team with five weeks of work behind it. It sends nothing, and all its data is in
${DATA_DIR}, which you can delete when you are done.
Open this link, which works once, to sign in as Ada:

  ${link}
`

/**
 * Resolves with the signal that asks the server to stop. Registered first, so that a signal during the start also leads
 * to a clean stop. A second signal exits at once. A trial ends when the process that started it ends.
 */
function stopRequest(trial = false): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (stopping) process.exit(1)
      stopping = true
      resolve(signal)
    })
  // Unreferenced, so that it does not keep the process alive after a failed start.
  if (trial)
    process.stdin
      .once('end', () => resolve('end of the trial'))
      .resume()
      .unref()
  return promise
}
