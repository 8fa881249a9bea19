import { Type } from '@sinclair/typebox'
import { type Http, on, respondCreated, undoable } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'
import { verify } from './acceptance/evidence.ts'
import * as comments from './comments.ts'
import { remove, restore } from './deletion.ts'
import { relateTasks } from './dependencies/dependencies.ts'
import { getGraph } from './dependencies/graph.ts'
import { GraphQuery, TaskGraph } from './dependencies/graph-schema.ts'
import { claim, release } from './leases/leases.ts'
import { pickNextTask } from './leases/next.ts'
import { TaskCounts, TaskCountsQuery, TaskGroups, TaskPage, TaskQuery } from './lists/list-schema.ts'
import { listSimilar } from './lists/similar.ts'
import { SimilarQuery, SimilarTasks } from './lists/similar-schema.ts'
import { createMany } from './many/creation.ts'
import { CompletedMany, CompleteMany, CreatedMany, CreateMany } from './many/many-schema.ts'
import {
  Comment,
  CommentCreate,
  CommentPage,
  CommentPatch,
  CommentQuery,
  NextTask,
  Relate,
  ref,
  Task,
  TaskChanged,
  TaskClaim,
  TaskClaimed,
  TaskComplete,
  TaskCompleted,
  TaskCreate,
  TaskDetail,
  TaskEvidence,
  TaskNext,
  TaskPatch,
  TaskRelease,
} from './schema.ts'
import * as tasks from './service.ts'

const byRef = object({ id: ref('The task') })
const CommentRef = object({ id: ref('The task'), commentId: id() })

