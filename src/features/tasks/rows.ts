import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyRights, type Rights, rightsOf } from '../../auth/rights.ts'
import { byReference, idStarts } from '../../db/records.ts'
import { prepare } from '../../db/session.ts'
import { AppError, notFound } from '../../errors.ts'
import { users } from '../accounts/table.ts'
import { agents } from '../agents/table.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import type { Acceptance, Lease, Party, Task, TaskItem } from './schema.ts'
import { taskDependencies, tasks } from './table.ts'

/** How tasks are read: rows of the database to what users see. */
const nameOf = (type: SQL | typeof tasks.assigneeType, id: SQL | typeof tasks.assigneeId): SQL<string | null> =>
  sql`case ${type} when 'user' then (select ${users.name} from ${users} where ${users.id} = ${id})
    when 'agent' then (select ${agents.name} from ${agents} where ${agents.id} = ${id}) end`

/** Keys of the open tasks that it waits for, `TUT-1,TUT-7`. */
export const openBlockers = sql<string | null>`(select string_agg(bp.key || '-' || b.number, ',' order by b.number)
  from ${taskDependencies} d join ${tasks} b on b.id = d.blocked_by_id join ${projectTable} bp on bp.id = b.project_id
  where d.task_id = ${tasks.id} and d.kind = 'blocks' and b.deleted_at is null and b.status not in ('done', 'cancelled'))`

const item = {
  id: tasks.id,
  createdAt: tasks.createdAt,
  updatedAt: tasks.updatedAt,
  version: tasks.version,
  organizationId: tasks.organizationId,
  projectId: tasks.projectId,
  storyId: tasks.storyId,
  parentId: tasks.parentId,
  number: tasks.number,
  projectKey: projectTable.key,
  title: tasks.title,
  status: tasks.status,
  priority: tasks.priority,
  assigneeType: tasks.assigneeType,
  assigneeId: tasks.assigneeId,
  assigneeName: nameOf(tasks.assigneeType, tasks.assigneeId),
  labels: tasks.labels,
  dueAt: tasks.dueAt,
  estimate: tasks.estimate,
  position: tasks.position,
  startedAt: tasks.startedAt,
  completedAt: tasks.completedAt,
  blockers: openBlockers,
  leaseType: tasks.leaseType,
  leaseHolderId: tasks.leaseHolderId,
  leaseName: nameOf(sql`${tasks.leaseType}`, sql`${tasks.leaseHolderId}`),
  leaseSessionId: tasks.leaseSessionId,
  leaseSince: tasks.leaseSince,
  leaseSeenAt: tasks.leaseSeenAt,
  leaseExpiresAt: tasks.leaseExpiresAt,
}
const whole = {
  ...item,
  description: tasks.description,
  acceptance: tasks.acceptance,
  completionNotes: tasks.completionNotes,
}

export const live = isNull(tasks.deletedAt)
export const visibleTo = (rights: Rights): SQL => and(live, projects.visibleTo(rights)) as SQL

export const selectItems = (ctx: Ctx) =>
  ctx.db.select(item).from(tasks).innerJoin(projectTable, eq(projectTable.id, tasks.projectId)).$dynamic()
export type ItemRow = Awaited<ReturnType<typeof selectItems>>[number]

const selectTasks = (ctx: Ctx) => ctx.db.select(whole).from(tasks).innerJoin(projectTable, eq(projectTable.id, tasks.projectId)).$dynamic()
type Row = Awaited<ReturnType<typeof selectTasks>>[number]

const byId = prepare((db) =>
  db
    .select(whole)
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(eq(tasks.id, sql.placeholder('id')), visibleTo(anyRights))),
)

const key = /^([a-z]{2,6})-(\d{1,9})$/i

/** By id, `TUT-42` in the current organization, or the unique beginning of an id. */
export async function find(ctx: Ctx, ref: string): Promise<Task> {
  const rights = rightsOf(ctx.actor)
  const here = eq(tasks.organizationId, ctx.actor.organizationId ?? ref)
  const row = await byReference<Row>(ref, {
    id: (id) => byId(ctx.db, { id, ...rights }),
    name: async (text) => {
      const [, project, number] = key.exec(text) ?? []
      if (!project || !ctx.actor.organizationId) return []
      const named = and(eq(projectTable.key, project.toUpperCase()), eq(tasks.number, Number(number)))
      // The own organization's first; a workspace may bring another one's project with the same key.
      return selectTasks(ctx)
        .where(and(named, visibleTo(rights)))
        .orderBy(desc(here))
        .limit(1)
    },
    prefix: (prefix) =>
      selectTasks(ctx)
        .where(and(here, idStarts(tasks.id, prefix), visibleTo(rights)))
        .limit(2),
  })
  if (!row) throw notFound('task', ref)
  return toTask(row, ctx.now)
}

/** In a project that the caller has been found to see. */
export async function inProject(ctx: Ctx, id: string, projectId: string): Promise<Task> {
  const task = await find(ctx, id)
  if (task.projectId !== projectId) throw notFound('task', id)
  return task
}

export function toItem(row: ItemRow, now: string): TaskItem {
  const { projectKey, blockers, assigneeType, assigneeId, assigneeName, ...rest } = row
  const { leaseType, leaseHolderId, leaseName, leaseSessionId, leaseSince, leaseSeenAt, leaseExpiresAt, ...task } = rest
  const lease: Lease | null =
    leaseType && leaseExpiresAt && leaseExpiresAt > now
      ? {
          holder: { type: leaseType, id: leaseHolderId, name: leaseName ?? 'somebody who has left' },
          sessionId: leaseSessionId,
          since: leaseSince as string,
          lastSeenAt: leaseSeenAt as string,
          expiresAt: leaseExpiresAt,
        }
      : null
  const assignee: Party | null = assigneeType && assigneeName !== null ? { type: assigneeType, id: assigneeId, name: assigneeName } : null
  return { ...task, key: `${projectKey}-${task.number}`, assignee, blockedBy: blockers?.split(',') ?? [], lease }
}

export function toTask(row: Row, now: string): Task {
  const { description, acceptance, completionNotes, ...rest } = row
  return { ...toItem(rest, now), description, acceptance: acceptance as Acceptance[], completionNotes }
}

/** For refusals: who holds it, when he was last seen, how long it stays his. */
export function heldBy({ key, lease }: Pick<TaskItem, 'key' | 'lease'>, now: string): AppError {
  const { holder, lastSeenAt, expiresAt } = lease as Lease
  const retryAfter = Math.max(1, Math.ceil((Date.parse(expiresAt) - Date.parse(now)) / 1000))
  return new AppError(
    'conflict.lease_held',
    `${holder.name} works on ${key}: last seen ${lastSeenAt}, theirs until ${expiresAt} unless they go on. Take another one with next_task, or try again in ${retryAfter} seconds.`,
    { retryAfter },
  )
}
