import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { PushStatus, PushSubscribe, PushSubscription, PushSubscriptionPage } from './schema.ts'
import * as push from './service.ts'

export const pushRoutes = (http: Http) =>
  http
    .get('/api/push', ({ ctx }) => push.readStatus(ctx, {}), {
      ...on(push.readStatus, 'Whether this server sends push notifications, and its public key'),
      response: PushStatus,
    })
    .get('/api/push/subscriptions', ({ ctx }) => push.list(ctx, {}), {
      ...on(push.list, 'Browsers in which you receive push notifications'),
      response: PushSubscriptionPage,
    })
    .post(
      '/api/push/subscriptions',
      async ({ ctx, body, set }) => respondCreated(set, '/api/push/subscriptions', await push.subscribe(ctx, body)),
      {
        ...on(push.subscribe, 'Receive push notifications in this browser'),
        body: PushSubscribe,
        response: { 201: PushSubscription },
      },
    )
    .delete('/api/push/subscriptions/:id', ({ ctx, params }) => push.remove(ctx, params), {
      ...on(push.remove, 'Stop push notifications in a browser'),
      params: object({ id: id() }),
      response: Deleted,
    })
