import { type Http, on, respondCreated } from '../../http/context.ts'
import { int, object, optional, text } from '../../schema.ts'
import {
  CompareQuery,
  Comparison,
  Spec,
  SpecCreate,
  SpecDetail,
  SpecPage,
  SpecPatch,
  SpecQuery,
  SpecUpdated,
  SpecVersions,
  VersionQuery,
} from './schema.ts'
import * as specs from './service.ts'
import { compareVersions, listVersions } from './versions.ts'

const byRef = object({ id: text(100, { minLength: 1, description: 'Id, slug or id prefix', example: 'folder-lock' }) })

export const specRoutes = (http: Http) =>
  http
    .get('/api/specs', ({ ctx, query }) => specs.list(ctx, query), {
      ...on(specs.list, 'List specs of a project or the current team'),
      query: SpecQuery,
      response: SpecPage,
    })
    .post(
      '/api/specs',
      async ({ ctx, body, set }) => respondCreated(set, '/api/specs', await specs.create(ctx, body)),
      {
        ...on(specs.create, 'Create a spec'),
        body: SpecCreate,
        response: { 201: Spec },
      },
    )
    .get('/api/specs/:id', ({ ctx, params, query }) => specs.get(ctx, { ref: params.id, ...query }), {
      ...on(specs.get, 'Get a spec, as it is or at a version'),
      params: byRef,
      query: object({ version: optional(int({ min: 1 })) }),
      response: SpecDetail,
    })
    .patch('/api/specs/:id', ({ ctx, params, body }) => specs.update(ctx, { ...body, ref: params.id }), {
      ...on(specs.update, 'Write the next version of a spec'),
      params: byRef,
      body: SpecPatch,
      response: SpecUpdated,
    })
    .get('/api/specs/:id/versions', ({ ctx, params, query }) => listVersions(ctx, { ...query, ref: params.id }), {
      ...on(listVersions, 'List the versions of a spec, newest first'),
      params: byRef,
      query: VersionQuery,
      response: SpecVersions,
    })
    .get('/api/specs/:id/compare', ({ ctx, params, query }) => compareVersions(ctx, { ref: params.id, ...query }), {
      ...on(compareVersions, 'Get what changed between two versions'),
      params: byRef,
      query: CompareQuery,
      response: Comparison,
    })
