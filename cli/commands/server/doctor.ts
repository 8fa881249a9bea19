import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../../../src/config.ts'
import { askServer, findRunningServer, type RunningServer } from '../../../src/control/client.ts'
import { DatabaseInUse, type Driver } from '../../../src/db/driver.ts'
import { hasDatabase, openDatabase } from '../../../src/db/index.ts'
import { checkCommand } from '../../../src/features/upkeep/control.ts'
import { checkInstallation } from '../../../src/features/upkeep/doctor.ts'
import type { Finding } from '../../../src/features/upkeep/finding.ts'
import { createLog } from '../../../src/log.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { bold, dim, pluralize, printResult, safeLine } from '../../terminal/output.ts'

interface Options extends CommonOptions {
  json?: boolean
  verbose?: boolean
  repair?: boolean
}

/** Checks what an installation needs and suggests how to fix problems. Changes nothing without `repair`. */
export async function runDoctor({ json, verbose, repair = false, ...common }: Options): Promise<void> {
  const config = loadSettings(common)
  const server = await findRunningServer(config)
  const own = checkFolder(config)
  const findings = [
    own,
    ...(server ? await checkRunning(config, server, repair) : await checkStopped(config, own.ok, repair)),
  ]
  const ok = findings.every((finding) => finding.ok)
  const told = verbose ? findings : findings.filter((finding) => !finding.ok || finding.warning)
  printResult(json, { ok, findings }, ...told.flatMap(findingLines), summary(findings))
  if (!ok) process.exitCode = 6
}

const findingLines = ({ what, ok, warning, said, advice }: Finding): string[] => [
  `${ok ? (warning ? '!' : '✓') : '✗'} ${bold(what.padEnd(11))} ${safeLine(said)}`,
  ...(advice ? [dim(`  ${' '.repeat(11)} ${safeLine(advice)}`)] : []),
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

function checkFolder({ DATA_DIR: path }: Config): Finding {
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
async function checkRunning(
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

async function checkStopped(config: Config, mayOpen: boolean, repair: boolean): Promise<Finding[]> {
  const server: Finding[] = [{ what: 'server', ok: true, said: 'not running' }, await checkFreePort(config)]
  const embedded = config.DB_CONNECTION === 'pglite'
  if (!hasDatabase(config))
    return [
      ...server,
      { what: 'database', ok: true, said: 'not created yet' },
      ...(await checkInstallation(config, undefined)),
    ]
  // Opening the database would change the folder's permissions, or fail for the same reason.
  if (!mayOpen)
    return [
      ...server,
      { what: 'database', ok: true, warning: true, said: 'not checked', advice: 'Fix the data folder first.' },
      ...(await checkInstallation(config, undefined)),
    ]
  let driver: Driver
  try {
    driver = await openDatabase(config, createLog('error'))
  } catch (error) {
    return [...server, openFailure(error as Error, embedded), ...(await checkInstallation(config, undefined))]
  }
  try {
    return [
      ...server,
      ...(embedded ? [{ what: 'lock', ok: true, said: 'free' }] : []),
      ...(await checkInstallation(config, driver, repair)),
    ]
  } finally {
    await driver.close()
  }
}

function openFailure(error: Error, embedded: boolean): Finding {
  const said = error.message
  if (!embedded)
    return {
      what: 'database',
      ok: false,
      said,
      advice: 'Check DATABASE_URL, and that the Postgres server is running and accepts the connection.',
    }
  if (error instanceof DatabaseInUse)
    return { what: 'lock', ok: false, said, advice: `Wait until it has finished, or end it: kill ${error.pid}` }
  return {
    what: 'database',
    ok: false,
    said,
    advice: 'Keep a copy of the data folder, then restore a backup: tutti restore FILE --replace',
  }
}

/** Tries to listen on the port: the only way to know whether it is free and allowed. */
function checkFreePort({ HOST: host, PORT: port }: Config): Promise<Finding> {
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
