import { sql } from 'drizzle-orm'
import { and } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import type { AppEvent } from './event.ts'
import { isOneOf } from './feed.ts'
import { events } from './table.ts'

/** A place in the stream of events, which is in commit order. */
export interface Position {
  xid: string
  seq: string
}

export interface Read extends AppEvent {
  readonly position: Position
}

/** Rows below the oldest running transaction are final, so reading by (xid, seq) never skips a late commit. */
const horizon = sql`pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
/** Greater than every `seq`: a position with it is after the whole transaction. */
const END = '9223372036854775807'

const columns = {
  id: events.id,
  at: events.at,
  type: events.type,
  action: events.action,
  actor: { kind: events.actorKind, id: events.actorId, name: events.actorName },
  credentialId: events.credentialId,
  organizationId: events.organizationId,
  projectId: events.projectId,
  userId: events.userId,
  subjectId: events.subjectId,
  data: events.data,
  requestId: events.requestId,
  ip: events.ip,
  origin: events.origin,
  position: { xid: sql<string>`${events.xid}::text`, seq: sql<string>`${events.seq}::text` },
}

/** Returns the position after all events that are final now. */
export async function positionNow(db: Db): Promise<Position> {
  const { rows } = await db.execute<{ xid: string }>(sql`select (${horizon} - 1)::text as xid`)
  return { xid: rows[0]?.xid as string, seq: END }
}

/** Returns the next final events after a position, in commit order; with `types`, only those. */
export const readSince = async (
  db: Db,
  { xid, seq }: Position,
  { limit, types }: { limit: number; types?: readonly string[] },
): Promise<Read[]> =>
  db
    .select(columns)
    .from(events)
    .where(
      and(
        // The first condition is for the block range index.
        sql`${events.xid} >= ${xid}::text::bigint`,
        sql`(${events.xid}, ${events.seq}) > (${xid}::text::bigint, ${seq}::text::bigint)`,
        sql`${events.xid} < ${horizon}`,
        types && isOneOf(types),
      ),
    )
    .orderBy(events.xid, events.seq)
    .limit(limit)

/**
 * Returns true if committed events are not yet final because an older transaction is still running. Returns undefined
 * if the position is from another database: transaction numbers start again in one that was restored from a backup.
 */
export async function isWaiting(db: Db, { xid }: Position): Promise<boolean | undefined> {
  const { rows } = await db.execute<{ horizon: string; more: boolean }>(
    sql`select ${horizon}::text as horizon, exists (select 1 from ${events} where ${events.xid} >= ${horizon}) as more`,
  )
  const [now] = rows
  return !now || BigInt(xid) >= BigInt(now.horizon) ? undefined : now.more
}
