import { baseUrl } from '../../address.ts'
import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object, text, yes } from '../../schema.ts'
import * as clients from './admin.ts'
import {
  GrantDecision,
  GrantPage,
  GrantQuery,
  GrantRequest,
  GrantRequested,
  GrantTicket,
  OauthClient,
  OauthClientAdd,
  OauthClientPage,
  OauthClientQuery,
} from './schema.ts'
import * as grants from './service.ts'

const byId = object({ id: id() })
const byClient = object({ id: text(2000) })
const Removed = object({ id: text(2000), deleted: yes() })

export const grantRoutes = (http: Http) =>
  http
    .get('/api/settings/grants', ({ ctx, query }) => grants.list(ctx, query), {
      ...on(grants.list, 'Programs that you authorized; owners see those of their team'),
      query: GrantQuery,
      response: GrantPage,
    })
    .delete('/api/settings/grants/:id', ({ ctx, params }) => grants.revoke(ctx, params), {
      ...on(grants.revoke, 'End the access of a program and close its streams'),
      params: byId,
      response: Deleted,
    })
    .post(
      '/api/settings/grants/look',
      ({ ctx, body, request }) => grants.showGrantRequest(ctx, { ...body, base: baseUrl(ctx.app, request) }),
      {
        ...on(grants.showGrantRequest, 'Show what a program requests, after it sent you to /oauth/authorize'),
        body: GrantRequest,
        response: GrantRequested,
      },
    )
    .post(
      '/api/settings/grants/decide',
      ({ ctx, body, request }) => grants.decide(ctx, { ...body, base: baseUrl(ctx.app, request) }),
      {
        ...on(grants.decide, 'Authorize or refuse the program; returns a ticket for POST /oauth/consent'),
        body: GrantDecision,
        response: GrantTicket,
      },
    )
    .get('/api/admin/oauth-clients', ({ ctx, query }) => clients.list(ctx, query), {
      ...on(clients.list, 'Programs that may ask users to authorize them'),
      query: OauthClientQuery,
      response: OauthClientPage,
    })
    .post(
      '/api/admin/oauth-clients',
      async ({ ctx, body, set }) => respondCreated(set, '/api/admin/oauth-clients', await clients.add(ctx, body)),
      {
        ...on(clients.add, 'Add a program that cannot register itself'),
        body: OauthClientAdd,
        response: { 201: OauthClient },
      },
    )
    .delete('/api/admin/oauth-clients/:id', ({ ctx, params }) => clients.remove(ctx, params), {
      ...on(clients.remove, 'Remove a program and end all its access'),
      params: byClient,
      response: Removed,
    })
