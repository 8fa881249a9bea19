import { type Http, on, respondCreated } from '../../http/context.ts'
import { object, text } from '../../schema.ts'
import { commentOnDecision } from './comments.ts'
import {
  Comment,
  CommentCreate,
  Decision,
  DecisionCreate,
  DecisionDetail,
  DecisionLogged,
  DecisionPage,
  DecisionPatch,
  DecisionQuery,
} from './schema.ts'
import * as decisions from './service.ts'

const byRef = object({
  id: text(36, { minLength: 8, description: 'Id or id prefix', example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
})

export const decisionRoutes = (http: Http) =>
  http
    .get('/api/decisions', ({ ctx, query }) => decisions.list(ctx, query), {
      ...on(decisions.list, 'List decisions of a project or the current team'),
      query: DecisionQuery,
      response: DecisionPage,
    })
    .post(
      '/api/decisions',
      async ({ ctx, body, set }) => respondCreated(set, '/api/decisions', await decisions.create(ctx, body)),
      {
        ...on(decisions.create, 'Log a decision; returns similar earlier ones'),
        body: DecisionCreate,
        response: { 201: DecisionLogged },
      },
    )
    .get('/api/decisions/:id', ({ ctx, params }) => decisions.get(ctx, { ref: params.id }), {
      ...on(decisions.get, 'Get a decision with its discussion'),
      params: byRef,
      response: DecisionDetail,
    })
    .patch('/api/decisions/:id', ({ ctx, params, body }) => decisions.update(ctx, { ...body, ref: params.id }), {
      ...on(decisions.update, 'Change the given fields of a decision'),
      params: byRef,
      body: DecisionPatch,
      response: Decision,
    })
    .post(
      '/api/decisions/:id/comments',
      async ({ ctx, params, body, set }) =>
        respondCreated(
          set,
          `/api/decisions/${params.id}/comments`,
          await commentOnDecision(ctx, { ...body, ref: params.id }),
        ),
      {
        ...on(commentOnDecision, 'Add to the discussion of a decision'),
        params: byRef,
        body: CommentCreate,
        response: { 201: Comment },
      },
    )
