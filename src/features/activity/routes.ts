import { type Http, on, respondCreated } from '../../http/context.ts'
import { object, text } from '../../schema.ts'
import { Activity, ActivityCreate, ActivityPage, ActivityQuery } from './schema.ts'
import * as activities from './service.ts'

export const activityRoutes = (http: Http) =>
  http
    .get('/api/activities', ({ ctx, query }) => activities.list(ctx, query), {
      ...on(activities.list, 'List the activity of the current team, or of one project'),
      query: ActivityQuery,
      response: ActivityPage,
    })
    .post(
      '/api/activities',
      async ({ ctx, body: { projectId, taskId, ...rest }, set }) =>
        respondCreated(
          set,
          '/api/activities',
          await activities.log(ctx, { ...rest, project: projectId, task: taskId }),
        ),
      { ...on(activities.log, 'Log an activity'), body: ActivityCreate, response: { 201: Activity } },
    )
    .get('/api/activities/:id', ({ ctx, params }) => activities.get(ctx, { ref: params.id }), {
      ...on(activities.get, 'Get one activity with its metadata'),
      params: object({
        id: text(36, { minLength: 8, description: 'Id or id prefix', example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
      }),
      response: Activity,
    })
