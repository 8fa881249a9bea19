import { type Http, on, respondCreated } from '../../http/context.ts'
import { object, text } from '../../schema.ts'
import { getAgentDetail } from './detail.ts'
import {
  Agent,
  AgentCreate,
  AgentDeleted,
  AgentDetail,
  AgentPage,
  AgentPatch,
  AgentQuery,
  AgentRef,
  AgentRemoval,
  PublicAgent,
} from './schema.ts'
import * as agents from './service.ts'

export const agentRoutes = (http: Http) =>
  http
    .get('/api/agents', ({ ctx, query }) => agents.list(ctx, query), {
      ...on(agents.list, 'List agents: your personal ones and those of the current team'),
      query: AgentQuery,
      response: AgentPage,
    })
    .post(
      '/api/agents',
      async ({ ctx, body, set }) => respondCreated(set, '/api/agents', await agents.create(ctx, body)),
      {
        ...on(agents.create, 'Create an agent'),
        body: AgentCreate,
        response: { 201: Agent },
      },
    )
    .get('/api/agents/public/:slug', ({ ctx, params }) => agents.getPublic(ctx, params), {
      ...on(agents.getPublic, 'Read a public agent'),
      params: object({ slug: text(80, { example: 'reviewer-x7k2p9' }) }),
      response: PublicAgent,
    })
    .get('/api/agents/:id', ({ ctx, params }) => getAgentDetail(ctx, { ref: params.id }), {
      ...on(getAgentDetail, 'Get an agent with its recent activity, memories and open tasks'),
      params: AgentRef,
      response: AgentDetail,
    })
    .put('/api/agents/:id', ({ ctx, params, body }) => agents.update(ctx, { ref: params.id, ...body }), {
      ...on(agents.update, 'Change the given fields of an agent'),
      params: AgentRef,
      body: AgentPatch,
      response: Agent,
    })
    .delete('/api/agents/:id', ({ ctx, params, query }) => agents.remove(ctx, { ref: params.id, ...query }), {
      ...on(agents.remove, 'Delete an agent and, by default, its memories'),
      params: AgentRef,
      query: AgentRemoval,
      response: AgentDeleted,
    })
    .post('/api/agents/:id/restore', ({ ctx, params }) => agents.restore(ctx, { ref: params.id }), {
      ...on(agents.restore, 'Restore an agent that was deleted in the last 30 days'),
      params: AgentRef,
      response: Agent,
    })
