import { type Http, on } from '../../http/context.ts'
import { TrashPage, TrashQuery } from './schema.ts'
import { list } from './service.ts'

export const trashRoutes = (http: Http) =>
  http.get('/api/trash', ({ ctx, query }) => list(ctx, query), {
    ...on(list, 'List what you deleted in the last 24 hours; for administrators, what anybody deleted in 30 days'),
    query: TrashQuery,
    response: TrashPage,
  })
