import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { findAgent, type Party, sameParty, speaker } from '../agents/parties.ts'
import * as projects from '../projects/service.ts'
import { requireFree } from './dependencies.ts'
import { find, heldBy } from './rows.ts'
import { isClosed, type Task, type TaskClaim } from './schema.ts'
import { tasks } from './table.ts'

/** A lease says who works on a task right now. Any call of its holder renews it; silence gives it up. */
export const LEASE_MINUTES = 15

export interface Holder extends Party {
  sessionId: string | null
}

const later = (now: string, minutes: number): string => new Date(Date.parse(now) + minutes * 60_000).toISOString()

/** The agent that the call names, else the token's, else its user. Several agents on one token must name themselves. */
export async function holderOf(
  ctx: Ctx,
  organizationId: string,
  { agent, sessionId }: { agent?: string; sessionId?: string },
): Promise<Holder> {
  const party = agent ? await findAgent(ctx, organizationId, agent) : speaker(ctx)
  return { ...party, sessionId: sessionId ?? null }
}

/** Nobody's, or its own: the condition under which a claim succeeds, inside the statement that claims. */
export const claimable = (holder: Holder, now: string): SQL =>
  or(
    isNull(tasks.leaseExpiresAt),
    lte(tasks.leaseExpiresAt, now),
    and(
      eq(tasks.leaseType, holder.type),
      eq(tasks.leaseHolderId, holder.id),
      holder.sessionId ? or(isNull(tasks.leaseSessionId), eq(tasks.leaseSessionId, holder.sessionId)) : undefined,
    ),
  ) as SQL

/** The columns of a claim. Taking it starts the work; only that raises the version, the lease itself does not. */
export function claimed(holder: Holder, now: string, minutes = LEASE_MINUTES) {
  const starts = sql`${tasks.status} in ('backlog', 'todo', 'blocked')`
  return {
    leaseType: holder.type,
    leaseHolderId: holder.id,
    leaseSessionId: holder.sessionId,
    leaseSince: sql`case when ${tasks.leaseHolderId} = ${holder.id} and ${tasks.leaseExpiresAt} > ${now}::timestamptz then ${tasks.leaseSince} else ${now}::timestamptz end`,
    leaseSeenAt: now,
    leaseExpiresAt: later(now, minutes),
    assigneeType: holder.type,
    assigneeId: holder.id,
    startedAt: sql`coalesce(${tasks.startedAt}, ${now}::timestamptz)`,
    status: sql`case when ${starts} then 'in_progress' else ${tasks.status} end`,
    updatedAt: sql`case when ${starts} then ${now}::timestamptz else ${tasks.updatedAt} end`,
    version: sql`case when ${starts} then ${tasks.version} + 1 else ${tasks.version} end`,
  }
}

/** What a task without a lease has in those columns. */
export const noLease = {
  leaseType: null,
  leaseHolderId: null,
  leaseSessionId: null,
  leaseSince: null,
  leaseSeenAt: null,
  leaseExpiresAt: null,
}

/** Takes, renews or gives back. Of many at once, one statement decides. */
export const claim = write(
  'tasks.claim',
  member('tasks:write'),
  async (ctx, { ref, action = 'claim', minutes, ...who }: TaskClaim & { ref: string }): Promise<Task> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Working on this task')
    const holder = await holderOf(ctx, before.organizationId, who)
    if (action === 'release') return release(ctx, before, holder)
    if (isClosed(before.status)) throw new AppError('conflict', `${before.key} is ${before.status}. Take another one with next_task.`)
    if (action === 'renew' && !(before.lease && sameParty(before.lease.holder, holder)))
      throw before.lease ? heldBy(before, ctx.now) : new AppError('conflict', `Your claim on ${before.key} has run out. Claim it again.`)
    requireFree(before, 'in_progress')
    const [row] = await ctx.db
      .update(tasks)
      .set(claimed(holder, ctx.now, minutes))
      .where(and(eq(tasks.id, before.id), claimable(holder, ctx.now)))
      .returning({ id: tasks.id })
    const after = await find(ctx, before.id)
    if (!row) throw heldBy(after, ctx.now)
    announce(ctx, action === 'renew' ? 'task.renewed' : 'task.claimed', after, holder)
    return after
  },
  { idempotent: true },
)

/** All of it goes: the lease, the assignment it made, and the state `in_progress`. */
async function release(ctx: Ctx, before: Task, holder: Holder): Promise<Task> {
  if (before.lease && !sameParty(before.lease.holder, holder) && ctx.actor.kind !== 'session') throw heldBy(before, ctx.now)
  const mine = before.assignee && before.lease && sameParty(before.assignee, before.lease.holder)
  const backs = before.status === 'in_progress'
  await ctx.db
    .update(tasks)
    .set({
      ...noLease,
      ...(mine && { assigneeType: null, assigneeId: null }),
      ...(backs && { status: 'todo' as const, updatedAt: ctx.now, version: sql`${tasks.version} + 1` }),
    })
    .where(eq(tasks.id, before.id))
  const after = await find(ctx, before.id)
  announce(ctx, 'task.released', after, holder)
  return after
}

function announce(ctx: Ctx, type: string, task: Task, holder: Holder): void {
  ctx.emit(type, {
    subjectId: task.id,
    organizationId: task.organizationId,
    projectId: task.projectId,
    data: { key: task.key, title: task.title, status: task.status, holder: { type: holder.type, id: holder.id, name: holder.name } },
  })
}

/** Somebody else's live lease keeps agents from changing a task; people at the web may, for they see who they disturb. */
export function requireNotHeld(ctx: Ctx, task: Task): void {
  if (!task.lease || ctx.actor.kind === 'session' || ctx.actor.kind === 'system') return
  if (!sameParty(task.lease.holder, speaker(ctx))) throw heldBy(task, ctx.now)
}

const renewal = `update tasks set lease_seen_at = $1::timestamptz,
    lease_expires_at = greatest(lease_expires_at, $1::timestamptz + (lease_expires_at - lease_seen_at))
  where lease_type = $2 and lease_holder_id = $3 and lease_expires_at > $1::timestamptz`
const RENEW_EVERY_MS = 60_000
const seen = new Map<string, number>()

/**
 * For every call of somebody who may hold leases: whoever is at work keeps what he works on, for as long again as he asked for. At most
 * once a minute, beside the call and not as a change: it leaves no trace but the lease.
 */
export function renewLeases({ app, actor }: Pick<Ctx, 'app' | 'actor'>, holder: Pick<Party, 'type' | 'id'> = speaker({ actor })): void {
  const now = app.clock()
  const key = `${holder.type}:${holder.id}`
  if (now.getTime() - (seen.get(key) ?? 0) < RENEW_EVERY_MS) return
  seen.delete(key)
  seen.set(key, now.getTime())
  if (seen.size > 10_000) seen.delete(seen.keys().next().value as string)
  app.driver.query(renewal, [now.toISOString(), holder.type, holder.id]).catch((error: unknown) => {
    seen.delete(key)
    app.log.debug('leases not renewed', { error })
  })
}
