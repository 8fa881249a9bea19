import type { Ctx } from '../../../src/action.ts'
import { beginOpeningDatabase, databaseWait } from '../../../src/db/index.ts'
import { createLog, type Log } from '../../../src/log.ts'
import type { HttpServer } from '../../../src/server/server.ts'
import type { App } from '../../../src/services.ts'
import { version } from '../../../src/version.ts'
import {
  demoJobs,
  demoSettings,
  demoText,
  prepareDemo,
  resumeDemo,
  stoppedClock,
  withdrawDemoLink,
} from '../../operating/demo.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { Refusal } from '../../terminal/refusal.ts'

interface Options extends CommonOptions {
  /** Serves a fictional team, which is created at the first start. */
  demo?: boolean
  /** The time that the clock of the demo always shows. */
  at?: string
  /** Set by `tutti upgrade` to see whether a version starts: runs no jobs and sends nothing. */
  trial?: boolean
}

export async function runServer({ demo, at, trial, ...options }: Options): Promise<void> {
  const clock = at === undefined ? undefined : stoppedClock(at, demo)
  const config = demo ? demoSettings(options) : loadSettings(options)
  const asked = stopRequest(trial)
  const log = createLog(config.LOG_LEVEL)
  // A trial ends at once: `tutti upgrade` reports the reason.
  const wait = trial ? undefined : await databaseWait(config, log)
  const isStarted = endHangingStart(asked, log, () => wait?.isWaiting === true)
  // The database opens on its own threads, while this one loads the rest of the program and makes the routes.
  const opening = await beginOpeningDatabase(config, log, { wait })
  const [{ contextOf }, { createApp }, { system }, { buildHttp, startHttp }, { serveControl }, { seedHandlers }] =
    await Promise.all([
      import('../../../src/action.ts'),
      import('../../../src/app.ts'),
      import('../../../src/auth/actor.ts'),
      import('../../../src/server/server.ts'),
      import('../../../src/control/server.ts'),
      import('../../../seeds/handlers.ts'),
    ])
  let link: string | undefined
  let routes: ReturnType<typeof buildHttp> | undefined
  const app = await createApp(config, {
    log,
    opening,
    wait,
    control: seedHandlers,
    jobs: demo && !clock ? await demoJobs() : [],
    meanwhile: (fresh) => {
      routes = buildHttp(fresh)
    },
    background: !trial,
    clock,
    prepare: async (fresh) => {
      link = await prepareDemo(contextOf(fresh, system), demo)
      if (demo && !clock) await resumeDemo(fresh)
    },
  })
  const ctx = contextOf(app, system)
  const server = await startListening(app, () => startHttp(app, {}, routes))
  const control = await serveControl(app)
  // One bug must not end everyone's work.
  process.on('unhandledRejection', (error) => log.error('unhandled rejection', { error }))

  console.log(`Tutti ${version} is running at ${server.url}`)
  const next = link ? demoText(config, server.url + link) : trial ? undefined : await setupText(ctx, server.url)
  if (next) console.log(next)
  isStarted()
  app.log.info('ready', { version, database: app.driver.kind, dataDir: config.DATA_DIR })

  await stopServer(server, app, await asked)
  control.stop()
  if (link) await withdrawDemoLink(ctx)
  await app.close()
  process.exit(0)
}

async function startListening(app: App, start: () => HttpServer): Promise<HttpServer> {
  try {
    return start()
  } catch (error) {
    await app.close()
    if ((error as { code?: string }).code === 'EADDRINUSE')
      throw new Refusal(`Port ${app.config.PORT} is in use. Choose another with --port.`, 6)
    throw error
  }
}

/** Milliseconds in which load balancers notice that an instance is about to stop; it serves requests meanwhile. */
const LEAVE_MS = 3000

/** If there may be other instances, first waits until load balancers send new requests to them. */
async function stopServer(server: HttpServer, { log, driver }: App, signal: string): Promise<void> {
  log.info('stopping', { signal })
  if (signal === 'SIGTERM' && driver.kind === 'postgres') {
    server.leave()
    await Bun.sleep(LEAVE_MS)
  }
  await server.stop()
}

/** Milliseconds that a start has to end after the server was asked to stop. */
const START_ENDS_MS = 3000

/**
 * Ends the process if it is asked to stop during a start that hangs, for example behind a lock of the database, and at
 * once if it only waits for the database. Returns a function to call when the start is over.
 */
function endHangingStart(asked: Promise<string>, log: Log, isWaiting: () => boolean): () => void {
  let isStarted = false
  void asked.then(async (signal) => {
    if (isStarted) return
    if (!isWaiting()) await Bun.sleep(START_ENDS_MS)
    if (isStarted) return
    log.warn('stopped before the start was over', { signal })
    process.exit(0)
  })
  return () => {
    isStarted = true
  }
}

/** Returns what to do first, if there is no administrator. */
async function setupText(ctx: Ctx, url: string): Promise<string | undefined> {
  const { firstAdmin, issueSetupToken } = await import('../../../src/features/accounts/service.ts')
  if (await firstAdmin(ctx, {})) return undefined
  return `
No administrator yet. Open this link, which works once, to become the administrator:

  ${url}/setup#${await issueSetupToken(ctx, {})}
`
}

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
