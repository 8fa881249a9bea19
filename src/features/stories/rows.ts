import { and, eq, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { notFound } from '../../errors.ts'
import { hook } from '../../hooks.ts'
import { updateVersioned } from '../../records/rows.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import type { Epic, EpicCreate, Progress, Story } from './schema.ts'
import { epics, stories } from './table.ts'

/** Queries that epics and stories share. Each id of a path must belong to the id before it. */

export interface EpicPath {
  slug: string
  epicId: string
}
export interface StoryPath extends EpicPath {
  storyId: string
}

const columnsOf = (table: typeof epics | typeof stories) => ({
  id: table.id,
  createdAt: table.createdAt,
  updatedAt: table.updatedAt,
  version: table.version,
  organizationId: table.organizationId,
  projectId: table.projectId,
  createdById: table.createdById,
  title: table.title,
  description: table.description,
  status: table.status,
  priority: table.priority,
  position: table.position,
})
export const epicColumns = columnsOf(epics)
export const storyColumns = { ...columnsOf(stories), epicId: stories.epicId, points: stories.points }

/** Returns how many tasks these epics or stories have, by id. An id without tasks may be missing. */
export const taskProgress = hook<{ of: 'epic' | 'story'; ids: string[] }, Map<string, Progress>>('stories.taskProgress')

export async function withProgress<R extends { id: string }>(
  ctx: Ctx,
  of: 'epic' | 'story',
  rows: readonly R[],
): Promise<(R & { progress: Progress })[]> {
  if (rows.length === 0) return []
  const [counted] = await taskProgress.call(ctx, { of, ids: rows.map(({ id }) => id) })
  return rows.map((row) => ({ ...row, progress: counted?.get(row.id) ?? { tasks: 0, done: 0, agents: 0 } }))
}

/** Returns the project; throws if the caller may not plan in it. */
export async function findPlannableProject(ctx: Ctx, slug: string): Promise<Project> {
  const project = await projects.findProject(ctx, slug)
  requireOpenProject(ctx, project, 'Planning in this project')
  return project
}

export async function findEpic(ctx: Ctx, projectId: string, epicId: string): Promise<Epic> {
  const rows = await ctx.db
    .select(epicColumns)
    .from(epics)
    .where(and(eq(epics.id, epicId), eq(epics.projectId, projectId), isNull(epics.deletedAt)))
  const [found] = await withProgress(ctx, 'epic', rows)
  if (!found) throw notFound('epic', epicId)
  return found
}

export async function findStory(ctx: Ctx, projectId: string, epicId: string, storyId: string): Promise<Story> {
  await findEpic(ctx, projectId, epicId)
  const rows = await ctx.db
    .select(storyColumns)
    .from(stories)
    .where(
      and(
        eq(stories.id, storyId),
        eq(stories.epicId, epicId),
        eq(stories.projectId, projectId),
        isNull(stories.deletedAt),
      ),
    )
  const [found] = await withProgress(ctx, 'story', rows)
  if (!found) throw notFound('story', storyId)
  return found
}

export async function findStoryByPath(ctx: Ctx, { slug, epicId, storyId }: StoryPath): Promise<Story> {
  const project = await projects.findProject(ctx, slug)
  return findStory(ctx, project.id, epicId, storyId)
}

export const storyEvent = <D extends object>(row: Epic | Story, data?: D) => ({
  subjectId: row.id,
  organizationId: row.organizationId,
  projectId: row.projectId,
  data: Object.assign({ title: row.title, status: row.status, version: row.version }, data),
})

/** The columns of a new epic or story. */
export const newStoryRow = (ctx: Ctx, project: Project, input: EpicCreate & { id?: string }) => ({
  id: input.id,
  organizationId: project.organizationId,
  projectId: project.id,
  createdById: ctx.actor.userId,
  title: input.title.trim(),
  description: input.description,
  status: input.status ?? ('todo' as const),
  priority: input.priority ?? ('medium' as const),
  createdAt: ctx.now,
  updatedAt: ctx.now,
})

export const trimTitle = <T extends { title?: string }>(patch: T): T =>
  patch.title === undefined ? patch : { ...patch, title: patch.title.trim() }

export async function changeStoryRow(
  ctx: Ctx,
  table: typeof epics | typeof stories,
  { id, version }: Epic | Story,
  set: object,
  again: () => Promise<object>,
): Promise<{ id: string; version: number }> {
  const columns = { id: table.id, version: table.version }
  return updateVersioned(ctx, table, { columns, before: { id, version }, set, what: 'it', again })
}
