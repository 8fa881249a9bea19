import { createHash } from 'node:crypto'
import { newId } from '../db/columns.ts'
import type { Driver } from '../db/driver.ts'

/**
 * Returns the uuid of this event history; cursors contain it. A restore or a move begins a new history
 * (`backup/dump.ts` leaves out the row), because numbers are then used again. So does a failover to a standby that may
 * lack the last commits, which Postgres counts as timelines.
 */
export async function readEpoch(driver: Driver): Promise<string> {
  const { rows } = await driver.query("select value from meta where key = 'epoch'")
  const stored = rows[0]?.[0] ?? (await createEpoch(driver))
  const timeline = driver.kind === 'postgres' ? await timelineOf(driver) : FIRST
  return timeline === FIRST ? String(stored) : hashToUuid(`${stored} ${timeline}`)
}

/** Concurrent callers all get the value of the first one. */
async function createEpoch(driver: Driver): Promise<unknown> {
  const { rows } = await driver.query(
    `insert into meta (key, value) values ('epoch', $1)
    on conflict (key) do update set value = meta.value returning value`,
    [newId()],
  )
  return rows[0]?.[0]
}

const FIRST = '00000001'

/** With synchronous standbys a failover loses no commit, so it begins no new history. */
async function timelineOf(driver: Driver): Promise<string> {
  const { rows } = await driver.query(`
    select case when current_setting('synchronous_standby_names') = '' and not pg_is_in_recovery()
      then left(pg_walfile_name(pg_current_wal_lsn()), 8) else '${FIRST}' end`)
  return String(rows[0]?.[0])
}

function hashToUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
