import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, object } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'
import { epicsPath, fillPath, InEpic, InStory, storiesPath } from '../stories/paths.ts'
import { Epic, Story } from '../stories/schema.ts'
import { TaskListQuery, TaskPage } from '../tasks/lists/list-schema.ts'
import { ref, Task, TaskChanged, TaskCreate, TaskDetail, TaskPatch } from '../tasks/schema.ts'
import * as deletion from './deletion.ts'
import * as nested from './nested.ts'
import { getProgress } from './progress.ts'
import { PlanCreate, Progress, ProgressQuery, Tree } from './schema.ts'
import * as planning from './service.ts'
import { getTree } from './tree.ts'

const inTask = object({ ...InStory.properties, taskId: ref('The task') })
/** The path already names the story, so a new task has no `storyId` in its body; in an update, `storyId` moves it. */
const { storyId: _, ...own } = TaskCreate.properties
const NestedCreate = object(own)
const { projectId: __, storyId: ___, epicId: ____, ...filters } = TaskListQuery.properties
const NestedQuery = object(filters)

const tasksPath = `${storiesPath}/:storyId/tasks` as const
export const planningRoutes = (http: Http) =>
  http
    .get('/api/projects/:slug/tree', ({ ctx, params }) => getTree(ctx, { ref: params.slug }), {
      ...on(getTree, 'Get the structure of a project: epics, stories, tasks'),
      params: ProjectRef,
      response: Tree,
    })
    .get('/api/projects/:slug/progress', ({ ctx, params, query }) => getProgress(ctx, { ...query, ref: params.slug }), {
      ...on(
        getProgress,
        'Get the number of tasks of a project on each day, and how many were done by people and agents',
      ),
      params: ProjectRef,
      query: ProgressQuery,
      response: Progress,
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
    .delete(`${epicsPath}/:epicId`, ({ ctx, params }) => deletion.removeEpic(ctx, params), {
      ...on(deletion.removeEpic, 'Delete an epic with its stories and tasks'),
      params: InEpic,
      response: Deleted,
    })
    .post(`${epicsPath}/:epicId/restore`, ({ ctx, params }) => deletion.restoreEpic(ctx, params), {
      ...on(deletion.restoreEpic, 'Restore an epic deleted in the last 30 days, with its stories and tasks'),
      params: InEpic,
      response: Epic,
    })
    .delete(`${storiesPath}/:storyId`, ({ ctx, params }) => deletion.removeStory(ctx, params), {
      ...on(deletion.removeStory, 'Delete a story with its tasks'),
      params: InStory,
      response: Deleted,
    })
    .post(`${storiesPath}/:storyId/restore`, ({ ctx, params }) => deletion.restoreStory(ctx, params), {
      ...on(deletion.restoreStory, 'Restore a story deleted in the last 30 days, with its tasks'),
      params: InStory,
      response: Story,
    })
    .get(tasksPath, ({ ctx, params, query }) => nested.listTasks(ctx, { ...query, ...params }), {
      ...on(nested.listTasks, 'List the tasks of a story'),
      params: InStory,
      query: NestedQuery,
      response: TaskPage,
    })
    .post(
      tasksPath,
      async ({ ctx, params, body, set }) =>
        respondCreated(set, fillPath(tasksPath, params), await nested.createTask(ctx, { ...body, ...params })),
      {
        ...on(nested.createTask, 'Create a task in a story'),
        params: InStory,
        body: NestedCreate,
        response: { 201: Task },
      },
    )
    .get(`${tasksPath}/:taskId`, ({ ctx, params }) => nested.getTask(ctx, params), {
      ...on(nested.getTask, 'Get a task of a story'),
      params: inTask,
      response: TaskDetail,
    })
    .put(
      `${tasksPath}/:taskId`,
      ({ ctx, params, body: { storyId: move, ...body } }) =>
        nested.updateTask(ctx, { ...body, ...params, ...(move !== undefined && { move }) }),
      {
        ...on(nested.updateTask, 'Change the given fields of a task; storyId moves it'),
        params: inTask,
        body: TaskPatch,
        response: TaskChanged,
      },
    )
    .delete(`${tasksPath}/:taskId`, ({ ctx, params }) => nested.removeTask(ctx, params), {
      ...on(nested.removeTask, 'Delete a task of a story'),
      params: inTask,
      response: Deleted,
    })
