import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import * as moderation from './moderation.ts'
import {
  CommunityCreate,
  CommunityPage,
  CommunityPatch,
  CommunityPost,
  CommunityQuery,
  CommunityReport,
  ModeratedPage,
  ModeratedPatch,
  ModeratedPost,
  ModeratedQuery,
  Reported,
} from './schema.ts'
import * as community from './service.ts'

const byId = object({ id: id() })

export const communityRoutes = (http: Http) =>
  http
    .get('/api/public/community/posts', ({ ctx, query }) => community.list(ctx, query), {
      ...on(community.list, 'Posts of the community, newest first', { answers: [404] }),
      query: CommunityQuery,
      response: CommunityPage,
    })
    .get('/api/public/community/posts/:id', ({ ctx, params }) => community.get(ctx, params), {
      ...on(community.get, 'Read a post of the community'),
      params: byId,
      response: CommunityPost,
    })
    .post(
      '/api/community/posts',
      async ({ ctx, body, set }) =>
        respondCreated(set, '/api/public/community/posts', await community.create(ctx, body)),
      {
        ...on(community.create, 'Write a post for the community: five a day, from a confirmed address'),
        body: CommunityCreate,
        response: { 201: CommunityPost },
      },
    )
    .patch('/api/community/posts/:id', ({ ctx, params, body }) => community.update(ctx, { ...body, ...params }), {
      ...on(community.update, 'Change your post'),
      params: byId,
      body: CommunityPatch,
      response: CommunityPost,
    })
    .delete('/api/community/posts/:id', ({ ctx, params }) => community.remove(ctx, params), {
      ...on(community.remove, 'Delete your post'),
      params: byId,
      response: Deleted,
    })
    .post('/api/community/posts/:id/report', ({ ctx, params, body }) => community.report(ctx, { ...body, ...params }), {
      ...on(community.report, 'Report a post to the administrators'),
      params: byId,
      body: CommunityReport,
      response: Reported,
    })
    .get('/api/admin/community/posts', ({ ctx, query }) => moderation.listAll(ctx, query), {
      ...on(moderation.listAll, 'All posts of the community, with their reports'),
      query: ModeratedQuery,
      response: ModeratedPage,
    })
    .patch(
      '/api/admin/community/posts/:id',
      ({ ctx, params, body }) => moderation.moderate(ctx, { ...body, ...params }),
      {
        ...on(moderation.moderate, 'Show, hide or pin a post; its author is notified'),
        params: byId,
        body: ModeratedPatch,
        response: ModeratedPost,
      },
    )
    .delete('/api/admin/community/posts/:id', ({ ctx, params }) => moderation.removeAny(ctx, params), {
      ...on(moderation.removeAny, 'Delete a post; its author is notified'),
      params: byId,
      response: Deleted,
    })
