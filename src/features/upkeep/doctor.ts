import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config.ts'
import type { Driver } from '../../db/driver.ts'
import { createEmbedder } from '../../embeddings/create.ts'
import { createMailer } from '../../outside/mailer.ts'
import { parseHostEntry } from '../../text/host-entry.ts'
import { listBackupTimes, serverMark } from '../backups/service.ts'
import { checkDatabase } from './doctor-database.ts'
import { type Finding, oneLineError } from './finding.ts'

/**
 * Checks what a server needs besides its files. Changes nothing, except that `repair` corrects derived data. A running
 * server runs it itself, with its own settings and database. Without a driver it skips the database. `quick` skips
 * checks that read whole tables and indexes, or load the model.
 */
export async function checkInstallation(
  config: Config,
  driver: Driver | undefined,
  repair = false,
  quick = false,
): Promise<Finding[]> {
  const outside = [checkMail(config), ...(quick ? [] : [checkModel(config)])]
  return [
    checkDisk(config),
    ...(driver ? await checkDatabase(config, driver, repair, quick) : []),
    ...(await Promise.all(outside)),
    await checkBackups(config, driver),
    ...checkSettings(config),
    ...checkPrivateHosts(config),
  ]
}

function checkDisk({ DATA_DIR, DB_MIN_FREE_MB: least }: Config): Finding {
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

// ---- external services

async function checkMail(config: Config): Promise<Finding> {
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
      said: `${host}: ${oneLineError(error)}`,
      advice: `${advice} Mails are tried again for two days.`,
    }
  } finally {
    mailer.close()
  }
}

/** Checks that the model, built in or at an endpoint, returns a vector. */
async function checkModel(config: Config): Promise<Finding> {
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
      said: `${where}: ${oneLineError(error)}`,
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

async function checkBackups(
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
    const mark = driver && (await storedSecretMark(driver))
    newest = mark !== undefined && existsSync(folder) ? listBackupTimes(folder, mark)[0] : undefined
  } catch (error) {
    return {
      what,
      ok: false,
      said: oneLineError(error),
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

async function storedSecretMark(driver: Driver): Promise<string | undefined> {
  const { rows } = await driver.query("select value from meta where key = 'secret'").catch(() => ({ rows: [] }))
  return rows[0] && serverMark(String(rows[0][0]))
}

const localHosts = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

/** Finds settings that are valid but rarely intended. */
function checkSettings({ APP_URL, HOST, TRUSTED_PROXIES }: Config): Finding[] {
  const at = APP_URL ? new URL(APP_URL) : undefined
  const found: Finding[] = []
  const warn = (said: string, advice: string) => found.push({ what: 'settings', ok: true, warning: true, said, advice })
  if (at?.protocol === 'http:' && !localHosts.has(at.hostname))
    warn(
      `${APP_URL} is not encrypted`,
      'Others can read passwords on the network. Use a proxy with TLS, and set APP_URL to its https:// address.',
    )
  else if (!at && !localHosts.has(HOST))
    warn(`it listens on ${HOST} without TLS`, 'Put a proxy with TLS in front, and set APP_URL to its https:// address.')
  if (at?.protocol === 'https:' && TRUSTED_PROXIES.length === 0)
    warn(
      'TRUSTED_PROXIES is not set',
      'Rate limits treat all users as one. Set it to the address of the proxy, such as 127.0.0.1.',
    )
  return found
}

/** Ranges of IPv4 that are wider than a private network, such as 0.0.0.0/0. */
const WIDEST_BITS = 8

/** Lists the private hosts that users may reach through this server. */
function checkPrivateHosts({ OUTBOUND_ALLOW: entries }: Config): Finding[] {
  if (entries.length === 0) return []
  const said = `users may reach private hosts: ${entries.join(', ')}`
  const isWide = entries.some((entry) => (parseHostEntry(entry)?.range?.bits ?? WIDEST_BITS) < WIDEST_BITS)
  const advice =
    'Webhooks of every user can reach these hosts. List single hosts in OUTBOUND_ALLOW, such as git.lan:3000.'
  return [{ what: 'outbound', ok: true, said, ...(isWide && { warning: true as const, advice }) }]
}