export const taskRoutes = (http: Http) =>
  http
    .get(
      '/api/tasks',
      async ({ ctx, query: { group, ...query } }) =>
        group && group !== 'none' ? tasks.listGroups(ctx, { ...query, group }) : tasks.list(ctx, query),
      {
        ...on(tasks.list, 'List the tasks of the current team, or group them'),
        query: TaskQuery,
        response: Type.Union([TaskPage, TaskGroups]),
      },
    )
    .post(
      '/api/projects/:slug/tasks',
      async ({ ctx, params, body, set }) =>
        respondCreated(set, '/api/tasks', await tasks.create(ctx, { ...body, projectRef: params.slug })),
      { ...on(tasks.create, 'Create a task'), params: ProjectRef, body: TaskCreate, response: { 201: Task } },
    )
    .post(
      '/api/projects/:slug/tasks/batch',
      async ({ ctx, params, body, set }) => {
        set.status = 201
        set.headers.location = '/api/tasks'
        return createMany(ctx, { ...body, projectRef: params.slug })
      },
      {
        ...on(createMany, 'Create several tasks, all or none'),
        params: ProjectRef,
        body: CreateMany,
        response: { 201: CreatedMany },
      },
    )
    .get('/api/tasks/counts', ({ ctx, query }) => tasks.countTasks(ctx, query), {
      ...on(tasks.countTasks, 'Count tasks by state, priority, assignee, holder, label, story or epic'),
      query: TaskCountsQuery,
      response: TaskCounts,
    })
    .get('/api/tasks/similar', ({ ctx, query }) => listSimilar(ctx, query), {
      ...on(listSimilar, 'List up to three tasks that are similar to a title, so that no task is created twice'),
      query: SimilarQuery,
      response: SimilarTasks,
    })
    .post(
      '/api/tasks/complete',
      async ({ ctx, body, set }) => undoable(ctx, set, await tasks.completeMany(ctx, body)),
      {
        ...on(tasks.completeMany, 'Complete several tasks, all or none'),
        body: CompleteMany,
        response: CompletedMany,
      },
    )
    .post('/api/tasks/next', ({ ctx, body }) => pickNextTask(ctx, body), {
      ...on(pickNextTask, 'Get the next task and why, and claim it in the same step'),
      body: TaskNext,
      response: NextTask,
    })
    .get('/api/tasks/:id', ({ ctx, params }) => tasks.getDetail(ctx, { ref: params.id }), {
      ...on(tasks.getDetail, 'Get a task with its dependencies in both directions and its comments'),
      params: byRef,
      response: TaskDetail,
    })
    .patch(
      '/api/tasks/:id',
      async ({ ctx, params, body, set }) => undoable(ctx, set, await tasks.update(ctx, { ...body, ref: params.id })),
      {
        ...on(tasks.update, 'Change the given fields of a task'),
        params: byRef,
        body: TaskPatch,
        response: TaskChanged,
      },
    )
    .patch(
      '/api/tasks/:id/comments/:commentId',
      ({ ctx, params, body }) => comments.updateComment(ctx, { ...body, ref: params.id, commentId: params.commentId }),
      {
        ...on(comments.updateComment, 'Change a comment'),
        params: CommentRef,
        body: CommentPatch,
        response: Comment,
      },
    )
    .delete(
      '/api/tasks/:id/comments/:commentId',
      ({ ctx, params }) => comments.removeComment(ctx, { ref: params.id, commentId: params.commentId }),
      { ...on(comments.removeComment, 'Delete a comment'), params: CommentRef, response: Deleted },
    )
    .delete('/api/tasks/:id', ({ ctx, params }) => remove(ctx, { ref: params.id }), {
      ...on(remove, 'Delete a task and its parts'),
      params: byRef,
      response: Deleted,
    })
    .post('/api/tasks/:id/restore', ({ ctx, params }) => restore(ctx, { ref: params.id }), {
      ...on(restore, 'Restore a task deleted in the last 30 days, with its parts'),
      params: byRef,
      response: Task,
    })
    .post('/api/tasks/:id/claim', ({ ctx, params, body }) => claim(ctx, { ...body, ref: params.id }), {
      ...on(claim, 'Claim a task, or renew or release the claim'),
      params: byRef,
      body: TaskClaim,
      response: TaskClaimed,
    })
    .post('/api/tasks/:id/release', ({ ctx, params, body }) => release(ctx, { ...body, ref: params.id }), {
      ...on(release, 'Release the claim of a task'),
      params: byRef,
      body: TaskRelease,
      response: Task,
    })
    .post(
      '/api/tasks/:id/complete',
      async ({ ctx, params, body, set }) => undoable(ctx, set, await tasks.complete(ctx, { ...body, ref: params.id })),
      {
        ...on(tasks.complete, 'Complete a task; returns the tasks it unblocked and the next one'),
        params: byRef,
        body: TaskComplete,
        response: TaskCompleted,
      },
    )
    .post(
      '/api/tasks/:id/evidence/:evidenceId/verify',
      ({ ctx, params }) => verify(ctx, { ref: params.id, evidenceId: params.evidenceId }),
      {
        ...on(verify, 'Mark evidence of a task as checked by you, in person, at a browser'),
        params: object({ id: ref('The task'), evidenceId: id() }),
        response: TaskEvidence,
      },
    )
    .post('/api/tasks/:id/relations', ({ ctx, params, body }) => relateTasks(ctx, { ...body, ref: params.id }), {
      ...on(relateTasks, 'Relate a task to another one, or remove the relation'),
      params: byRef,
      body: Relate,
      response: Task,
    })
    .get(
      '/api/tasks/:id/comments',
      ({ ctx, params, query }) => comments.listComments(ctx, { ...query, ref: params.id }),
      {
        ...on(comments.listComments, 'List the comments on a task'),
        params: byRef,
        query: CommentQuery,
        response: CommentPage,
      },
    )
    .post(
      '/api/tasks/:id/comments',
      async ({ ctx, params, body, set }) => {
        const comment = await comments.addComment(ctx, { ...body, ref: params.id })
        set.status = 201
        set.headers.location = `/api/tasks/${comment.taskId}/comments`
        return comment
      },
      {
        ...on(comments.addComment, 'Comment on a task'),
        params: byRef,
        body: CommentCreate,
        response: { 201: Comment },
      },
    )
    .get('/api/projects/:slug/graph', ({ ctx, params, query }) => getGraph(ctx, { ...query, ref: params.slug }), {
      ...on(getGraph, 'Get the tasks of a project that depend on others, and all connections between them'),
      params: ProjectRef,
      query: GraphQuery,
      response: TaskGraph,
    })
