import { and, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { requireRestorer } from '../../records/restore-rights.ts'
import { isRestorable } from '../../records/rows.ts'
import { emitChanged, emitChangedRows } from '../../records/synced-changes.ts'
import { quoteText } from '../../text/quoting.ts'
import { lockProject } from '../projects/lock.ts'
import { epicDeleted, epicRestored, storyDeleted, storyRestored } from '../stories/events.ts'
import {
  changeStoryRow,
  type EpicPath,
  epicColumns,
  findEpic,
  findPlannableProject,
  findStory,
  type StoryPath,
  storyColumns,
  storyEvent,
  withProgress,
} from '../stories/rows.ts'
import type { Epic, Story } from '../stories/schema.ts'
import { outlineChange } from '../stories/sync.ts'
import { epics, stories } from '../stories/table.ts'
import { deleteTasks, restoreTasks } from '../tasks/deletion.ts'
import { tasks } from '../tasks/table.ts'

/**
 * Deleting an epic deletes its stories, deleting a story its tasks. All get the same `deletedAt`, so that restore finds
 * them. A lock keeps rows from being added to an epic or story that is being deleted: the purge would delete them too.
 */

type DeletedAnswer = { id: string; deleted: true }

export const removeEpic = write(
  'planning.removeEpic',
  member('tasks:write'),
  async (ctx, { slug, epicId }: EpicPath): Promise<DeletedAnswer> => {
    const project = await findPlannableProject(ctx, slug)
    await lockProject(ctx, project.id)
    const before = await findEpic(ctx, project.id, epicId)
    checkVersion(ctx, before)
    const buried = await deleteTasks(ctx, tasksOf(epicId), before.title)
    const inside = await ctx.db
      .update(stories)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${stories.version} + 1` })
      .where(and(isNull(stories.deletedAt), eq(stories.epicId, epicId)))
      .returning({ id: stories.id })
    const gone = await changeStoryRow(ctx, epics, before, { deletedAt: ctx.now }, () =>
      findEpic(ctx, project.id, epicId),
    )
    emitChangedRows(ctx, 'task', buried)
    emitChanged(
      ctx,
      'story',
      before,
      inside.map(({ id }) => id),
    )
    ctx.emit(epicDeleted, storyEvent({ ...before, ...gone }, { stories: inside.length, tasks: buried.length }))
    return { id: epicId, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const removeStory = write(
  'planning.removeStory',
  member('tasks:write'),
  async (ctx, { slug, epicId, storyId }: StoryPath): Promise<DeletedAnswer> => {
    const project = await findPlannableProject(ctx, slug)
    await lockProject(ctx, project.id)
    const before = await findStory(ctx, project.id, epicId, storyId)
    checkVersion(ctx, before)
    const buried = await deleteTasks(ctx, eq(tasks.storyId, storyId), before.title)
    emitChangedRows(ctx, 'task', buried)
    const gone = await changeStoryRow(ctx, stories, before, { deletedAt: ctx.now }, () =>
      findStory(ctx, project.id, epicId, storyId),
    )
    ctx.emit(storyDeleted, storyEvent({ ...before, ...gone }, { tasks: buried.length }))
    return { id: storyId, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const restoreEpic = write(
  'planning.restoreEpic',
  member('tasks:write'),
  async (ctx, { slug, epicId }: EpicPath): Promise<Epic> => {
    const project = await lockWritable(ctx, slug)
    const { deletedAt, ...before } = await epicToRestore(ctx, project.id, epicId)
    await requireRestorer(ctx, { ...before, deletedAt }, epicDeleted, 'Restoring an epic')
    checkVersion(ctx, before)
    if (deletedAt === null) return before
    await changeStoryRow(ctx, epics, before, { deletedAt: null }, async () => before)
    const back = await ctx.db
      .update(stories)
      .set({ deletedAt: null, updatedAt: ctx.now, version: sql`${stories.version} + 1` })
      .where(and(eq(stories.epicId, epicId), eq(stories.deletedAt, deletedAt)))
      .returning({ id: stories.id })
    emitChanged(
      ctx,
      'story',
      before,
      back.map(({ id }) => id),
    )
    const many = await restoreTasks(ctx, project.organizationId, tasksOf(epicId), deletedAt)
    const epic = await findEpic(ctx, project.id, epicId)
    ctx.emit(epicRestored, storyEvent(epic, { stories: back.length, tasks: many }))
    return epic
  },
  { idempotent: true, versioned: true },
)

export const restoreStory = write(
  'planning.restoreStory',
  member('tasks:write'),
  async (ctx, path: StoryPath): Promise<Story> => {
    const { slug, epicId, storyId } = path
    const project = await lockWritable(ctx, slug)
    const { deletedAt, ...before } = await storyToRestore(ctx, project.id, path)
    await requireRestorer(ctx, { ...before, deletedAt }, storyDeleted, 'Restoring a story')
    checkVersion(ctx, before)
    if (deletedAt === null) return before
    const [epic] = await ctx.db
      .select({ title: epics.title })
      .from(epics)
      .where(and(eq(epics.id, epicId), isNotNull(epics.deletedAt)))
    if (epic) throw new AppError('conflict', `Its epic ${quoteText(epic.title)} is deleted. Restore the epic first.`)
    await changeStoryRow(ctx, stories, before, { deletedAt: null }, async () => before)
    const many = await restoreTasks(ctx, project.organizationId, eq(tasks.storyId, storyId), deletedAt)
    const story = await findStory(ctx, project.id, epicId, storyId)
    ctx.emit(storyRestored, storyEvent(story, { tasks: many }))
    return story
  },
  { idempotent: true, versioned: true },
)

/** Deletes and restores epics and stories for the sync of devices. */
export const changeOutline = outlineChange.handle(async (ctx, { change, ...outline }) => {
  if (outline.of === 'epic') await (change === 'remove' ? removeEpic : restoreEpic)(ctx, outline.path)
  else await (change === 'remove' ? removeStory : restoreStory)(ctx, outline.path)
})

const tasksOf = (epicId: string): SQL => sql`${tasks.storyId} in (select id from ${stories} where epic_id = ${epicId})`

async function lockWritable(ctx: Ctx, slug: string) {
  const project = await findPlannableProject(ctx, slug)
  await lockProject(ctx, project.id)
  return project
}

/** Finds an epic that exists or was deleted in the last 30 days. */
async function epicToRestore(ctx: Ctx, projectId: string, id: string): Promise<Epic & { deletedAt: string | null }> {
  const rows = await ctx.db
    .select({ ...epicColumns, deletedAt: epics.deletedAt })
    .from(epics)
    .where(and(eq(epics.id, id), eq(epics.projectId, projectId), isRestorable(epics.deletedAt, ctx.now)))
  const [found] = await withProgress(ctx, 'epic', rows)
  if (!found) throw notFound('epic', id)
  return found
}

/** Finds a story that exists or was deleted in the last 30 days. */
async function storyToRestore(
  ctx: Ctx,
  projectId: string,
  { epicId, storyId }: StoryPath,
): Promise<Story & { deletedAt: string | null }> {
  const own = and(eq(stories.id, storyId), eq(stories.epicId, epicId), eq(stories.projectId, projectId))
  const rows = await ctx.db
    .select({ ...storyColumns, deletedAt: stories.deletedAt })
    .from(stories)
    .where(and(own, isRestorable(stories.deletedAt, ctx.now)))
  const [found] = await withProgress(ctx, 'story', rows)
  if (!found) throw notFound('story', storyId)
  return found
}
