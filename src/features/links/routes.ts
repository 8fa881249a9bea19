import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted } from '../../schema.ts'
import { Link, LinkCreate, LinkPage, LinkQuery, LinkRef } from './schema.ts'
import * as links from './service.ts'

export const linkRoutes = (http: Http) =>
  http
    .get('/api/links', ({ ctx, query }) => links.list(ctx, query), {
      ...on(links.list, 'List the links of a record, in both directions'),
      query: LinkQuery,
      response: LinkPage,
    })
    .post(
      '/api/links',
      async ({ ctx, body, set }) => respondCreated(set, '/api/links', await links.create(ctx, body)),
      {
        ...on(links.create, 'Link two records'),
        body: LinkCreate,
        response: { 201: Link },
      },
    )
    .get('/api/links/:id', ({ ctx, params }) => links.get(ctx, params), {
      ...on(links.get, 'Get one link'),
      params: LinkRef,
      response: Link,
    })
    .delete('/api/links', ({ ctx, body }) => links.remove(ctx, body), {
      ...on(links.remove, 'Remove a link'),
      body: LinkRef,
      response: Deleted,
    })
