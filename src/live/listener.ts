import type { Actor } from '../auth/actor.ts'
import { isBehind, type Position } from '../events/position.ts'
import type { Notice } from './messages.ts'
import type { Topic } from './topics.ts'

/** Why a connection is closed; numbers from 4400 are ours. */
export const closeReasons = {
  away: [1001, 'The server is stopping'],
  invalid: [4400, 'Too many invalid messages'],
  credential: [4401, 'The credential has expired or was revoked'],
  suspended: [4403, 'The account is suspended'],
  slow: [4408, 'The client reads too slowly'],
  flood: [4429, 'Too many messages'],
} as const
export type CloseReason = keyof typeof closeReasons

/** Sends messages to one client, in any protocol. */
export interface ClientTransport {
  /** Sends the JSON of an event. Returns false if messages are buffered because the client does not read. */
  sendEvent(json: string, cursor: string): boolean
  /** Runs `send` and combines everything it sends into one write. */
  batch?(send: () => void): void
  sendNotice(notice: Notice): void
  /** Bytes that the client has not read. */
  readonly bufferedBytes: number
  /** Called about every second. */
  keepAlive?(now: number): void
  close(why: CloseReason): void
}

/** Buffered bytes above which nothing more is sent until the client has read them. */
const MOST_WAITING = 256 << 10
/** Characters of events in one write: larger writes cost less time but more memory. */
const MOST_WRITTEN = 64 << 10

const nowhere: ReadonlySet<Topic> = new Set()

interface Sendable {
  readonly cursor: string
}

/**
 * One client of the hub. `held`: it has not subscribed yet. `live`: it receives each event at once. `behind`: it is
 * served from the log, from its own position, after a reconnect or because it reads slowly.
 */
export class Listener {
  /** Replaced, never changed: several listeners share one set. */
  topics: ReadonlySet<Topic> = nowhere
  /** The client wants events with the current record. */
  records = false
  state: 'held' | 'live' | 'behind' = 'held'
  /** It resumed from a cursor and receives `ready` when it has caught up. */
  isReplaying = false
  isServing = false
  isClosed = false
  hasSubscribed = false
  /** The topics where it is present. Most listeners have none and share one empty set. */
  presenceTopics: ReadonlySet<Topic> = nowhere
  /** It missed a change of presence because it did not read. */
  missedPresence = false
  /** The position when it connected. */
  initialPosition: Position
  /** The events it received before a first subscription that goes back further. */
  alreadySent: SentRange | undefined
  sentAt: number
  /** When the client last read buffered bytes, and how many were left. */
  progress: { at: number; waiting: number } | undefined

  constructor(
    public actor: Actor,
    /** When the credential expires, as a number of milliseconds. */
    public expiresAt: number,
    readonly transport: ClientTransport,
    /** Its position while it is not `live`. */
    public position: Position,
    readonly openedAt: number,
  ) {
    this.sentAt = openedAt
    this.initialPosition = position
  }

  get credentialId(): string {
    return this.actor.credentialId as string
  }

  get isFull(): boolean {
    return this.transport.bufferedBytes > MOST_WAITING
  }

  /** Returns true if the client has read nothing of its buffered bytes for this long. */
  isStuck(now: number, ms: number): boolean {
    const { bufferedBytes: waiting } = this.transport
    if (waiting === 0) this.progress = undefined
    else if (!this.progress || waiting < this.progress.waiting) this.progress = { at: now, waiting }
    return this.progress !== undefined && now - this.progress.at >= ms
  }

  /** Serves it again from an earlier position, without the events that this connection already received. */
  replayFrom(from: Position): void {
    this.alreadySent = new SentRange(this.initialPosition, this.position)
    this.position = from
    this.state = 'behind'
    this.isReplaying = true
  }

  joinPresence(topic: Topic): void {
    if (!this.presenceTopics.has(topic)) this.presenceTopics = new Set(this.presenceTopics).add(topic)
  }

  /** Returns false if it was not present there. */
  leavePresence(topic: Topic): boolean {
    if (!this.presenceTopics.has(topic)) return false
    const left = new Set(this.presenceTopics)
    left.delete(topic)
    this.presenceTopics = left.size > 0 ? left : nowhere
    return true
  }

  /** Sends events until the buffer is full. Returns the last sent event then; undefined if all were sent. */
  sendEvents<E extends Sendable>(events: readonly E[], jsonOf: (event: E) => string, now: number): E | undefined {
    this.sentAt = now
    let full: E | undefined
    let at = 0
    const send = () => {
      for (let bytes = 0; full === undefined && at < events.length && bytes < MOST_WRITTEN; at++) {
        const event = events[at] as E
        const json = jsonOf(event)
        bytes += json.length
        if (!this.transport.sendEvent(json, event.cursor) && this.isFull) full = event
      }
    }
    while (full === undefined && at < events.length)
      if (events.length > 1 && this.transport.batch) this.transport.batch(send)
      else send()
    return full
  }

  sendNotice(notice: Notice, now: number): void {
    this.sentAt = now
    this.transport.sendNotice(notice)
  }
}

/** The events between two positions, which a listener has already received. */
class SentRange {
  constructor(
    private readonly after: Position,
    private readonly until: Position,
  ) {}

  includes(seq: number): boolean {
    return isBehind(this.until, seq) && !isBehind(this.after, seq)
  }
}
