import { desc, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { and } from '../../../db/conditions.ts'
import { prepareDeferred } from '../../../db/session.ts'
import { events } from '../../../events/table.ts'
import { isOneOfTypes } from '../../../records/feed.ts'
import { fullName } from '../../../records/user-or-agent.ts'
import { quoteName } from '../../../text/quoting.ts'
import { currentUserOrAgent } from '../../agents/users-and-agents.ts'
import { taskCreated, taskUpdated } from '../events.ts'
import { keysInWords } from '../rows.ts'
import type { Task, TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'
import type { Worker } from './workers.ts'

/** Why a worker holds a task (who assigned it, or the reason given by next_task), and why no one can start it. */

/** Returns who assigned the task, as a reason. Null if no one did, or the caller themselves. */
export async function whoAssigned(ctx: Ctx, { id, assignee }: Task): Promise<string | null> {
  if (!assignee) return null
  const [last] = await ctx.db
    .select({ id: events.actorId, name: events.actorName })
    .from(events)
    .where(
      and(
        eq(events.subjectId, id),
        isOneOfTypes([taskCreated.name, taskUpdated.name]),
        sql`(${events.type} = ${taskCreated.name} or ${events.data}->'fields' @> '["assignee"]')`,
      ),
    )
    .orderBy(desc(events.seq))
    .limit(1)
  return last && last.id !== currentUserOrAgent(ctx).id ? assignedBy(last) : null
}

export const assignedBy = ({ name }: { name: string }): string => `assigned by ${quoteName(name)}`

const storeReason = prepareDeferred((db) =>
  db
    .update(tasks)
    .set({ leaseWhy: sql`${sql.placeholder('why')}` })
    .where(eq(tasks.id, sql.placeholder('id'))),
)

/** Stores the reason of a new claim, together with its event. Returns the task with the reason. */
export function keepReason(ctx: Ctx, task: Task, why: string): Task {
  storeReason(ctx.db, { id: task.id, why })
  return { ...task, lease: task.lease && { ...task.lease, why } }
}

/** Returns why a task cannot be started now by this worker. */
export function reasonOf({ status, blockedBy, lease, assignee }: TaskItem, worker: Pick<Worker, 'id'>): string {
  if (lease) return `${fullName(lease.holder)} works on it until ${lease.expiresAt}`
  if (blockedBy.length > 0) return `waits for ${keysInWords(blockedBy)}`
  if (status === 'backlog') return 'is in the backlog: move it to todo first'
  if (status === 'in_review') return 'waits for a review'
  if (status === 'blocked') return 'is marked as blocked'
  if (assignee?.id === worker.id && status === 'in_progress') return 'is yours and in progress: claim_task continues it'
  if (assignee) return `is for ${quoteName(assignee.name)}`
  return status === 'in_progress' ? 'is in progress' : 'waits for its parts or its parent'
}
