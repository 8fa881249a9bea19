import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { askServer, type RunningServer, runningServer } from '../../src/control/client.ts'
import { type Driver, InUse } from '../../src/db/driver.ts'
import { hasDatabase, openDatabase } from '../../src/db/index.ts'
import { checkCommand } from '../../src/features/upkeep/control.ts'
import { look } from '../../src/features/upkeep/doctor.ts'
import type { Finding } from '../../src/features/upkeep/finding.ts'
import { createLog } from '../../src/log.ts'
import { type CommonOptions, settingsOf } from '../operating/settings.ts'
import { bold, dim, plain, pluralize, print } from '../terminal/output.ts'

interface Options extends CommonOptions {
  json?: boolean
  verbose?: boolean
  repair?: boolean
}

/** Checks what an installation needs and suggests how to fix problems. Changes nothing without `repair`. */
export async function doctor({ json, verbose, repair = false, ...common }: Options): Promise<void> {
  const config = settingsOf(common)
  const server = await runningServer(config)
  const own = folder(config)
  const findings = [own, ...(server ? await running(config, server, repair) : await stopped(config, own.ok, repair))]
  const ok = findings.every((finding) => finding.ok)
  const told = verbose ? findings : findings.filter((finding) => !finding.ok || finding.warning)
  print(json, { ok, findings }, ...told.flatMap(lines), summary(findings))
  if (!ok) process.exitCode = 6
}

const lines = ({ what, ok, warning, said, advice }: Finding): string[] => [
  `${ok ? (warning ? '!' : '✓') : '✗'} ${bold(what.padEnd(11))} ${plain(said)}`,
  ...(advice ? [dim(`  ${' '.repeat(11)} ${plain(advice)}`)] : []),
]

function summary(findings: readonly Finding[]): string {
  const problems = findings.filter(({ ok }) => !ok).length
  const warnings = findings.filter(({ ok, warning }) => ok && warning).length
  const found = [
    ...(problems ? [pluralize(problems, 'problem')] : []),
    ...(warnings ? [pluralize(warnings, 'warning')] : []),
  ]
  return `${pluralize(findings.length, 'check')}: ${found.join(', ') || 'no problems found'}.`
}

function folder({ DATA_DIR: path }: Config): Finding {
  const what = 'data folder'
  if (!existsSync(path))
    return { what, ok: true, warning: true, said: `${path} does not exist yet`, advice: 'The first start creates it.' }
  if (!statSync(path).isDirectory())
    return { what, ok: false, said: `${path} is not a folder`, advice: 'Choose another with --data-dir.' }
  if (process.platform === 'win32') return { what, ok: true, said: path }
  for (const [name, others] of [
    [path, 0o077],
    [join(path, 'secret'), 0o077],
    [join(path, 'config.env'), 0o077],
  ] as const) {
    if (!existsSync(name)) continue
    const { uid, mode } = statSync(name)
    if (uid !== process.getuid?.())
      return {
        what,
        ok: false,
        said: `${name} belongs to another user`,
        advice: 'Run as its owner, or choose another folder with --data-dir.',
      }
    if ((mode & others) !== 0)
      return {
        what,
        ok: false,
        said: `${name} can be accessed by others`,
        advice: `Run: chmod ${name === path ? 700 : 600} '${name}'`,
      }
  }
  return { what, ok: true, said: path }
}

/**
 * Asks the server to check itself: no other process may open its files, and its settings may differ from this shell's.
 */
async function running(
  config: Config,
  { version, pid, host, port }: Partial<RunningServer>,
  repair: boolean,
): Promise<Finding[]> {
  const server: Finding = {
    what: 'server',
    ok: true,
    said: `${version ?? 'an older version'} is running${pid ? ` (pid ${pid})` : ''}`,
  }
  if (!version || !host || !port)
    return [
      {
        ...server,
        warning: true,
        advice: 'This program cannot check that version. Stop the server, or run doctor with the binary of the server.',
      },
    ]
  return [server, await checkPort(host, port), ...((await askServer(config, checkCommand, { repair }))?.answer ?? [])]
}

async function checkPort(host: string, port: number): Promise<Finding> {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  const at = `${near}:${port}`
  try {
    // The server accepts this host name wherever it listens.
    const { status } = await fetch(`http://${at}/health/ready`, {
      headers: { host: `localhost:${port}` },
      signal: AbortSignal.timeout(5000),
    })
    if (status === 200) return { what: 'port', ok: true, said: `${at} responds` }
    return {
      what: 'port',
      ok: false,
      said: `${at} returns status ${status} for /health/ready`,
      advice: 'Check the log of the server.',
    }
  } catch {
    return {
      what: 'port',
      ok: false,
      said: `${at} does not respond`,
      advice: 'Check for a firewall in between, or restart the server.',
    }
  }
}

async function stopped(config: Config, mayOpen: boolean, repair: boolean): Promise<Finding[]> {
  const server: Finding[] = [{ what: 'server', ok: true, said: 'not running' }, await tryPort(config)]
  const embedded = config.DB_CONNECTION === 'pglite'
  if (!hasDatabase(config))
    return [...server, { what: 'database', ok: true, said: 'not created yet' }, ...(await look(config, undefined))]
  // Opening the database would change the folder's permissions, or fail for the same reason.
  if (!mayOpen)
    return [
      ...server,
      { what: 'database', ok: true, warning: true, said: 'not checked', advice: 'Fix the data folder first.' },
      ...(await look(config, undefined)),
    ]
  let driver: Driver
  try {
    driver = await openDatabase(config, createLog('error'))
  } catch (error) {
    return [...server, unopened(error as Error, embedded), ...(await look(config, undefined))]
  }
  try {
    return [
      ...server,
      ...(embedded ? [{ what: 'lock', ok: true, said: 'free' }] : []),
      ...(await look(config, driver, repair)),
    ]
  } finally {
    await driver.close()
  }
}

function unopened(error: Error, embedded: boolean): Finding {
  const said = error.message
  if (!embedded)
    return {
      what: 'database',
      ok: false,
      said,
      advice: 'Check DATABASE_URL, and that the Postgres server is running and accepts the connection.',
    }
  if (error instanceof InUse)
    return { what: 'lock', ok: false, said, advice: `Wait until it has finished, or end it: kill ${error.pid}` }
  return {
    what: 'database',
    ok: false,
    said,
    advice: 'Keep a copy of the data folder, then restore a backup: tutti restore FILE --replace',
  }
}

/** Tries to listen on the port: the only way to know whether it is free and allowed. */
function tryPort({ HOST: host, PORT: port }: Config): Promise<Finding> {
  const what = 'port'
  const at = `${host}:${port}`
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const listener = createServer()
  listener.once('error', ({ code, message }: NodeJS.ErrnoException) =>
    resolve({
      what,
      ok: false,
      said: code === 'EADDRINUSE' ? `${at} is used by another program` : `${at}: ${message}`,
      advice:
        code === 'EACCES'
          ? 'Ports below 1024 need special rights. Choose a higher PORT, behind a proxy.'
          : 'Choose another PORT or HOST.',
    }),
  )
  listener.listen({ host, port, exclusive: true }, () =>
    listener.close(() => resolve({ what, ok: true, said: port === 0 ? 'any free port' : `${at} is free` })),
  )
  return promise
}
