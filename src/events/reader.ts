import { type SQL, sql } from 'drizzle-orm'
import { connectionOf, type Db, placeholders, prepareForms } from '../db/session.ts'
import { actorColumns, groupActor } from './actor.ts'
import type { EventCatalogue } from './catalogue.ts'
import type { AppEvent } from './event.ts'
import { advancePosition, decodeCursor, type Position, withWriters } from './position.ts'
import { events } from './table.ts'

/** A row and its number. */
export interface EventRow extends AppEvent {
  readonly seq: number
}

/** The columns that search needs. */
export interface EventChange {
  readonly seq: number
  readonly type: string
  readonly subjectId: string | null
  readonly projectId: string | null
  readonly at: string
}

const change = {
  seq: events.seq,
  type: events.type,
  subjectId: events.subjectId,
  projectId: events.projectId,
  at: events.at,
}
const whole = {
  ...change,
  id: events.id,
  action: events.action,
  ...actorColumns,
  credentialId: events.credentialId,
  organizationId: events.organizationId,
  userId: events.userId,
  data: events.data,
  requestId: events.requestId,
  ip: events.ip,
  origin: events.origin,
}

const asked = placeholders('high', 'limit', 'first', 'last')

/** Built once: every instance reads every event, many times a second. */
const page = prepareForms((db, { hasHoles }: { hasHoles: boolean }) =>
  db.select(whole).from(events).where(condition(asked, hasHoles)).orderBy(events.seq).limit(asked.limit),
)

/** Returns the first visible rows after a position, by their number; rows of its holes come first. */
export const readEvents = async (db: Db, from: Position, limit: number): Promise<EventRow[]> =>
  (await page(db, { hasHoles: from.holes.length > 0 }, valuesOf(from, limit))).map(groupActor)

/** Returns all visible rows after a position that may change rights or who sees a project. */
export async function readRightsChanges(db: Db, catalogue: EventCatalogue, from: Position): Promise<EventRow[]> {
  const list = (types: string[]) => `{${types.join(',')}}`
  const known = list(catalogue.types(() => true))
  const changing = list(catalogue.types(({ changes }) => changes === 'rights' || changes === 'visibility'))
  const isChanging = sql`(${events.type} = any(${changing}::text[])
    or (${events.type} <> all(${known}::text[]) and ${events.type} <> ${events.action}))`
  const rows = await db
    .select(whole)
    .from(events)
    .where(sql`${isAfterPosition(from, MOST_AHEAD)} and ${isChanging}`)
    .orderBy(events.seq)
  return rows.map(groupActor)
}
/** Rows of holes that are looked at; above the highest number there is no limit. */
const MOST_AHEAD = 1_000_000

/** Like `readEvents`, without the data of the events. */
export const readChanges = (db: Db, from: Position, limit: number): Promise<EventChange[]> =>
  db.select(change).from(events).where(isAfterPosition(from, limit)).orderBy(events.seq).limit(limit)

export interface EventPage {
  /** By their number, ascending. */
  readonly rows: readonly EventRow[]
  /** After these rows. */
  readonly position: Position
  /** False if there were more than `limit`. */
  readonly complete: boolean
}

/**
 * Reads the events after a position that a client sent back: `positionOf(epoch, cursor)`, then this, then
 * `toCursor(epoch, page.position)` for the next call. Rows that commit late into a hole come with a later call.
 *
 * A cursor does not contain who may still fill its holes, so that is read first. Holes without writers that are still
 * empty afterwards stay empty, and are dropped.
 */
export async function readPageAfter(db: Db, from: Position, limit: number): Promise<EventPage> {
  const settled = await resolveHoles(db, from)
  const rows = await readEvents(db, settled, limit)
  const complete = rows.length < limit
  const seqs = rows.map(({ seq }) => seq)
  return { rows, position: advancePosition(settled, seqs, complete), complete }
}

/**
 * Returns the position of a client's cursor. `malformed`: no server wrote it. `foreign`: from another event history,
 * such as before a restore, so the client must load everything again.
 */
