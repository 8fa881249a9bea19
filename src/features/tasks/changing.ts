import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { refuse } from '../../auth/policy.ts'
import { changeVersioned } from '../../records/rows.ts'
import { isClosed, type Status } from '../../records/work.ts'
import { type Party, sameParty, speaker } from '../agents/parties.ts'
import { notify } from '../notifications/service.ts'
import { acceptanceRefusal, openCriteria } from './acceptance/acceptance.ts'
import { blockedAgain, setFree } from './dependencies/dependencies.ts'
import { lockNeighbours } from './dependencies/neighbours.ts'
import { noLease } from './leases/leases.ts'
import { assignedBy } from './leases/reasons.ts'
import { type Found, find } from './rows.ts'
import type { Task, TaskChanged } from './schema.ts'
import { tasks } from './table.ts'

type Change = Partial<typeof tasks.$inferInsert>

/** Locks all rows that a change of status, parent or blockers writes to. Call it before such a change. */
export async function lockForChange(
  ctx: Ctx,
  before: Task,
  { status, parentId }: Pick<Change, 'status' | 'parentId'>,
  blockers?: readonly string[],
): Promise<void> {
  const closesOrOpens = status !== undefined && isClosed(status) !== isClosed(before.status)
  if (blockers || parentId !== undefined || closesOrOpens)
    await lockNeighbours(ctx, eq(tasks.id, before.id), [...(blockers ?? []), ...(parentId ? [parentId] : [])])
}

/** Writes a change and returns the changed task. */
export async function store(ctx: Ctx, before: Task, set: Change): Promise<Task> {
  const columns = { id: tasks.id, version: tasks.version }
  const again = () => find(ctx, before.id)
  await changeVersioned(ctx, tasks, {
    columns,
    before: { id: before.id, version: before.version },
    set,
    what: before.key,
    again,
  })
  return again()
}

/**
 * Returns the columns that change with a status. A lease ends when the task is neither in progress nor in review. Every
 * change to `done` passes here, so open criteria are checked here. `acceptance`: the criteria after the change.
 */
export function moved(ctx: Ctx, found: Found, status: Status, acceptance = found.task.acceptance): Change {
  const { task: before } = found
  if (status === before.status) return {}
  if (status === 'done') refuse(acceptanceRefusal(ctx, found, acceptance))
  return {
    status,
    ...(status === 'in_progress' && !before.startedAt && { startedAt: ctx.now }),
    completedAt: status === 'done' ? ctx.now : null,
    completedByType: status !== 'done' ? null : ctx.actor.agent ? 'agent' : 'user',
    ...(status === 'done' && { lastCheckpoint: null }),
    ...(status !== 'in_progress' && status !== 'in_review' && noLease),
  }
}

/** Reassigning moves the lease to the new assignee; unassigning ends it. */
export function assigned(ctx: Ctx, before: Task, to: Party | undefined): Change {
  const assignee = { assigneeType: to?.type ?? null, assigneeId: to?.id ?? null }
  if (!before.lease || (to && sameParty(before.lease.holder, to))) return assignee
  if (!to) return { ...assignee, ...noLease }
  return {
    ...assignee,
    leaseType: to.type,
    leaseHolderId: to.id,
    leaseSessionId: null,
    leaseCredentialId: null,
    leaseConnection: null,
    leaseClosedAt: null,
    leaseForId: null,
    leaseWhy: sameParty(to, speaker(ctx)) ? null : assignedBy(speaker(ctx)),
    leaseSince: ctx.now,
  }
}

/** Returns the tasks that a change of status unblocked or blocked. */
export async function consequences(
  ctx: Ctx,
  before: Task,
  after: Task,
): Promise<Pick<TaskChanged, 'freed' | 'blocked'>> {
  const [was, is] = [isClosed(before.status), isClosed(after.status)]
  return {
    freed: !was && is ? await setFree(ctx, [after.id], after.key) : [],
    blocked: was && !is ? await blockedAgain(ctx, after.id) : [],
  }
}

/** Returns the acceptance criteria that are open although the task is done, for the response to a change. */
export const stillOpen = ({ status, acceptance }: Task): Pick<TaskChanged, 'openCriteria'> => {
  const open = status === 'done' ? openCriteria(acceptance) : []
  return open.length > 0 ? { openCriteria: open } : {}
}

/** Notifies a person to whom someone else assigned the task. */
export async function tellAssignee(ctx: Ctx, task: Task, assignee: Party | undefined): Promise<void> {
  if (assignee?.type !== 'user' || assignee.id === ctx.actor.userId) return
  const { name } = speaker(ctx)
  await notify(ctx, {
    userId: assignee.id,
    reason: 'assignment',
    title: `${task.key} was assigned to you`,
    message: `${name} assigned this task to you: ${task.title}`,
    about: { kind: 'task', id: task.id },
  })
}
