import { sql } from 'drizzle-orm'
import { DbError, type Driver, type Queryable } from '../db/driver.ts'
import { isLockBlocked, TAKE_MIGRATION_LOCK } from '../db/migrate.ts'
import type { Db } from '../db/session.ts'
import { listPartitions, type TablePartition } from '../db/table-partitions.ts'

export interface PartitionLimits {
  /** Rows of the newest part before another begins; smaller tables stay as they are. */
  rows?: number
  /** How old its first event must be, once there are several: a year then has a dozen parts at any size. */
  ageMs?: number
  now: Date
}

/** The table is partitioned from this size on. */
export const PARTITION_ROWS = 1_000_000
const AGE_MS = 30 * 86_400_000
/** A partition ends this many numbers ahead, depending on its rows: enough for an hour of very many writes. */
const LEAST_AHEAD = 100_000
const MOST_AHEAD = 10_000_000
/** Longer than Postgres takes to end a vacuum that blocks the lock. Other users of the table wait behind this lock. */
const LOCK_MS = 2000
const TRIES = 5
const PAUSE_MS = 1000
/** A temporary constraint with the end of the newest partition. */
const END = 'events_end'

/**
 * Ends the newest partition of `events` a little ahead of the newest number, and begins the next one. The first time,
 * the existing table becomes the first partition. Returns the new name, or undefined if it is not time yet.
 *
 * Every row has to be checked against the new end. A constraint does that while writes continue, so that the change
 * itself takes only a moment. If it is interrupted, the next run continues with the constraint.
 */
export async function partitionEvents(driver: Driver, limits: PartitionLimits): Promise<string | undefined> {
  const parts = await listPartitions(driver, 'events')
  const newest = parts ? parts.find(({ to }) => to === undefined) : { name: 'events' }
  if (!newest || !(await isDue(driver, newest, limits))) return undefined
  const found = await endOf(driver, newest)
  const { last, ahead } = await numbers(driver, newest)
  // Numbers have come too close to the end that an earlier run has set.
  const isStale = found !== undefined && found.at < last + ahead / 2
  if (isStale) await briefly(driver, `alter table "${newest.name}" drop constraint ${END};`)
  const end = found && !isStale ? found.at : Math.ceil((last + ahead) / 1000) * 1000
  if (!found || isStale) {
    const below = `seq < '${end}'::bigint`
    const check = newest.from === undefined ? below : `seq >= '${newest.from}'::bigint and ${below}`
    await briefly(driver, `alter table "${newest.name}" add constraint ${END} check (${check}) not valid;`)
  }
  if (!found?.isValid || isStale) await driver.exec(`alter table "${newest.name}" validate constraint ${END}`)
  const next = `events_${end}`
  await briefly(
    driver,
    `${parts ? endPartitionSql(newest, end) : partitionTableSql(end)}
    create table "${next}" partition of events for values from (${end}) to (maxvalue);`,
  )
  return next
}

async function isDue(on: Queryable, { name, from }: TablePartition, limits: PartitionLimits): Promise<boolean> {
  const { rows } = await on.query(
    `select c.reltuples >= $1::int and ($2::timestamptz is null
      or (select at from "${name}" order by seq limit 1) < $2::timestamptz)
    from pg_class c where c.oid = '"${name}"'::regclass`,
    [
      limits.rows ?? PARTITION_ROWS,
      from === undefined ? null : new Date(limits.now.getTime() - (limits.ageMs ?? AGE_MS)).toISOString(),
    ],
  )
  return rows[0]?.[0] === true
}

async function numbers(on: Queryable, { name }: TablePartition): Promise<{ last: number; ahead: number }> {
  const { rows } = await on.query(`
    select coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'seq')::regclass), 0)::text,
      reltuples::bigint::text
    from pg_class where oid = '"${name}"'::regclass`)
  const [last, size] = (rows[0] ?? []).map(Number)
  return { last: last ?? 0, ahead: Math.min(MOST_AHEAD, Math.max(LEAST_AHEAD, size ?? 0)) }
}

/** Returns the end that an earlier run has set. */
async function endOf(on: Queryable, { name }: TablePartition): Promise<{ at: number; isValid: boolean } | undefined> {
  const { rows } = await on.query(
    `select substring(pg_get_constraintdef(oid) from 'seq < ''?(\\d+)'), convalidated from pg_constraint
    where conrelid = '"${name}"'::regclass and conname = $1`,
    [END],
  )
  return rows[0] && { at: Number(rows[0][0]), isValid: rows[0][1] === true }
}

