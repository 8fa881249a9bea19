import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { emitChangedRows } from '../../../records/synced-changes.ts'
import { tasks } from '../table.ts'

/** Columns of a task whose lease has expired, so that the next worker can continue it. */
export const abandonedColumns = (now: string) => ({
  leaseExpiresAt: sql`case when ${tasks.leaseExpiresAt} > ${now}::timestamptz then ${now}::timestamptz
      else ${tasks.leaseExpiresAt} end`,
})

/**
 * For a person or agent that has left: ends their leases and assignments (default: of all tasks), so that others can
 * take the tasks.
 */
export async function releaseTasksOf(
  ctx: Ctx,
  { type, id }: { type: 'user' | 'agent'; id: string },
  unassigned?: SQL,
): Promise<void> {
  await ctx.db
    .update(tasks)
    .set(abandonedColumns(ctx.now))
    .where(and(eq(tasks.leaseType, type), eq(tasks.leaseHolderId, id)))
  const left = await ctx.db
    .update(tasks)
    .set({ assigneeType: null, assigneeId: null, updatedAt: ctx.now, version: sql`${tasks.version} + 1` })
    .where(and(eq(tasks.assigneeType, type), eq(tasks.assigneeId, id), unassigned))
    .returning({ id: tasks.id, organizationId: tasks.organizationId, projectId: tasks.projectId })
  emitChangedRows(ctx, 'task', left)
}
