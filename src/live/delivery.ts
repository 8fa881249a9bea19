import type { Position } from '../events/position.ts'
import { between, toCursor } from '../events/position.ts'
import type { Read } from '../events/reader.ts'
import type { Batch } from '../events/tail.ts'
import { recordsOf } from './attached.ts'
import type { Audience } from './audience.ts'
import type { Crowd } from './crowd.ts'
import type { HubApp } from './following.ts'
import type { Listener } from './listener.ts'
import { messageOf, shapeOf } from './messages.ts'
import { isWanted } from './topics.ts'

/** Messages that are sent without letting other work run in between. */
const SLICE = 500

/** Sends each event of a batch to those who are `live`, subscribed to it and may hear it. */
export class Delivery {
  #sent = 0

  constructor(
    private readonly app: HubApp,
    private readonly audience: Audience,
    private readonly crowd: Crowd,
    private readonly epoch: () => string,
  ) {}

  /** The rights of all listeners must be current. */
  async send({ rows, before, after }: Batch): Promise<void> {
    const wanted = rows.filter((row) => this.audience.typeOf(row) && this.crowd.of(row).size > 0)
    if (wanted.length === 0) return
    await this.audience.places.load(wanted.map(({ projectId }) => projectId))
    const withRecords = wanted.filter((row) => [...this.crowd.of(row)].some(({ records }) => records))
    const records = await recordsOf(this.app, withRecords)
    for (const row of wanted) await this.#event(row, between(before, after, row.seq), records.get(row.id))
  }

  /** A listener that is not `live` is served from this position. */
  fallBehind(listener: Listener, position: Position): void {
    listener.state = 'behind'
    listener.position = position
  }

  async #event(row: Read, position: Position, record: object | undefined): Promise<void> {
    const cursor = toCursor(this.epoch(), position)
    let plain: string | undefined
    let complete: string | undefined
    const shape = shapeOf(this.app.events, row)
    const now = Date.now()
    for (const listener of this.crowd.of(row)) {
      if (listener.state !== 'live' || listener.isClosed) continue
      if (!isWanted(row, this.audience.hears(listener.actor, row), listener.topics)) continue
      if (listener.records && record) complete ??= messageOf(cursor, shape, record)
      else plain ??= messageOf(cursor, shape)
      listener.event((listener.records && complete) || (plain as string), cursor, now)
      if (listener.isFull) this.fallBehind(listener, position)
      if (++this.#sent % SLICE === 0) await new Promise(setImmediate)
    }
  }
}
