import { sql } from 'drizzle-orm'
import { toIso } from '../db/columns.ts'
import { AppError } from '../errors.ts'
import { encodeCursor, isBehind, type Position, positionAfter } from '../events/position.ts'
import { type EventRow, parseCursor, readEvents } from '../events/reader.ts'
import { events } from '../events/table.ts'
import type { Audience } from './audience.ts'
import { loadEventRecords } from './event-records.ts'
import type { HubApp } from './hub-app.ts'
import { hubLimits } from './limits.ts'
import type { Listener } from './listener.ts'
import { eventMessage, type ResetReason, toPublicEvent } from './messages.ts'
import { ReadCache } from './read-cache.ts'
import { isWanted, type Topic, topicsOf } from './topics.ts'

/** Events of a page. */
const AT_ONCE = 500
/** Pages for clients that are less than a page behind start at multiples of this number, so that clients share them. */
const NEAR = 100
/** Cached pages: more than there are between the oldest event that can be replayed and now. */
const MOST_PAGES = 24
const MOST_MISSING = 1000

/** An event of a page. Its message without the record is the same for all clients. */
interface Missed {
  readonly row: EventRow
  readonly topics: readonly Topic[]
  readonly position: Position
  readonly cursor: string
  json?: string
}

interface Missing extends Record<string, unknown> {
  readonly oldest: string | Date | null
  /** There are more events than can be replayed. */
  readonly many: boolean
}

interface Page {
  readonly events: readonly Missed[]
  /** After this page. */
  readonly position: Position
}

type On = Pick<HubApp, 'db' | 'clock'>

const none: ReadonlyMap<string, object> = new Map()

/** Returns the position of a client's cursor, or `epoch` if the cursor is from another event history. */
export function parseClientCursor(epoch: string, cursor: string): Position | 'epoch' {
  const position = parseCursor(epoch, cursor)
  if (position === 'malformed') throw new AppError('invalid.cursor', 'This cursor is not from this server.')
  return position === 'foreign' ? 'epoch' : position
}

/** Returns why the events between the two positions cannot be replayed, if so. */
export async function replayRefusal(
  on: On,
  from: Position | 'epoch',
  to: Position,
  count = (after: Position): Promise<Missing> => countAfter(on, after),
): Promise<ResetReason | undefined> {
  if (from === 'epoch' || from.high > to.high) return 'epoch'
  const { oldest, many } = await count(from)
  if (many) return 'count'
  const ageMs = oldest === null ? 0 : on.clock().getTime() - Date.parse(toIso(oldest))
  return ageMs > hubLimits.replayHours * 3_600_000 ? 'age' : undefined
}

/** Reads only the sequence numbers of events, because thousands of clients may reconnect at once. */
async function countAfter({ db }: On, { high, holes }: Position): Promise<Missing> {
  // Counts from the first hole, because holes last only milliseconds.
  const after = sql`from ${events} where ${events.seq} > ${(holes[0]?.from ?? high + 1) - 1} order by ${events.seq}`
  const { rows } = await db.execute<Missing>(sql`select (select ${events.at} ${after} limit 1) as oldest,
    exists (select 1 ${after} offset ${hubLimits.replayEvents} limit 1) as many`)
  return rows[0] ?? { oldest: null, many: false }
}

