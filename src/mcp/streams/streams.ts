import type { Actor } from '../../auth/actor.ts'
import { isWithinLimit } from '../../auth/limit.ts'
import type { EventType } from '../../events/catalogue.ts'
import type { AppEvent } from '../../events/event.ts'
import { concernsActor, isOfOwnOrganization, liveTypeOf, type WatchedResources } from '../../live/audience.ts'
import { BusSubscription } from '../../live/hub-app.ts'
import { MOST_QUEUED_BYTES } from '../../live/limits.ts'
import { type Connection, type ConnectionState, type Owner, StreamConnections } from '../../live/stream-connections.ts'
import type { App } from '../../services.ts'
import type { ToolCatalogue, ToolSelection } from '../catalogue.ts'
import { expiresSoon } from '../instructions.ts'
import { OWN_TASKS_URI } from '../records.ts'

/**
 * A change to the client's own work or token. Holds only keys and states, no stored text, which could contain
 * instructions.
 */
interface Status {
  event: string
  uri: string
  status?: string
  by: string
}

/** Sends notifications to a client; how depends on the revision of the protocol. */
export interface StreamNotifier {
  tools(): void
  prompts(): void
  updated(uri: string): void
  /** Sent without a subscription, where the protocol allows it. */
  status?(status: Status, level?: 'info' | 'warning'): void
}

export interface OpenStream extends ConnectionState {
  /** The key (`Catalogue.key`) of the list of tools that the client has. */
  key: string
  readonly selection: ToolSelection
  readonly tell: StreamNotifier
  /** Keys are ids of records, or `tutti://me`. */
  readonly watched: WatchedResources
  /** The client was told that its token expires soon. */
  warned?: true
  /** The prompts that a credential which is limited to projects saw last. */
  prompts?: Promise<string>
  /** Set while the watched resources are checked for read access; notifications about them wait for it. */
  checking?: Promise<void>
  /** Ends when all earlier events have been sent, so that they are sent in their order. */
  telling?: Promise<void>
}

/** Wraps a stream that the SDK writes (`subscriptions/listen`), so that we can close it and notice its end. */
export function relayResponse(
  source: Response,
  owner: Owner,
  onEnd: (stream: Connection) => void,
): { stream: Connection; response: Response } {
  const reader = (source.body as ReadableStream<Uint8Array>).getReader()
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    void reader.cancel().catch(() => undefined)
    onEnd(stream)
  }
  // Cancelling the reader ends the pending read, and with it the response.
  const stream: Connection = { owner, keepAlive: () => undefined, close: end }
  // Reads ahead and limits the queue here, because the SDK queues without a limit.
  const body = new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        void (async () => {
          for (;;) {
            const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
            try {
              if (value && (controller.desiredSize ?? 0) <= 0) {
                controller.error(new Error('The client does not read'))
                return end()
              }
              if (value) controller.enqueue(value)
              if (!done) continue
              end()
              controller.close()
            } catch {
              // The client has already closed the stream.
              end()
            }
            return
          }
        })()
      },
      cancel: end,
    },
    { highWaterMark: MOST_QUEUED_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
  )
  return { stream, response: new Response(body, { status: source.status, headers: source.headers }) }
}

/**
 * Notifies open MCP streams of changes to their tools, prompts and watched resources. Like the hub, it follows the
 * event log, so that a revocation takes effect before any event that was committed after it.
 */
export class McpStreams {
  readonly #open: StreamConnections<Connection, OpenStream>
  readonly #following: BusSubscription
  /** Streams that are being opened. */
  #opening = 0
  /** Ends the presence of each stream's agent. */
  readonly #seen = new Map<Connection, () => void>()

  constructor(
    private readonly app: Pick<App, 'auth' | 'bus' | 'driver' | 'events'>,
    private readonly catalogue: ToolCatalogue,
    private readonly seesPrompts: (actor: Actor, selection: ToolSelection) => boolean,
    /** Whether the caller may read, now, what the event is about. */
    private readonly mayHear: (actor: Actor, event: AppEvent) => Promise<boolean>,
    /** Returns the names of the prompts that the caller sees, in one text. */
    private readonly promptNames: (actor: Actor) => Promise<string>,
    /** Removes watched addresses that are no longer readable; never rejects. */
    private readonly recheck: (open: OpenStream) => Promise<void>,
    /** Shows others that the caller's agent is there, until the result is called. */
    private readonly appear: (actor: Actor) => () => void,
  ) {
    this.#open = new StreamConnections(app.auth, app.events, (open, wasUnsure) => this.#onRights(open, wasUnsure))
    this.#following = new BusSubscription(app, { batch: ({ rows }) => this.#onBatch(rows) })
  }

  get size(): number {
    return this.#open.size
  }

  of(stream: Connection): OpenStream | undefined {
    return this.#open.get(stream)
  }

  requireRoom(owner: Owner): void {
    this.#open.requireSlot(owner)
  }

  reserve(owner: Owner): Disposable {
    return this.#open.reserve(owner)
  }

  /** Begins to follow the events. Hold the result until the stream was added, so that it misses none. */
  async follow(): Promise<Disposable> {
    this.#opening++
    const end = () => {
      this.#opening--
      this.#rest()
    }
    try {
      await this.#following.start()
      return { [Symbol.dispose]: end }
    } catch (error) {
      end()
      throw error
    }
  }

