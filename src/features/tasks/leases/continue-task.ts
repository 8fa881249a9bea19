import { desc, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { currentOrganization, NO_USER_ID } from '../../../auth/actor.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { and } from '../../../db/conditions.ts'
import { projects as projectTable } from '../../projects/table.ts'
import { selectItems, toItem, visibleTo } from '../rows.ts'
import type { Task } from '../schema.ts'
import { tasks } from '../table.ts'
import { claimColumns } from './leases.ts'
import { isHeldBy, isUnnamed, type Worker } from './workers.ts'

export interface PickSearch {
  projectId?: string
  holder: Worker
  /** Ids of tasks that are left out. */
  except?: readonly string[]
}

export const isInScope = (ctx: Ctx, projectId: string | undefined): SQL =>
  and(
    visibleTo(rightsOf(ctx.actor)),
    eq(projectTable.status, 'active'),
    projectId ? eq(tasks.projectId, projectId) : eq(tasks.organizationId, currentOrganization(ctx.actor)),
  )

interface StartedTask {
  id: string
  since: string
  seenAt: string
  expiresAt: string
  /** When the connection of the lease closed; null for the worker's own connection. */
  closedAt: string | null
}

/**
 * Returns the task that the worker already works on: an agent that lost its context asks for the next task again, and
 * must not get a second one. The worker's own task comes before one from a closed connection. Undefined for a worker
 * that may be another window of its token, because the other window may work on the task.
 */
export async function findStartedTask(ctx: Ctx, { projectId, holder }: PickSearch): Promise<StartedTask | undefined> {
  if (!holder.credentialId || isUnnamed(holder)) return undefined
  const closedAt = sql<string | null>`case when ${tasks.leaseConnection} is distinct from ${holder.connection}::text
    then ${tasks.leaseClosedAt} end`.mapWith(tasks.leaseClosedAt)
  const [row] = await ctx.db
    .select({
      id: tasks.id,
      since: tasks.leaseSince,
      seenAt: tasks.leaseSeenAt,
      expiresAt: tasks.leaseExpiresAt,
      closedAt,
    })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(
      and(
        // A person's tasks count only where they claimed them: one person may work in several places.
        eq(tasks.leaseCredentialId, holder.credentialId),
        isHeldBy(holder, ctx.now),
        holder.isWithoutConnection ? eq(tasks.leaseSessionId, holder.sessionId ?? NO_USER_ID) : undefined,
        eq(tasks.status, 'in_progress'),
        isInScope(ctx, projectId),
      ),
    )
    .orderBy(sql`${closedAt} is not null`, desc(tasks.leaseSince), desc(tasks.id))
    .limit(1)
  return row as StartedTask | undefined
}

/** Renews the lease of a started task, or takes it over from a closed connection. Of two windows, one succeeds. */
export async function continueTask(
  ctx: Ctx,
  begun: StartedTask,
  holder: Worker,
  minutes: number | undefined,
): Promise<boolean> {
  const length = (Date.parse(begun.expiresAt) - Date.parse(begun.seenAt)) / 60_000
  const [row] = await ctx.db
    .update(tasks)
    .set(claimColumns(ctx, holder, minutes ?? length))
    .where(and(eq(tasks.id, begun.id), isHeldBy(holder, ctx.now)))
    .returning({ id: tasks.id })
  return row !== undefined
}

const MOST_NAMED = 3

/** Names the tasks that the worker's token holds, if another window of the token may hold them. */
export async function otherHeldTasks(ctx: Ctx, { projectId, holder }: PickSearch, task: Task | null): Promise<string> {
  if (!isUnnamed(holder)) return ''
  const rows = await selectItems(ctx)
    .where(and(isHeldBy(holder, ctx.now), isNotNull(tasks.leaseCredentialId), isInScope(ctx, projectId)))
    .orderBy(desc(tasks.leaseSince), desc(tasks.id))
    .limit(MOST_NAMED + 1)
  const keys = rows.map((row) => toItem(row, ctx.now).key).filter((key) => key !== task?.key)
  const [first] = keys
  if (!first) return ''
  const named = keys.slice(0, MOST_NAMED).join(', ') + (keys.length > MOST_NAMED ? ' and more' : '')
  return `You also hold ${named}; claim_task ${first} continues it`
}

export function whyContinue({ lease }: Task, { since, closedAt }: StartedTask): string {
  const whose = closedAt
    ? `You worked on it since ${since}, on a connection that closed at ${closedAt}; it is yours again until ${lease?.expiresAt}`
    : `You already work on it, until ${lease?.expiresAt}`
  return `${whose}. To get another, complete it or call claim_task (action release)`
}
