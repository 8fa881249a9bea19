import { eq, sql } from 'drizzle-orm'
import { anyOf, idList } from '../../db/columns.ts'
import { isClosed, type Status } from '../../records/task-states.ts'
import { projectLocked, projectStats, projectWork } from '../projects/hooks.ts'
import { lockNeighbours } from './dependencies/neighbours.ts'
import { countByStatus } from './lists/counts.ts'
import { taskCounts, taskDays, tasks } from './table.ts'

export const taskStats = projectStats.handle(async (ctx, { projectId }) => {
  const counts = await countByStatus(ctx, eq(taskCounts.projectId, projectId))
  return { tasks: [...counts.values()].reduce((sum, n) => sum + n, 0), tasksDone: counts.get('done') ?? 0 }
})

/** Reads sums and live leases only, so that the time does not grow with the number of tasks. */
export const taskWork = projectWork.handle(async (ctx, { projects }) => {
  const ids = idList(projects.map(({ id }) => id))
  const { rows: counted } = await ctx.db.execute<{ id: string; status: Status; n: number }>(sql`
    select project_id as id, status, sum(n)::int as n from ${taskCounts}
    where ${anyOf(taskCounts.projectId, ids)} group by 1, 2`)
  const { rows: held } = await ctx.db.execute<{ id: string; n: number; agents: number }>(sql`
    select project_id as id, count(*)::int as n,
      (count(distinct lease_holder_id) filter (where lease_type = 'agent'))::int as agents
    from ${tasks} where ${anyOf(tasks.organizationId, idList([...new Set(projects.map((p) => p.organizationId))]))}
      and ${anyOf(tasks.projectId, ids)} and lease_holder_id is not null and lease_expires_at > ${ctx.now}
      and deleted_at is null group by 1`)
  const { rows: done } = await ctx.db.execute<{ id: string; agents: number }>(sql`
    select project_id as id, sum(agents)::int as agents from ${taskDays}
    where ${anyOf(taskDays.projectId, ids)} group by 1`)
  const byAgents = new Map(done.map(({ id, agents }) => [id, agents]))
  const leases = new Map(held.map((row) => [row.id, row]))
  const byProject = Map.groupBy(counted, ({ id }) => id)
  return new Map(
    projects.map(({ id }) => {
      const own = byProject.get(id) ?? []
      const sum = (which: (status: Status) => boolean) =>
        own.reduce((total, { status, n }) => total + (which(status) ? n : 0), 0)
      return [
        id,
        {
          tasks: sum(() => true),
          tasksDone: sum((status) => status === 'done'),
          tasksDoneByAgents: byAgents.get(id) ?? 0,
          open: sum((status) => !isClosed(status)),
          inReview: sum((status) => status === 'in_review'),
          blocked: sum((status) => status === 'blocked'),
          atWork: leases.get(id)?.n ?? 0,
          agentsAtWork: leases.get(id)?.agents ?? 0,
        },
      ]
    }),
  )
})

export const lockTasks = projectLocked.handle((ctx, { projectId }) =>
  lockNeighbours(ctx, eq(tasks.projectId, projectId)),
)
