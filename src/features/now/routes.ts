import { type Http, on } from '../../http/context.ts'
import { Now, NowQuery } from './schema.ts'
import { getNow } from './service.ts'

export const nowRoutes = (http: Http) =>
  http.get('/api/now', ({ ctx, query }) => getNow(ctx, query), {
    ...on(
      getNow,
      'Tasks held in the current team, with their holder, reason, last call, last change and waiting tasks',
    ),
    query: NowQuery,
    response: Now,
  })
