import { desc, eq, notInArray } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and } from '../../db/conditions.ts'
import { mayRead } from '../../records/readable.ts'
import { agentParts, onAgentRemoved, onAgentStopped } from '../agents/hooks.ts'
import type { AgentDetail } from '../agents/schema.ts'
import { releaseTasksOf } from './leases/departures.ts'
import { selectItems, toItem, visibleTo } from './rows.ts'
import { tasks } from './table.ts'

const MOST_TASKS = 20

/** Empty if the credential's scopes do not allow reading tasks. */
export const agentOpenTasks = agentParts.handle(async (ctx, { agent }) =>
  mayRead(ctx, 'task') ? { openTasks: await tasksOf(ctx, agent.id) } : {},
)

export const releaseRemovedAgent = onAgentRemoved.handle(async (ctx, { agent }) => {
  await releaseTasksOf(ctx, { type: 'agent', id: agent.id })
  return {}
})

/** Finished tasks keep their assignee, which shows who did them. */
export const releaseStoppedAgent = onAgentStopped.handle((ctx, { agentId }) =>
  releaseTasksOf(ctx, { type: 'agent', id: agentId }, notInArray(tasks.status, ['done', 'cancelled'])),
)

async function tasksOf(ctx: Ctx, agentId: string): Promise<AgentDetail['openTasks']> {
  const rows = await selectItems(ctx)
    .where(
      and(
        eq(tasks.assigneeType, 'agent'),
        eq(tasks.assigneeId, agentId),
        notInArray(tasks.status, ['done', 'cancelled']),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .orderBy(desc(tasks.updatedAt), desc(tasks.id))
    .limit(MOST_TASKS)
  return rows.map((row) => {
    const { id, key, title, status, priority, projectId } = toItem(row, ctx.now)
    return { id, key, title, status, priority, projectId }
  })
}
