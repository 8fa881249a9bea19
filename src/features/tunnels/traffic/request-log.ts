import { read } from '../../../action.ts'
import { throwIfRefused } from '../../../auth/policy.ts'
import type { App } from '../../../services.ts'
import type { ForwardedRequest } from '../../../tunnel/connected-tunnels.ts'
import { watchRefusal } from '../access.ts'
import type { TunnelRequest, TunnelRequests } from '../actions/action-schema.ts'
import { findTunnel } from '../rows.ts'
import { tunnelWatchRule } from '../rules.ts'

/** Requests that are kept for each tunnel, and that are sent to watchers at once. */
const MOST = 100
const MOST_TOLD = 40
const SOON_MS = 300

/** The time is formatted only for readers: most requests are dropped before anyone reads them. */
type LoggedRequest = Omit<TunnelRequest, 'at'> & { at: Date | string }

const logs = new WeakMap<App, RequestLog>()

/** The last requests through each tunnel, in memory: with the path, but without queries and bodies. */
export class RequestLog {
  readonly #kept = new Map<string, LoggedRequest[]>()
  readonly #fresh = new Map<string, LoggedRequest[]>()
  #timer: Timer | undefined

  static of(app: App): RequestLog {
    const known = logs.get(app) ?? new RequestLog(app)
    logs.set(app, known)
    return known
  }

  private constructor(private readonly app: App) {
    app.live.broadcaster.onRemote((notice) => {
      if (notice.op !== 'requests') return
      for (const request of notice.items as TunnelRequest[]) this.#keep(notice.tunnelId, request)
    })
  }

  of(tunnelId: string): TunnelRequest[] {
    return (this.#kept.get(tunnelId) ?? []).map(requestOf).toReversed()
  }

  add(tunnelId: string, { service, method, target, status, ms, user }: ForwardedRequest): void {
    const path = (target.split('?', 1)[0] ?? '/').slice(0, 200)
    const kept: LoggedRequest = { at: this.app.clock(), service, method, path, status, ms: Math.round(ms), user }
    this.#keep(tunnelId, kept)
    appendRequest(this.#fresh, tunnelId, kept, MOST_TOLD)
    // Waits a moment, because a loading page sends many requests at once.
    this.#timer ??= setTimeout(() => this.#tell(), SOON_MS).unref()
  }

  #tell(): void {
    this.#timer = undefined
    for (const [tunnelId, items] of this.#fresh)
      this.app.live.broadcaster.broadcast({
        op: 'requests',
        topic: `record:${tunnelId}`,
        tunnelId,
        items: items.map(requestOf),
      })
    this.#fresh.clear()
  }

  #keep(tunnelId: string, kept: LoggedRequest): void {
    appendRequest(this.#kept, tunnelId, kept, MOST)
    if (this.#kept.size > 1000) this.#kept.delete(this.#kept.keys().next().value as string)
  }
}

/** Adds a request to the log of a tunnel. */
function appendRequest(to: Map<string, LoggedRequest[]>, tunnelId: string, kept: LoggedRequest, most: number): void {
  const list = to.get(tunnelId)
  if (!list) to.set(tunnelId, [kept])
  else if (list.push(kept) > most) list.shift()
}

const requestOf = ({ at, ...rest }: LoggedRequest): TunnelRequest => ({
  at: typeof at === 'string' ? at : at.toISOString(),
  ...rest,
})

/** Returns the last requests through a tunnel that this process has seen, newest first. */
export const listRequests = read(
  'tunnels.requests',
  tunnelWatchRule,
  async (ctx, { ref }: { ref: string }): Promise<TunnelRequests> => {
    const tunnel = await findTunnel(ctx, ref)
    throwIfRefused(watchRefusal(ctx, tunnel))
    return { items: RequestLog.of(ctx.app).of(tunnel.id) }
  },
)
