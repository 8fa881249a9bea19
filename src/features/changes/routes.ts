import { type Http, on } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import { ChangePage, ChangeQuery, Undone } from './schema.ts'
import * as changes from './service.ts'

export const changeRoutes = (http: Http) =>
  http
    .get('/api/changes', ({ ctx, query }) => changes.list(ctx, query), {
      ...on(changes.list, 'List your changes of the last hour that can be undone'),
      query: ChangeQuery,
      response: ChangePage,
    })
    .post('/api/changes/:id/undo', ({ ctx, params }) => changes.undo(ctx, params), {
      ...on(changes.undo, 'Undo a change'),
      params: object({ id: id() }),
      response: Undone,
    })
