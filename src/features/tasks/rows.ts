import { desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyRights, type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { prepare, rowsOfTable } from '../../db/session.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import { projects as projectTable } from '../projects/table.ts'
import { type AcceptanceRule, DEFAULT_ACCEPTANCE } from '../projects/workflow/workflow-settings.ts'
import type { TaskCheckpoint } from './leases/checkpoint-schema.ts'
import { type LeaseFacts, leaseColumns } from './leases/lease-columns.ts'
import { assigneeParty, leaseParty, toParty } from './parties.ts'
import type { Acceptance, Lease, Task, TaskItem } from './schema.ts'
import { taskDependencies, tasks } from './table.ts'
import { taskNotFound } from './task-not-found.ts'

/**
 * SQL for the open tasks (`o`) at the other end of its dependencies. `offset 0` makes the planner look up each one: on
 * small or new tables it would join all tasks with all tasks, once for every row. Tasks whose project moved to another
 * team no longer count.
 */
const openTasksSql = (dependency: SQL): SQL =>
  sql`(${dependency} and d.kind = 'blocks' offset 0) d cross join lateral (select t.number, t.project_id from ${tasks} t
    where t.id = d.other and t.deleted_at is null and t.status not in ('done', 'cancelled')
      and t.organization_id = ${tasks.organizationId}
    offset 0) o`
/** Replaces the keys of tasks whose project the reader cannot see. No key is equal to it: keys contain a number. */
export const HIDDEN = 'hidden'
const keyList = (ones: SQL, rights: Rights): SQL<string | null> =>
  sql<string | null>`(select string_agg(coalesce(o.key || '-' || o.number, ${HIDDEN}), ',' order by o.key, o.number)
    from (select o.number, (select ${projectTable.key} from ${projectTable}
      where ${projectTable.id} = o.project_id and ${projects.visibleTo(rights)}) as key from ${ones}) o)`
/** Returns each key once, and `hidden` once for all tasks that the reader cannot see. */
export const keysIn = (list: string | null): string[] => [...new Set(list?.split(','))]
export const keysInWords = (keys: readonly string[]): string =>
  keys.map((key) => (key === HIDDEN ? 'a task that you cannot see' : key)).join(', ')

/** Keys of the open tasks that block it (`TUT-1,TUT-7`), and of the tasks that it blocks. */
const openBlockers = (rights: Rights) =>
  sql<string | null>`case when ${tasks.hasOpenBlockers} then ${keyList(
    openTasksSql(sql`select d.blocked_by_id as other from ${taskDependencies} d where d.task_id = ${tasks.id}`),
    rights,
  )} end`
export const openWaiters = (rights: Rights) =>
  keyList(
    openTasksSql(sql`select d.task_id as other from ${taskDependencies} d where d.blocked_by_id = ${tasks.id}`),
    rights,
  )
/** SQL condition: its parent is blocked. The planner must not make it a join, which would read all tasks. */
export const parentIsBlocked = sql`(${tasks.parentId} is not null
  and coalesce((select p.has_open_blockers from ${tasks} p where p.id = ${tasks.parentId}), false))`

/** Columns of list items. */
const taskItemColumns = (rights: Rights) => ({
  id: tasks.id,
  createdAt: tasks.createdAt,
  updatedAt: tasks.updatedAt,
  version: tasks.version,
  organizationId: tasks.organizationId,
  createdById: tasks.createdById,
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
  assigneeParty,
  labels: tasks.labels,
  dueAt: tasks.dueAt,
  estimate: tasks.estimate,
  position: tasks.position,
  startedAt: tasks.startedAt,
  completedAt: tasks.completedAt,
  blockers: openBlockers(rights),
  leaseType: tasks.leaseType,
  leaseHolderId: tasks.leaseHolderId,
  leaseParty,
  leaseSessionId: tasks.leaseSessionId,
  leaseWhy: tasks.leaseWhy,
  leaseSince: tasks.leaseSince,
  leaseSeenAt: tasks.leaseSeenAt,
  leaseExpiresAt: tasks.leaseExpiresAt,
})
export const taskColumns = (rights: Rights) => ({
  ...taskItemColumns(rights),
  description: tasks.description,
  acceptance: tasks.acceptance,
  completionNotes: tasks.completionNotes,
})
/** Adds the columns that permissions depend on. */
export const foundColumns = (rights: Rights) => ({
  task: taskColumns(rights),
  project: {
    id: projectTable.id,
    key: projectTable.key,
    name: projectTable.name,
    slug: projectTable.slug,
    organizationId: projectTable.organizationId,
    workspaceId: projectTable.workspaceId,
    visibility: projectTable.visibility,
    status: projectTable.status,
    acceptance: sql<AcceptanceRule>`coalesce(${projectTable.settings} ->> 'acceptance', ${DEFAULT_ACCEPTANCE})`,
  },
  ...leaseColumns,
  lastCheckpoint: tasks.lastCheckpoint,
  deletedAt: tasks.deletedAt,
})

export const isLiveTask = isNull(tasks.deletedAt)
export const visibleTo = (rights: Rights): SQL => and(isLiveTask, projects.visibleTo(rights))

/** The tables that a query with `visibleTo` needs. */
export const withProject = sql`${tasks} join ${projectTable} on ${projectTable.id} = ${tasks.projectId}`

export const selectItems = (ctx: Ctx) => selectItemsAnd(ctx, {})
/** Selects more columns with the items, which saves a second statement. `from`: a query of whole rows. */
export const selectItemsAnd = <More extends Record<string, SQL>>({ db, actor }: Ctx, more: More, from?: SQL) =>
  db
    .select({ ...taskItemColumns(rightsOf(actor)), ...more })
    .from(from ? rowsOfTable(tasks, from) : tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .$dynamic()
export type ItemRow = Awaited<ReturnType<typeof selectItems>>[number]

export const selectFound = ({ db, actor }: Ctx) =>
  db
    .select(foundColumns(rightsOf(actor)))
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .$dynamic()
type Row = Awaited<ReturnType<typeof selectFound>>[number]
export type TaskRow = Row['task']

const byId = prepare((db) =>
  db
    .select(foundColumns(anyRights))
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(eq(tasks.id, sql.placeholder('id')), visibleTo(anyRights))),
)

export interface FoundTask extends LeaseFacts {
  task: Task
  project: Pick<Project, 'id' | 'key' | 'name' | 'slug' | 'organizationId' | 'workspaceId' | 'visibility' | 'status'> &
    Record<'acceptance', AcceptanceRule>
  lastCheckpoint: TaskCheckpoint | null
  deletedAt: string | null
}
export const toFound = ({ task, ...rest }: Row, now: string): FoundTask => ({ ...rest, task: toTask(task, now) })

const key = /^([a-z]{2,6})-(\d{1,9})$/i

/** Looks up `TUT-42` in the current team first, then in workspaces that others share with it. */
function named(ctx: Ctx, text: string, which: SQL): Promise<Row[]> {
  const [, project, number] = key.exec(text) ?? []
  const { organizationId } = ctx.actor
  if (!project || !organizationId) return Promise.resolve([])
  const here = eq(projectTable.organizationId, organizationId)
  return selectFound(ctx)
    .where(
      and(
        eq(projectTable.key, project.toUpperCase()),
        eq(tasks.number, Number(number)),
        or(here, anyOf(projectTable.workspaceId, rightsOf(ctx.actor).workspaces)),
        which,
      ),
    )
    .orderBy(desc(here), projectTable.createdAt)
    .limit(1)
}

/** Finds a task by id, by key (`TUT-42`), or by unique id prefix in the current organization. */
export async function findWithProject(ctx: Ctx, ref: string): Promise<FoundTask> {
  const rights = rightsOf(ctx.actor)
  const row = await findByReference<Row>(ref, {
    id: (id) => byId(ctx.db, { id, ...rights }),
    name: (text) => named(ctx, text, visibleTo(rights)),
    prefix: async (prefix) =>
      ctx.actor.organizationId
        ? selectFound(ctx)
            .where(
              and(
                eq(tasks.organizationId, ctx.actor.organizationId),
                idStartsWith(tasks.id, prefix),
                visibleTo(rights),
              ),
            )
            .limit(2)
        : [],
    record: ({ task }) => task,
  })
  if (!row) throw await taskNotFound(ctx, ref, visibleTo(rights))
  return toFound(row, ctx.now)
}

export const findTask = async (ctx: Ctx, ref: string): Promise<Task> => (await findWithProject(ctx, ref)).task

/** Also finds a deleted task, if the condition allows it and its project exists. */
export async function findAnyWithProject(ctx: Ctx, ref: string, which: SQL): Promise<FoundTask> {
  const there = and(which, projects.visibleTo(rightsOf(ctx.actor)))
  const row = await findByReference<Row>(ref, {
    id: (id) => selectFound(ctx).where(and(eq(tasks.id, id), there)),
    name: (text) => named(ctx, text, there),
    prefix: async () => [],
  })
  if (!row) throw notFound('task', ref)
  return toFound(row, ctx.now)
}

/** Finds a task in a project that the caller is known to see. */
export async function findTaskInProject(ctx: Ctx, ref: string, projectId: string): Promise<Task> {
  const task = await findTask(ctx, ref)
  if (task.projectId !== projectId) throw notFound('task', task.key, 'in that project')
  return task
}

/** Names every field: copying a row without some of its columns takes several times as long. */
export function toItem(row: ItemRow, now: string): TaskItem {
  const { assigneeType: type, assigneeParty: party } = row
  return {
    id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    version: row.version,
    organizationId: row.organizationId,
    createdById: row.createdById,
    projectId: row.projectId,
    storyId: row.storyId,
    parentId: row.parentId,
    number: row.number,
    title: row.title,
    status: row.status,
    priority: row.priority,
    labels: row.labels,
    dueAt: row.dueAt,
    estimate: row.estimate,
    position: row.position,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
    key: `${row.projectKey}-${row.number}`,
    assignee: type && party !== null ? toParty(type, row.assigneeId, party) : null,
    blockedBy: keysIn(row.blockers),
    lease: leaseOf(row, now),
  }
}

function leaseOf(row: ItemRow, now: string): Lease | null {
  const { leaseType, leaseExpiresAt } = row
  if (!leaseType || !leaseExpiresAt || leaseExpiresAt <= now) return null
  return {
    holder: toParty(leaseType, row.leaseHolderId, row.leaseParty ?? '["a former user"]'),
    sessionId: row.leaseSessionId,
    why: row.leaseWhy,
    since: row.leaseSince as string,
    lastSeenAt: row.leaseSeenAt as string,
    expiresAt: leaseExpiresAt,
  }
}

export const toTask = (row: TaskRow, now: string): Task => ({
  ...toItem(row, now),
  description: row.description,
  acceptance: row.acceptance as Acceptance[],
  completionNotes: row.completionNotes,
})

/** Hides keys of other projects in an event of the task: people who see only this project read it, too. */
export const withinProject = ({ key, number }: TaskItem, keys: readonly string[]): string[] => {
  const own = key.slice(0, -String(number).length)
  return [...new Set(keys.map((other) => (other.startsWith(own) ? other : HIDDEN)))]
}

/** Ids of current and former assignees and holders; their open streams receive the event. */
const partiesOf = (...states: (TaskItem | undefined)[]): string[] =>
  [...new Set(states.flatMap((task) => [task?.assignee?.id, task?.lease?.holder.id]))].filter(
    (id) => typeof id === 'string',
  )

export const taskEvent = <D extends object>(task: TaskItem, data?: D, before?: TaskItem) => ({
  subjectId: task.id,
  organizationId: task.organizationId,
  projectId: task.projectId,
  data: Object.assign(
    {
      key: task.key,
      title: task.title,
      status: task.status,
      version: task.version,
      concerns: partiesOf(before, task),
    },
    data,
  ),
})
