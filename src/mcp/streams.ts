import type { Actor } from '../auth/actor.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Bus } from '../events/bus.ts'
import type { Catalogue as Events, EventType } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import { concerns, heard, reaches, type Watched } from '../live/audience.ts'
import { type Connection, Connections, type Listener, type Owner } from '../live/connections.ts'
import { MOST_QUEUED } from '../live/limits.ts'
import type { Catalogue, Selection } from './catalogue.ts'
import { MINE } from './records.ts'

/** What happened to work of the one who listens. Of stored text only what cannot carry any: keys and states. */
interface Status {
  event: string
  uri: string
  status?: string
  by: string
}

/** How a client is told, which depends on the revision of the protocol. */
export interface Tell {
  tools(): void
  prompts(): void
  updated(uri: string): void
  /** Without having asked for it, where the protocol has a place for that. */
  status?(status: Status): void
}

export interface Open extends Listener {
  /** Of the tools it was told about. */
  key: string
  readonly selection: Selection
  readonly tell: Tell
  /** By the id of a record, or `tutti://me`. */
  readonly watched: Watched
  /** Whether all of it may still be read is being found out; until then nothing of it is told. */
  checking?: Promise<void>
}

/** A stream that the SDK writes (`subscriptions/listen`), with an end that we see and can bring about. */
export function relay(
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
  // Cancelling the reader ends the read that is under way, and with it the answer.
  const stream: Connection = { owner, keepAlive: () => undefined, close: end }
  // Read ahead, because the SDK piles up what is not read without an end; here it is cut off.
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
              // The client was faster.
              end()
            }
            return
          }
        })()
      },
      cancel: end,
    },
    { highWaterMark: MOST_QUEUED, size: (chunk) => chunk?.byteLength ?? 0 },
  )
  return { stream, response: new Response(body, { status: source.status, headers: source.headers }) }
}

/** The open streams of MCP, told what changed: their tools, their prompts, and what they watch. */
export class Streams {
  readonly #open: Connections<Connection, Open>
  readonly #unsubscribe: () => void

  constructor(
    auth: Authenticator,
    bus: Bus,
    events: Events,
    private readonly catalogue: Catalogue,
    private readonly seesPrompts: (actor: Actor, selection: Selection) => boolean,
    /** Drops watched addresses that are not readable any more; never rejects. */
    private readonly recheck: (open: Open) => Promise<void>,
  ) {
    this.#open = new Connections(auth, (open) => this.#onRights(open))
    this.#unsubscribe = bus.subscribe((event) => {
      const type = this.#open.size > 0 ? heard(events, event) : undefined
      if (type) this.#onEvent(event, type)
    })
  }

  get size(): number {
    return this.#open.size
  }

  of(stream: Connection): Open | undefined {
    return this.#open.get(stream)
  }

  requireRoom(owner: Owner): void {
    this.#open.requireRoom(owner)
  }

  add(stream: Connection, actor: Actor, selection: Selection, tell: Tell, watched: Watched = new Map()): Open {
    const open = { key: this.catalogue.key(actor, selection), selection, actor, lookedAt: Date.now(), tell, watched }
    this.#open.add(stream, open)
    return open
  }

  delete(stream: Connection): void {
    this.#open.delete(stream)
  }

  close(): void {
    this.#unsubscribe()
    this.#open.close()
  }

  #onEvent(event: AppEvent, type: EventType): void {
    for (const [stream, open] of this.#open) {
      if (!reaches(event, open.actor)) continue
      if (type.changes === 'prompts' && this.seesPrompts(open.actor, open.selection)) open.tell.prompts()
      if (type.changes === 'visibility') this.#check(open)
      this.#updated(open, event.subjectId)
      if (stream.owner.credentialId !== event.credentialId && concerns(event, open.actor)) {
        for (const uri of open.watched.get(MINE) ?? []) open.tell.updated(uri)
        open.tell.status?.(statusOf(event, type))
      }
    }
  }

  #updated(open: Open, subjectId: string | null): void {
    if (!subjectId || !open.watched.has(subjectId)) return
    const tell = () => {
      for (const uri of open.watched.get(subjectId) ?? []) open.tell.updated(uri)
    }
    if (open.checking) void open.checking.then(tell)
    else tell()
  }

  #check(open: Open): void {
    if (open.watched.size === 0) return
    const checking = (open.checking ?? Promise.resolve())
      .then(() => this.recheck(open))
      .finally(() => {
        if (open.checking === checking) open.checking = undefined
      })
    open.checking = checking
  }

  #onRights(open: Open): void {
    const key = this.catalogue.key(open.actor, open.selection)
    if (key === open.key) return
    open.key = key
    open.tell.tools()
    open.tell.prompts()
    this.#check(open)
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
