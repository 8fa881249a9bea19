import { type Http, on } from '../../http/context.ts'
import { TrashPage, TrashQuery } from './schema.ts'
import { list } from './service.ts'

export const trashRoutes = (http: Http) =>
  http.get('/api/trash', ({ ctx, query }) => list(ctx, query), {
    ...on(list, 'List records that you deleted in the last 24 hours; for administrators, all of the last 30 days'),
    query: TrashQuery,
    response: TrashPage,
  })
