import type { Actor } from '../auth/actor.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import { AppError } from '../errors.ts'
import type { Bus } from '../events/bus.ts'
import type { Catalogue as Events, EventType } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import type { Catalogue, Selection } from '../mcp/catalogue.ts'
import { MINE } from '../mcp/records.ts'
import { MOST_QUEUED } from '../mcp/sse.ts'

const STREAMS_AT_ONCE = 10
const WATCHED_AT_ONCE = 100
/** Well below every idle timeout on the way: ours is 30 s. */
export const KEEP_ALIVE_MS = 5_000
/** A token that runs out sends no event, so open streams are looked at now and then. */
const LOOK_AGAIN_MS = 60_000

/** Whose stream it is; the secret is kept to look again when rights may have changed. */
export interface Owner {
  readonly credentialId: string
  readonly userId: string | null
  readonly secret: string
}

export interface Stream {
  readonly owner: Owner
  keepAlive(): void
  close(): void
}

/** What happened to work of the one who listens. Of stored text only what cannot carry any: keys and states. */
export interface Status {
  event: string
  uri: string
  status?: string
  by: string
}

/** How a client is told, which depends on its protocol. */
export interface Tell {
  tools(): void
  prompts(): void
  updated(uri: string): void
  /** Without having asked for it, where the protocol has a place for that. */
  status?(status: Status): void
}

export interface Open {
  /** Of the tools it was told about. */
  key: string
  readonly selection: Selection
  actor: Actor
  lookedAt: number
  readonly tell: Tell
  /** Id of a record, or `tutti://me`, to the addresses it is watched by. */
  readonly watched: Map<string, Set<string>>
  /** Whether all of it may still be read is being found out; until then nothing of it is told. */
  checking?: Promise<void>
}

/** A stream that the SDK writes (`subscriptions/listen`), with an end that we see and can bring about. */
export function relay(
  source: Response,
  owner: Owner,
  onEnd: (stream: Stream) => void,
): { stream: Stream; response: Response } {
  const reader = (source.body as ReadableStream<Uint8Array>).getReader()
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    void reader.cancel().catch(() => undefined)
    onEnd(stream)
  }
  // Cancelling the reader ends the read that is under way, and with it the answer.
  const stream: Stream = { owner, keepAlive: () => undefined, close: end }
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

/** The open streams: kept alive, counted for each token, told what changed, and closed as soon as their token no longer holds. */
export class Streams {
  readonly #open = new Map<Stream, Open>()
  readonly #unwatch: () => void
  readonly #unsubscribe: () => void
  readonly #ticking: Timer

  constructor(
    private readonly auth: Authenticator,
    bus: Bus,
    events: Events,
    private readonly catalogue: Catalogue,
    private readonly seesPrompts: (actor: Actor, selection: Selection) => boolean,
    /** Drops watched addresses that are not readable any more; never rejects. */
    private readonly recheck: (open: Open) => Promise<void>,
  ) {
    this.#unwatch = auth.watch((userId) => {
      for (const [stream, open] of this.#open)
        if (!userId || stream.owner.userId === userId) void this.#lookAgain(stream, open)
    })
    this.#unsubscribe = bus.subscribe((event) => {
      const type = events.get(event.type)
      if (this.#open.size > 0 && event.organizationId && type?.live) this.#onEvent(event, type)
    })
    this.#ticking = setInterval(() => this.#tick(), KEEP_ALIVE_MS)
    this.#ticking.unref()
  }

  get size(): number {
    return this.#open.size
  }

  of(stream: Stream): Open | undefined {
    return this.#open.get(stream)
  }

  requireRoom({ credentialId }: Owner): void {
    let open = 0
    for (const { owner } of this.#open.keys()) if (owner.credentialId === credentialId) open++
    if (open >= STREAMS_AT_ONCE)
      throw new AppError(
        'rate_limited',
        `This token has ${open} streams open, the most there may be. Close one first.`,
        { retryAfter: 5 },
      )
  }

  add(stream: Stream, actor: Actor, selection: Selection, tell: Tell, watched: Open['watched'] = new Map()): Open {
    const open = { key: this.catalogue.key(actor, selection), selection, actor, lookedAt: Date.now(), tell, watched }
    this.#open.set(stream, open)
    return open
  }

  delete(stream: Stream): void {
    this.#open.delete(stream)
  }

  close(): void {
    this.#unwatch()
    this.#unsubscribe()
    clearInterval(this.#ticking)
    for (const stream of [...this.#open.keys()]) stream.close()
  }

  /** A token sees one organization, so nobody is told of another one's. */
  #onEvent(event: AppEvent, type: EventType): void {
    for (const [stream, open] of this.#open) {
      if (open.actor.organizationId !== event.organizationId) continue
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

  #tick(): void {
    const old = Date.now() - LOOK_AGAIN_MS
    for (const [stream, open] of this.#open) {
      stream.keepAlive()
      if (open.lookedAt <= old) void this.#lookAgain(stream, open)
    }
  }

  async #lookAgain(stream: Stream, open: Open): Promise<void> {
    open.lookedAt = Date.now()
    try {
      open.actor = await this.auth.look(stream.owner.secret)
      const key = this.catalogue.key(open.actor, open.selection)
      if (key === open.key) return
      open.key = key
      open.tell.tools()
      open.tell.prompts()
      this.#check(open)
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') stream.close()
      // The database is away: whether the token still holds is asked again with the next keep-alive.
      else open.lookedAt = 0
    }
  }
}

/** Remembers that an address is watched. */
export function watch({ watched }: Pick<Open, 'watched'>, subject: string, uri: string): void {
  const uris = watched.get(subject) ?? new Set()
  if (!uris.has(uri) && [...watched.values()].reduce((n, set) => n + set.size, 0) >= WATCHED_AT_ONCE)
    throw new AppError(
      'rate_limited',
      `This stream watches ${WATCHED_AT_ONCE} resources, the most there may be. Unsubscribe from one first.`,
    )
  watched.set(subject, uris.add(uri))
}

export function unwatch({ watched }: Pick<Open, 'watched'>, uri: string): void {
  for (const [subject, uris] of watched) if (uris.delete(uri) && uris.size === 0) watched.delete(subject)
}

/** Tasks and features name whom they belong to, before the change and after it. */
function concerns({ data }: AppEvent, { agent, userId }: Actor): boolean {
  return Array.isArray(data.concerns) && data.concerns.includes(agent?.id ?? userId)
}

function statusOf({ type, subjectId, data, actor }: AppEvent, { kind }: EventType): Status {
  return {
    event: type,
    uri: `tutti://${kind}/${typeof data.key === 'string' ? data.key : subjectId}`,
    ...(typeof data.status === 'string' && { status: data.status }),
    by: actor.name,
  }
}
