import { and, eq, or, sql } from 'drizzle-orm'
import { emitChangedRows } from '../../records/synced-changes.ts'
import { accountRemoved, FORMER_USER } from '../accounts/hooks.ts'
import { releaseTasksOf } from './leases/departures.ts'
import { taskComments, taskEvidence, tasks } from './table.ts'

/**
 * Unassigns the tasks of a removed account, clears the checkpoints of its agents, and removes its name from comments
 * and evidence, which stay.
 */
export const removeUserFromTasks = accountRemoved.handle(async (ctx, { userId }) => {
  await releaseTasksOf(ctx, { type: 'user', id: userId })
  await ctx.db
    .update(tasks)
    .set({ leaseHolderId: null })
    .where(and(eq(tasks.leaseType, 'user'), eq(tasks.leaseHolderId, userId)))
  await ctx.db
    .update(tasks)
    .set({ lastCheckpoint: null })
    .where(
      or(
        ...['{author,id}', '{author,for,id}'].map(
          (path) => sql`${tasks.lastCheckpoint} #>> ${path}::text[] = ${userId}`,
        ),
      ),
    )
  const comments = await ctx.db
    .update(taskComments)
    .set({ authorId: null, authorName: FORMER_USER })
    .where(and(eq(taskComments.authorType, 'user'), eq(taskComments.authorId, userId)))
    .returning({
      id: taskComments.id,
      organizationId: sql<string>`(select organization_id from ${tasks} where ${tasks.id} = ${taskComments.taskId})`,
      projectId: sql<string>`(select project_id from ${tasks} where ${tasks.id} = ${taskComments.taskId})`,
    })
  emitChangedRows(ctx, 'comment', comments)
  await ctx.db
    .update(taskEvidence)
    .set({ actorId: null, actorName: FORMER_USER })
    .where(and(eq(taskEvidence.actorType, 'user'), eq(taskEvidence.actorId, userId)))
})
