import { created, type Http, on } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
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

const byId = object({ id: id() })

export const decisionRoutes = (http: Http) =>
  http
    .get('/api/decisions', ({ ctx, query }) => decisions.list(ctx, query), {
      ...on(decisions.list, 'List decisions of a project or the current team'),
      query: DecisionQuery,
      response: DecisionPage,
    })
    .post('/api/decisions', async ({ ctx, body, set }) => created(set, '/api/decisions', await decisions.create(ctx, body)), {
      ...on(decisions.create, 'Log a decision; says which earlier ones are about the same'),
      body: DecisionCreate,
      response: { 201: DecisionLogged },
    })
    .get('/api/decisions/:id', ({ ctx, params }) => decisions.get(ctx, { ref: params.id }), {
      ...on(decisions.get, 'Get a decision with its discussion'),
      params: byId,
      response: DecisionDetail,
    })
    .patch('/api/decisions/:id', ({ ctx, params, body }) => decisions.update(ctx, { ...body, ref: params.id }), {
      ...on(decisions.update, 'Change the given fields of a decision'),
      params: byId,
      body: DecisionPatch,
      response: Decision,
    })
    .post(
      '/api/decisions/:id/comments',
      async ({ ctx, params, body, set }) =>
        created(set, `/api/decisions/${params.id}/comments`, await decisions.comment(ctx, { ...body, ref: params.id })),
      { ...on(decisions.comment, 'Add to the discussion of a decision'), params: byId, body: CommentCreate, response: { 201: Comment } },
    )
