import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, object, text, id as uuid } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'
import { Workflow } from '../projects/workflow/workflow-schema.ts'
import { advanceFeature, overrideGate, reviewFeature } from './advancing.ts'
import * as detail from './detail.ts'
import { verify } from './evidence.ts'
import {
  Feature,
  FeatureAdvance,
  FeatureCreate,
  FeatureOverride,
  FeaturePage,
  FeaturePatch,
  FeatureQuery,
  FeatureReview,
  FeatureView,
  SubmittedEvidence,
} from './schema.ts'
import * as features from './service.ts'

const id = text(100, {
  minLength: 1,
  description: 'Id or unique id prefix',
  example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
})
const byId = object({ id })
const inProject = object({ ...ProjectRef.properties, id })
const { projectId: _, ...query } = FeatureQuery.properties

export const workflowRoutes = (http: Http) =>
  http
    .get(
      '/api/projects/:slug/features',
      ({ ctx, params, query }) => features.list(ctx, { ...query, projectId: params.slug, mustExist: true }),
      {
        ...on(features.list, 'List the features of a project with their gates'),
        params: ProjectRef,
        query: object(query),
        response: FeaturePage,
      },
    )
    .post(
      '/api/projects/:slug/features',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, '/api/features', await features.create(ctx, { ...body, project: params.slug })),
      {
        ...on(features.create, 'Create a feature'),
        params: ProjectRef,
        body: FeatureCreate,
        response: { 201: Feature },
      },
    )
    .get(
      '/api/projects/:slug/features/:id',
      ({ ctx, params }) => detail.getIn(ctx, { ref: params.id, project: params.slug }),
      {
        ...on(detail.getIn, 'Get one feature of a project'),
        params: inProject,
        response: FeatureView,
      },
    )
    .put(
      '/api/projects/:slug/features/:id',
      ({ ctx, params, body }) => features.updateIn(ctx, { ...body, ref: params.id, project: params.slug }),
      {
        ...on(features.updateIn, 'Change the given fields of a feature; a status goes through its gates'),
        params: inProject,
        body: FeaturePatch,
        response: Feature,
      },
    )
    .delete(
      '/api/projects/:slug/features/:id',
      ({ ctx, params }) => features.remove(ctx, { ref: params.id, project: params.slug }),
      {
        ...on(features.remove, 'Delete a feature'),
        params: inProject,
        response: Deleted,
      },
    )
    .get('/api/projects/:slug/workflow', ({ ctx, params }) => detail.getWorkflow(ctx, { project: params.slug }), {
      ...on(detail.getWorkflow, 'Get the workflow that features of a project follow: its own, or the default one'),
      params: ProjectRef,
      response: Workflow,
    })
    .get('/api/features/:id', ({ ctx, params }) => detail.getFeatureView(ctx, { ref: params.id }), {
      ...on(detail.getFeatureView, 'Get a feature with its gates, evidence, reviews, tasks and what comes next'),
      params: byId,
      response: FeatureView,
    })
    .patch('/api/features/:id', ({ ctx, params, body }) => features.update(ctx, { ...body, ref: params.id }), {
      ...on(features.update, 'Change the given fields of a feature by its id; a status goes through its gates'),
      params: byId,
      body: FeaturePatch,
      response: Feature,
    })
    .post('/api/features/:id/restore', ({ ctx, params }) => features.restore(ctx, { ref: params.id }), {
      ...on(features.restore, 'Restore a feature that was deleted in the last 30 days'),
      params: byId,
      response: Feature,
    })
    .post('/api/features/:id/advance', ({ ctx, params, body }) => advanceFeature(ctx, { ...body, ref: params.id }), {
      ...on(advanceFeature, 'Move a feature to its next state, with the evidence that its gate requires'),
      params: byId,
      body: FeatureAdvance,
      response: Feature,
    })
    .post('/api/features/:id/reviews', ({ ctx, params, body }) => reviewFeature(ctx, { ...body, ref: params.id }), {
      ...on(reviewFeature, 'Review a feature. You cannot review your own work, unless you are alone in the team'),
      params: byId,
      body: FeatureReview,
      response: Feature,
    })
    .post(
      '/api/features/:id/evidence/:evidenceId/verify',
      ({ ctx, params }) => verify(ctx, { ref: params.id, evidenceId: params.evidenceId }),
      {
        ...on(verify, 'Mark evidence as checked by you, in person, at a browser'),
        params: object({ id, evidenceId: uuid() }),
        response: SubmittedEvidence,
      },
    )
    .post('/api/features/:id/override', ({ ctx, params, body }) => overrideGate(ctx, { ...body, ref: params.id }), {
      ...on(overrideGate, 'Put a feature into any state without its gates, as an admin of the team, with a reason'),
      params: byId,
      body: FeatureOverride,
      response: Feature,
    })
