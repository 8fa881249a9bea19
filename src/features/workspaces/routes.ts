import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
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
      async ({ ctx, body, set }) => created(set, '/api/workspaces', await workspaces.create(ctx, body)),
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
        created(set, `/api/workspaces/${params.id}/teams`, await addTeam(ctx, { ...body, ...params })),
      {
        ...on(addTeam, 'Share a workspace with another of your teams'),
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
    .get('/api/teams/:id/workspaces', ({ ctx, params, query }) => workspaces.listOfTeam(ctx, { ...query, ...params }), {
      ...on(workspaces.listOfTeam, 'List the workspaces of a team, including those shared with it'),
      params: byId,
      query: WorkspaceQuery,
      response: WorkspacePage,
    })
    .post(
      '/api/teams/:id/workspaces',
      async ({ ctx, params, body, set }) =>
        created(set, '/api/workspaces', await workspaces.createInTeam(ctx, { ...body, ...params })),
      {
        ...on(workspaces.createInTeam, 'Create a workspace in a team'),
        params: byId,
        body: WorkspaceCreate,
        response: { 201: Workspace },
      },
    )
