import type { Actor } from '../auth/actor.ts'
import type { Position } from '../events/position.ts'
import { encodeCursor, positionAfter } from '../events/position.ts'
import type { EventRow } from '../events/reader.ts'
import type { EventBatch } from '../events/tail.ts'
import type { Audience, EventAccess } from './audience.ts'
import { loadEventRecords } from './event-records.ts'
import type { HubApp } from './hub-app.ts'
import type { HubConnections } from './hub-connections.ts'
import type { Listener } from './listener.ts'
import { eventMessage, toPublicEvent } from './messages.ts'
import { isWanted, type Topic, topicsOf } from './topics.ts'

/**
 * Messages and milliseconds of one slice, after which other work runs. A write takes several turns of the event loop,
 * so it waits for several slices.
 */
const SLICE = 500
const SLICE_MS = 1

/** An event to send. Its JSON is created once, for the first listener that needs it. */
interface Outgoing {
  readonly row: EventRow
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

  constructor(private readonly hearings: readonly EventAccess[]) {}

  of(events: readonly Outgoing[], wanted: ReadonlySet<Topic>): readonly Outgoing[] {
    const known = this.#byTopics.get(wanted)
    if (known) return known
    const own = events.filter(({ topics }, i) => isWanted(topics, this.hearings[i] as EventAccess, wanted))
    this.#byTopics.set(wanted, own)
    return own
  }
}

/** Sends each event of a batch to the `live` listeners that subscribed to it and may receive it. */
export class Delivery {
  constructor(
    private readonly app: HubApp,
    private readonly audience: Audience,
    private readonly connections: HubConnections,
    private readonly epoch: () => string,
  ) {}

  /**
   * The rights of all listeners must be current. A listener receives its events of the batch in one write, because a
   * write to its socket costs far more than another event in it.
   */
  async send({ rows, before, after }: EventBatch): Promise<void> {
    const wanted = rows.filter((row) => this.audience.typeOf(row) && this.connections.hasRecipients(row))
    if (wanted.length === 0) return
    const withRecords = wanted.filter((row) => this.connections.wantsRecord(row))
    const records = await loadEventRecords(this.app, withRecords)
    const projects = wanted.map(({ projectId }) => projectId)
    while (!this.audience.projects.knows(projects)) await this.audience.projects.load(projects)
    const events = wanted.map((row): Outgoing => {
      const position = positionAfter(before, after, row.seq)
      const cursor = encodeCursor(this.epoch(), position)
      return { row, topics: topicsOf(row), position, cursor, record: records.get(row.id) }
    })
    const now = Date.now()
    let [sent, since] = [0, performance.now()]
    for (const { listener, chosen } of this.#audienceOf(wanted)) {
      if (listener.state !== 'live' || listener.isClosed) continue
      const own = chosen.of(events, listener.topics)
      if (own.length === 0) continue
      const full = listener.sendEvents(own, (event) => this.#jsonFor(listener, event), now)
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
  #audienceOf(rows: readonly EventRow[]): { listener: Listener; chosen: Chosen }[] {
    const known = new Map<Actor, Chosen>()
    return Array.from(this.connections.recipientsOf(rows), (listener) => {
      const { actor } = listener
      const chosen = known.get(actor) ?? new Chosen(rows.map((row) => this.audience.accessTo(actor, row)))
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
      event.complete ??= eventMessage(cursor, toPublicEvent(this.app.events, row), record)
      return event.complete
    }
    event.plain ??= eventMessage(cursor, toPublicEvent(this.app.events, row))
    return event.plain
  }
}
