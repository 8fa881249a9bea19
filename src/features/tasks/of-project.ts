import { count, eq, isNull, sql } from 'drizzle-orm'
import { and } from '../../db/conditions.ts'
import { projectStats } from '../projects/hooks.ts'
import { tasks } from './table.ts'

export const taskStats = projectStats.handle(async (ctx, { projectId }) => {
  const [counted] = await ctx.db
    .select({ tasks: count(), tasksDone: sql<number>`(count(*) filter (where ${tasks.status} = 'done'))::int` })
    .from(tasks)
    .where(and(eq(tasks.projectId, projectId), isNull(tasks.deletedAt)))
  return { ...counted }
})
