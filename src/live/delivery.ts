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
 * Messages and milliseconds of one slice, after which other work runs. A write takes several turns of the event loop,
 * so it waits for several slices.
 */
const SLICE = 500
const SLICE_MS = 1

/** An event to send. Its JSON is created once, for the first listener that needs it. */
interface Outgoing {
  readonly row: Read
  readonly topics: readonly Topic[]
  readonly position: Position
  readonly cursor: string
  readonly record: object | undefined
  plain?: string
  complete?: string
}

/** The events of a batch for one actor, chosen once for all of its listeners with the same topics. */
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

/** Sends each event of a batch to the `live` listeners that subscribed to it and may receive it. */
export class Delivery {
  constructor(
    private readonly app: HubApp,
    private readonly audience: Audience,
    private readonly crowd: Crowd,
    private readonly epoch: () => string,
  ) {}

  /**
   * The rights of all listeners must be current. A listener receives its events of the batch in one write, because a
   * write to its socket costs far more than another event in it.
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
   * Returns who may receive the events. Decides for all listeners before anything is sent, because other work that runs
   * between slices comes after these events. Connections of one credential share an actor, so the rule runs once.
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

  /** From now on the listener is served from the log, starting at this position. */
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
