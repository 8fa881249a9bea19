import { desc, eq, inArray, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../../action.ts'
import { currentOrganization } from '../../../auth/actor.ts'
import { member } from '../../../auth/policy.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and, or } from '../../../db/conditions.ts'
import { isInScope } from '../leases/continue-task.ts'
import { openStatuses, urgency } from '../leases/pick-order.ts'
import { callingWorker, isHeldBy } from '../leases/workers.ts'
import { selectItems, toItem } from '../rows.ts'
import type { Lease, TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'
import { isLeased } from './filters.ts'

const MINE_AT_MOST = 50

type OwnTask = Omit<TaskItem, 'lease'> & { lease: (Lease & { own: boolean }) | null }

/** Returns the caller's open tasks: those they work on first, then those assigned to them. */
export const listMyTasks = read(
  'tasks.mine',
  member('tasks:read'),
  async (ctx, _: Record<string, never>): Promise<OwnTask[]> => {
    const me = callingWorker(ctx)
    const held = isHeldBy(me, ctx.now)
    const heldHere = and(eq(tasks.organizationId, currentOrganization(ctx.actor)), held)
    const own = new Set((await ctx.db.select({ id: tasks.id }).from(tasks).where(heldHere)).map(({ id }) => id))
    // `held` is null without a lease, and nulls would come first.
    const heldFirst = desc(sql`coalesce(${held}, false)`)
    const rows = await selectItems(ctx)
      .where(
        and(
          isInScope(ctx, undefined),
          inArray(tasks.status, openStatuses),
          or(held, anyOf(tasks.assigneeId, idList(me.selves))),
        ),
      )
      .orderBy(heldFirst, desc(eq(tasks.status, 'in_progress')), urgency, tasks.position, tasks.id)
      .limit(MINE_AT_MOST)
    return rows.map((row) => {
      const { lease, ...task } = toItem(row, ctx.now)
      return { ...task, lease: lease && { ...lease, own: own.has(task.id) } }
    })
  },
)

const MOST_HELD = 20

/** Returns the tasks of a project that are held now, but not by this worker. */
export async function findHeldElsewhere(ctx: Ctx, projectId: string): Promise<TaskItem[]> {
  const isMine = isHeldBy(callingWorker(ctx), ctx.now)
  const rows = await selectItems(ctx)
    .where(and(isInScope(ctx, projectId), isLeased(ctx.now), sql`(${isMine}) is not true`))
    .orderBy(desc(tasks.leaseSince), desc(tasks.id))
    .limit(MOST_HELD)
  return rows.map((row) => toItem(row, ctx.now))
}
