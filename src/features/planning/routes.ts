import { type Http, on } from '../../http/context.ts'
import { ProjectRef } from '../projects/schema.ts'
import { PlanCreate, Tree } from './schema.ts'
import * as planning from './service.ts'

export const planningRoutes = (http: Http) =>
  http
    .get('/api/projects/:slug/tree', ({ ctx, params }) => planning.tree(ctx, { ref: params.slug }), {
      ...on(planning.tree, 'The structure of a project: epics, stories, tasks'),
      params: ProjectRef,
      response: Tree,
    })
    .post(
      '/api/projects/:slug/plan',
      async ({ ctx, params, body, set }) => {
        set.status = 201
        set.headers.location = `/api/projects/${encodeURIComponent(params.slug)}/tree`
        return planning.createPlan(ctx, { ...body, ref: params.slug })
      },
      {
        ...on(planning.createPlan, 'Create epics, stories and tasks with their dependencies, all or nothing'),
        params: ProjectRef,
        body: PlanCreate,
        response: { 201: Tree },
      },
    )
