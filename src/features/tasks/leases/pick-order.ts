import { eq, inArray, isNotNull, isNull, lte, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and, not, or } from '../../../db/conditions.ts'
import { isClosed, statuses } from '../../../records/task-states.ts'
import { parentIsBlocked } from '../rows.ts'
import { pickOrder, startable, tasks } from '../table.ts'
import type { Worker } from './workers.ts'

/** Decides which tasks can be started, and in which order. No other code decides this. */

export const openStatuses = statuses.filter((status) => !isClosed(status))
const [assignee, byPriority, ...others] = pickOrder(tasks)
export const urgency = byPriority
const byUrgency = [urgency, ...others]

export const isUnheld = (now: string): SQL => or(isNull(tasks.leaseExpiresAt), lte(tasks.leaseExpiresAt, now))
/** SQL condition: planned, and not blocked. */
const isPlanned = (now: string): SQL => and(startable(tasks), isUnheld(now), not(parentIsBlocked))
/** SQL condition: started by a worker whose lease has expired, and not blocked. */
const isAbandoned = (now: string): SQL =>
  and(
    isNotNull(tasks.leaseHolderId),
    inArray(tasks.status, ['in_progress', 'todo']),
    lte(tasks.leaseExpiresAt, now),
    not(tasks.hasOpenBlockers),
    not(tasks.hasOpenParts),
    not(parentIsBlocked),
  )

/** SQL condition: abandoned while in progress. */
const isLeftInProgress = (now: string): SQL => and(isAbandoned(now), eq(tasks.status, 'in_progress'))

/** SQL conditions for ready tasks, in two parts, because each has an index. */
export const readyParts = (now: string): SQL[] => [isPlanned(now), isLeftInProgress(now)]

/**
 * SQL condition: the task can be started now. It is `todo` or abandoned, no one holds it, neither it nor its parent is
 * blocked, and it has no open parts. Tasks in the backlog are never ready.
 */
export const isReadyTask = (now: string): SQL => or(isPlanned(now), isAbandoned(now))

interface PickGroup {
  which: SQL
  order: SQL[]
}

/**
 * The tasks that the holder may pick: their own, unassigned ones, and those that their assignee has abandoned. They
 * come in groups, in order of precedence, because an index has each group in its order: one query for all would have to
 * sort every ready task.
 */
export function pickGroups(ctx: Ctx, holder: Pick<Worker, 'selves'>): PickGroup[] {
  const own = anyOf(tasks.assigneeId, idList(holder.selves))
  const left = or(isNull(tasks.assigneeId), eq(tasks.assigneeId, tasks.leaseHolderId))
  const begun = isLeftInProgress(ctx.now)
  return [
    { which: and(begun, own), order: byUrgency },
    { which: and(isPlanned(ctx.now), own), order: byUrgency },
    { which: and(begun, left), order: byUrgency },
    unassignedGroup(ctx),
    { which: and(isAbandoned(ctx.now), eq(tasks.status, 'todo'), left), order: byUrgency },
  ]
}

/** The planned tasks that any worker may pick. */
export const unassignedGroup = (ctx: Ctx): PickGroup => ({
  which: and(isPlanned(ctx.now), isNull(tasks.assigneeId)),
  order: [assignee, ...byUrgency],
})

/** Ready tasks that are assigned to others, and are never picked for anyone else. */
export const readyOfOthers = (ctx: Ctx): PickGroup => ({ which: isReadyTask(ctx.now), order: byUrgency })
