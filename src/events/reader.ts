import { sql } from 'drizzle-orm'
import { and } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import type { AppEvent } from './event.ts'
import { isOneOf } from './feed.ts'
import { events } from './table.ts'

/** How far somebody has read, in the order of commits. */
export interface Position {
  xid: string
  seq: string
}

export interface Read extends AppEvent {
  readonly position: Position
}

/** Rows below the oldest running transaction are final, so (xid, seq) never skips a transaction that commits late. */
const horizon = sql`pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
/** Greater than every `seq`: a transaction with this position has been read to its end. */
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

/** Returns the position behind everything that is final by now. */
export async function positionNow(db: Db): Promise<Position> {
  const { rows } = await db.execute<{ xid: string }>(sql`select (${horizon} - 1)::text as xid`)
  return { xid: rows[0]?.xid as string, seq: END }
}

/** Returns the next final events behind a position, in the order of commits; `types`: only these. */
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
 * Returns whether events are waiting for a transaction that began earlier to end. Undefined when the position is not of
 * this database: transactions count from the beginning again in one that was restored from a backup.
 */
export async function isWaiting(db: Db, { xid }: Position): Promise<boolean | undefined> {
  const { rows } = await db.execute<{ horizon: string; more: boolean }>(
    sql`select ${horizon}::text as horizon, exists (select 1 from ${events} where ${events.xid} >= ${horizon}) as more`,
  )
  const [now] = rows
  return !now || BigInt(xid) >= BigInt(now.horizon) ? undefined : now.more
}
