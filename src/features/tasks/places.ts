import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError, notFound } from '../../errors.ts'
import { positionAfterSibling } from '../../records/positions.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { requireProject } from '../projects/current.ts'
import { lockProject } from '../projects/lock.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import type { Project } from '../projects/schema.ts'
import { projects as projectTable } from '../projects/table.ts'
import { stories } from '../stories/table.ts'
import { findTaskInProject } from './rows.ts'
import type { Task, TaskPatch } from './schema.ts'
import { tasks } from './table.ts'

/** Where a task belongs: its project, number, story, parent and position. */

/** Returns the project to plan in: the named one, otherwise the one that the caller works in. */
export async function findPlanningProject(ctx: Ctx, ref: string | undefined): Promise<Project> {
  const project = await requireProject(ctx, ref)
  requireOpenProject(ctx, project, 'Planning in this project')
  return project
}

/** Reserves numbers and returns the first. Locks the project, so that writers number and order tasks in turn. */
export async function takeNumbers(ctx: Ctx, projectId: string, many: number): Promise<number> {
  const [row] = await ctx.db
    .update(projectTable)
    .set({ lastNumber: sql`${projectTable.lastNumber} + ${many}` })
    .where(eq(projectTable.id, projectId))
    .returning({ last: projectTable.lastNumber })
  return (row?.last ?? 0) - many + 1
}

/**
 * Checks that story and parent belong to the project, and that a task is not a part of itself. A part inherits its
 * parent's story by default. Call it under the project's lock; otherwise the story or parent may be deleted meanwhile.
 */
export async function checkPlace(
  ctx: Ctx,
  projectId: string,
  place: Pick<TaskPatch, 'storyId' | 'parentId'>,
  own?: string,
): Promise<string | null | undefined> {
  const storyId = place.storyId ? await storyIn(ctx, projectId, place.storyId) : place.storyId
  if (!place.parentId) return storyId
  const parent = await findTaskInProject(ctx, place.parentId, projectId)
  if (own) {
    const { rows } = await ctx.db.execute<{ id: string }>(sql`with recursive above (id) as (
      select ${parent.id}::uuid union select t.parent_id from above join ${tasks} t on t.id = above.id
      where t.parent_id is not null)
      select id from above where id = ${own}`)
    if (rows.length > 0)
      throw new AppError('conflict.cycle', 'A task cannot be a part of itself or of one of its parts.')
  }
  return storyId === undefined ? parent.storyId : storyId
}

const key = /^[A-Za-z]{2,6}-\d+$/

/** Finds a story of the project by its id, the beginning of its id, or the key of a task in it. */
async function storyIn(ctx: Ctx, projectId: string, ref: string): Promise<string> {
  const select = (match: SQL) =>
    ctx.db
      .select({ id: stories.id, title: stories.title })
      .from(stories)
      .where(and(match, eq(stories.projectId, projectId), isNull(stories.deletedAt)))
      .limit(2)
  const found = await findByReference(ref, {
    id: (id) => select(eq(stories.id, id)),
    name: async (name) => {
      const { storyId } = key.test(name) ? await findTaskInProject(ctx, name, projectId) : { storyId: null }
      return storyId ? select(eq(stories.id, storyId)) : []
    },
    prefix: (prefix) => select(idStartsWith(stories.id, prefix)),
  })
  if (!found) throw notFound('story', ref)
  return found.id
}

/** Returns the position after another task of the project; `null`: the first position. */
export async function positionAfter(ctx: Ctx, task: Task, after: string | null): Promise<number> {
  const behind = after === null ? null : (await findTaskInProject(ctx, after, task.projectId)).id
  await lockProject(ctx, task.projectId)
  return positionAfterSibling(
    ctx,
    { table: tasks, siblings: eq(tasks.projectId, task.projectId), project: task },
    task.id,
    behind,
  )
}
