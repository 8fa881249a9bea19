import { eq } from 'drizzle-orm'
import { projectLocked, projectStats } from '../projects/hooks.ts'
import { countByStatus } from './counts.ts'
import { lockNeighbours } from './neighbours.ts'
import { taskCounts, tasks } from './table.ts'

export const taskStats = projectStats.handle(async (ctx, { projectId }) => {
  const counts = await countByStatus(ctx, eq(taskCounts.projectId, projectId))
  return { tasks: [...counts.values()].reduce((sum, n) => sum + n, 0), tasksDone: counts.get('done') ?? 0 }
})

export const lockTasks = projectLocked.handle((ctx, { projectId }) =>
  lockNeighbours(ctx, eq(tasks.projectId, projectId)),
)