  /** Call `follow` before. */
  add(
    stream: Connection,
    actor: Actor,
    selection: ToolSelection,
    tell: StreamNotifier,
    watched: WatchedResources = new Map(),
  ): OpenStream {
    const key = this.catalogue.key(actor, selection)
    const open: OpenStream = { key, selection, actor, checkedAt: Date.now(), tell, watched }
    if (actor.projects && this.seesPrompts(actor, selection)) open.prompts = this.#listPrompts(actor)
    this.#open.add(stream, open)
    this.#seen.set(stream, this.appear(actor))
    return open
  }

  delete(stream: Connection): void {
    this.#open.delete(stream)
    this.#seen.get(stream)?.()
    this.#seen.delete(stream)
    this.#rest()
  }

  close(): void {
    this.#open.close()
    this.#following.stop()
  }

  /** Stops following events without open streams. */
  #rest(): void {
    if (this.#open.size === 0 && this.#opening === 0) this.#following.stop()
  }

  async #onBatch(rows: readonly AppEvent[]): Promise<void> {
    await this.#open.renew(rows)
    for (const event of rows) {
      const type = liveTypeOf(this.app.events, event)
      if (type) this.#onEvent(event, type)
    }
  }

  #onEvent(event: AppEvent, type: EventType): void {
    for (const [stream, open] of this.#open) {
      if (!isOfOwnOrganization(event, open.actor)) continue
      if (type.changes === 'prompts' && this.seesPrompts(open.actor, open.selection)) {
        if (open.actor.projects) this.#tellLimited(open, event)
        else open.tell.prompts()
      }
      // A project may name other skills now.
      const isOfProject = type.changes === 'visibility' && isWithinLimit(open.actor, event.projectId)
      if (open.prompts && isOfProject) this.#tellLimited(open)
      if (type.changes === 'visibility') this.#check(open)
      const isOwnWork = stream.owner.credentialId !== event.credentialId && concernsActor(event, open.actor)
      if (isOwnWork || (event.subjectId && open.watched.has(event.subjectId)))
        open.telling = (open.telling ?? Promise.resolve()).then(() => this.#tell(open, event, isOwnWork && type))
    }
  }

  /**
   * Notifies a credential that is limited to projects of a change to a visible skill. A deleted skill is no longer
   * visible, so the list is compared too. Each event is compared with the list that the previous one read: otherwise a
   * skill that is created and deleted at once could stay in the client's list.
   */
  #tellLimited(open: OpenStream, ofSkill?: AppEvent): void {
    const before = open.prompts
    const compare = async (): Promise<string> => {
      const known = await before
      const isSeen = ofSkill && (await this.mayHear(open.actor, ofSkill).catch(() => false))
      const names = await this.#listPrompts(open.actor)
      if (isSeen || names !== known) open.tell.prompts()
      return names
    }
    open.prompts = compare()
  }

  #listPrompts = (actor: Actor): Promise<string> => this.promptNames(actor).catch(() => '')

  /** Notifies a client of a change, if the client may read the record. Sends nothing if that cannot be checked. */
  async #tell(open: OpenStream, event: AppEvent, ownWork: EventType | false): Promise<void> {
    await open.ready
    if (open.isUnsure || !(await this.mayHear(open.actor, event).catch(() => false))) return
    this.#updated(open, event.subjectId)
    if (!ownWork) return
    for (const uri of open.watched.get(OWN_TASKS_URI) ?? []) open.tell.updated(uri)
    open.tell.status?.(statusOf(event, ownWork))
  }

  #updated(open: OpenStream, subjectId: string | null): void {
    if (!subjectId || !open.watched.has(subjectId)) return
    const tell = () => {
      for (const uri of open.watched.get(subjectId) ?? []) open.tell.updated(uri)
    }
    if (open.checking) void open.checking.then(tell)
    else tell()
  }

  #check(open: OpenStream): void {
    if (open.watched.size === 0) return
    const checking = (open.checking ?? Promise.resolve())
      .then(() => this.recheck(open))
      .finally(() => {
        if (open.checking === checking) open.checking = undefined
      })
    open.checking = checking
  }

  /** Notifies a client about everything it watches, after a time without notifications. */
  #catchUp(open: OpenStream): void {
    this.#check(open)
    for (const subject of [...open.watched.keys()]) this.#updated(open, subject)
  }

  #onRights(open: OpenStream, wasUnsure: boolean): void {
    this.#warn(open)
    if (wasUnsure) this.#catchUp(open)
    const key = this.catalogue.key(open.actor, open.selection)
    if (key === open.key) return
    open.key = key
    open.tell.tools()
    open.tell.prompts()
    this.#check(open)
  }

  /** Warns a client once per connection that its token expires within a week. Runs at the start and every minute. */
  #warn(open: OpenStream): void {
    const { expiresAt } = open.actor
    if (open.warned || !expiresSoon(expiresAt)) return
    open.warned = true
    const status = { event: 'mcp_token.expiring', uri: OWN_TASKS_URI, status: `expires at ${expiresAt}`, by: 'Tutti' }
    open.tell.status?.(status, 'warning')
  }
}

function statusOf({ type, subjectId, data, actor }: AppEvent, { kind }: EventType): Status {
  return {
    event: type,
    uri: `tutti://${kind}/${typeof data.key === 'string' ? data.key : subjectId}`,
    ...(typeof data.status === 'string' && { status: data.status }),
    by: actor.name,
  }
}
