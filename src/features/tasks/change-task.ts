import { eq, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { throwIfRefused } from '../../auth/policy.ts'
import { anyRights, rightsOf } from '../../auth/rights.ts'
import { and } from '../../db/conditions.ts'
import { prepareForms } from '../../db/session.ts'
import { overtaken } from '../../records/rows.ts'
import { isClosed, type Status } from '../../records/task-states.ts'
import { currentUserOrAgent, isSameUserOrAgent, type KnownUserOrAgent } from '../agents/users-and-agents.ts'
import { notify } from '../notifications/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import { acceptanceRefusal, openCriteria } from './acceptance/acceptance.ts'
import { findBlockedAgain, unblockTasks } from './dependencies/dependencies.ts'
import { lockNeighbours } from './dependencies/neighbours.ts'
import { type TaskChange, taskChanged } from './hooks.ts'
import { noLease } from './leases/leases.ts'
import { assignedBy } from './leases/reasons.ts'
import { addNotice, type BatchNotices } from './many/notices.ts'
import { type FoundTask, findTask, type TaskRow, taskColumns, toTask } from './rows.ts'
import type { Task, TaskChanged } from './schema.ts'
import { tasks } from './table.ts'

type Change = Partial<typeof tasks.$inferInsert>
/** Columns that no caller can set, but an undo restores. */
export type FormerColumns = Pick<
  Change,
  'position' | 'completionNotes' | 'startedAt' | 'completedAt' | 'lastCheckpoint'
>

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

type Settable = PgUpdateSetSource<typeof tasks>
/** The columns that a change sets: those that get a value, and those that become null. */
interface ChangedColumns {
  values: string[]
  nulls: string[]
}

/** Changes a task and returns it in one statement. It changes nothing if the task is at another version. */
const updateReturning = prepareForms((db, { values, nulls }: ChangedColumns) =>
  db
    .update(tasks)
    .set({
      ...Object.fromEntries(values.map((name) => [name, sql.placeholder(`new_${name}`)])),
      ...Object.fromEntries(nulls.map((name) => [name, null])),
      version: sql`${tasks.version} + 1`,
    } as Settable)
    .from(projectTable)
    .where(
      and(
        eq(projectTable.id, tasks.projectId),
        eq(tasks.id, sql.placeholder('id')),
        eq(tasks.version, sql.placeholder('version')),
      ),
    )
    .returning(taskColumns(anyRights)),
)

/** Returns the changed task; undefined if someone else changed it since it was read. */
async function updateTaskRow(
  ctx: Ctx,
  { id, version }: Pick<Task, 'id' | 'version'>,
  set: Change,
): Promise<Task | undefined> {
  const given = Object.entries({ ...set, updatedAt: ctx.now }).filter(([, value]) => value !== undefined)
  const names = (isNone: boolean) => given.flatMap(([name, value]) => ((value === null) === isNone ? name : [])).sort()
  const values = Object.fromEntries(given.map(([name, value]) => [`new_${name}`, value]))
  const [row] = await updateReturning(
    ctx.db,
    { values: names(false), nulls: names(true) },
    { ...values, id, version, ...rightsOf(ctx.actor) },
  )
  return row && toTask(row as TaskRow, ctx.now)
}

/** Writes a change and returns the changed task. */
export async function storeTask(ctx: Ctx, before: Task, set: Change): Promise<Task> {
  const changed = await updateTaskRow(ctx, before, set)
  if (!changed) throw overtaken(before.key, await findTask(ctx, before.id))
  return changed
}

/**
 * Returns the columns that change with a status. A lease ends when the task is neither in progress nor in review. Every
 * change to `done` passes here, so open criteria are checked here. `acceptance`: the criteria after the change.
 */
export function statusColumns(ctx: Ctx, found: FoundTask, status: Status, acceptance = found.task.acceptance): Change {
  const { task: before } = found
  if (status === before.status) return {}
  if (status === 'done') throwIfRefused(acceptanceRefusal(ctx, found, acceptance))
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
export function assigneeColumns(ctx: Ctx, before: Task, to: KnownUserOrAgent | undefined): Change {
  const assignee = { assigneeType: to?.type ?? null, assigneeId: to?.id ?? null }
  if (!before.lease || (to && isSameUserOrAgent(before.lease.holder, to))) return assignee
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
    leaseWhy: isSameUserOrAgent(to, currentUserOrAgent(ctx)) ? null : assignedBy(currentUserOrAgent(ctx)),
    leaseSince: ctx.now,
  }
}

interface Circumstances {
  blockers?: TaskChange['blockers']
  /** Collects the notifications of a batch. */
  notices?: BatchNotices | undefined
  /** Set if the task and those next to it are locked: how many open tasks wait for it. */
  locked?: { openWaiters: number } | undefined
}

/** Reports a change to the features above, and returns the tasks that it unblocked or blocked. */
export async function findConsequences(
  ctx: Ctx,
  { task: before, lastCheckpoint }: FoundTask,
  after: Task,
  { blockers, notices, locked }: Circumstances = {},
): Promise<Pick<TaskChanged, 'freed' | 'blocked'>> {
  const [was, is] = [isClosed(before.status), isClosed(after.status)]
  const hasWaiters = locked?.openWaiters !== 0
  const freed = !was && is && hasWaiters ? await unblockTasks(ctx, [after.id], after.key, notices) : []
  await taskChanged.call(ctx, { before, after, blockers, lastCheckpoint, freed })
  return {
    freed: freed.map(({ from: _, ...task }) => task),
    blocked: was && !is && hasWaiters ? await findBlockedAgain(ctx, after.id) : [],
  }
}

/** Returns the acceptance criteria that are open although the task is done, for the response to a change. */
export const stillOpen = ({ status, acceptance }: Task): Pick<TaskChanged, 'openCriteria'> => {
  const open = status === 'done' ? openCriteria(acceptance) : []
  return open.length > 0 ? { openCriteria: open } : {}
}

/** Notifies a person to whom someone else assigned the task; with `notices` at the end of the batch. */
export async function notifyAssignee(
  ctx: Ctx,
  task: Task,
  assignee: KnownUserOrAgent | undefined,
  notices?: BatchNotices,
): Promise<void> {
  if (assignee?.type !== 'user' || assignee.id === ctx.actor.userId) return
  if (notices) return addNotice(notices, assignee.id, 'assigned', task)
  const { name } = currentUserOrAgent(ctx)
  await notify(ctx, {
    userId: assignee.id,
    reason: 'assignment',
    title: `${task.key} was assigned to you`,
    message: `${name} assigned this task to you: ${task.title}`,
    about: { kind: 'task', id: task.id },
  })
}
