import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object, yes } from '../../schema.ts'
import {
  MyWorkspaceInviteQuery,
  WorkspaceInviteAccept,
  WorkspaceInviteCreate,
  WorkspaceInviteDetail,
  WorkspaceInvitePage,
  WorkspaceInviteQuery,
  WorkspaceInviteSent,
} from './invite-schema.ts'
import * as invites from './invites.ts'
import * as received from './received-invites.ts'
import {
  TeamAdd,
  Workspace,
  WorkspaceCreate,
  WorkspaceDetail,
  WorkspacePage,
  WorkspacePatch,
  WorkspaceQuery,
  WorkspaceTeam,
} from './schema.ts'
import * as workspaces from './service.ts'
import { addTeam, removeTeam } from './teams.ts'

const byId = object({ id: id() })

export const workspaceRoutes = (http: Http) =>
  http
    .get('/api/workspaces', ({ ctx, query }) => workspaces.list(ctx, query), {
      ...on(workspaces.list, 'List the workspaces of all your teams'),
      query: WorkspaceQuery,
      response: WorkspacePage,
    })
    .post(
      '/api/workspaces',
      async ({ ctx, body, set }) => respondCreated(set, '/api/workspaces', await workspaces.create(ctx, body)),
      {
        ...on(workspaces.create, 'Create a workspace in the current team'),
        body: WorkspaceCreate,
        response: { 201: Workspace },
      },
    )
    .get('/api/workspaces/:id', ({ ctx, params }) => workspaces.get(ctx, params), {
      ...on(workspaces.get, 'Get a workspace'),
      params: byId,
      response: WorkspaceDetail,
    })
    .put('/api/workspaces/:id', ({ ctx, params, body }) => workspaces.put(ctx, { ...body, ...params }), {
      ...on(workspaces.put, 'Change the given fields of a workspace'),
      params: byId,
      body: WorkspacePatch,
      response: Workspace,
    })
    .patch('/api/workspaces/:id', ({ ctx, params, body }) => workspaces.update(ctx, { ...body, ...params }), {
      ...on(workspaces.update, 'Change the given fields of a workspace'),
      params: byId,
      body: WorkspacePatch,
      response: Workspace,
    })
    .delete('/api/workspaces/:id', ({ ctx, params }) => workspaces.remove(ctx, params), {
      ...on(workspaces.remove, 'Delete a workspace; its projects stay'),
      params: byId,
      response: Deleted,
    })
    .post(
      '/api/workspaces/:id/teams',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, `/api/workspaces/${params.id}/teams`, await addTeam(ctx, { ...body, ...params })),
      {
        ...on(addTeam, 'Share a workspace with another of your teams, or change the role of a team'),
        params: byId,
        body: TeamAdd,
        response: { 201: WorkspaceTeam },
      },
    )
    .delete('/api/workspaces/:id/teams/:teamId', ({ ctx, params }) => removeTeam(ctx, params), {
      ...on(removeTeam, 'Remove a team from a workspace, or leave it'),
      params: object({ id: id(), teamId: id() }),
      response: Deleted,
    })
    .post(
      '/api/workspaces/:id/invites',
      async ({ ctx, params, body, set }) =>
        respondCreated(
          set,
          `/api/workspaces/${params.id}/invites`,
          await invites.inviteToWorkspace(ctx, { ...body, ...params }),
        ),
      {
        ...on(
          invites.inviteToWorkspace,
          'Invite a team to a workspace, by the e-mail address of a person who administers it',
        ),
        params: byId,
        body: WorkspaceInviteCreate,
        response: { 201: WorkspaceInviteSent },
      },
    )
    .get(
      '/api/workspaces/:id/invites',
      ({ ctx, params, query }) => invites.listWorkspaceInvites(ctx, { ...query, ...params }),
      {
        ...on(invites.listWorkspaceInvites, 'List the invitations of teams to a workspace'),
        params: byId,
        query: WorkspaceInviteQuery,
        response: WorkspaceInvitePage,
      },
    )
    .delete('/api/workspaces/:id/invites/:inviteId', ({ ctx, params }) => invites.cancelInvite(ctx, params), {
      ...on(invites.cancelInvite, 'Cancel a pending invitation to a workspace'),
      params: object({ id: id(), inviteId: id() }),
      response: Deleted,
    })
    .get('/api/workspace-invites', ({ ctx, query }) => received.listMyInvites(ctx, query), {
      ...on(received.listMyInvites, 'List the pending invitations of your teams to workspaces'),
      query: MyWorkspaceInviteQuery,
      response: WorkspaceInvitePage,
    })
    .get('/api/workspace-invites/:id', ({ ctx, params }) => received.get(ctx, params), {
      ...on(received.get, 'Get an invitation to a workspace, with the teams that you could bring in'),
      params: byId,
      response: WorkspaceInviteDetail,
    })
    .post(
      '/api/workspace-invites/:id/accept',
      ({ ctx, params, body }) => received.acceptInvite(ctx, { ...body, ...params }),
      {
        ...on(received.acceptInvite, 'Accept an invitation to a workspace for a team that you administer'),
        params: byId,
        body: WorkspaceInviteAccept,
        response: WorkspaceTeam,
      },
    )
    .post('/api/workspace-invites/:id/decline', ({ ctx, params }) => received.declineInvite(ctx, params), {
      ...on(received.declineInvite, 'Decline an invitation to a workspace'),
      params: byId,
      response: object({ id: id(), declined: yes() }),
    })
    .get('/api/teams/:id/workspaces', ({ ctx, params, query }) => workspaces.listOfTeam(ctx, { ...query, ...params }), {
      ...on(workspaces.listOfTeam, 'List the workspaces of a team, including those shared with it'),
      params: byId,
      query: WorkspaceQuery,
      response: WorkspacePage,
    })
    .post(
      '/api/teams/:id/workspaces',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, '/api/workspaces', await workspaces.createInTeam(ctx, { ...body, ...params })),
      {
        ...on(workspaces.createInTeam, 'Create a workspace in a team'),
        params: byId,
        body: WorkspaceCreate,
        response: { 201: Workspace },
      },
    )
