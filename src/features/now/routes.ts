import { type Http, on } from '../../http/context.ts'
import { Now, NowQuery } from './schema.ts'
import { now } from './service.ts'

export const nowRoutes = (http: Http) =>
  http.get('/api/now', ({ ctx, query }) => now(ctx, query), {
    ...on(now, 'Who holds what in the current team, why, their last call and last change, and who waits'),
    query: NowQuery,
    response: Now,
  })