/** Serves listeners from the log, with their current rights. */
export class Replay {
  /** The events between two positions never change once the later one is reached, so clients can share them. */
  readonly #pages = new ReadCache<Page>(MOST_PAGES)
  readonly #missed = new ReadCache<Missing>(MOST_MISSING)
  #turns: Promise<unknown> = Promise.resolve()
  #reads: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly app: Pick<HubApp, 'db' | 'events' | 'records' | 'clock'>,
    private readonly audience: Audience,
    private readonly epoch: () => string,
  ) {}

  /** Returns why the events between the two positions cannot be replayed, if so. */
  refusalReason(from: Position | 'epoch', to: Position): Promise<ResetReason | undefined> {
    return replayRefusal(this.app, from, to, (after) =>
      this.#missed.get(this.#keyOf(after, to), () => countAfter(this.app, after)),
    )
  }

  /**
   * Sends a listener the next page of events on its way to `to`, up to which all rights are current. Stops when the
   * client does not read.
   */
  async sendPage(listener: Listener, to: Position): Promise<void> {
    const from = listener.position
    const page = await this.#pageAfter(from, to)
    await this.#turn()
    const projects = page.events.map(({ row }) => row.projectId)
    await this.audience.projects.load(projects)
    const isNews = ({ row, topics }: Missed) =>
      !isBehind(from, row.seq) &&
      !listener.alreadySent?.includes(row.seq) &&
      isWanted(topics, this.audience.accessTo(listener.actor, row), listener.topics)
    const withRecord = listener.records ? page.events.filter(isNews).map(({ row }) => row) : []
    const records = withRecord.length === 0 ? none : await this.#alone(() => loadEventRecords(this.app, withRecord))
    while (!this.audience.projects.knows(projects)) await this.audience.projects.load(projects)
    // The client has disconnected, or went back further in the meantime.
    if (listener.position !== from || listener.isClosed) return
    const news = page.events.filter(isNews)
    const full = listener.sendEvents(news, (event) => this.#jsonOf(event, records.get(event.row.id)), Date.now())
    listener.position = (full ?? page).position
  }

  /**
   * Returns a page that contains the next events. Clients at different positions share it, so that a thousand clients
   * cost a few reads; events that a client has seen are left out later. A position with holes gets its own page.
   */
  #pageAfter(from: Position, to: Position): Promise<Page> {
    const isFar = to.high - from.high > AT_ONCE
    const hasHoles = from.holes.length > 0 || to.holes.length > 0
    const high = from.high - (from.high % (isFar ? AT_ONCE : NEAR))
    const [start, end] = hasHoles ? [from, to] : [{ high, holes: [] }, isFar ? { high: high + AT_ONCE, holes: [] } : to]
    const limit = hasHoles ? AT_ONCE : Math.max(0, end.high - high)
    return this.#pages.get(this.#keyOf(start, end), () => this.#alone(() => this.#read(start, end, limit)))
  }

  async #read(from: Position, to: Position, limit: number): Promise<Page> {
    const read = await readEvents(this.app.db, from, limit)
    const rows = read.filter((row) => isBehind(to, row.seq) && this.audience.typeOf(row))
    const last = read.length < limit ? undefined : read.at(-1)
    return {
      events: rows.map((row) => {
        const position = positionAfter(from, to, row.seq)
        return { row, topics: topicsOf(row), position, cursor: encodeCursor(this.epoch(), position) }
      }),
      position: last && last.seq <= to.high ? positionAfter(from, to, last.seq) : to,
    }
  }

  /** Runs reads one after the other: reconnecting clients would otherwise use up all database connections. */
  #alone<T>(read: () => Promise<T>): Promise<T> {
    const found = this.#reads.then(read)
    this.#reads = found.catch(() => undefined)
    return found
  }

  #jsonOf(event: Missed, record: object | undefined): string {
    const { row, cursor } = event
    if (record) return eventMessage(cursor, toPublicEvent(this.app.events, row), record)
    event.json ??= eventMessage(cursor, toPublicEvent(this.app.events, row))
    return event.json
  }

  /** Contains the epoch, because positions mean other events after a restore. */
  #keyOf(from: Position, to: Position): string {
    return `${this.epoch()} ${JSON.stringify([from, to], ['high', 'holes', 'from', 'to'])}`
  }

  /** Waits for its turn. Other work runs between two pages. */
  #turn(): Promise<unknown> {
    this.#turns = this.#turns.then(() => new Promise(setImmediate))
    return this.#turns
  }
}
