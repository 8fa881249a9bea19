import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'
import { ref, Task, TaskChanged, TaskCreate, TaskDetail, TaskPage, TaskPatch, TaskQuery } from '../tasks/schema.ts'
import * as deletion from './deletion.ts'
import * as nested from './nested.ts'
import * as outline from './outline.ts'
import {
  Epic,
  EpicCreate,
  EpicPage,
  EpicPatch,
  OutlineQuery,
  PlanCreate,
  Story,
  StoryCreate,
  StoryPage,
  StoryPatch,
  Tree,
} from './schema.ts'
import * as planning from './service.ts'

const inEpic = object({ ...ProjectRef.properties, epicId: id() })
const inStory = object({ ...inEpic.properties, storyId: id() })
const inTask = object({ ...inStory.properties, taskId: ref('The task') })
/** What the long path says cannot be said again; where a record is to move, the body says. */
const { storyId: _, ...own } = TaskCreate.properties
const NestedCreate = object(own)
const { projectId: __, storyId: ___, ...filters } = TaskQuery.properties
const NestedQuery = object(filters)

const epicsPath = '/api/projects/:slug/epics'
const storiesPath = `${epicsPath}/:epicId/stories` as const
const tasksPath = `${storiesPath}/:storyId/tasks` as const
const at = (path: string, params: Record<string, string>): string =>
  path.replace(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name] as string))

export const planningRoutes = (http: Http) =>
  http
    .get('/api/projects/:slug/tree', ({ ctx, params }) => planning.tree(ctx, { ref: params.slug }), {
      ...on(planning.tree, 'The structure of a project: epics, stories, tasks'),
      params: ProjectRef,
      response: Tree,
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
    .get(epicsPath, ({ ctx, params, query }) => outline.listEpics(ctx, { ...query, ...params }), {
      ...on(outline.listEpics, 'Epics of a project'),
      params: ProjectRef,
      query: OutlineQuery,
      response: EpicPage,
    })
    .post(
      epicsPath,
      async ({ ctx, params, body, set }) =>
        created(set, at(epicsPath, params), await outline.createEpic(ctx, { ...body, ...params })),
      { ...on(outline.createEpic, 'Create an epic'), params: ProjectRef, body: EpicCreate, response: { 201: Epic } },
    )
    .get(`${epicsPath}/:epicId`, ({ ctx, params }) => outline.getEpic(ctx, params), {
      ...on(outline.getEpic, 'Get an epic'),
      params: inEpic,
      response: Epic,
    })
    .put(`${epicsPath}/:epicId`, ({ ctx, params, body }) => outline.updateEpic(ctx, { ...body, ...params }), {
      ...on(outline.updateEpic, 'Change the given fields of an epic'),
      params: inEpic,
      body: EpicPatch,
      response: Epic,
    })
    .delete(`${epicsPath}/:epicId`, ({ ctx, params }) => deletion.removeEpic(ctx, params), {
      ...on(deletion.removeEpic, 'Delete an epic with its stories and tasks'),
      params: inEpic,
      response: Deleted,
    })
    .post(`${epicsPath}/:epicId/restore`, ({ ctx, params }) => deletion.restoreEpic(ctx, params), {
      ...on(deletion.restoreEpic, 'Bring back an epic that was deleted in the last 30 days, with what went with it'),
      params: inEpic,
      response: Epic,
    })
    .get(storiesPath, ({ ctx, params, query }) => outline.listStories(ctx, { ...query, ...params }), {
      ...on(outline.listStories, 'Stories of an epic'),
      params: inEpic,
      query: OutlineQuery,
      response: StoryPage,
    })
    .post(
      storiesPath,
      async ({ ctx, params, body, set }) =>
        created(set, at(storiesPath, params), await outline.createStory(ctx, { ...body, ...params })),
      { ...on(outline.createStory, 'Create a story'), params: inEpic, body: StoryCreate, response: { 201: Story } },
    )
    .get(`${storiesPath}/:storyId`, ({ ctx, params }) => outline.getStory(ctx, params), {
      ...on(outline.getStory, 'Get a story'),
      params: inStory,
      response: Story,
    })
    .put(
      `${storiesPath}/:storyId`,
      ({ ctx, params, body: { epicId: to, ...body } }) =>
        outline.updateStory(ctx, { ...body, ...params, ...(to && { to }) }),
      {
        ...on(outline.updateStory, 'Change the given fields of a story; epicId moves it'),
        params: inStory,
        body: StoryPatch,
        response: Story,
      },
    )
    .delete(`${storiesPath}/:storyId`, ({ ctx, params }) => deletion.removeStory(ctx, params), {
      ...on(deletion.removeStory, 'Delete a story with its tasks'),
      params: inStory,
      response: Deleted,
    })
    .post(`${storiesPath}/:storyId/restore`, ({ ctx, params }) => deletion.restoreStory(ctx, params), {
      ...on(deletion.restoreStory, 'Bring back a story that was deleted in the last 30 days, with what went with it'),
      params: inStory,
      response: Story,
    })
    .get(tasksPath, ({ ctx, params, query }) => nested.listTasks(ctx, { ...query, ...params }), {
      ...on(nested.listTasks, 'Tasks of a story'),
      params: inStory,
      query: NestedQuery,
      response: TaskPage,
    })
    .post(
      tasksPath,
      async ({ ctx, params, body, set }) =>
        created(set, at(tasksPath, params), await nested.createTask(ctx, { ...body, ...params })),
      {
        ...on(nested.createTask, 'Create a task in a story'),
        params: inStory,
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
