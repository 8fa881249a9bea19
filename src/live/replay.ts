import { sql } from 'drizzle-orm'
import { toIso } from '../db/columns.ts'
import { AppError } from '../errors.ts'
import { between, covers, type Position, toCursor } from '../events/position.ts'
import { isAfter, positionOf, readEvents } from '../events/reader.ts'
import { events } from '../events/table.ts'
import type { App } from '../services.ts'
import { recordsOf } from './attached.ts'
import type { Audience } from './audience.ts'
import { hubLimits } from './limits.ts'
import type { Listener } from './listener.ts'
import { messageOf, type ResetReason, shapeOf } from './messages.ts'
import { isWanted } from './topics.ts'

const AT_ONCE = 500

/** Serves listeners from the log, with the rights they have now. */
export class Replay {
  constructor(
    private readonly app: Pick<App, 'db' | 'events' | 'records' | 'clock'>,
    private readonly audience: Audience,
    private readonly epoch: () => string,
  ) {}

  /** Returns the position that a client's cursor names, or `epoch` if it is from another history of events. */
  positionOf(cursor: string): Position | 'epoch' {
    const position = positionOf(this.epoch(), cursor)
    if (position === 'malformed') throw new AppError('invalid.cursor', 'This is no cursor of this server.')
    return position === 'foreign' ? 'epoch' : position
  }

  /** Returns why the events between the two positions cannot be replayed, if so. */
  async refusal(from: Position | 'epoch', to: Position): Promise<ResetReason | undefined> {
    if (from === 'epoch' || from.high > to.high) return 'epoch'
    const most = hubLimits.replayEvents
    const { rows } = await this.app.db.execute<{ missed: number; oldest: string | Date | null }>(sql`
      select count(*)::int as missed, min(at) as oldest from (select ${events.at} as at from ${events}
        where ${isAfter(from, most + 1)} order by ${events.seq} limit ${most + 1}) missed`)
    const { missed = 0, oldest = null } = rows[0] ?? {}
    if (missed > most) return 'count'
    const ageMs = oldest === null ? 0 : this.app.clock().getTime() - Date.parse(toIso(oldest))
    return ageMs > hubLimits.replayHours * 3_600_000 ? 'age' : undefined
  }

  /**
   * Sends a listener the next events on its way to `to`, up to which all rights are current. Stops where the client
   * does not read.
   */
  async page(listener: Listener, to: Position): Promise<void> {
    const from = listener.position
    const read = await readEvents(this.app.db, from, AT_ONCE)
    const rows = read.filter((row) => covers(to, row.seq) && this.audience.typeOf(row))
    await this.audience.places.load(rows.map(({ projectId }) => projectId))
    // The client went back further meanwhile.
    if (listener.position !== from) return
    const isNews = (row: (typeof rows)[number]) =>
      !listener.had?.isIn(row.seq) && isWanted(row, this.audience.hears(listener.actor, row), listener.topics)
    const records = listener.records ? await recordsOf(this.app, rows.filter(isNews)) : new Map<string, object>()
    const now = Date.now()
    for (const row of rows) {
      if (listener.isClosed) return
      if (!isNews(row)) continue
      const position = between(from, to, row.seq)
      const cursor = toCursor(this.epoch(), position)
      listener.event(messageOf(cursor, shapeOf(this.app.events, row), records.get(row.id)), cursor, now)
      listener.position = position
      if (listener.isFull) return
    }
    const last = read.length < AT_ONCE ? undefined : read.at(-1)
    listener.position = last && last.seq <= to.high ? between(from, to, last.seq) : to
  }
}
