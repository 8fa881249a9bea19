import type { HubApp } from './hub-app.ts'
import type { HubConnections } from './hub-connections.ts'
import type { EphemeralNotice } from './messages.ts'

const CHANNEL = 'tutti_posted'
/** Bytes of a notification; the limit of Postgres is 8,000. */
const MOST = 7500
/** Notices that wait for the next notification. Other instances do not receive more than these. */
const MOST_WAITING = 2000
const SOON_MS = 20

/** Broadcasts notices that are not stored to subscribers, also on other instances with the same Postgres. */
export class Broadcaster {
  #isListening = false
  #waiting: EphemeralNotice[] = []
  #timer: Timer | undefined
  #sending: Promise<void> = Promise.resolve()
  readonly #listeners = new Set<(notice: EphemeralNotice) => void>()

  constructor(
    private readonly app: Pick<HubApp, 'driver' | 'instanceId' | 'log'>,
    private readonly connections: HubConnections,
  ) {}

  /** Sends the notice to subscribers of its topic on every instance. A very long notice stays on this instance. */
  broadcast(notice: EphemeralNotice): void {
    this.broadcastLocally(notice)
    if (!this.#isListening || this.#waiting.length >= MOST_WAITING) return
    this.#waiting.push(notice)
    this.#timer ??= setTimeout(() => this.#flush(), SOON_MS).unref()
  }

  /** Sends the notice to subscribers on this instance. A client that does not read misses it. */
  broadcastLocally(notice: EphemeralNotice): void {
    const now = Date.now()
    for (const listener of this.connections.subscribersOf(notice.topic))
      if (!listener.isFull) listener.sendNotice(notice, now)
  }

  /** Calls the listener for notices of other instances. */
  onRemote(listener: (notice: EphemeralNotice) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The embedded database has only one process. */
  async start(): Promise<void> {
    if (this.app.driver.kind !== 'postgres' || this.#isListening) return
    this.#isListening = true
    await this.app.driver.listen(CHANNEL, (payload) => this.#receive(payload))
  }

  #flush(): void {
    this.#timer = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const some of chunksOf(waiting))
      this.#sending = this.#sending
        .then(() => this.app.driver.notify(CHANNEL, `["${this.app.instanceId}",[${some.join(',')}]]`))
        .catch((error: unknown) => this.app.log.debug('notices were not sent', { error }))
  }

  #receive(payload: string): void {
    const [from, notices] = JSON.parse(payload) as [string, EphemeralNotice[]]
    if (from === this.app.instanceId) return
    for (const notice of notices) {
      this.broadcastLocally(notice)
      for (const listener of this.#listeners) listener(notice)
    }
  }
}

/** Returns the JSON of the notices, grouped so that each group fits into a notification. */
function chunksOf(notices: readonly EphemeralNotice[]): string[][] {
  const chunks: string[][] = []
  let room = 0
  for (const json of notices.map((notice) => JSON.stringify(notice))) {
    const size = Buffer.byteLength(json) + 1
    if (size > MOST - 100) continue
    if (size > room) {
      chunks.push([])
      room = MOST - 100
    }
    chunks.at(-1)?.push(json)
    room -= size
  }
  return chunks
}
