import { migrations } from '../../../migrations/index.ts'
import type { Config } from '../../config.ts'
import { checkIntegrity } from '../../db/check.ts'
import { measureClockOffset } from '../../db/clock.ts'
import type { Driver } from '../../db/driver.ts'
import { createReplica } from '../../db/index.ts'
import { planMigrations } from '../../db/migrate.ts'
import { listPartitions } from '../../db/table-partitions.ts'
import { PARTITION_ROWS } from '../../events/partitions.ts'
import type { TimesInText } from '../../schema.ts'
import { checkEventDays, checkTaskCounts } from './counts.ts'
import { expiringTokens } from './expiring-tokens.ts'
import { type Finding, oneLineError } from './finding.ts'
import { checkReadiness } from './readiness.ts'

/** Checks the database, and the connection to it. */
export async function checkDatabase(
  config: Config,
  driver: Driver,
  repair: boolean,
  quick: boolean,
): Promise<Finding[]> {
  try {
    const { rows } = await driver.query('select pg_size_pretty(pg_database_size(current_database()))')
    return [
      { what: 'database', ok: true, said: `${driver.status().version}, ${rows[0]?.[0]}` },
      await migrationState(driver),
      ...(await checkConnections(driver)),
      ...(await checkStandby(config, driver)),
      ...(await checkEventParts(driver)),
      ...(quick ? [] : [...(await checkTables(driver)), await checkReadiness(driver, repair)]),
      ...(quick ? [] : [await checkTaskCounts(driver, repair), await checkEventDays(driver, repair)]),
      await checkClock(driver),
      await expiringTokens(driver),
    ]
  } catch (error) {
    return [
      {
        what: 'database',
        ok: false,
        said: oneLineError(error),
        advice: 'Restart the server. If that does not help, restore a backup: tutti restore',
      },
    ]
  }
}

async function migrationState(driver: Driver): Promise<Finding> {
  const what = 'migrations'
  try {
    const { pending, newer } = await planMigrations(driver, migrations)
    const beside = newer ? `, including ${newer.join(', ')} of the next version` : ''
    if (pending.length === 0) return { what, ok: true, said: `up to date${beside}` }
    return {
      what,
      ok: true,
      warning: true,
      said: `${pending.length} to apply`,
      advice: 'The next start applies them, or run: tutti migrate',
    }
  } catch (error) {
    return { what, ok: false, said: oneLineError(error) }
  }
}

/** Checks the connection to an external Postgres. */
export async function checkConnections(driver: Driver): Promise<Finding[]> {
  if (driver.kind !== 'postgres') return []
  const why = await driver.whyNotListening()
  const listening: Finding = why
    ? {
        what: 'listening',
        ok: true,
        warning: true,
        said: `notifications do not arrive: ${why}`,
        advice: 'Set LISTEN_URL to an address of Postgres itself. Until then, instances poll for events every second.',
      }
    : { what: 'listening', ok: true, said: 'notifications arrive' }
  const { pooled, missing } = driver.status().detail
  if (!pooled) return [listening]
  const pooler: Finding = { what: 'pooler', ok: true, said: 'a pooler in transaction mode is in front of Postgres' }
  if (missing === undefined) return [listening, pooler]
  const advice = `Limits are set in every transaction. Setting them for the role is faster: ${missing}. Then reconnect the pooler and restart Tutti.`
  return [listening, { ...pooler, warning: true, advice }]
}

/** Checks that the configured standby is one, and how far it is behind. */
export async function checkStandby(config: Config, driver: Driver): Promise<Finding[]> {
  const replica = await createReplica(config, driver)
  if (!replica) return []
  const what = 'standby'
  try {
    const found = await replica.upToDate()
    return [
      found
        ? { what, ok: true, said: `${found.place} caught up within ${Math.round(found.waitedMs)} ms` }
        : {
            what,
            ok: true,
            warning: true,
            said: `not used: ${replica.reason}`,
            advice: 'Set DATABASE_READ_URL to a standby that keeps up. Until then, the primary answers all reads.',
          },
    ]
  } finally {
    await replica.close()
  }
}

/** Checks that a very large table of events is partitioned. The hourly job does it, unless something stops it. */
export async function checkEventParts(driver: Driver, rows = PARTITION_ROWS): Promise<Finding[]> {
  if (driver.kind !== 'postgres') return []
  const what = 'events'
  const parts = await listPartitions(driver, 'events')
  if (parts) return [{ what, ok: true, said: `in ${parts.length} parts` }]
  // The table does not exist before the first migration.
  const { rows: found } = await driver.query(`select reltuples from pg_class where oid = to_regclass('events')`)
  const size = Number(found[0]?.[0] ?? 0)
  // Twice the limit, because the job may be about to run.
  if (size < 2 * rows) return []
  return [
    {
      what,
      ok: true,
      warning: true,
      said: `about ${Math.round(size)} in one table`,
      advice:
        'A running server divides the table every hour. If it does not, the log says "the events stay in one table" and why: usually a view, trigger, policy or publication on the table has to be removed.',
    },
  ]
}

async function checkTables(driver: Driver): Promise<Finding[]> {
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
    said: `${where} is damaged: ${oneLineError(said)}`,
    advice: `Check the disk, keep a copy of the data folder, then restore a good backup: tutti restore FILE --replace${
      index ? ` (${where} is only an index: on Postgres, "reindex index ${where}" rebuilds it)` : ''
    }`,
  }))
}

/** Codes, leases and sessions depend on the clock, and all instances must agree on the time. */
async function checkClock(driver: Driver): Promise<Finding> {
  const what = 'clock'
  const off = Math.round(Math.abs(await measureClockOffset(driver)) / 1000)
  const now = Date.now()
  // The table does not exist before the first migration.
  const newest = await millis(driver, '(select at from events order by seq desc limit 1)').catch(() => 0)
  const here = timeOf(now)
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
      said: `${here.text}, but the newest event is from ${timeOf(newest).text}`,
      times: [here, timeOf(newest)],
      advice:
        'The clock was set back, or was wrong before. Set it by NTP, because login sessions and codes depend on it.',
    }
  if (off > 2)
    return {
      what,
      ok: true,
      warning: true,
      said: `${off} s different from the database's clock`,
      advice: 'Set the clocks of both machines by NTP.',
    }
  return { what, ok: true, said: here.text, times: [here] }
}

const timeOf = (millis: number): TimesInText[number] => {
  const at = new Date(millis).toISOString()
  return { text: at, at }
}

const millis = async (driver: Driver, moment: string): Promise<number> =>
  Number((await driver.query(`select (extract(epoch from ${moment}) * 1000)::float8`)).rows[0]?.[0] ?? 0)
