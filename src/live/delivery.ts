import type { Actor } from '../auth/actor.ts'
import type { Position } from '../events/position.ts'
import { between, toCursor } from '../events/position.ts'
import type { Read } from '../events/reader.ts'
import type { Batch } from '../events/tail.ts'
import { recordsOf } from './attached.ts'
import type { Audience, Hearing } from './audience.ts'
import type { Crowd } from './crowd.ts'
import type { HubApp } from './following.ts'
import type { Listener } from './listener.ts'
import { messageOf, shapeOf } from './messages.ts'
import { isWanted, type Topic, topicsOf } from './topics.ts'

/**
 * Messages that are sent without letting other work run in between, and how long that may take at most. A write of
 * somebody else takes several turns of the event loop, so it waits for several slices.
 */
const SLICE = 500
const SLICE_MS = 1

/** An event on its way to listeners. Its JSON is made once, for the first who wants it. */
interface Outgoing {
  readonly row: Read
  readonly topics: readonly Topic[]
  readonly position: Position
  readonly cursor: string
  readonly record: object | undefined
  plain?: string
  complete?: string
}

/** What an actor gets of a batch, chosen once for all of its listeners that share a set of topics. */
class Chosen {
  readonly #byTopics = new Map<ReadonlySet<Topic>, readonly Outgoing[]>()

  constructor(private readonly hearings: readonly Hearing[]) {}

  of(events: readonly Outgoing[], wanted: ReadonlySet<Topic>): readonly Outgoing[] {
    const known = this.#byTopics.get(wanted)
    if (known) return known
    const own = events.filter(({ topics }, i) => isWanted(topics, this.hearings[i] as Hearing, wanted))
    this.#byTopics.set(wanted, own)
    return own
  }
}

/** Sends each event of a batch to those who are `live`, subscribed to it and may get it. */
export class Delivery {
  constructor(
    private readonly app: HubApp,
    private readonly audience: Audience,
    private readonly crowd: Crowd,
    private readonly epoch: () => string,
  ) {}

  /**
   * The rights of all listeners must be current. A listener gets all its events of the batch at once, because writing
   * to its socket costs far more than a further event in the same write.
   */
  async send({ rows, before, after }: Batch): Promise<void> {
    const wanted = rows.filter((row) => this.audience.typeOf(row) && this.crowd.hears(row))
    if (wanted.length === 0) return
    const withRecords = wanted.filter((row) => this.crowd.wantsRecord(row))
    const records = await recordsOf(this.app, withRecords)
    const projects = wanted.map(({ projectId }) => projectId)
    while (!this.audience.projects.knows(projects)) await this.audience.projects.load(projects)
    const events = wanted.map((row): Outgoing => {
      const position = between(before, after, row.seq)
      const cursor = toCursor(this.epoch(), position)
      return { row, topics: topicsOf(row), position, cursor, record: records.get(row.id) }
    })
    const now = Date.now()
    let [sent, since] = [0, performance.now()]
    for (const { listener, chosen } of this.#audienceOf(wanted)) {
      if (listener.state !== 'live' || listener.isClosed) continue
      const own = chosen.of(events, listener.topics)
      if (own.length === 0) continue
      const full = listener.events(own, (event) => this.#jsonFor(listener, event), now)
      if (full) this.fallBehind(listener, full.position)
      sent += own.length
      if (sent < SLICE && performance.now() - since < SLICE_MS) continue
      await new Promise(setImmediate)
      ;[sent, since] = [0, performance.now()]
    }
  }

  /**
   * Returns who may get the events, and how. It is decided for all before anything is sent: what other work does in
   * between comes after these events. Connections of one credential share an actor, so the rule is asked once for them.
   */
  #audienceOf(rows: readonly Read[]): { listener: Listener; chosen: Chosen }[] {
    const known = new Map<Actor, Chosen>()
    return Array.from(this.crowd.of(rows), (listener) => {
      const { actor } = listener
      const chosen = known.get(actor) ?? new Chosen(rows.map((row) => this.audience.hears(actor, row)))
      known.set(actor, chosen)
      return { listener, chosen }
    })
  }

  /** A listener that is not `live` is served from this position. */
  fallBehind(listener: Listener, position: Position): void {
    listener.state = 'behind'
    listener.position = position
  }

  #jsonFor({ records }: Listener, event: Outgoing): string {
    const { row, cursor, record } = event
    if (records && record) {
      event.complete ??= messageOf(cursor, shapeOf(this.app.events, row), record)
      return event.complete
    }
    event.plain ??= messageOf(cursor, shapeOf(this.app.events, row))
    return event.plain
  }
}
