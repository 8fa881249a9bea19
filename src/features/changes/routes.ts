import { type Http, on, respondCreated, undoable } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import { changeMany } from '../tasks/many/batch.ts'
import { ChangedMany, ChangeRequest } from '../tasks/many/many-schema.ts'
import { changeListOrMatching } from './batch.ts'
import { ChangePage, ChangeProgress, ChangeQuery, Undone } from './schema.ts'
import * as changes from './service.ts'

const byId = object({ id: id() })

export const changeRoutes = (http: Http) =>
  http
    .post(
      '/api/tasks/batch',
      async ({ ctx, body, set }) => {
        const { matching, listed } = await changeListOrMatching(ctx, body)
        if (!matching) return undoable(ctx, set, listed)
        set.headers['x-change-id'] = matching.id
        return respondCreated(set, '/api/changes', matching)
      },
      {
        ...on(changeMany, 'Make one change to several tasks, each on its own, or to all tasks that match'),
        body: ChangeRequest,
        response: { 200: ChangedMany, 201: ChangeProgress },
      },
    )
    .get('/api/changes', ({ ctx, query }) => changes.list(ctx, query), {
      ...on(changes.list, 'List your changes of the last hour that can be undone'),
      query: ChangeQuery,
      response: ChangePage,
    })
    .get('/api/changes/:id', ({ ctx, params }) => changes.get(ctx, params), {
      ...on(changes.get, 'Get a change with how far it is'),
      params: byId,
      response: ChangeProgress,
    })
    .post('/api/changes/:id/stop', ({ ctx, params }) => changes.stop(ctx, params), {
      ...on(changes.stop, 'Stop a change of many tasks; what is changed already stays so'),
      params: byId,
      response: ChangeProgress,
    })
    .post('/api/changes/:id/undo', ({ ctx, params }) => changes.undo(ctx, params), {
      ...on(changes.undo, 'Undo a change; if it covers more than 200 tasks, a job does it'),
      params: byId,
      response: Undone,
    })
