import { type Http, on } from '../../http/context.ts'
import { object, text } from '../../schema.ts'
import { ManualHits, ManualList, ManualPage, ManualSearch } from './schema.ts'
import * as manual from './service.ts'

export const manualRoutes = (http: Http) =>
  http
    .get('/api/docs', ({ ctx }) => manual.list(ctx, {}), {
      ...on(manual.list, 'Pages of the manual'),
      response: ManualList,
    })
    .get('/api/docs/search', ({ ctx, query }) => manual.search(ctx, query), {
      ...on(manual.search, 'Search the manual'),
      query: ManualSearch,
      response: ManualHits,
    })
    .get('/api/docs/:id', ({ ctx, params }) => manual.get(ctx, params), {
      ...on(manual.get, 'One page of the manual'),
      params: object({ id: text(63, { example: 'start' }) }),
      response: ManualPage,
    })
