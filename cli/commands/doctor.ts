import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { askServer, type RunningServer, runningServer } from '../../src/control/client.ts'
import { type Driver, InUse } from '../../src/db/driver.ts'
import { hasDatabase, openDatabase } from '../../src/db/index.ts'
import { type Finding, look } from '../../src/features/upkeep/doctor.ts'
import { createLog } from '../../src/log.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'
import { bold, dim, plain, print } from '../terminal/output.ts'

/** Looks at everything an installation needs, and says what to do about what is wrong. Changes nothing. */
export async function doctor({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const config = settingsOf(common)
  const server = await runningServer(config)
  const own = folder(config)
  const findings = [own, ...(server ? await running(config, server) : await stopped(config, own.ok))]
  const ok = findings.every((finding) => finding.ok)
  print(
    json,
    { ok, findings },
    ...findings.flatMap(({ what, ok, warning, said, advice }) => [
      `${ok ? (warning ? '!' : '✓') : '✗'} ${bold(what.padEnd(11))} ${plain(said)}`,
      ...(advice ? [dim(`  ${' '.repeat(11)} ${plain(advice)}`)] : []),
    ]),
  )
  if (!ok) process.exitCode = 6
}

function folder({ DATA_DIR: path }: Config): Finding {
  const what = 'data folder'
  if (!existsSync(path))
    return { what, ok: true, warning: true, said: `${path} is not there yet`, advice: 'The first start makes it.' }
  if (!statSync(path).isDirectory())
    return { what, ok: false, said: `${path} is not a folder`, advice: 'Choose another one with --data-dir.' }
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
        said: `${name} is open to others`,
        advice: `Run: chmod ${name === path ? 700 : 600} '${name}'`,
      }
  }
  return { what, ok: true, said: path }
}

/** It looks itself: nobody else opens its files, and its settings may be others than those of this shell. */
async function running(config: Config, { version, pid, host, port }: Partial<RunningServer>): Promise<Finding[]> {
  const server: Finding = {
    what: 'server',
    ok: true,
    said: `${version ?? 'an older version'} runs${pid ? ` (pid ${pid})` : ''}`,
  }
  if (!version || !host || !port)
    return [
      {
        ...server,
        warning: true,
        advice: 'It cannot be asked by this version. Stop it, or ask with the binary that it runs.',
      },
    ]
  return [
    server,
    await answering(host, port),
    ...(((await askServer(config, 'upkeep.check', {}))?.answer ?? []) as Finding[]),
  ]
}

async function answering(host: string, port: number): Promise<Finding> {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  const at = `${near}:${port}`
  try {
    // By a name that it always answers to, wherever it listens.
    const { status } = await fetch(`http://${at}/health/ready`, {
      headers: { host: `localhost:${port}` },
      signal: AbortSignal.timeout(5000),
    })
    if (status === 200) return { what: 'port', ok: true, said: `${at} answers` }
    return {
      what: 'port',
      ok: false,
      said: `${at} answers ${status} to /health/ready`,
      advice: 'Look into the log of the server.',
    }
  } catch {
    return {
      what: 'port',
      ok: false,
      said: `${at} does not answer`,
      advice: 'Is a firewall in between? Else restart the server.',
    }
  }
}

async function stopped(config: Config, mayOpen: boolean): Promise<Finding[]> {
  const server: Finding[] = [{ what: 'server', ok: true, said: 'not running' }, await free(config)]
  const embedded = config.DB_CONNECTION === 'pglite'
  if (!hasDatabase(config))
    return [...server, { what: 'database', ok: true, said: 'not made yet' }, ...(await look(config, undefined))]
  // Opening it would make the folder right, or fail for the same reason.
  if (!mayOpen)
    return [
      ...server,
      { what: 'database', ok: true, warning: true, said: 'not looked at', advice: 'First the data folder.' },
      ...(await look(config, undefined)),
    ]
  let driver: Driver
  try {
    driver = await openDatabase(config, createLog('error'))
  } catch (error) {
    return [...server, unopened(error as Error, embedded), ...(await look(config, undefined))]
  }
  try {
    return [...server, ...(embedded ? [{ what: 'lock', ok: true, said: 'free' }] : []), ...(await look(config, driver))]
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
      advice: 'Check DATABASE_URL, and whether that server runs and lets us in.',
    }
  if (error instanceof InUse)
    return { what: 'lock', ok: false, said, advice: `Wait until it is done, or end it: kill ${error.pid}` }
  return {
    what: 'database',
    ok: false,
    said,
    advice: 'Keep a copy of the data folder, then restore a backup: tutti restore FILE --replace',
  }
}

/** Taken by somebody else, or not ours to take: only trying tells. */
function free({ HOST: host, PORT: port }: Config): Promise<Finding> {
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
          ? 'Ports below 1024 need a right. Choose a higher PORT, behind a proxy.'
          : 'Choose another one: PORT or HOST.',
    }),
  )
  listener.listen({ host, port, exclusive: true }, () =>
    listener.close(() => resolve({ what, ok: true, said: port === 0 ? 'any that is free' : `${at} is free` })),
  )
  return promise
}
