import { eq, gt, sql } from 'drizzle-orm'
import { anyOf, idList } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import type { WorkingAgent } from '../../../live/hub-app.ts'
import { workersOf } from '../../../live-hooks.ts'
import { agents } from '../../agents/table.ts'
import { projects } from '../../projects/table.ts'
import { tasks } from '../table.ts'

/** The agents that hold a lease now, for presence. */
export const agentsAtWork = workersOf.handle(
  async (ctx, { organizationIds }): Promise<WorkingAgent[]> =>
    organizationIds.length === 0
      ? []
      : ctx.db
          .select({
            id: agents.id,
            name: agents.name,
            since: sql<string>`${tasks.leaseSince}`.mapWith(tasks.leaseSince),
            organizationId: tasks.organizationId,
            projectId: tasks.projectId,
            taskId: tasks.id,
            key: sql<string>`${projects.key} || '-' || ${tasks.number}`,
          })
          .from(tasks)
          .innerJoin(agents, and(eq(tasks.leaseType, 'agent'), eq(agents.id, tasks.leaseHolderId)))
          .innerJoin(projects, eq(projects.id, tasks.projectId))
          .where(and(anyOf(tasks.organizationId, idList(organizationIds)), gt(tasks.leaseExpiresAt, ctx.now))),
)
