import { read } from '../../../action.ts'
import { refuse } from '../../../auth/policy.ts'
import type { App } from '../../../services.ts'
import type { Passed } from '../../../tunnel/switchboard.ts'
import { watchRefusal } from '../access.ts'
import type { TunnelRequest, TunnelRequests } from '../actions/action-schema.ts'
import { find } from '../rows.ts'
import { watching } from '../rules.ts'

/** Requests that are kept for each tunnel, and that are sent to watchers at once. */
const MOST = 100
const MOST_TOLD = 40
const SOON_MS = 300

/** The time is formatted only for readers: most requests are dropped before anyone reads them. */
type Kept = Omit<TunnelRequest, 'at'> & { at: Date | string }

const logs = new WeakMap<App, RequestLog>()

/** The last requests through each tunnel, in memory: with the path, but without queries and bodies. */
export class RequestLog {
  readonly #kept = new Map<string, Kept[]>()
  readonly #fresh = new Map<string, Kept[]>()
  #timer: Timer | undefined

  static of(app: App): RequestLog {
    const known = logs.get(app) ?? new RequestLog(app)
    logs.set(app, known)
    return known
  }

  private constructor(private readonly app: App) {
    app.live.board.subscribe((notice) => {
      if (notice.op !== 'requests') return
      for (const request of notice.items as TunnelRequest[]) this.#keep(notice.tunnelId, request)
    })
  }

  of(tunnelId: string): TunnelRequest[] {
    return (this.#kept.get(tunnelId) ?? []).map(requestOf).toReversed()
  }

  add(tunnelId: string, { service, method, target, status, ms, user }: Passed): void {
    const path = (target.split('?', 1)[0] ?? '/').slice(0, 200)
    const kept: Kept = { at: this.app.clock(), service, method, path, status, ms: Math.round(ms), user }
    this.#keep(tunnelId, kept)
    put(this.#fresh, tunnelId, kept, MOST_TOLD)
    // Waits a moment, because a loading page sends many requests at once.
    this.#timer ??= setTimeout(() => this.#tell(), SOON_MS).unref()
  }

  #tell(): void {
    this.#timer = undefined
    for (const [tunnelId, items] of this.#fresh)
      this.app.live.board.post({ op: 'requests', topic: `record:${tunnelId}`, tunnelId, items: items.map(requestOf) })
    this.#fresh.clear()
  }

  #keep(tunnelId: string, kept: Kept): void {
    put(this.#kept, tunnelId, kept, MOST)
    if (this.#kept.size > 1000) this.#kept.delete(this.#kept.keys().next().value as string)
  }
}

/** Adds a request to the log of a tunnel. */
function put(to: Map<string, Kept[]>, tunnelId: string, kept: Kept, most: number): void {
  const list = to.get(tunnelId)
  if (!list) to.set(tunnelId, [kept])
  else if (list.push(kept) > most) list.shift()
}

const requestOf = ({ at, ...rest }: Kept): TunnelRequest => ({
  at: typeof at === 'string' ? at : at.toISOString(),
  ...rest,
})

/** Returns the last requests through a tunnel that this process has seen, newest first. */
export const requests = read(
  'tunnels.requests',
  watching,
  async (ctx, { ref }: { ref: string }): Promise<TunnelRequests> => {
    const tunnel = await find(ctx, ref)
    refuse(watchRefusal(ctx, tunnel))
    return { items: RequestLog.of(ctx.app).of(tunnel.id) }
  },
)
