import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object, yes } from '../../schema.ts'
import { Organization } from '../organizations/schema.ts'
import { Invite, InviteCreate, InvitePage, InvitePreview, InviteQuery, InviteRef, InviteToken } from './schema.ts'
import * as invites from './service.ts'

const byId = object({ id: id() })

export const inviteRoutes = (http: Http) =>
  http
    .post(
      '/api/teams/:id/invite',
      async ({ ctx, params, body, set }) =>
        created(set, `/api/teams/${params.id}/invites`, await invites.create(ctx, { ...body, ...params })),
      {
        ...on(invites.create, 'Invite somebody to a team by e-mail'),
        params: byId,
        body: InviteCreate,
        response: { 201: Invite },
      },
    )
    .get('/api/teams/:id/invites', ({ ctx, params, query }) => invites.list(ctx, { ...query, ...params }), {
      ...on(invites.list, 'Open invites of a team'),
      params: byId,
      query: InviteQuery,
      response: InvitePage,
    })
    .delete('/api/teams/:id/invites/:inviteId', ({ ctx, params }) => invites.withdraw(ctx, params), {
      ...on(invites.withdraw, 'Withdraw an invite'),
      params: object({ id: id(), inviteId: id() }),
      response: Deleted,
    })
    .get('/api/invites', ({ ctx, query }) => invites.mine(ctx, query), {
      ...on(invites.mine, 'Open invites to your confirmed address'),
      query: InviteQuery,
      response: InvitePage,
    })
    .post('/api/invites/preview', ({ ctx, body }) => invites.preview(ctx, body), {
      ...on(invites.preview, 'What a mailed invitation is about'),
      body: InviteToken,
      response: InvitePreview,
    })
    .post('/api/invites/:token/accept', ({ ctx, params }) => invites.accept(ctx, params), {
      ...on(invites.accept, 'Accept an invite and join the team'),
      params: InviteRef,
      response: Organization,
    })
    .post('/api/invites/:token/decline', ({ ctx, params }) => invites.decline(ctx, params), {
      ...on(invites.decline, 'Decline an invite'),
      params: InviteRef,
      response: object({ id: id(), declined: yes() }),
    })
