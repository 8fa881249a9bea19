import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import type { Status } from '../../../records/task-states.ts'
import { taskCounts } from '../table.ts'

/**
 * Returns how many tasks the projects have in each status, without deleted ones. `projects` is a condition on
 * `taskCounts.projectId`. The time does not grow with the number of tasks.
 */
export async function countByStatus(ctx: Ctx, projects: SQL): Promise<Map<Status, number>> {
  const rows = await selectCountsByStatus(ctx, projects)
  return new Map(rows.map(({ value, n }) => [value, n]))
}

export const selectCountsByStatus = (ctx: Ctx, projects: SQL) =>
  ctx.db
    .select({ value: taskCounts.status, n: sql<number>`sum(${taskCounts.n})::int` })
    .from(taskCounts)
    .where(projects)
    .groupBy(taskCounts.status)
    .having(sql`sum(${taskCounts.n}) > 0`)
