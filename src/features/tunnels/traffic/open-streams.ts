import { contextOf } from '../../../action.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { ActorFilter } from '../../../auth/authenticate.ts'
import type { App } from '../../../services.ts'
import { resetCodes } from '../../../tunnel/frames.ts'
import type { Stream } from '../../../tunnel/stream.ts'
import { reachRefusal } from '../access.ts'
import { factsOf } from '../serving.ts'

interface OpenStream {
  readonly actor: Actor
  readonly tunnelId: string
}

const registries = new WeakMap<App, OpenStreams>()

/**
 * The open streams of this process's callers to machines. A WebSocket or an event stream may last for days, so each
 * ends once its caller loses access to the machine.
 */
export class OpenStreams {
  readonly #open = new Map<Stream, OpenStream>()
  #changes = 0

  static of(app: App): OpenStreams {
    const known = registries.get(app) ?? new OpenStreams(app)
    registries.set(app, known)
    return known
  }

  private constructor(private readonly app: App) {}

  get size(): number {
    return this.#open.size
  }

  /** Counts the changes that this instance knows. Read it before checking a caller's rights, and pass it to `add`. */
  get changes(): number {
    return this.#changes
  }

  /** `since`: the value of `changes` before the caller's rights were checked. By default they are checked now. */
  add(stream: Stream, opened: OpenStream, since?: number): void {
    if (stream.isClosed) return
    this.#open.set(stream, opened)
    const { onClosed } = stream
    stream.onClosed = () => {
      this.#open.delete(stream)
      onClosed?.()
    }
    if (since !== this.#changes) void this.#check([[stream, opened]])
  }

  rightsChanged(concerns: ActorFilter): void {
    this.#changed(({ actor }) => concerns(actor))
  }

  /** The tunnel may be paused or private now. */
  tunnelChanged(id: string): void {
    this.#changed(({ tunnelId }) => tunnelId === id)
  }

  #changed(isConcerned: (opened: OpenStream) => boolean): void {
    this.#changes++
    const concerned = [...this.#open].filter(([, opened]) => isConcerned(opened))
    if (concerned.length > 0) void this.#check(concerned)
  }

  /** Ends streams whose caller has lost access. Reads each credential and each tunnel once. */
  async #check(streams: readonly (readonly [Stream, OpenStream])[]): Promise<void> {
    const actors = new Map<string | null, Promise<Actor | undefined>>()
    const tunnels = new Map<string, ReturnType<typeof factsOf>>()
    for (const [stream, { actor, tunnelId }] of streams) {
      const now = actors.get(actor.credentialId) ?? this.#again(actor)
      const facts = tunnels.get(tunnelId) ?? factsOf(this.app, tunnelId)
      actors.set(actor.credentialId, now)
      tunnels.set(tunnelId, facts)
      const isAllowed = await Promise.all([now, facts]).then(
        ([caller, tunnel]) => caller && tunnel && !reachRefusal(contextOf(this.app, caller), tunnel),
        // Without the database, rights are unknown and the server does not work anyway.
        () => true,
      )
      if (!isAllowed) stream.reset(resetCodes.refused)
    }
  }

  async #again(actor: Actor): Promise<Actor | undefined> {
    if (actor.kind === 'anonymous') return actor
    const renewed = await this.app.auth.renew(actor)
    return 'actor' in renewed ? renewed.actor : undefined
  }
}
