import { eq, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../../action.ts'
import { throwIfRefused } from '../../../auth/policy.ts'
import { and } from '../../../db/conditions.ts'
import { AppError } from '../../../errors.ts'
import { isSameUserOrAgent } from '../../agents/users-and-agents.ts'
import { addComment } from '../comments.ts'
import { taskClaimed, taskReleased, taskRenewed } from '../events.ts'
import { refusals, taskWriteRule, workRefusal } from '../refusals.ts'
import { type FoundTask, findTask, findWithProject, taskEvent } from '../rows.ts'
import type { Lease, Task, TaskClaim, TaskClaimed, TaskRelease } from '../schema.ts'
import { tasks } from '../table.ts'
import { whoAssigned } from './reasons.ts'
import { holdsLease, isClaimableBy, isLeftBehind, leaseOf, namedWorker, type Worker } from './workers.ts'

/** A lease records who works on a task now. Any call by its holder renews it; without calls it expires. */
const LEASE_MINUTES = 15

/**
 * Returns the columns of a claim; throws if the clock is too unreliable to tell which claims have ended. It starts the
 * task, and assigns it to the holder if it has no assignee or is assigned to the previous holder. Only these changes
 * raise the version; the lease itself does not.
 */
export function claimColumns({ app, now }: Ctx, holder: Worker, minutes = LEASE_MINUTES, why: string | null = null) {
  app.clockWatch.requireTrusted()
  const starts = sql`${tasks.status} in ('backlog', 'todo', 'blocked')`
  const adopts = sql`(${tasks.assigneeId} is null or ${tasks.assigneeId} = ${tasks.leaseHolderId})`
  const changes = sql`(${starts} or (${adopts} and ${tasks.assigneeId} is distinct from ${holder.id}::uuid))`
  const own = sql`(${tasks.leaseHolderId} = ${holder.id}::uuid and ${tasks.leaseExpiresAt} > ${now}::timestamptz)`
  return {
    leaseType: holder.type,
    leaseHolderId: holder.id,
    leaseSessionId: holder.sessionId,
    leaseCredentialId: holder.credentialId,
    leaseConnection: holder.connection,
    leaseClosedAt: null,
    leaseForId: holder.forId,
    leaseWhy: sql`case when ${own} then ${tasks.leaseWhy} else ${why}::text end`,
    leaseSince: sql`case when ${own} then ${tasks.leaseSince} else ${now}::timestamptz end`,
    leaseSeenAt: now,
    leaseExpiresAt: new Date(Date.parse(now) + minutes * 60_000).toISOString(),
    assigneeType: sql`case when ${adopts} then ${holder.type}::text else ${tasks.assigneeType} end`,
    assigneeId: sql`case when ${adopts} then ${holder.id}::uuid else ${tasks.assigneeId} end`,
    startedAt: sql`coalesce(${tasks.startedAt}, ${now}::timestamptz)`,
    status: sql`case when ${starts} then 'in_progress' else ${tasks.status} end`,
    updatedAt: sql`case when ${changes} then ${now}::timestamptz else ${tasks.updatedAt} end`,
    version: sql`case when ${changes} then ${tasks.version} + 1 else ${tasks.version} end`,
  }
}

/** The columns of a task without a lease. */
export const noLease = {
  leaseType: null,
  leaseHolderId: null,
  leaseSessionId: null,
  leaseCredentialId: null,
  leaseConnection: null,
  leaseClosedAt: null,
  leaseForId: null,
  leaseWhy: null,
  leaseSince: null,
  leaseSeenAt: null,
  leaseExpiresAt: null,
}

/** Claims, renews or releases. Of concurrent callers exactly one wins; the others read again and get the reason. */
export const claim = write(
  'tasks.claim',
  taskWriteRule,
  async (ctx, { ref, action = 'claim', minutes, note, ...who }: TaskClaim & { ref: string }): Promise<TaskClaimed> => {
    for (let tries = 0; tries < 5; tries++) {
      const found = await findWithProject(ctx, ref)
      throwIfRefused(workRefusal(ctx, found))
      const holder = await namedWorker(ctx, found.task.organizationId, who)
      const after =
        action === 'release'
          ? await releaseLease(ctx, found, holder)
          : await takeLease(ctx, found, holder, action, minutes)
      if (!after) continue
      if (note !== undefined) await addComment(ctx, { ref: after.id, body: note })
      return { ...after, ...takenOverFrom(found, holder) }
    }
    throw new AppError('conflict', `Others are changing ${ref} right now. Try again.`)
  },
  { idempotent: true },
)

/** Releases a claim: `claim` with action release, under its own path. */
export const release = write(
  'tasks.release',
  taskWriteRule,
  (ctx, { ref, note }: TaskRelease & { ref: string }): Promise<Task> => claim(ctx, { ref, action: 'release', note }),
  { idempotent: true },
)

/** Returns a note for a worker that took a task over from another connection of its token. */
export const takenOverFrom = (found: FoundTask, by: Worker): Pick<TaskClaimed, 'takenOver'> => {
  const { lease } = found.task
  if (!lease || holdsLease(found, by) || !isLeftBehind(found, by)) return {}
  return { takenOver: `You held it on another connection of this token, last seen ${lease.lastSeenAt}.` }
}

const lengthOf = ({ expiresAt, lastSeenAt }: Lease): number => (Date.parse(expiresAt) - Date.parse(lastSeenAt)) / 60_000

async function takeLease(
  ctx: Ctx,
  found: FoundTask,
  holder: Worker,
  action: 'claim' | 'renew',
  minutes: number | undefined,
): Promise<Task | undefined> {
  throwIfRefused(refusals.claim(ctx, found, holder))
  const { task: before } = found
  const { lease } = before
  if (action === 'renew' && !lease)
    throw new AppError('conflict', `Your claim on ${before.key} has expired. Claim it again.`)
  const [row] = await ctx.db
    .update(tasks)
    .set(claimColumns(ctx, holder, minutes ?? (lease ? lengthOf(lease) : undefined), await whoAssigned(ctx, before)))
    .where(and(eq(tasks.id, before.id), eq(tasks.version, before.version), isClaimableBy(holder, ctx.now)))
    .returning({ id: tasks.id })
  if (!row) return undefined
  const after = await findTask(ctx, before.id)
  ctx.emit(
    action === 'renew' ? taskRenewed : taskClaimed,
    taskEvent(after, { holder: after.lease?.holder, lease: after.lease }, before),
  )
  return after
}

/** Ends the lease, the assignment that the claim made, and the state `in_progress`. */
async function releaseLease(ctx: Ctx, found: FoundTask, holder: Worker): Promise<Task | undefined> {
  throwIfRefused(refusals.release(ctx, found, holder))
  const { task: before } = found
  const from = before.lease?.holder ?? holder
  const isAssignee = before.assignee !== null && isSameUserOrAgent(before.assignee, from)
  const stops = before.status === 'in_progress' && (before.lease !== null || isAssignee)
  if (!before.lease && !stops) return before
  const [row] = await ctx.db
    .update(tasks)
    .set({
      ...noLease,
      ...(isAssignee && { assigneeType: null, assigneeId: null }),
      ...(stops && { status: 'todo' as const }),
      ...((isAssignee || stops) && { updatedAt: ctx.now, version: sql`${tasks.version} + 1` }),
    })
    .where(and(eq(tasks.id, before.id), eq(tasks.version, before.version), leaseOf(found, ctx.now)))
    .returning({ id: tasks.id })
  if (!row) return undefined
  const after = await findTask(ctx, before.id)
  ctx.emit(taskReleased, taskEvent(after, { holder: from, lease: null }, before))
  return after
}
