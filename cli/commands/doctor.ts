import { existsSync, statfsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { migrations } from '../../migrations/index.ts'
import type { Config } from '../../src/config.ts'
import { checkDatabase } from '../../src/db/check.ts'
import type { Driver } from '../../src/db/driver.ts'
import { openDatabase } from '../../src/db/index.ts'
import { planMigrations } from '../../src/db/migrate.ts'
import { createLog } from '../../src/log.ts'
import { askServer, isServing } from '../../src/machine.ts'
import { bold, dim, print } from '../output.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

export interface Finding {
  what: string
  ok: boolean
  /** Nothing is broken, but somebody should know. */
  warning?: boolean
  said: string
  /** What to do about it. */
  advice?: string
}

/** Looks at everything an installation needs, and says what to do about what is wrong. Changes nothing. */
export async function doctor({ json, ...common }: CommonOptions & { json?: boolean }): Promise<void> {
  const config = settingsOf(common)
  const serving = await isServing(config)
  const findings = [
    folder(config),
    disk(config),
    { what: 'server', ok: true, said: serving ? 'running' : 'not running' },
    ...(await database(config, serving)),
    await mail(config),
    await port(config, serving),
    clock(),
    model(config),
  ]
  print(
    json,
    { ok: findings.every((f) => f.ok), findings },
    ...findings.flatMap(({ what, ok, warning, said, advice }) => [
      `${ok ? (warning ? '!' : '✓') : '✗'} ${bold(what.padEnd(12))} ${said}`,
      ...(advice ? [`  ${dim(advice)}`] : []),
    ]),
  )
  if (findings.some((f) => !f.ok)) process.exitCode = 6
}

function folder({ DATA_DIR: path }: Config): Finding {
  const what = 'data folder'
  if (!existsSync(path))
    return { what, ok: true, warning: true, said: `${path} is not there yet`, advice: 'It is made by the first start.' }
  const { uid, mode } = statSync(path)
  if (process.platform !== 'win32' && uid !== process.getuid?.())
    return { what, ok: false, said: `${path} belongs to another user`, advice: 'Run as its owner, or choose another one with --data-dir.' }
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    return { what, ok: false, said: `${path} is open to others`, advice: `Run: chmod 700 ${path}` }
  return { what, ok: true, said: path }
}

function disk({ DATA_DIR: path, DB_MIN_FREE_MB: least }: Config): Finding {
  const { bavail, bsize } = statfsSync(existsSync(path) ? path : '/')
  const free = Math.floor((bavail * bsize) / 2 ** 20)
  const said = `${free} MiB free`
  if (free < least)
    return { what: 'disk', ok: false, said, advice: `Writes are refused below ${least} MiB. Make room, or lower DB_MIN_FREE_MB.` }
  return {
    what: 'disk',
    ok: true,
    said,
    ...(free < 1024 && { warning: true, advice: 'That is little. Backups and upgrades need room too.' }),
  }
}

/** The server looks itself while it runs: nobody else opens its files. */
async function database(config: Config, serving: boolean): Promise<Finding[]> {
  if (serving) {
    const asked = await askServer(config, 'upkeep.checkDatabase', {})
    return (asked?.answer as Finding[]) ?? []
  }
  if (config.DB_CONNECTION !== 'pgsql' && !existsSync(`${config.DATA_DIR}/db`))
    return [{ what: 'database', ok: true, said: 'not made yet' }]
  let driver: Driver
  try {
    driver = await openDatabase(config, createLog('error'))
  } catch (error) {
    return [
      {
        what: 'database',
        ok: false,
        said: (error as Error).message,
        advice:
          config.DB_CONNECTION === 'pgsql'
            ? 'Check DATABASE_URL and whether that server runs.'
            : 'Is another program using it? Else restore a backup: tutti restore',
      },
    ]
  }
  try {
    const { pending } = await planMigrations(driver, migrations)
    const plan: Finding =
      pending.length === 0
        ? { what: 'migrations', ok: true, said: 'up to date' }
        : {
            what: 'migrations',
            ok: true,
            warning: true,
            said: `${pending.length} to apply`,
            advice: 'The next start does it, or: tutti migrate',
          }
    return [...(await checkDatabase(driver)), plan]
  } catch (error) {
    return [{ what: 'migrations', ok: false, said: (error as Error).message }]
  } finally {
    await driver.close()
  }
}

async function mail({ SMTP_URL: url }: Config): Promise<Finding> {
  if (!url) return { what: 'mail', ok: true, warning: true, said: 'no SMTP_URL', advice: 'Mails stay in the outbox: tutti outbox' }
  const { hostname, port: given, protocol } = new URL(url)
  const to = Number(given) || (protocol === 'smtps:' ? 465 : 587)
  return (await reaches(hostname, to))
    ? { what: 'mail', ok: true, said: `${hostname}:${to} answers` }
    : {
        what: 'mail',
        ok: false,
        said: `${hostname}:${to} cannot be reached`,
        advice: 'Check SMTP_URL and the network. Mails are tried again for two days.',
      }
}

async function port({ HOST, PORT }: Config, serving: boolean): Promise<Finding> {
  const taken = await reaches(HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST, PORT)
  if (taken && !serving)
    return { what: 'port', ok: false, said: `${PORT} is used by another program`, advice: 'Choose another one with --port or PORT.' }
  if (!taken && serving)
    return {
      what: 'port',
      ok: true,
      warning: true,
      said: `nothing answers on ${PORT}`,
      advice: 'The server was perhaps started with another port.',
    }
  return { what: 'port', ok: true, said: taken ? `${PORT} answers` : `${PORT} is free` }
}

function reaches(host: string, to: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: to, timeout: 3000 })
    const end = (yes: boolean) => {
      socket.destroy()
      resolve(yes)
    }
    socket
      .once('connect', () => end(true))
      .once('error', () => end(false))
      .once('timeout', () => end(false))
  })
}

/** A clock that is years off makes every session and certificate wrong. */
function clock(): Finding {
  const year = new Date().getUTCFullYear()
  return year >= 2026 && year < 2100
    ? { what: 'clock', ok: true, said: new Date().toISOString() }
    : { what: 'clock', ok: false, said: `it is ${year}, says this machine`, advice: 'Set the clock; sessions and codes depend on it.' }
}

function model({ EMBEDDINGS_URL }: Config): Finding {
  return { what: 'model', ok: true, said: EMBEDDINGS_URL ? `embeddings from ${new URL(EMBEDDINGS_URL).host}` : 'built in' }
}
