import { type Http, on } from '../../http/context.ts'
import { PublicFindQuery, PublicFoundList } from './schema.ts'
import * as site from './service.ts'

export const siteRoutes = (http: Http) =>
  http.get('/api/search/public', ({ ctx, query }) => site.findPublic(ctx, query), {
    ...on(site.findPublic, 'Search public records'),
    query: PublicFindQuery,
    response: PublicFoundList,
  })
