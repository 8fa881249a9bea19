import { type Http, on, respondCreated } from '../../http/context.ts'
import { ProjectRef } from '../projects/schema.ts'
import * as epics from './epics.ts'
import { epicsPath, fillPath, InEpic, InStory, storiesPath } from './paths.ts'
import {
  Epic,
  EpicCreate,
  EpicPage,
  EpicPatch,
  OutlineQuery,
  Story,
  StoryCreate,
  StoryPage,
  StoryPatch,
} from './schema.ts'
import * as stories from './stories.ts'

export const storyRoutes = (http: Http) =>
  http
    .get(epicsPath, ({ ctx, params, query }) => epics.listEpics(ctx, { ...query, ...params }), {
      ...on(epics.listEpics, 'List the epics of a project'),
      params: ProjectRef,
      query: OutlineQuery,
      response: EpicPage,
    })
    .post(
      epicsPath,
      async ({ ctx, params, body, set }) =>
        respondCreated(set, fillPath(epicsPath, params), await epics.createEpic(ctx, { ...body, ...params })),
      { ...on(epics.createEpic, 'Create an epic'), params: ProjectRef, body: EpicCreate, response: { 201: Epic } },
    )
    .get(`${epicsPath}/:epicId`, ({ ctx, params }) => epics.getEpic(ctx, params), {
      ...on(epics.getEpic, 'Get an epic'),
      params: InEpic,
      response: Epic,
    })
    .put(`${epicsPath}/:epicId`, ({ ctx, params, body }) => epics.updateEpic(ctx, { ...body, ...params }), {
      ...on(epics.updateEpic, 'Change the given fields of an epic'),
      params: InEpic,
      body: EpicPatch,
      response: Epic,
    })
    .get(
      '/api/projects/:slug/stories',
      ({ ctx, params, query }) => stories.listProjectStories(ctx, { ...query, ...params }),
      {
        ...on(stories.listProjectStories, 'List the stories of all epics of a project'),
        params: ProjectRef,
        query: OutlineQuery,
        response: StoryPage,
      },
    )
    .get(storiesPath, ({ ctx, params, query }) => stories.listStories(ctx, { ...query, ...params }), {
      ...on(stories.listStories, 'List the stories of an epic'),
      params: InEpic,
      query: OutlineQuery,
      response: StoryPage,
    })
    .post(
      storiesPath,
      async ({ ctx, params, body, set }) =>
        respondCreated(set, fillPath(storiesPath, params), await stories.createStory(ctx, { ...body, ...params })),
      { ...on(stories.createStory, 'Create a story'), params: InEpic, body: StoryCreate, response: { 201: Story } },
    )
    .get(`${storiesPath}/:storyId`, ({ ctx, params }) => stories.getStory(ctx, params), {
      ...on(stories.getStory, 'Get a story'),
      params: InStory,
      response: Story,
    })
    .put(
      `${storiesPath}/:storyId`,
      ({ ctx, params, body: { epicId: to, ...body } }) =>
        stories.updateStory(ctx, { ...body, ...params, ...(to && { to }) }),
      {
        ...on(stories.updateStory, 'Change the given fields of a story; epicId moves it'),
        params: InStory,
        body: StoryPatch,
        response: Story,
      },
    )
