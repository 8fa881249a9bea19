import type { Driver } from '../db/driver.ts'
import type { Log } from '../log.ts'
import { type MembersByTopic, memberKey, type PresenceMember, type PresenceStore } from './presence-store.ts'
import type { Topic } from './topics.ts'

const CHANNEL = 'tutti_presence'
/** Bytes of a notification; the limit of Postgres is 8,000. */
const CHUNK = 7500
const MOST_STATE = 512
const ALL_MS = 10_000
const GONE_MS = 30_000

type Entry = [
  topic: Topic,
  type: 'user' | 'agent',
  id: string,
  name: string,
  since: string,
  connections: number,
  state?: PresenceMember['state'],
]

/** A part of an instance's full list, a change, or a request for the lists of the others. */
interface Parcel {
  from: string
  kind: 'all' | 'change' | 'ask'
  part: number
  of: number
  entries: Entry[]
}

/**
 * Exchanges presence with other instances on the same Postgres: changes at once, full lists every ten seconds. The
 * state of a member is sent only with changes, and only if it is small.
 */
export class PresenceExchange {
  readonly #seen = new Map<string, number>()
  readonly #parts = new Map<string, Parcel[]>()
  #isListening = false
  #sentAt = 0
  /** The last full list had entries, so the others must receive the empty one too. */
  #hadSome = false
  #timer: Timer | undefined
  /** Sends one after the other: over two connections, a change could overtake an earlier one. */
  #sending = Promise.resolve()

  /** `heard` is called for every message of another instance. */
  constructor(
    private readonly driver: Driver,
    private readonly instanceId: string,
    private readonly presence: PresenceStore,
    private readonly log: Log,
    private readonly heard: () => void,
  ) {}

  async start(): Promise<void> {
    if (this.driver.kind !== 'postgres' || this.#isListening) return
    this.#isListening = true
    this.#timer = setInterval(() => this.#tick(Date.now()), 1000)
    this.#timer.unref()
    await this.driver.listen(CHANNEL, (payload) => this.#receive(payload))
    this.#send('ask', [])
  }

  announce(topic: Topic, { type, id, name, since, connections, state }: PresenceMember): void {
    const isSmall = state !== null && Buffer.byteLength(JSON.stringify(state)) <= MOST_STATE
    this.#send('change', [[topic, type, id, name, since, connections, isSmall ? state : null]])
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#isListening = false
  }

  #tick(now: number): void {
    for (const [instance, at] of this.#seen)
      if (now - at > GONE_MS) {
        this.#seen.delete(instance)
        this.presence.replaceInstance(instance)
      }
    if (now - this.#sentAt >= ALL_MS && (this.#hadSome || !isEmpty(this.presence.own()))) this.#sendAll(now)
  }

  #sendAll(now: number): void {
    this.#sentAt = now
    const entries = [...this.presence.own()].map(
      ({ topic, present: { type, id, name, since, connections } }): Entry => [
        topic,
        type,
        id,
        name,
        since,
        connections,
      ],
    )
    this.#hadSome = entries.length > 0
    this.#send('all', entries)
  }

  #send(kind: Parcel['kind'], entries: Entry[]): void {
    if (!this.#isListening) return
    const chunks = chunksOf(entries)
    for (const [part, some] of chunks.entries()) {
      const parcel: Parcel = { from: this.instanceId, kind, part, of: chunks.length, entries: some }
      this.#sending = this.#sending
        .then(() => this.driver.notify(CHANNEL, JSON.stringify(parcel)))
        .catch((error: unknown) => this.log.debug('presence was not sent', { error }))
    }
  }

  #receive(payload: string): void {
    const parcel = JSON.parse(payload) as Parcel
    const { from, kind, part, of, entries } = parcel
    if (from === this.instanceId) return
    this.heard()
    const isNew = !this.#seen.has(from)
    this.#seen.set(from, Date.now())
    if (kind === 'ask' || isNew) this.#sendAll(Date.now())
    if (kind === 'change') for (const entry of entries) this.presence.applyRemote(from, entry[0], presentOf(entry))
    if (kind !== 'all') return
    const parts = part === 0 ? [] : (this.#parts.get(from) ?? [])
    parts.push(parcel)
    this.#parts.set(from, parts)
    if (parts.length === of)
      this.presence.replaceInstance(
        from,
        this.#placesOf(
          from,
          parts.flatMap((each) => each.entries),
        ),
      )
  }

  #placesOf(from: string, entries: readonly Entry[]): MembersByTopic {
    const places: MembersByTopic = new Map()
    for (const entry of entries) {
      const [topic] = entry
      const present = presentOf(entry)
      const state = this.presence.stateOf(from, topic, memberKey(present))
      places.set(topic, (places.get(topic) ?? new Map()).set(memberKey(present), { ...present, state }))
    }
    return places
  }
}

const presentOf = ([, type, id, name, since, connections, state = null]: Entry): PresenceMember => ({
  type,
  id,
  name,
  since,
  state,
  connections,
})

const isEmpty = (entries: Iterable<unknown>): boolean => entries[Symbol.iterator]().next().done === true

/** Splits entries so that each chunk fits into a notification. At least one chunk, which may be empty. */
function chunksOf(entries: readonly Entry[]): Entry[][] {
  const chunks: Entry[][] = [[]]
  let bytes = 0
  for (const entry of entries) {
    const size = Buffer.byteLength(JSON.stringify(entry)) + 1
    if (bytes + size > CHUNK - 200) {
      chunks.push([])
      bytes = 0
    }
    chunks.at(-1)?.push(entry)
    bytes += size
  }
  return chunks
}
