import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { migrations } from '../../../migrations/index.ts'
import type { Config } from '../../config.ts'
import { checkIntegrity } from '../../db/check.ts'
import type { Driver } from '../../db/driver.ts'
import { planMigrations } from '../../db/migrate.ts'
import { createEmbedder } from '../../embeddings/embedder.ts'
import { createMailer } from '../../outside/mailer.ts'
import { madeIn, markOf } from '../backups/service.ts'
import { counts, days } from './counts.ts'
import { expiringTokens } from './expiring-tokens.ts'
import { readiness } from './readiness.ts'

/** Result of one check of `tutti doctor`. */
export interface Finding {
  what: string
  ok: boolean
  /** Nothing is broken, but the operator should know. */
  warning?: true
  said: string
  /** What to do about it. */
  advice?: string
}

/**
 * Checks what an installation needs besides its files. Changes nothing, except that `repair` corrects what can be
 * derived anew. A running server runs it itself, with its own settings and database. Without a driver it skips the
 * database. `quick` leaves out what reads whole tables and indexes, or loads the model.
 */
export async function look(
  config: Config,
  driver: Driver | undefined,
  repair = false,
  quick = false,
): Promise<Finding[]> {
  const outside = [mail(config), ...(quick ? [] : [model(config)])]
  return [
    disk(config),
    ...(driver ? await database(driver, repair, quick) : []),
    ...(await Promise.all(outside)),
    await backups(config, driver),
    ...settings(config),
  ]
}

const because = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')

function disk({ DATA_DIR, DB_MIN_FREE_MB: least }: Config): Finding {
  let path = DATA_DIR
  while (!existsSync(path)) path = dirname(path)
  const { bavail, bsize } = statfsSync(path)
  const free = Math.floor((bavail * bsize) / 2 ** 20)
  const found: Finding = { what: 'disk', ok: free >= least, said: `${free} MiB free` }
  if (!found.ok)
    return { ...found, advice: `Writes are refused below ${least} MiB. Free some space, or lower DB_MIN_FREE_MB.` }
  return free < 1024
    ? { ...found, warning: true, advice: 'That is little: backups and upgrades need space, too.' }
    : found
}

// ---- the database

async function database(driver: Driver, repair: boolean, quick: boolean): Promise<Finding[]> {
  try {
    const { rows } = await driver.query('select pg_size_pretty(pg_database_size(current_database()))')
    return [
      { what: 'database', ok: true, said: `${driver.status().version}, ${rows[0]?.[0]}` },
      await migrationState(driver),
      ...(quick ? [] : [...(await integrity(driver)), await readiness(driver, repair)]),
      ...(quick ? [] : [await counts(driver, repair), await days(driver, repair)]),
      await clock(driver),
      await expiringTokens(driver),
    ]
  } catch (error) {
    return [
      {
        what: 'database',
        ok: false,
        said: because(error),
        advice: 'Restart the server. If that does not help, restore a backup: tutti restore',
      },
    ]
  }
}

async function migrationState(driver: Driver): Promise<Finding> {
  const what = 'migrations'
  try {
    const { pending } = await planMigrations(driver, migrations)
    if (pending.length === 0) return { what, ok: true, said: 'up to date' }
    return {
      what,
      ok: true,
      warning: true,
      said: `${pending.length} to apply`,
      advice: 'The next start applies them, or run: tutti migrate',
    }
  } catch (error) {
    return { what, ok: false, said: because(error) }
  }
}

async function integrity(driver: Driver): Promise<Finding[]> {
  const what = 'integrity'
  const checked = await checkIntegrity(driver)
  if (!checked)
    return [
      {
        what,
        ok: true,
        warning: true,
        said: 'not checked',
        advice: 'Ask the administrator of the database to run: pg_amcheck DATABASE',
      },
    ]
  const { tables, indexes, damage } = checked
  if (damage.length === 0) return [{ what, ok: true, said: `${tables} tables and ${indexes} indexes are intact` }]
  return damage.map(({ where, said, index }) => ({
    what,
    ok: false,
    said: `${where} is damaged: ${because(said)}`,
    advice: `Check the disk, keep a copy of the data folder, then restore a good backup: tutti restore FILE --replace${
      index ? ` (${where} is only an index: on Postgres, "reindex index ${where}" rebuilds it)` : ''
    }`,
  }))
}

/** Codes, leases and sessions depend on the clock, and all instances must agree on the time. */
async function clock(driver: Driver): Promise<Finding> {
  const what = 'clock'
  const before = Date.now()
  const there = await millis(driver, 'clock_timestamp()')
  const now = (before + Date.now()) / 2
  const off = Math.round(Math.max(0, Math.abs(there - now) - (Date.now() - before)) / 1000)
  // The table does not exist before the first migration.
  const newest = await millis(driver, '(select at from events order by seq desc limit 1)').catch(() => 0)
  const said = new Date(now).toISOString()
  if (off > 30)
    return {
      what,
      ok: false,
      said: `${off} s different from the database's clock`,
      advice: 'Set the clocks of both machines by NTP.',
    }
  if (newest - now > 60_000)
    return {
      what,
      ok: false,
      said: `${said}, but something is recorded at ${new Date(newest).toISOString()}`,
      advice: 'The clock was set back, or was wrong before. Set it by NTP: sessions and codes depend on it.',
    }
  if (off > 2)
    return {
      what,
      ok: true,
      warning: true,
      said: `${off} s different from the database's clock`,
      advice: 'Set the clocks of both machines by NTP.',
    }
  return { what, ok: true, said }
}

