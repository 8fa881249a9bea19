import { type Http, on } from '../../http/context.ts'
import {
  ByItem,
  Hide,
  MarketplacePage,
  MarketplaceQuery,
  ModeratedItem,
  ModeratedItemPage,
  ModeratedItemQuery,
  Report,
  ReportMade,
} from './schema.ts'
import * as marketplace from './service.ts'

export const marketplaceRoutes = (http: Http) =>
  http
    .get('/api/admin/marketplace', ({ ctx, query }) => marketplace.listAll(ctx, query), {
      ...on(marketplace.listAll, 'Public skills and agents, with their uses and reports'),
      query: ModeratedItemQuery,
      response: ModeratedItemPage,
    })
    .patch(
      '/api/admin/marketplace/:kind/:id',
      ({ ctx, params, body }) => marketplace.moderate(ctx, { ...body, ...params }),
      {
        ...on(marketplace.moderate, 'Hide a public skill or agent, or show it again; its owner is notified'),
        params: ByItem,
        body: Hide,
        response: ModeratedItem,
      },
    )
    .get('/api/public/marketplace', ({ ctx, query }) => marketplace.list(ctx, query), {
      ...on(marketplace.list, 'Public skills and agents', { answers: [404] }),
      query: MarketplaceQuery,
      response: MarketplacePage,
    })
    .post(
      '/api/public/marketplace/:kind/:id/report',
      ({ ctx, params, body }) => marketplace.report(ctx, { ...body, ...params }),
      {
        ...on(marketplace.report, 'Report a public skill or agent to the administrators'),
        params: ByItem,
        body: Report,
        response: ReportMade,
      },
    )
