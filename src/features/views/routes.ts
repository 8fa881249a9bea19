import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { View, ViewCreate, ViewPage, ViewPatch, ViewQuery } from './schema.ts'
import * as views from './service.ts'

const byId = object({ id: id() })

export const viewRoutes = (http: Http) =>
  http
    .get('/api/views', ({ ctx, query }) => views.list(ctx, query), {
      ...on(views.list, 'List your saved views, and those that the team shares'),
      query: ViewQuery,
      response: ViewPage,
    })
    .post(
      '/api/views',
      async ({ ctx, body, set }) => respondCreated(set, '/api/views', await views.create(ctx, body)),
      {
        ...on(views.create, 'Save a view'),
        body: ViewCreate,
        response: { 201: View },
      },
    )
    .get('/api/views/:id', ({ ctx, params }) => views.get(ctx, params), {
      ...on(views.get, 'Get a saved view'),
      params: byId,
      response: View,
    })
    .patch('/api/views/:id', ({ ctx, params, body }) => views.update(ctx, { ...body, ...params }), {
      ...on(views.update, 'Rename, change or share a saved view'),
      params: byId,
      body: ViewPatch,
      response: View,
    })
    .delete('/api/views/:id', ({ ctx, params }) => views.remove(ctx, params), {
      ...on(views.remove, 'Delete a saved view'),
      params: byId,
      response: Deleted,
    })
