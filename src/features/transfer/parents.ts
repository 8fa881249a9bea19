import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { idList } from '../../db/columns.ts'
import { rowsAs } from '../../db/session.ts'
import { tasks } from '../tasks/table.ts'
import { importedRecords } from './table.ts'

/** Tasks come in any order, so a part may come before its parent. */

/** SQL condition for pairs of a task and its parent: those of the other server, within a project of this team. */
const isPart = (organizationId: string) => sql`i.id = tasks.id and i.organization_id = ${organizationId}::uuid
  and p.id = (i.base ->> 'parentId')::uuid and p.project_id = tasks.project_id and p.id <> tasks.id
  and tasks.parent_id is null`

/** Sets the parents of the tasks in this batch, as far as they exist. */
export async function setParents(ctx: Ctx, organizationId: string, stored: readonly string[]): Promise<void> {
  if (stored.length === 0) return
  await ctx.db.execute(sql`update ${tasks} set parent_id = p.id from ${importedRecords} i, ${tasks} p
    where tasks.id = any(${idList(stored)}::uuid[]) and ${isPart(organizationId)}`)
}

interface Part extends Record<string, unknown> {
  id: string
  projectId: string
}

/** Sets the parent of tasks from earlier batches that waited for one of these. Returns the changed tasks. */
export async function adoptParts(ctx: Ctx, organizationId: string, created: readonly string[]): Promise<Part[]> {
  if (created.length === 0) return []
  const { rows } = await ctx.db.execute<Part>(sql`
    update ${tasks} set parent_id = p.id, version = tasks.version + 1, updated_at = ${ctx.now}
    from ${importedRecords} i, ${tasks} p
    where i.base ->> 'parentId' = any(${idList(created)}::text[]) and ${isPart(organizationId)}
    returning tasks.id, tasks.project_id as "projectId"`)
  return rows
}

/** Returns the parent if it exists in the project; otherwise null, until it is imported. */
export async function parentIn(ctx: Ctx, projectId: unknown, parentId: unknown): Promise<string | null> {
  if (typeof parentId !== 'string' || typeof projectId !== 'string') return null
  const [found] = await rowsAs<{ id: string }>(
    ctx.db
      .select({ id: tasks.id })
      .from(tasks)
      .where(sql`${tasks.id} = ${parentId}::uuid and ${tasks.projectId} = ${projectId}::uuid`),
  )
  return found?.id ?? null
}

/** Makes new tasks of these projects get numbers after the imported ones. */
export const raiseNumbers = async (ctx: Ctx, projectIds: readonly string[]): Promise<void> =>
  void (await ctx.db.execute(sql`update projects set last_number = greatest(last_number, coalesce((
    select max(number) from tasks where tasks.project_id = projects.id), 0))
    where id = any(${idList(projectIds)}::uuid[])`))
