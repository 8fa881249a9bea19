import { type Ctx, read, write } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import type { Rule } from '../../auth/policy.ts'
import { issueTicket } from '../../auth/tickets.ts'
import { AppError } from '../../errors.ts'
import { pollEvents } from '../../live/poll.ts'
import { SseClient } from '../../live/sse.ts'
import { watchable } from '../../live-hooks.ts'
import type { EventsQuery, LiveEvents, Ticket } from './schema.ts'

/** Any credential of the web API. For each event, the scope of its kind decides. */
const liveRule: Rule = { kinds: ['session', 'api_key'], scope: null, role: null, limited: true }

/** Turns the request into a WebSocket; returns false if the client did not ask for one. */
type Upgrade = (data: { actor: Actor }) => boolean

export const connect = read('hub.connect', liveRule, async (ctx, { upgrade }: { upgrade: Upgrade }): Promise<void> => {
  const { actor, app } = ctx
  app.live.reserve(actor)
  if (upgrade({ actor })) return
  app.live.releaseReservation(actor)
  throw new AppError('upgrade_required', 'This is a WebSocket: connect with ws:// or wss://.', {
    next: [{ route: 'GET /api/events' }],
  })
})

export const ticket = write('hub.ticket', liveRule, (ctx): Promise<Ticket> => issueTicket(ctx), {
  secret: ['ticket'],
  bookkeeping: true,
})

const topicsIn = (list: string | undefined): string[] => list?.split(',').filter((topic) => topic !== '') ?? []

const watchableBy = (ctx: Ctx) => async (actor: Actor, ids: readonly string[]) =>
  (await watchable.call(ctx, { actor, ids })).flat()

export const events = read(
  'hub.events',
  liveRule,
  (ctx, { topics, ...query }: EventsQuery): Promise<LiveEvents> =>
    pollEvents({ ...ctx.app, watchable: watchableBy(ctx) }, ctx.actor, { ...query, topics: topicsIn(topics) }),
)

/** Like `events`, as a stream that stays open. `signal` fires when the client has gone. */
export const stream = read(
  'hub.stream',
  liveRule,
  async (ctx: Ctx, { topics, cursor, records }: EventsQuery): Promise<Response> => {
    const { actor, app, signal } = ctx
    app.live.reserve(actor)
    const client = new SseClient(app.live)
    client.listener = await app.live.open(actor, client)
    signal?.addEventListener('abort', () => client.onDisconnect(), { once: true })
    try {
      await app.live.subscribe(client.listener, topicsIn(topics), { cursor, records })
    } catch (error) {
      client.onDisconnect()
      throw error
    }
    if (signal?.aborted) client.onDisconnect()
    return client.response
  },
)
