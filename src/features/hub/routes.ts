import { asStream, type Http, on } from '../../http/context.ts'
import { EventsQuery, LiveEvents, SocketQuery, Ticket } from './schema.ts'
import * as hub from './service.ts'

/** Default: a stream, which is what EventSource and curl expect. */
const wantsJson = ({ headers }: Request): boolean => {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && !accept.includes('text/event-stream')
}

export const hubRoutes = (http: Http) =>
  http
    .get(
      '/api/ws',
      ({ ctx, request, guard }) => hub.connect(ctx, { upgrade: (data) => guard.upgrade(request, data) }),
      {
        ...on(hub.connect, 'Receive events as they happen, over a WebSocket', { inAddress: true, answers: [426] }),
        query: SocketQuery,
      },
    )
    .post('/api/ws/ticket', ({ ctx }) => hub.ticket(ctx, undefined), {
      ...on(hub.ticket, 'Get a ticket for opening a WebSocket from a browser'),
      response: Ticket,
    })
    .get(
      '/api/events',
      ({ ctx, query, request, guard }) => {
        if (wantsJson(request)) return hub.events(ctx, query)
        guard.server?.timeout(request, 0)
        const cursor = request.headers.get('last-event-id') ?? query.cursor
        return asStream(hub.stream({ ...ctx, signal: request.signal }, { ...query, cursor }))
      },
      {
        ...on(
          hub.events,
          'Receive events as server-sent events; with `Accept: application/json`, get those since a cursor',
        ),
        query: EventsQuery,
        response: LiveEvents,
      },
    )
