import { type Http, on } from '../../http/context.ts'
import { Deleted, object, text } from '../../schema.ts'
import { IntegrationPage, IntegrationPut, IntegrationSaved, Tested } from './schema.ts'
import * as integrations from './service.ts'

const byProvider = object({ provider: text(40, { example: 'webhook' }) })

export const integrationRoutes = (http: Http) =>
  http
    .get('/api/settings/integrations/user', ({ ctx }) => integrations.list(ctx, {}), {
      ...on(integrations.list, 'Services you have connected'),
      response: IntegrationPage,
    })
    .put(
      '/api/settings/integrations/user/:provider',
      ({ ctx, params, body }) => integrations.put(ctx, { ...body, ...params }),
      {
        ...on(integrations.put, 'Connect a code host, slack, discord or a webhook, or change its settings'),
        params: byProvider,
        body: IntegrationPut,
        response: IntegrationSaved,
      },
    )
    .delete('/api/settings/integrations/user/:provider', ({ ctx, params }) => integrations.remove(ctx, params), {
      ...on(integrations.remove, 'Disconnect a service and delete its secret'),
      params: byProvider,
      response: Deleted,
    })
    .post('/api/settings/integrations/user/:provider/test', ({ ctx, params }) => integrations.test(ctx, params), {
      ...on(integrations.test, 'Send a test message and return the result'),
      params: byProvider,
      response: Tested,
    })
