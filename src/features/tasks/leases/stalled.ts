import { and, eq, gt, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import { type Ctx, contextOf, write } from '../../../action.ts'
import { system } from '../../../auth/actor.ts'
import { machine } from '../../../auth/policy.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { events } from '../../../events/table.ts'
import type { JobDefinition } from '../../../jobs/definition.ts'
import type { App } from '../../../services.ts'
import { type Notice, notify, settleNotifications } from '../../notifications/service.ts'
import { notifications } from '../../notifications/table.ts'
import { projects } from '../../projects/table.ts'
import { taskRenewed } from '../events.ts'
import type { TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'

/** A worker that called within this many minutes is active. */
const CALLED_WITHIN = 5
/** An active worker that changed nothing for this many minutes is stalled. */
const UNCHANGED_FOR = 30

/** SQL: when the holder of a lease last changed anything; at the earliest when they claimed the task. */
const lastChange: SQL<string> = sql<string>`greatest(${tasks.leaseSince}, (
  select max(${events.at}) from ${events}
  where ${events.actorKind} = 'agent' and ${events.actorId} = ${tasks.leaseHolderId}
    and ${events.at} >= ${tasks.leaseSince} and ${events.type} <> ${taskRenewed.name}
    and (${tasks.leaseCredentialId} is null or ${events.credentialId} = ${tasks.leaseCredentialId})))`

const minutesBefore = (now: string, minutes: number): string =>
  new Date(Date.parse(now) - minutes * 60_000).toISOString()

/** SQL condition: an agent holds the task and makes calls, but has changed nothing for a while. */
export const isStalled = (now: string): SQL | undefined =>
  and(
    // The index of leases needs the holder; without it every task would be read.
    isNotNull(tasks.leaseHolderId),
    eq(tasks.leaseType, 'agent'),
    gt(tasks.leaseExpiresAt, now),
    gt(tasks.leaseSeenAt, minutesBefore(now, CALLED_WITHIN)),
    lte(tasks.leaseSince, minutesBefore(now, UNCHANGED_FOR)),
    lte(lastChange, minutesBefore(now, UNCHANGED_FOR)),
  )

/** The activity of an agent that holds a task, apart from its calls. */
export interface LeaseProgress {
  stalled: boolean
  /** When it last changed anything; at the earliest when it claimed the task. */
  lastChangeAt: string
}

/** Returns the activity of the agents that hold these tasks, by the id of the task. */
export async function readLeaseProgress(
  ctx: Ctx,
  held: readonly Pick<TaskItem, 'id' | 'lease'>[],
): Promise<Map<string, LeaseProgress>> {
  const ids = held.filter(({ lease }) => lease?.holder.type === 'agent').map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const found = await ctx.db
    .select({
      id: tasks.id,
      lastChangeAt: lastChange.mapWith(tasks.leaseSince),
      stalled: sql<boolean>`coalesce(${isStalled(ctx.now)}, false)`,
    })
    .from(tasks)
    .where(anyOf(tasks.id, idList(ids)))
  return new Map(found.map(({ id, ...progress }) => [id, progress]))
}

/** Notifies the person whose agent is stalled, once for each lease, and settles that when the agent continues. */
export const notifyOfStalled = write('tasks.tellOfStalled', machine, async (ctx, _: Record<string, never>) => {
  const told = sql`exists (select 1 from ${notifications} where ${notifications.userId} = ${tasks.leaseForId}
    and ${notifications.createdAt} >= ${tasks.leaseSince} and ${notifications.recordId} = ${tasks.id}
    and ${notifications.reason} = 'stalled')`
  const agents = ctx.app.records.get('agent')
  const found = await ctx.db
    .select({
      id: tasks.id,
      key: sql<string>`${projects.key} || '-' || ${tasks.number}`,
      title: tasks.title,
      userId: sql<string>`${tasks.leaseForId}`,
      agentId: sql<string>`${tasks.leaseHolderId}`,
      agent: sql<string>`(select ${agents.title} from ${agents.table}
        where ${agents.table.id} = ${tasks.leaseHolderId})`,
    })
    .from(tasks)
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(and(isStalled(ctx.now), sql`${tasks.leaseForId} is not null`, sql`not ${told}`))
    .limit(1000)
  await notify(
    ctx,
    ...found.map(
      ({ id, key, title, userId, agentId, agent }): Notice => ({
        userId,
        type: 'warning',
        reason: 'stalled',
        title: `${agent} is stalled on ${key}`,
        message: `It calls, but has changed nothing for ${UNCHANGED_FOR} minutes: ${title}`,
        about: { kind: 'task', id },
        from: { type: 'agent', id: agentId },
      }),
    ),
  )
  const over = await ctx.db
    .select({ id: tasks.id })
    .from(notifications)
    .innerJoin(tasks, eq(tasks.id, notifications.recordId))
    .where(
      and(eq(notifications.reason, 'stalled'), sql`${notifications.doneAt} is null`, sql`not (${isStalled(ctx.now)})`),
    )
    .limit(1000)
  for (const { id } of over) await settleNotifications(ctx, { id, reasons: ['stalled'] })
})

export const taskJobs: JobDefinition<App>[] = [
  {
    name: 'tasks.stalled',
    every: '*/5 * * * *',
    run: async (app) => notifyOfStalled(contextOf(app, system), {}),
  },
]
