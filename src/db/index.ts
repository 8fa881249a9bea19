import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { splitServers } from '../text/database-address.ts'
import type { DatabaseOpening, Driver } from './driver.ts'
import type { DatabaseWait } from './postgres/database-wait.ts'
import type { Replica, ReplicaOptions } from './postgres/replica.ts'

/**
 * For a command that needs exclusive access to the database: its time limit is a day, and `name` identifies its
 * connections.
 */
interface ExclusiveAccess {
  name: string
}
const DAY = 86_400_000

interface OpeningOptions {
  exclusive?: ExclusiveAccess
  /** Waits until an external database is reachable and accepts writes. Without it, one that is not is an error. */
  wait?: DatabaseWait
}

export async function openDatabase(config: Config, log: Log, exclusive?: ExclusiveAccess): Promise<Driver> {
  return (await beginOpeningDatabase(config, log, { exclusive })).ready
}

/** Returns how a server waits for its database while it starts. */
export async function databaseWait(config: Config, log: Log): Promise<DatabaseWait | undefined> {
  if (config.DB_CONNECTION !== 'pgsql') return undefined
  const { DatabaseWait } = await import('./postgres/database-wait.ts')
  return new DatabaseWait({ seconds: config.DATABASE_WAIT, log: tellingTo(log) })
}

/**
 * Starts opening the database and resolves without waiting for it. Imports the driver on demand: a server on Postgres
 * never loads the code of the embedded database.
 */
export async function beginOpeningDatabase(
  config: Config,
  log: Log,
  { exclusive, wait }: OpeningOptions = {},
): Promise<DatabaseOpening> {
  ensurePrivateFolder(config.DATA_DIR)
  const tell = tellingTo(log)
  if (config.DB_CONNECTION === 'pgsql') {
    const [{ openPostgres }, { requireWritable }] = await Promise.all([
      import('./postgres/database.ts'),
      import('./postgres/database-wait.ts'),
    ])
    const open = () =>
      openPostgres({
        url: config.DATABASE_URL as string,
        listenUrl: config.LISTEN_URL,
        poolSize: config.DB_POOL_SIZE,
        statementTimeout: config.DB_STATEMENT_TIMEOUT_MS,
        log: tell,
        ...(exclusive && { name: exclusive.name, statementTimeout: DAY, transactionTimeout: DAY }),
      })
    const openWritable = async () => {
      const driver = await open()
      return requireWritable(driver).then(
        () => driver,
        (error: unknown) => driver.close().then(() => Promise.reject(error)),
      )
    }
    const ready = wait ? wait.until(openWritable) : open()
    return withHandledRejection({ driver: ready, ready })
  }
  const { beginEmbedded } = await import('./embedded/index.ts')
  const { driver, ready } = beginEmbedded({
    dir: config.DATA_DIR,
    durability: config.DB_DURABILITY,
    statementTimeout: config.DB_STATEMENT_TIMEOUT_MS,
    sharedBuffers: config.DB_SHARED_BUFFERS,
    minFreeBytes: config.DB_MIN_FREE_MB * 2 ** 20,
    log: tell,
    ...(exclusive && { statementTimeout: DAY, transactionTimeout: DAY }),
  })
  return withHandledRejection({ driver: Promise.resolve(driver), ready })
}

/** Prevents an unhandled rejection if opening fails before the caller awaits it. */
function withHandledRejection(opening: DatabaseOpening): DatabaseOpening {
  opening.ready.catch(() => undefined)
  return opening
}

const tellingTo =
  (log: Log) =>
  (level: 'info' | 'warn' | 'error', message: string, fields?: object): void =>
    log[level](message, fields)

/** Returns the configured standby. It is opened at its first check. */
export async function createReplica(
  { DATABASE_READ_URL: url, DB_POOL_SIZE: poolSize, DB_STATEMENT_TIMEOUT_MS: statementTimeout }: Config,
  primary: Driver,
  log?: Log,
  limits: Pick<ReplicaOptions, 'mostBehindMs' | 'everyMs'> = {},
): Promise<Replica | undefined> {
  if (!url) return undefined
  const [{ openPostgres }, { Replica }] = await Promise.all([
    import('./postgres/database.ts'),
    import('./postgres/replica.ts'),
  ])
  // Its connections log nothing: `Replica` logs once that the standby is unavailable.
  const open = (server: string) => openPostgres({ url: server, poolSize, statementTimeout })
  return new Replica({ primary, servers: splitServers(url), open, log: log && tellingTo(log), ...limits })
}

/** Whether a database exists; opening an embedded one would create it. */
export const hasDatabase = ({ DB_CONNECTION, DATA_DIR }: Config): boolean =>
  DB_CONNECTION !== 'pglite' || existsSync(join(DATA_DIR, 'db'))

/**
 * Creates the data folder, and refuses one that others can write to: they could replace the secret or the control
 * socket.
 */
export function ensurePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (process.platform === 'win32') return
  const { uid, mode } = statSync(path)
  if (uid !== process.getuid?.())
    throw new AppError('forbidden', `${path} belongs to another user. Choose another data folder, or run as its owner.`)
  if ((mode & 0o022) !== 0) throw new AppError('forbidden', `Others can write to ${path}. Run: chmod 700 ${path}`)
  if ((mode & 0o077) !== 0) chmodSync(path, 0o700)
}
