import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../migrations/index.ts'
import { contextOf } from './action.ts'
import { publicUrl } from './address.ts'
import { events, features, jobs, records, tools } from './all-features.ts'
import { system } from './auth/actor.ts'
import { Authenticator } from './auth/authenticate.ts'
import { createJwt } from './auth/jwt.ts'
import { createSeal } from './auth/seal.ts'
import { secretFingerprint } from './auth/secrets.ts'
import type { Config } from './config.ts'
import type { CommandHandler } from './control/command.ts'
import { ClockWatch } from './db/clock.ts'
import { newId } from './db/columns.ts'
import type { DatabaseOpening, Driver } from './db/driver.ts'
import { beginOpeningDatabase, createReplica, ensurePrivateFolder } from './db/index.ts'
import { applyMigrations } from './db/migrate.ts'
import type { DatabaseWait } from './db/postgres/database-wait.ts'
import type { ReplicaOptions } from './db/postgres/replica.ts'
import { ReadRouter } from './db/reads.ts'
import { drizzleOver } from './db/session.ts'
import { snapshotDatabase } from './db/snapshot.ts'
import { createEmbedder } from './embeddings/create.ts'
import { Bus } from './events/bus.ts'
import { EventCatalogue } from './events/catalogue.ts'
import type { AppWithFeatures } from './feature.ts'
import { gatherHooks } from './hooks.ts'
import type { JobDefinition } from './jobs/definition.ts'
import { Jobs } from './jobs/queue.ts'
import { Hub } from './live/hub.ts'
import { watchable, workersOf } from './live-hooks.ts'
import { createLog, type Log } from './log.ts'
import { ToolCosts } from './mcp/costs.ts'
import { createMailer } from './outside/mailer.ts'
import { createOutbound, type OutboundOptions } from './outside/outbound.ts'
import { grantableBy } from './server/policy.ts'
import type { App } from './services.ts'
import { ConnectedTunnels } from './tunnel/connected-tunnels.ts'

interface AppOptions {
  log?: Log
  clock?: () => Date
  /** An open database; it is migrated and then owned by the app. */
  driver?: Driver
  /** A database that is being opened, instead of `driver`. */
  opening?: DatabaseOpening
  /** Repeats the first steps while an external database is away. */
  wait?: Pick<DatabaseWait, 'until'>
  /** Runs while the database opens: what needs the services, but nothing stored. */
  meanwhile?: (app: AppWithFeatures) => void
  /** Prepare the features and run background work; off for one-off commands. */
  background?: boolean
  /** Runs before background work begins. */
  prepare?: (app: AppWithFeatures) => Promise<void>
  /** Commands of the command line besides those of the features. */
  control?: readonly CommandHandler[]
  /** Jobs besides those of the features. */
  jobs?: readonly JobDefinition<App>[]
  /** When a standby counts as too far behind, for tests. */
  replica?: Pick<ReplicaOptions, 'mostBehindMs' | 'everyMs'>
  /** Name resolution and trusted certificates, for tests. */
  outbound?: OutboundOptions
}

export async function createApp(config: Config, options: AppOptions = {}): Promise<AppWithFeatures> {
  const log = options.log ?? createLog(config.LOG_LEVEL)
  const clock = options.clock ?? (() => new Date())
  const opening = await (options.driver
    ? asOpening(options.driver)
    : (options.opening ?? beginOpeningDatabase(config, log)))
  const driver = await opening.driver
  try {
    ensurePrivateFolder(config.DATA_DIR)
    const secret = masterSecret(config)
    const background: (() => Promise<void>)[] = []
    const replica = await createReplica(config, driver, log, options.replica)
    const db = drizzleOver(driver)
    const reads = new ReadRouter({ primary: driver, db, clock, replica })
    const app = assemble({ config, log, clock, driver, db, reads, secret }, background, options)
    options.meanwhile?.(app)
    await opening.ready
    await (options.wait ?? once).until(async () => {
      const applied = await applyMigrations(driver, migrations, {
        beforeChange: () => snapshotDatabase(driver, join(config.DATA_DIR, 'snapshots'), clock(), log),
        onBlocked: (attempt) => log.warn('a table that has to change is in use; trying again', { attempt }),
      })
      if (applied.length > 0) log.info('database migrated', { applied })
      await requireSecret(driver, secret, config)
    })
    await options.prepare?.(app)
    if (options.background !== false) {
      for (const feature of features) await feature.prepare?.(app)
      await app.clockWatch.start()
      await app.bus.start()
      await replica?.start()
      await app.jobs.start(app)
      for (const feature of features) if (feature.background) background.push(feature.background(app))
    }
    return app
  } catch (error) {
    await driver.close().catch(() => undefined)
    throw error
  }
}