/** Runs statements in a transaction that waits for a table only briefly, several times, as migrations do. */
async function briefly(driver: Driver, statements: string): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await driver.exec(`begin; set local lock_timeout = ${LOCK_MS}; ${TAKE_MIGRATION_LOCK}
        lock table events in access exclusive mode; ${statements} commit;`)
    } catch (error) {
      if (!isLockBlocked(error) || attempt === TRIES) throw error
      await Bun.sleep(PAUSE_MS)
    }
}

/** Sets the end of the newest partition. Postgres does not read its rows, because the constraint proves the bound. */
const endPartitionSql = ({ name, from }: TablePartition, end: number): string => `
  alter table events detach partition "${name}";
  alter table events attach partition "${name}" for values from (${from ?? 'minvalue'}) to (${end});
  alter table "${name}" drop constraint ${END};`

/**
 * The table becomes the first partition of a new one with the same columns, indexes, sequence, owner and rights. Its
 * indexes are attached to the new ones and not built again. Other dependents would keep showing the first partition
 * only, so with any of them nothing is changed.
 */
const partitionTableSql = (end: number): string => `
  do $$ declare
    item record;
    sequence text := pg_get_serial_sequence('events', 'seq');
    definitions text[] := (select array_agg(pg_get_indexdef(indexrelid)) from pg_index
      where indrelid = 'events'::regclass and not indisprimary);
    owner name := (select relowner::regrole::text from pg_class where oid = 'events'::regclass);
  begin
    if exists (select from pg_depend where refobjid = 'events'::regclass and classid = 'pg_rewrite'::regclass)
      or exists (select from pg_trigger where tgrelid = 'events'::regclass)
      or exists (select from pg_policy where polrelid = 'events'::regclass)
      or exists (select from pg_publication_rel where prrelid = 'events'::regclass)
      or exists (select from pg_index where indrelid = 'events'::regclass and not indisvalid) then
      raise exception 'a view, trigger, policy, publication or incomplete index of the table is in the way'
        using errcode = '${IN_THE_WAY}';
    end if;
    alter table events rename to events_0;
    for item in select c.relname as name from pg_index join pg_class c on c.oid = indexrelid
      where indrelid = 'events_0'::regclass
    loop
      execute format('alter index %I rename to %I', item.name, regexp_replace(item.name, '^(events_)?', 'events_0_'));
    end loop;
    create table events (like events_0 including defaults including storage including comments)
      partition by range (seq);
    alter table events add constraint events_pkey primary key (seq);
    for item in select unnest(definitions) as definition loop execute item.definition; end loop;
    execute format('alter table events owner to %s', owner);
    execute format('alter sequence %s owned by events.seq', sequence);
    for item in select privilege_type as privilege, is_grantable,
        case grantee when 0 then 'public' else grantee::regrole::text end as grantee
      from pg_class, aclexplode(relacl) where oid = 'events_0'::regclass and grantee <> relowner
    loop execute format('grant %s on events to %s%s', item.privilege, item.grantee,
      case when item.is_grantable then ' with grant option' else '' end);
    end loop;
    alter table events attach partition events_0 for values from (minvalue) to (${end});
    alter table events_0 drop constraint ${END};
  end $$;`

/** SQLSTATE `object_in_use`: the table cannot be partitioned until the operator removes its dependents. */
const IN_THE_WAY = '55006'
export const isBlockedByDependents = (error: unknown): boolean => error instanceof DbError && error.code === IN_THE_WAY

/** Returns the partitions whose events are all older than this. Skips one that can still receive events. */
export async function partitionsBefore(on: Queryable, before: string): Promise<TablePartition[]> {
  const parts = (await listPartitions(on, 'events')) ?? []
  const { last } = parts.length === 0 ? { last: 0 } : await numbers(on, { name: 'events' })
  const old: TablePartition[] = []
  for (const part of parts) {
    if (part.to === undefined || part.to > last) break
    const newer = `from "${part.name}" where at >= $1::timestamptz`
    // The row with the newest number usually decides, by its index. All rows are read only if that row is old.
    const { rows } = await on.query(
      `select exists (select ${newer} and seq = (select max(seq) from "${part.name}")) or exists (select ${newer})`,
      [before],
    )
    if (rows[0]?.[0] === true) break
    old.push(part)
  }
  return old
}

/** Drops such a partition within a transaction, unless it has received a newer event. */
export async function dropPartition(db: Db, part: TablePartition, before: string): Promise<void> {
  const name = sql.identifier(part.name)
  await db.execute(sql`select set_config('lock_timeout', ${String(LOCK_MS)}, true)`)
  await db.execute(sql`lock table events, ${name} in access exclusive mode`)
  const newer = await db.execute(sql`select 1 from ${name} where at >= ${before} limit 1`)
  if (newer.count === 0) await db.execute(sql`drop table ${name}`)
}
