import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { PublicSponsorList, Sponsor, SponsorCreate, SponsorPage, SponsorPatch, SponsorQuery } from './schema.ts'
import * as sponsors from './service.ts'

const byId = object({ id: id() })

export const sponsorRoutes = (http: Http) =>
  http
    .get('/api/admin/sponsors', ({ ctx, query }) => sponsors.list(ctx, query), {
      ...on(sponsors.list, 'All sponsors'),
      query: SponsorQuery,
      response: SponsorPage,
    })
    .post(
      '/api/admin/sponsors',
      async ({ ctx, body, set }) => respondCreated(set, '/api/admin/sponsors', await sponsors.create(ctx, body)),
      { ...on(sponsors.create, 'Add a sponsor'), body: SponsorCreate, response: { 201: Sponsor } },
    )
    .put('/api/admin/sponsors/:id', ({ ctx, params, body }) => sponsors.update(ctx, { ...body, ...params }), {
      ...on(sponsors.update, 'Change a sponsor; only the fields that are sent'),
      params: byId,
      body: SponsorPatch,
      response: Sponsor,
    })
    .delete('/api/admin/sponsors/:id', ({ ctx, params }) => sponsors.remove(ctx, params), {
      ...on(sponsors.remove, 'Delete a sponsor'),
      params: byId,
      response: Deleted,
    })
    .get('/api/public/sponsors', ({ ctx }) => sponsors.listPublic(ctx, {}), {
      ...on(sponsors.listPublic, 'Active sponsors, by tier'),
      response: PublicSponsorList,
    })
