import { type Http, on, requestedTeam, respondCreated } from '../../http/context.ts'
import { Deleted, id, object, text } from '../../schema.ts'
import { remove, restore } from './deletion.ts'
import { patch } from './moving.ts'
import {
  Project,
  ProjectCreate,
  ProjectDetail,
  ProjectMove,
  ProjectPage,
  ProjectPatch,
  ProjectQuery,
  ProjectRef,
  ProjectShare,
  ProjectsQuery,
  PublicProject,
  Sync,
  Synced,
} from './schema.ts'
import * as projects from './service.ts'
import * as sharing from './sharing.ts'
import * as inWorkspaces from './workspace-projects.ts'

export const projectRoutes = (http: Http) =>
  http
    .get('/api/projects', ({ ctx, query, request }) => projects.list(ctx, { ...requestedTeam(request), ...query }), {
      ...on(projects.list, 'List the projects of all your teams, or of one'),
      query: ProjectsQuery,
      response: ProjectPage,
    })
    .post(
      '/api/projects',
      async ({ ctx, body, set }) => respondCreated(set, '/api/projects', await projects.create(ctx, body)),
      {
        ...on(projects.create, 'Create a project'),
        body: ProjectCreate,
        response: { 201: Project },
      },
    )
    .get('/api/projects/:slug', ({ ctx, params }) => projects.get(ctx, { ref: params.slug }), {
      ...on(projects.get, 'Get a project with its statistics and recent activity'),
      params: ProjectRef,
      response: ProjectDetail,
    })
    .put('/api/projects/:slug', ({ ctx, params, body }) => projects.update(ctx, { ref: params.slug, ...body }), {
      ...on(projects.update, 'Change the given fields of a project'),
      params: ProjectRef,
      body: ProjectPatch,
      response: Project,
    })
    .patch('/api/projects/:slug', ({ ctx, params, body }) => patch(ctx, { ref: params.slug, ...body }), {
      ...on(patch, 'Change the given fields of a project, or move it to another team'),
      params: ProjectRef,
      body: ProjectMove,
      response: Project,
    })
    .delete('/api/projects/:slug', ({ ctx, params }) => remove(ctx, { ref: params.slug }), {
      ...on(remove, 'Delete a project and everything in it'),
      params: ProjectRef,
      response: Deleted,
    })
    .post('/api/projects/:slug/share', ({ ctx, params, body }) => sharing.share(ctx, { ref: params.slug, ...body }), {
      ...on(sharing.share, 'Share a project: with its team, with everyone, or in a workspace'),
      params: ProjectRef,
      body: ProjectShare,
      response: Project,
    })
    .delete('/api/projects/:slug/share', ({ ctx, params }) => sharing.unshare(ctx, { ref: params.slug }), {
      ...on(sharing.unshare, 'Unshare a project: restore its earlier visibility and take it out of its workspace'),
      params: ProjectRef,
      response: Project,
    })
    .post('/api/projects/:slug/archive', ({ ctx, params }) => projects.archive(ctx, { ref: params.slug }), {
      ...on(projects.archive, 'Archive a project'),
      params: ProjectRef,
      response: Project,
    })
    .post('/api/projects/:slug/restore', ({ ctx, params }) => restore(ctx, { ref: params.slug }), {
      ...on(restore, 'Restore a project from the archive, or one deleted in the last 30 days'),
      params: ProjectRef,
      response: Project,
    })
    .post('/api/workspaces/sync', ({ ctx, body }) => inWorkspaces.syncWorkspaces(ctx, body), {
      ...on(
        inWorkspaces.syncWorkspaces,
        'Refresh your workspaces: all, or those that changed since a time, each with all its projects',
      ),
      body: Sync,
      response: Synced,
    })
    .get(
      '/api/workspaces/:id/projects',
      ({ ctx, params, query }) => inWorkspaces.listInWorkspace(ctx, { ...query, ...params }),
      {
        ...on(inWorkspaces.listInWorkspace, 'List the projects in a workspace'),
        params: object({ id: id() }),
        query: ProjectQuery,
        response: ProjectPage,
      },
    )
    .get('/api/public/projects/:user/:slug', ({ ctx, params }) => projects.getPublic(ctx, params), {
      ...on(projects.getPublic, 'Get a public project'),
      params: object({ user: text(63, { example: 'ada' }), slug: text(63, { example: 'tutti' }) }),
      response: PublicProject,
    })
