import { and, eq, isNull, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { openCondition } from '../../records/open.ts'
import { keyset } from '../../records/page.ts'
import { lastPosition, positionAfterSibling } from '../../records/positions.ts'
import { lockProject } from '../projects/lock.ts'
import * as projects from '../projects/rows.ts'
import { storyCreated, storyUpdated } from './events.ts'
import {
  changeStoryRow,
  type EpicPath,
  findEpic,
  findPlannableProject,
  findStory,
  findStoryByPath,
  newStoryRow,
  type StoryPath,
  storyColumns,
  storyEvent,
  trimTitle,
  withProgress,
} from './rows.ts'
import type { OutlineQuery, Story, StoryCreate, StoryPage, StoryPatch } from './schema.ts'
import { stories } from './table.ts'

const orders = { position: stories.position, createdAt: stories.createdAt, updatedAt: stories.updatedAt }

async function pageOf(ctx: Ctx, within: SQL, query: OutlineQuery, sort: keyof typeof orders): Promise<StoryPage> {
  const page = keyset(orders, stories.id, query, { sort, order: 'asc' })
  const own = and(within, isNull(stories.deletedAt), openCondition(stories.status, query.open))
  const rows = await ctx.db
    .select(storyColumns)
    .from(stories)
    .where(page.where(own))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(await withProgress(ctx, 'story', rows), query.total ? await ctx.db.$count(stories, own) : undefined)
}

export const listStories = read(
  'stories.listStories',
  member('tasks:read'),
  async (ctx, { slug, epicId, ...query }: OutlineQuery & EpicPath): Promise<StoryPage> => {
    const project = await projects.findProject(ctx, slug)
    await findEpic(ctx, project.id, epicId)
    return pageOf(ctx, eq(stories.epicId, epicId), query, 'position')
  },
)

/** Lists the stories of all epics of a project, oldest first: positions only order stories within an epic. */
export const listProjectStories = read(
  'stories.listOfProject',
  member('tasks:read'),
  async (ctx, { slug, ...query }: OutlineQuery & { slug: string }): Promise<StoryPage> => {
    const { id } = await projects.findProject(ctx, slug)
    return pageOf(ctx, eq(stories.projectId, id), query, 'createdAt')
  },
)

export const getStory = read(
  'stories.getStory',
  member('tasks:read'),
  (ctx, path: StoryPath): Promise<Story> => findStoryByPath(ctx, path),
)

export const createStory = write(
  'stories.createStory',
  member('tasks:write'),
  async (ctx, { slug, epicId, points, ...input }: StoryCreate & EpicPath & { id?: string }): Promise<Story> => {
    const project = await findPlannableProject(ctx, slug)
    await lockProject(ctx, project.id)
    await findEpic(ctx, project.id, epicId)
    const position = (await lastPosition(ctx, stories, eq(stories.epicId, epicId))) + 1
    const [row] = await ctx.db
      .insert(stories)
      .values({ ...newStoryRow(ctx, project, input), epicId, points, position })
      .returning({ id: stories.id })
    const story = await findStory(ctx, project.id, epicId, (row as { id: string }).id)
    ctx.emit(storyCreated, storyEvent(story))
    return story
  },
)

export const updateStory = write(
  'stories.updateStory',
  member('tasks:write'),
  async (
    ctx,
    { slug, epicId, storyId, after, ...patch }: Omit<StoryPatch, 'epicId'> & StoryPath & { to?: string },
  ): Promise<Story> => {
    const project = await findPlannableProject(ctx, slug)
    const before = await findStory(ctx, project.id, epicId, storyId)
    checkVersion(ctx, before)
    const { to = epicId, ...fields } = patch
    const moved = await storyPlace(ctx, before, to, after)
    await changeStoryRow(ctx, stories, before, { ...trimTitle(fields), ...moved }, () =>
      findStory(ctx, project.id, epicId, storyId),
    )
    const story = await findStory(ctx, project.id, to, storyId)
    ctx.emit(storyUpdated, storyEvent(story, { fields: Object.keys({ ...fields, ...moved }) }))
    return story
  },
  { versioned: true },
)

/** Returns the story's new position: after the given one. Default: unchanged, or last if the epic changes. */
async function storyPlace(ctx: Ctx, story: Story, epicId: string, after: string | null | undefined) {
  if (epicId === story.epicId && after === undefined) return {}
  await lockProject(ctx, story.projectId)
  if (epicId !== story.epicId) await findEpic(ctx, story.projectId, epicId)
  const siblings = eq(stories.epicId, epicId)
  if (after !== undefined)
    return {
      epicId,
      position: await positionAfterSibling(ctx, { table: stories, siblings, project: story }, story.id, after),
    }
  return { epicId, position: (await lastPosition(ctx, stories, siblings)) + 1 }
}