const millis = async (driver: Driver, moment: string): Promise<number> =>
  Number((await driver.query(`select (extract(epoch from ${moment}) * 1000)::float8`)).rows[0]?.[0] ?? 0)

// ---- external services

async function mail(config: Config): Promise<Finding> {
  const what = 'mail'
  if (!config.SMTP_URL)
    return {
      what,
      ok: true,
      warning: true,
      said: 'no mail server is set',
      advice: 'Set SMTP_URL and MAIL_FROM. Until then, show the mails with: tutti outbox',
    }
  const { host } = new URL(config.SMTP_URL)
  const mailer = createMailer(config)
  try {
    await mailer.check()
    return { what, ok: true, said: `${host} accepts mail from this server` }
  } catch (error) {
    const refused = (error as { code?: string }).code === 'EAUTH'
    const advice = refused
      ? 'Correct the user and password in SMTP_URL.'
      : 'Check SMTP_URL, the network, and that the mail server is running.'
    return {
      what,
      ok: false,
      said: `${host}: ${because(error)}`,
      advice: `${advice} Mails are tried again for two days.`,
    }
  } finally {
    mailer.close()
  }
}

/** Checks that the model, built in or at an endpoint, returns a vector. */
async function model(config: Config): Promise<Finding> {
  const what = 'model'
  if (config.EMBEDDINGS === 'off') return { what, ok: true, said: 'off: search by words only' }
  const embedder = createEmbedder(config)
  const where = config.EMBEDDINGS_URL ? new URL(config.EMBEDDINGS_URL).host : 'built in'
  try {
    const [vector] = await embedder.embed(['word'], { urgent: true, signal: AbortSignal.timeout(20_000) })
    return { what, ok: true, said: `${where}, ${vector?.length} dimensions` }
  } catch (error) {
    return {
      what,
      ok: false,
      said: `${where}: ${because(error)}`,
      advice: `Until this works, search is by words only. ${
        config.EMBEDDINGS_URL
          ? 'Check EMBEDDINGS_URL, EMBEDDINGS_MODEL and EMBEDDINGS_KEY.'
          : 'The model needs about 130 MB of memory; EMBEDDINGS=off disables it.'
      }`,
    }
  } finally {
    embedder.close()
  }
}

async function backups(
  { BACKUP_DIR: folder, BACKUP_EVERY_HOURS: hours }: Config,
  driver: Driver | undefined,
): Promise<Finding> {
  const what = 'backups'
  if (!folder)
    return {
      what,
      ok: true,
      warning: true,
      said: 'not scheduled',
      advice: 'Set BACKUP_DIR, preferably to a folder on another disk.',
    }
  let newest: number | undefined
  try {
    const mark = driver && (await markIn(driver))
    newest = mark !== undefined && existsSync(folder) ? madeIn(folder, mark)[0] : undefined
  } catch (error) {
    return {
      what,
      ok: false,
      said: because(error),
      advice: `Allow the user of the server to read and write ${folder}.`,
    }
  }
  if (newest === undefined)
    return {
      what,
      ok: true,
      warning: true,
      said: `none in ${folder} yet`,
      advice: 'A running server makes one within an hour. If it does not, check its log.',
    }
  const age = Math.floor((Date.now() - newest) / 3_600_000)
  const said = `the last one is ${age} h old`
  return age >= 2 * hours
    ? {
        what,
        ok: true,
        warning: true,
        said,
        advice: `One is due every ${hours} h. Check that the server is running and that ${folder} has free space.`,
      }
    : { what, ok: true, said }
}

async function markIn(driver: Driver): Promise<string | undefined> {
  const { rows } = await driver.query("select value from meta where key = 'secret'").catch(() => ({ rows: [] }))
  return rows[0] && markOf(String(rows[0][0]))
}

const local = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

/** Finds settings that are allowed but rarely intended. */
function settings({ APP_URL, HOST, TRUSTED_PROXIES }: Config): Finding[] {
  const at = APP_URL ? new URL(APP_URL) : undefined
  const found: Finding[] = []
  const warn = (said: string, advice: string) => found.push({ what: 'settings', ok: true, warning: true, said, advice })
  if (at?.protocol === 'http:' && !local.has(at.hostname))
    warn(
      `${APP_URL} is not encrypted`,
      'Others can read passwords on the network. Use a proxy with TLS, and set APP_URL to its https:// address.',
    )
  else if (!at && !local.has(HOST))
    warn(`it listens on ${HOST} without TLS`, 'Put a proxy with TLS in front, and set APP_URL to its https:// address.')
  if (at?.protocol === 'https:' && TRUSTED_PROXIES.length === 0)
    warn(
      'TRUSTED_PROXIES is not set',
      'Rate limits treat all users as one. Set it to the address of the proxy, such as 127.0.0.1.',
    )
  return found
}
