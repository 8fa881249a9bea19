import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object, yes } from '../../schema.ts'
import { Organization } from '../organizations/schema.ts'
import * as received from './received.ts'
import { InviteCreate, InvitePage, InvitePreview, InviteQuery, InviteRef, InviteSent, InviteToken } from './schema.ts'
import * as invites from './service.ts'

const byId = object({ id: id() })

export const inviteRoutes = (http: Http) =>
  http
    .post(
      '/api/teams/:id/invite',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, `/api/teams/${params.id}/invites`, await invites.create(ctx, { ...body, ...params })),
      {
        ...on(
          invites.create,
          'Invite someone to a team by e-mail, or by a link that you pass on if there is no mail server',
        ),
        params: byId,
        body: InviteCreate,
        response: { 201: InviteSent },
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
    .get('/api/invites', ({ ctx, query }) => received.listMine(ctx, query), {
      ...on(received.listMine, 'Open invites to your confirmed address'),
      query: InviteQuery,
      response: InvitePage,
    })
    .post('/api/invites/preview', ({ ctx, body }) => received.preview(ctx, body), {
      ...on(received.preview, 'Show the team, role and inviter of a mailed invitation', { answers: [404] }),
      body: InviteToken,
      response: InvitePreview,
    })
    .post('/api/invites/:token/accept', ({ ctx, params }) => received.accept(ctx, params), {
      ...on(received.accept, 'Accept an invite and join the team'),
      params: InviteRef,
      response: Organization,
    })
    .post('/api/invites/:token/decline', ({ ctx, params }) => received.decline(ctx, params), {
      ...on(received.decline, 'Decline an invite'),
      params: InviteRef,
      response: object({ id: id(), declined: yes() }),
    })
