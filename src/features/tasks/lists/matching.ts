import { eq } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { and } from '../../../db/conditions.ts'
import { projects as projectTable } from '../../projects/table.ts'
import type { ChangeMatching } from '../many/many-schema.ts'
import { tasks } from '../table.ts'
import { filtersOf, hasAnyStatus } from './filters.ts'
import { requireVisible } from './lists.ts'

/** Returns the ids of the tasks that a list with these filters shows, oldest first; at most `most`. */
export async function findMatching(ctx: Ctx, where: ChangeMatching['where'], most: number): Promise<string[]> {
  await requireVisible(ctx, where)
  const filters = [...(await filtersOf(ctx, { ...where, mustExist: true })), hasAnyStatus(where.status)]
  const rows = await ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(...filters))
    .orderBy(tasks.projectId, tasks.number)
    .limit(most)
  return rows.map(({ id }) => id)
}
