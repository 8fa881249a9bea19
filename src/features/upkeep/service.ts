import { type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { oneTimeSecrets } from '../../auth/table.ts'
import type { RunningServer } from '../../control/client.ts'
import { or } from '../../db/conditions.ts'
import { appliedIds } from '../../db/migrate.ts'
import { counters } from '../../db/table.ts'
import { events, idempotencyKeys } from '../../events/table.ts'
import { daysAfter } from '../../records/days.ts'
import { version } from '../../version.ts'
import { attachments, pendingUploads } from '../attachments/table.ts'
import { changeItems, changes } from '../changes/table.ts'
import { deviceCodes } from '../devices/table.ts'
import { overdueRows as overdueGrants } from '../grants/cleanup.ts'
import { invites } from '../invites/table.ts'
import { isDeletedEnd } from '../links/ends.ts'
import { links } from '../links/table.ts'
import { mails } from '../mail/table.ts'
import { notifications } from '../notifications/table.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { syncConflicts, syncCursors, syncDevices, syncReceipts } from '../sync/table.ts'
import { callMinutes, taskCounts, taskDays } from '../tasks/table.ts'
import { eventDays } from '../teams/table.ts'
import { importedRecords } from '../transfer/table.ts'
import { tunnelActions, tunnelHours } from '../tunnels/table.ts'
import { loginSessions, refreshTokens } from '../users/table.ts'
import { workspaceInvites } from '../workspaces/table.ts'
import { checkInstallation } from './doctor.ts'
import { EVENT_DAYS, eventsBefore } from './event-parts.ts'

const DELETED_DAYS = 30
const NOTIFICATION_DAYS = 180
const SYNC_DAYS = 90
const CALL_DAYS = 30
const TUNNEL_DAYS = 90
/** Rows per transaction: on the embedded database all others wait for it. */
const BATCH = 500

/** A table with soft deletion, or whose rows belong to teams or projects. */
interface PurgeableTable {
  table: string
  soft: boolean
  ofTeam: boolean
  ofProject: boolean
}

/**
 * Returns every table with `deleted_at` and every table whose rows belong to a team or project, so that a new resource
 * is covered without being named here. Dependent tables come first: otherwise the database would delete their rows in
 * one cascading statement, which could exceed the time limit.
 */
const purgeableTables = read(
  'upkeep.keptTables',
  machine,
  async (ctx, _: Record<string, never>): Promise<PurgeableTable[]> => {
    const has = (column: string) =>
      sql`exists (select 1 from pg_attribute where attrelid = c.oid and attname = ${column} and not attisdropped)`
    const goesWith = (table: string) =>
      sql`exists (select 1 from pg_constraint f where f.conrelid = c.oid and f.contype = 'f' and f.confdeltype = 'c'
      and f.confrelid = ${table}::regclass)`
    const { rows } = await ctx.db.execute<PurgeableTable & Record<string, unknown>>(sql`
    with recursive kept as (
      select c.oid as id, c.relname::text as name, ${has('deleted_at')} as soft,
        ${goesWith('organizations')} as of_team, ${goesWith('projects')} as of_project
      from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
    ), depth (id, n) as (
      select id, 0 from kept where soft
      union select f.conrelid, n + 1 from depth join pg_constraint f on f.confrelid = depth.id
        where f.contype = 'f' and f.confdeltype = 'c' and f.conrelid <> f.confrelid
    )
    select name as table, soft, of_team as "ofTeam", of_project as "ofProject" from kept join depth using (id)
    where soft or of_team or of_project group by name, soft, of_team, of_project order by max(n) desc, name`)
    return rows
  },
)

/** Condition for rows that were deleted before that time, or whose team or project was. */
function isPurgeable({ soft, ofTeam, ofProject }: PurgeableTable, before: string): SQL {
  const over = (table: PgTable) => sql`(select o.id from ${table} o where o.deleted_at < ${before})`
  return or(
    sql`false`,
    soft ? sql`deleted_at < ${before}` : undefined,
    ofTeam ? sql`organization_id in ${over(organizations)}` : undefined,
    ofProject ? sql`project_id in ${over(projects)}` : undefined,
  )
}

interface OldRows {
  table: string | PgTable
  where: SQL
  /** The column that identifies a row. Default: its ctid, which is unique only within one partition. */
  key?: string
}

const nameOf = ({ table }: OldRows) => (typeof table === 'string' ? sql.identifier(table) : sql`${table}`)
const rowsBefore = (table: PgTable, column: string, before: string): OldRows => ({
  table,
  where: sql`${sql.identifier(column)} < ${before}`,
})

/** A change that a job still makes or undoes is kept for a day. */
const expiredChanges = (now: string): OldRows => ({
  table: changes,
  where: sql`expires_at < case when state in ('running', 'undoing') then ${daysAfter(now, -1)}::timestamptz
    else ${now}::timestamptz end`,
})
const itemsOfNoChange = (before: string): OldRows => ({
  table: changeItems,
  where: sql`created_at < ${before} and not exists (select 1 from ${changes} c where c.id = change_id)`,
})

const isThereAny = read(
  'upkeep.isThereAny',
  machine,
  async (ctx, old: OldRows): Promise<boolean> =>
    (await ctx.db.execute(sql`select 1 from ${nameOf(old)} where ${old.where} limit 1`)).count > 0,
)

const purgeSome = write('upkeep.purgeSome', machine, async (ctx, old: OldRows): Promise<number> => {
  const key = sql.identifier(old.key ?? 'ctid')
  const some = sql`select ${key} from ${nameOf(old)} where ${old.where} limit ${BATCH}`
  return (await ctx.db.execute(sql`delete from ${nameOf(old)} where ${key} = any(array(${some}))`)).count
})

/** Projects with more rows of `task_counts` than this get them summed up; a trigger keeps most projects below it. */
const MANY_COUNTS = 300
/** Rows that one call of `task_counts_fold` removes at least, if there are that many. */
const FOLDED = 1900

/** Returns the projects with many rows of counts, and deleted projects with any, each with the number of rows. */
const readCrowdedCounts = read(
  'upkeep.crowdedCounts',
  machine,
  async (ctx, _: Record<string, never>): Promise<{ id: string; n: number }[]> =>
    (
      await ctx.db.execute<{ id: string; n: number }>(sql`
        select c.project_id as id, count(*)::int as n from ${taskCounts} c
        left join ${projects} p on p.id = c.project_id
        group by c.project_id having count(*) > ${MANY_COUNTS} or count(p.id) = 0`)
    ).rows,
)

const foldProjectCounts = write(
  'upkeep.foldCounts',
  machine,
  async (ctx, { id }: { id: string }): Promise<void> => {
    await ctx.db.execute(sql`select task_counts_fold(${id}::uuid)`)
  },
  { bookkeeping: true },
)

/** Returns past days of projects with several rows; most days change little once they are over. */
const readCrowdedDays = read(
  'upkeep.crowdedDays',
  machine,
  async (ctx, _: Record<string, never>): Promise<{ id: string; day: string; n: number }[]> =>
    (
      await ctx.db.execute<{ id: string; day: string; n: number }>(sql`
        select project_id as id, day::text as day, count(*)::int as n from ${taskDays}
        where day < ${ctx.now.slice(0, 10)}::date group by project_id, day having count(*) > 1`)
    ).rows,
)

const foldDay = write(
  'upkeep.foldDay',
  machine,
  async (ctx, { id, day }: { id: string; day: string }): Promise<void> => {
    await ctx.db.execute(sql`select task_days_fold(${id}::uuid, ${day}::date)`)
  },
  { bookkeeping: true },
)

async function foldDays(ctx: Ctx): Promise<void> {
  for (const { id, day, n } of await readCrowdedDays(ctx, {}))
    for (let left = n; left > 1; left -= FOLDED) await foldDay(ctx, { id, day })
}

/** Sums up the counts of projects with many rows. Those of a deleted project add up to 0, so no row remains. */
async function foldCounts(ctx: Ctx): Promise<void> {
  for (const { id, n } of await readCrowdedCounts(ctx, {}))
    for (let left = n; left > 0; left -= FOLDED) await foldProjectCounts(ctx, { id })
}

/** Permanently deletes expired rows, in small batches. */
export const purgeExpired = flow(
  'upkeep.purge',
  machine,
  async (ctx, _: Record<string, never>): Promise<Record<string, number>> => {
    const ago = (days: number) => daysAfter(ctx.now, -days)
    const removed: Record<string, number> = {}
    for (const kept of await purgeableTables(ctx, {}))
      removed[kept.table] = await purgeAll(ctx, { table: kept.table, where: isPurgeable(kept, ago(DELETED_DAYS)) })
    removed.events = await purgeAll(ctx, { ...rowsBefore(events, 'at', await eventsBefore(ctx)), key: 'seq' })
    removed.eventDays = await purgeAll(ctx, rowsBefore(eventDays, 'day', ago(EVENT_DAYS).slice(0, 10)))
    removed.idempotencyKeys = await purgeAll(ctx, rowsBefore(idempotencyKeys, 'expires_at', ctx.now))
    removed.changes = await purgeAll(ctx, expiredChanges(ctx.now))
    removed.changeItems = await purgeAll(ctx, itemsOfNoChange(daysAfter(ctx.now, -1 / 24)))
    removed.counters = await purgeAll(ctx, rowsBefore(counters, 'expires_at', ctx.now))
    removed.refreshTokens = await purgeAll(ctx, rowsBefore(refreshTokens, 'expires_at', ctx.now))
    removed.loginSessions = await purgeAll(ctx, rowsBefore(loginSessions, 'expires_at', ago(DELETED_DAYS)))
    removed.oneTimeSecrets = await purgeAll(ctx, rowsBefore(oneTimeSecrets, 'expires_at', ctx.now))
    removed.deviceCodes = await purgeAll(ctx, rowsBefore(deviceCodes, 'expires_at', ctx.now))
    removed.mails = await purgeAll(ctx, rowsBefore(mails, 'created_at', ago(DELETED_DAYS)))
    removed.notifications = await purgeAll(ctx, rowsBefore(notifications, 'created_at', ago(NOTIFICATION_DAYS)))
    removed.callMinutes = await purgeAll(ctx, rowsBefore(callMinutes, 'minute', ago(CALL_DAYS)))
    removed.tunnelActions = await purgeAll(ctx, rowsBefore(tunnelActions, 'created_at', ago(TUNNEL_DAYS)))
    removed.tunnelHours = await purgeAll(ctx, rowsBefore(tunnelHours, 'hour', ago(TUNNEL_DAYS)))
    removed.invites = await purgeAll(ctx, rowsBefore(invites, 'expires_at', ago(DELETED_DAYS)))
    removed.workspaceInvites = await purgeAll(ctx, rowsBefore(workspaceInvites, 'expires_at', ago(DELETED_DAYS)))
    removed.syncReceipts = await purgeAll(ctx, rowsBefore(syncReceipts, 'at', ago(SYNC_DAYS)))
    removed.syncCursors = await purgeAll(ctx, rowsBefore(syncCursors, 'created_at', ago(SYNC_DAYS)))
    removed.syncConflicts = await purgeAll(ctx, rowsBefore(syncConflicts, 'resolved_at', ago(DELETED_DAYS)))
    removed.syncConflicts += await purgeAll(ctx, rowsBefore(syncConflicts, 'created_at', ago(SYNC_DAYS)))
    // A device stops working earlier; its row stays for a while, to explain why.
    removed.syncDevices = await purgeAll(ctx, rowsBefore(syncDevices, 'last_seen_at', ago(2 * SYNC_DAYS)))
    removed.grants = 0
    for (const old of overdueGrants(ctx.now)) removed.grants += await purgeAll(ctx, old)
    removed.links = await purgeAll(ctx, {
      table: links,
      where: or(isDeletedEnd(ctx, links.fromType, links.fromId), isDeletedEnd(ctx, links.toType, links.toId)),
    })
    removed.attachments = await purgeAll(ctx, {
      table: attachments,
      where: isDeletedEnd(ctx, attachments.kind, attachments.recordId),
    })
    removed.pendingUploads = await purgeAll(ctx, rowsBefore(pendingUploads, 'created_at', ago(1)))
    removed.importedRecords = await purgeAll(ctx, {
      table: importedRecords,
      where: isDeletedEnd(ctx, importedRecords.entity, importedRecords.id),
    })
    await foldCounts(ctx)
    await foldDays(ctx)
    return removed
  },
)

async function purgeAll(ctx: Ctx, old: OldRows): Promise<number> {
  let total = 0
  while (await isThereAny(ctx, old)) total += await purgeSome(ctx, old)
  return total
}

/** For `tutti doctor`, which must not open the files of a running server. */
export const checkServer = flow('upkeep.check', machine, (ctx, { repair }: { repair?: boolean }) =>
  checkInstallation(ctx.app.config, ctx.app.driver, repair),
)

export const getRunningServer = flow(
  'upkeep.running',
  machine,
  async ({ app }, _: Record<string, never>): Promise<RunningServer> => {
    const { host, port } = app.listening ?? { host: app.config.HOST, port: app.config.PORT }
    return { version, pid: process.pid, url: app.url, host, port, applied: await appliedIds(app.driver) }
  },
)