export function parseCursor(epoch: string, cursor: string): Position | 'malformed' | 'foreign' {
  const found = decodeCursor(cursor)
  if (!found) return 'malformed'
  return found.epoch === epoch ? found.position : 'foreign'
}

type Values = Record<keyof typeof asked, unknown>

function valuesOf({ high, holes }: Position, limit: number): Values {
  const bounds = (of: 'from' | 'to') => `{${holes.map((hole) => hole[of]).join(',')}}`
  return { high, limit, first: bounds('from'), last: bounds('to') }
}

/** SQL condition for the rows after a position, of which the caller reads at most `limit`. */
export const isAfterPosition = (from: Position, limit: number): SQL =>
  condition(valuesOf(from, limit), from.holes.length > 0)

/**
 * One statement for both parts, so that a transaction that commits meanwhile is seen in both or in neither. The numbers
 * are gathered into an array first: the planner expects so many rows in the holes that it would scan the whole table.
 */
function condition({ high, limit, first, last }: Values, hasHoles: boolean): SQL {
  if (!hasHoles) return sql`${events.seq} > ${high}`
  return sql`${events.seq} = any(array(
    (select e.seq from unnest(${first}::bigint[], ${last}::bigint[]) hole (first, last),
      lateral (select seq from events where seq between hole.first and hole.last order by seq limit ${limit}) e)
    union all (select seq from events where seq > ${high} order by seq limit ${limit})))`
}

/**
 * Returns the transactions that write events now. Every insert locks the table before it takes a number and keeps the
 * lock until its transaction has ended, so a hole whose writers are all gone stays empty. Snapshots do not show this:
 * their `xmax` is the first transaction that has not ended, so a running one may be above it, and their `xmin` waits
 * for transactions of other databases.
 */
async function writersOf(db: Db): Promise<string[]> {
  const { rows } = await connectionOf(db).query(WRITERS)
  return rows.map(([writer]) => String(writer))
}

const WRITERS = `select virtualtransaction from pg_locks
  where locktype = 'relation' and relation = 'events'::regclass and mode = 'RowExclusiveLock' and granted
    and database = (select oid from pg_database where datname = current_database())`

/** Looks up who may still fill the holes of a position. Only a read after this drops a hole that stays empty. */
export const resolveHoles = async (db: Db, position: Position): Promise<Position> =>
  position.holes.length === 0 ? position : withWriters(position, await writersOf(db))

/** How far back holes are searched at the start. Rows travel with COMMIT, so a hole is milliseconds old. */
const RECENT = 10_000

/** Returns the position after all events that are visible now. */
export async function currentPosition(db: Db): Promise<Position> {
  const { rows } = await db.execute<{ high: string }>(
    sql`select coalesce(max(${events.seq}), 0)::text as high from ${events}`,
  )
  // No transaction writes events, so every row up to this number is visible or will never exist.
  const running = await writersOf(db)
  if (running.length === 0) return { high: Number(rows[0]?.high), holes: [] }
  return resolveHoles(db, await positionWithHoles(db))
}

async function positionWithHoles(db: Db): Promise<Position> {
  const { rows } = await db.execute<{ high: string; holes: string }>(sql`
    select coalesce(max(seq), 0)::text as high,
      coalesce(json_agg(json_build_array(before + 1, seq - 1) order by seq) filter (where seq > before + 1), '[]')::text
        as holes
    from (select seq, lag(seq) over (order by seq) as before from events
      where seq > (select max(seq) from events) - ${RECENT}) recent`)
  const [found] = rows
  const holes = JSON.parse(found?.holes ?? '[]') as [number, number][]
  return { high: Number(found?.high), holes: holes.map(([from, to]) => ({ from, to })) }
}

/** Returns true if the position is from another database: it is above every event of this one. */
export async function isForeignPosition(db: Db, { high }: Position): Promise<boolean> {
  const { rows } = await db.execute<{ foreign: boolean }>(
    sql`select coalesce(max(${events.seq}), 0) < ${high} as foreign from ${events}`,
  )
  return rows[0]?.foreign === true
}
