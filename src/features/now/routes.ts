import { type Http, on } from '../../http/context.ts'
import { Now, NowQuery } from './schema.ts'
import { now } from './service.ts'

export const nowRoutes = (http: Http) =>
  http.get('/api/now', ({ ctx, query }) => now(ctx, query), {
    ...on(now, 'Tasks held in the current team, with their holder, reason, last call, last change and waiting tasks'),
    query: NowQuery,
    response: Now,
  })
