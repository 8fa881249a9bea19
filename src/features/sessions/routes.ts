import { type Http, on, respondCreated } from '../../http/context.ts'
import { object, text } from '../../schema.ts'
import { getBriefContext } from './context.ts'
import {
  Context,
  ContextQuery,
  Session,
  SessionBrief,
  SessionCheckpoint,
  SessionCreate,
  SessionEnd,
  SessionEnded,
  SessionPage,
  SessionQuery,
  SessionResume,
} from './schema.ts'
import * as sessions from './service.ts'
import { getTimeline } from './timeline.ts'
import { Timeline } from './timeline-schema.ts'

const byRef = object({
  id: text(36, { minLength: 8, description: 'Id or id prefix', example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
})

export const sessionRoutes = (http: Http) =>
  http
    .get('/api/sessions', ({ ctx, query }) => sessions.list(ctx, query), {
      ...on(sessions.list, 'List your work sessions in the current team'),
      query: SessionQuery,
      response: SessionPage,
    })
    .post(
      '/api/sessions',
      async ({ ctx, body, set }) => respondCreated(set, '/api/sessions', await sessions.create(ctx, body)),
      {
        ...on(sessions.create, 'Start a session; returns a brief'),
        body: SessionCreate,
        response: { 201: SessionBrief },
      },
    )
    .get('/api/sessions/:id', ({ ctx, params }) => sessions.get(ctx, { ref: params.id }), {
      ...on(sessions.get, 'Get a session'),
      params: byRef,
      response: Session,
    })
    .get('/api/sessions/:id/timeline', ({ ctx, params }) => getTimeline(ctx, { ref: params.id }), {
      ...on(
        getTimeline,
        'Get the timeline of a session: changes, claims, calls and briefs; other people see only its summary',
      ),
      params: byRef,
      response: Timeline,
    })
    .post('/api/sessions/:id/resume', ({ ctx, params, body }) => sessions.resume(ctx, { ...body, ref: params.id }), {
      ...on(sessions.resume, 'Resume a session; returns a brief with everything needed to continue'),
      params: byRef,
      body: SessionResume,
      response: SessionBrief,
    })
    .post(
      '/api/sessions/:id/checkpoint',
      ({ ctx, params, body }) => sessions.checkpoint(ctx, { ...body, ref: params.id }),
      {
        ...on(sessions.checkpoint, 'Save a checkpoint of a session'),
        params: byRef,
        body: SessionCheckpoint,
        response: Session,
      },
    )
    .post('/api/sessions/:id/end', ({ ctx, params, body }) => sessions.end(ctx, { ...body, ref: params.id }), {
      ...on(sessions.end, 'End a session; its final state is stored as a memory'),
      params: byRef,
      body: SessionEnd,
      response: SessionEnded,
    })
    .get('/api/context', ({ ctx, query }) => getBriefContext(ctx, query), {
      ...on(getBriefContext, 'Get a brief: task, decisions, memories, changes'),
      query: ContextQuery,
      response: Context,
    })