const once: Pick<DatabaseWait, 'until'> = { until: (work) => work() }

const asOpening = (driver: Driver): DatabaseOpening => ({
  driver: Promise.resolve(driver),
  ready: Promise.resolve(driver),
})

/** Creates the services. `background`: what `close` ends before it closes the database. */
function assemble(
  base: Pick<App, 'config' | 'log' | 'clock' | 'driver' | 'db' | 'reads' | 'secret'>,
  background: readonly (() => Promise<void>)[],
  { outbound, control = [], jobs: others = [] }: Pick<AppOptions, 'outbound' | 'control' | 'jobs'>,
): AppWithFeatures {
  const { config, log, clock, driver, db, secret } = base
  const instanceId = newId()
  const bus = new Bus(driver, instanceId, log)
  const jwt = createJwt(secret)
  const catalogue = new EventCatalogue(events)
  const auth = new Authenticator(driver, jwt, clock, bus, catalogue)
  bus.subscribe(({ credentialId }) => base.reads.wrote(credentialId))
  const wanted = [...jobs, ...others].filter(({ when }) => when?.(config) ?? true)
  let closing: Promise<void> | undefined
  const app: AppWithFeatures = {
    ...base,
    instanceId,
    clockWatch: new ClockWatch(driver, log),
    bus,
    jobs: new Jobs(driver, wanted, log),
    jwt,
    auth,
    seal: createSeal(secret),
    mailer: createMailer(config),
    embedder: createEmbedder(config),
    records,
    events: catalogue,
    hooks: gatherHooks(features.flatMap((f) => f.hooks ?? [])),
    features,
    tools,
    control: new Map([...features.flatMap((f) => f.control ?? []), ...control].map((one) => [one.name, one])),
    outbound: createOutbound(config, outbound),
    toolCosts: new ToolCosts(tools),
    grantable: grantableBy(features, tools),
    live: new Hub({
      ...{ driver, db, bus, auth, events: catalogue, records, log, clock, instanceId },
      watchable: async (actor, ids) => (await watchable.call(contextOf(app, actor), { actor, ids })).flat(),
      workersOf: async (organizationIds) => (await workersOf.call(contextOf(app, system), { organizationIds })).flat(),
    }),
    tunnels: new ConnectedTunnels(),
    gauges: {},
    url: publicUrl(config, config.PORT),
    close: () => {
      clearInterval(usage)
      closing ??= closeApp(app, background)
      return closing
    },
  }
  const flush = () =>
    auth.flushUsage().catch((error) => log.debug('the last use of credentials was not saved', { error }))
  const usage = setInterval(flush, 30_000).unref()
  return app
}

async function closeApp(app: App, background: readonly (() => Promise<void>)[]): Promise<void> {
  app.live.stop()
  app.bus.stop()
  app.clockWatch.stop()
  await Promise.all([app.jobs.stop(), ...background.map((stop) => stop())])
  app.mailer.close()
  app.embedder.close()
  await app.auth.flushUsage().catch(() => undefined)
  await app.reads.close()
  await app.driver.close()
}

/** Returns the secret from the environment, or creates one at the first start. */
function masterSecret(config: Config): string {
  const path = join(config.DATA_DIR, 'secret')
  let secret = config.TUTTI_SECRET
  if (!secret && existsSync(path)) {
    if ((statSync(path).mode & 0o077) !== 0 && process.platform !== 'win32')
      throw new Error(`${path} can be read by others. Run: chmod 600 ${path}`)
    secret = readFileSync(path, 'utf8').trim()
    if (secret.length < 32) throw new Error(`${path} does not contain a Tutti secret. Restore it from a backup.`)
  }
  if (!secret) {
    secret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
    // Written atomically, and before its fingerprint is stored in the database: a crash in between leaves a secret that
    // nothing depends on yet.
    writeFileSync(`${path}.new`, `${secret}\n`, { mode: 0o600, flush: true })
    renameSync(`${path}.new`, path)
    syncFolder(config.DATA_DIR)
  }
  return secret
}

/** Throws if the database was set up with another secret. */
async function requireSecret(driver: Driver, secret: string, config: Config): Promise<void> {
  const mark = secretFingerprint(secret)
  const { rows } = await driver.query(
    `insert into meta (key, value) values ('secret', $1) on conflict (key) do update set value = meta.value returning value`,
    [mark],
  )
  if (rows[0]?.[0] !== mark)
    throw new Error(
      `This database was set up with another master secret. Copy the file "secret" from the data folder of the instance that created it to ${join(config.DATA_DIR, 'secret')}, or set TUTTI_SECRET.`,
    )
}

function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(path, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
