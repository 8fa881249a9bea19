import { eq, inArray, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, refuse } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, hasAll, idList, matches, newId } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { isOpen } from '../../records/open.ts'
import { keyset } from '../../records/page.ts'
import { lastPosition } from '../../records/positions.ts'
import { type Status, statuses } from '../../records/work.ts'
import { findParty, sameParty, selvesFor } from '../agents/parties.ts'
import { type ProjectFilter, projectFilter } from '../projects/current.ts'
import { lockProject } from '../projects/lock.ts'
import { projects as projectTable } from '../projects/table.ts'
import { criteria, ticked } from './acceptance.ts'
import { assigned, consequences, lockForChange, moved, stillOpen, store, tellAssignee } from './changing.ts'
import { comment } from './comments.ts'
import { findBlockers, relate, setBlockers } from './dependencies.ts'
import { taskCompleted, taskCreated, taskUpdated } from './events.ts'
import { lockNeighbours } from './neighbours.ts'
import { ready } from './next.ts'
import { checkPlace, positionAfter, projectFor, takeNumbers } from './places.ts'
import { blockedRefusal, changing, permitted } from './refusals.ts'
import { about, type Found, find, HIDDEN, selectItems, toItem, visibleTo, withProject } from './rows.ts'
import type { Task, TaskChanged, TaskCreate, TaskGroups, TaskPage, TaskPatch, TaskQuery } from './schema.ts'
import { tasks } from './table.ts'

export { complete, completeMany } from './completion.ts'
export { detail } from './detail.ts'

const orders = {
  updatedAt: tasks.updatedAt,
  createdAt: tasks.createdAt,
  position: tasks.position,
  number: tasks.number,
}

/** SQL condition. Tasks that wait for others count as blocked, whatever their own state is. */
const hasStatus = (status: Status): SQL =>
  status === 'blocked'
    ? or(eq(tasks.status, status), and(sql`${tasks.status} not in ('done', 'cancelled')`, tasks.hasOpenBlockers))
    : eq(tasks.status, status)

type ListQuery = TaskQuery & ProjectFilter & { labels?: string[] }

/** Builds the conditions of a list, apart from the state. */
async function filtersOf(ctx: Ctx, query: ListQuery): Promise<(SQL | undefined)[]> {
  const projectId = await projectFilter(ctx, query)
  const organizationId = currentOrganization(ctx.actor)
  const assignee = query.assignee === undefined ? undefined : await selvesFor(ctx, organizationId, query.assignee)
  return [
    visibleTo(rightsOf(ctx.actor)),
    // A project may belong to another team, in a shared workspace.
    projectId === undefined ? eq(tasks.organizationId, organizationId) : eq(tasks.projectId, projectId),
    query.storyId === undefined ? undefined : eq(tasks.storyId, query.storyId),
    query.parentId === undefined ? undefined : eq(tasks.parentId, query.parentId),
    isOpen(tasks.status, query.open),
    query.priority && eq(tasks.priority, query.priority),
    assignee && anyOf(tasks.assigneeId, idList(assignee)),
    hasAll(tasks.labels, query.labels ?? query.label),
    query.search ? matches(tasks.search, query.search) : undefined,
    query.ready ? ready(ctx.now) : undefined,
  ]
}

/** Lists a project's tasks; without a project, those of the current team. */
export const list = read('tasks.list', member('tasks:read'), async (ctx, query: ListQuery): Promise<TaskPage> => {
  const page = keyset(orders, tasks.id, query, { sort: 'updatedAt' })
  const filters = [...(await filtersOf(ctx, query)), query.status && hasStatus(query.status)]
  const rows = await selectItems(ctx)
    .where(page.where(...filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total ? await ctx.db.$count(withProject, and(...filters)) : undefined
  return page.page(
    rows.map((row) => toItem(row, ctx.now)),
    total,
  )
})

/** Columns of a board. Cancelled tasks are shown only when they are asked for. */
const columns = statuses.filter((status) => status !== 'cancelled')

/** Returns the first tasks of each state, and how many there are. */
export const board = read('tasks.board', member('tasks:read'), async (ctx, query: ListQuery): Promise<TaskGroups> => {
  const page = keyset(orders, tasks.id, query, { sort: 'position', order: 'asc' })
  const filters = await filtersOf(ctx, query)
  const shown = query.status ? [query.status] : columns
  const totals = await ctx.db
    .select({ status: tasks.status, total: sql<number>`count(*)::int` })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(...filters, inArray(tasks.status, [...shown])))
    .groupBy(tasks.status)
  const totalOf = new Map(totals.map(({ status, total }) => [status, total]))
  const groupOf = async (value: Status): Promise<TaskGroups['groups'][number]> => {
    const total = totalOf.get(value) ?? 0
    if (total === 0) return { value, total, items: [], nextCursor: null }
    const rows = await selectItems(ctx)
      .where(page.where(...filters, eq(tasks.status, value)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return { value, total, ...page.page(rows.map((row) => toItem(row, ctx.now))) }
  }
  return { groups: await Promise.all(shown.map(groupOf)) }
})

export const get = read(
  'tasks.get',
  member('tasks:read'),
  (ctx, { ref }: { ref: string }): Promise<Task> => find(ctx, ref),
)

export const create = write(
  'tasks.create',
  member('tasks:write'),
  async (
    ctx,
    {
      projectRef,
      discoveredFrom,
      ...input
    }: TaskCreate & { id?: string; projectRef?: string; discoveredFrom?: string },
  ): Promise<Task> => {
    const origin = discoveredFrom === undefined ? undefined : await find(ctx, discoveredFrom)
    const project = await projectFor(ctx, projectRef ?? origin?.projectId)
    const assignee = input.assignee ? await findParty(ctx, project, input.assignee) : undefined
    const id = input.id ?? newId()
    const number = await takeNumbers(ctx, project.id, 1)
    const storyId = await checkPlace(ctx, project.id, input)
    const blockers = input.blockedBy?.length ? await findBlockers(ctx, project.organizationId, input.blockedBy) : []
    const near = [...blockers, ...(input.parentId ? [input.parentId] : [])]
    if (near.length > 0) await lockNeighbours(ctx, sql`false`, near)
    await ctx.db.insert(tasks).values({
      id,
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      number,
      title: input.title.trim(),
      description: input.description,
      status: input.status ?? 'todo',
      priority: input.priority ?? 'medium',
      storyId,
      parentId: input.parentId,
      assigneeType: assignee?.type,
      assigneeId: assignee?.id,
      labels: input.labels ?? [],
      dueAt: input.dueAt,
      estimate: input.estimate,
      acceptance: criteria(input.acceptance ?? []),
      position: (await lastPosition(ctx, tasks, eq(tasks.projectId, project.id))) + 1,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    if (blockers.length > 0) await setBlockers(ctx, id, blockers)
    const task = await find(ctx, id)
    ctx.emit(taskCreated, about(task))
    if (origin) await relate(ctx, { ref: id, task: origin.id, kind: 'discovered_from' })
    await tellAssignee(ctx, task, assignee)
    return task
  },
)

/** Changes the given fields and adds the comment. A comment alone may be added to a task that somebody else holds. */
export const update = write(
  'tasks.update',
  changing,
  async (ctx, { ref, comment: said, ...patch }: TaskPatch & { ref: string }): Promise<TaskChanged> => {
    const isChange = said === undefined || Object.keys(patch).length > 0
    const found = await permitted(ctx, ref, isChange ? 'update' : 'comment')
    checkVersion(ctx, found.task)
    const changed = isChange
      ? await change(ctx, found, patch)
      : { ...found.task, ...stillOpen(found.task), freed: [], blocked: [] }
    if (said !== undefined) await comment(ctx, { ref: found.task.id, body: said })
    return changed
  },
  { versioned: true },
)

async function change(ctx: Ctx, found: Found, patch: Omit<TaskPatch, 'comment'>): Promise<TaskChanged> {
  const { task: before, project } = found
  if (patch.storyId || patch.parentId) await lockProject(ctx, before.projectId)
  await checkPlace(ctx, before.projectId, patch, before.id)
  const { blockedBy, assignee: named, after, acceptance: given, accepted, status, title, ...plain } = patch
  const acceptance =
    (given || accepted) && ticked(given ? criteria(given, before.acceptance) : before.acceptance, accepted)
  const blockers = blockedBy && (await findBlockers(ctx, before.organizationId, blockedBy))
  await lockForChange(ctx, before, patch, blockers)
  // A caller who sends back what they read keeps the blockers that they cannot see.
  if (blockers) await setBlockers(ctx, before.id, blockers, { keepHidden: blockedBy.includes(HIDDEN) })
  const assignee = named ? await findParty(ctx, project, named) : undefined
  if (status && status !== before.status)
    refuse(blockedRefusal(blockedBy ? await find(ctx, before.id) : before, status))
  const changed = await store(ctx, before, {
    ...plain,
    ...(title !== undefined && { title: title.trim() }),
    ...(acceptance && { acceptance }),
    ...(after !== undefined && { position: await positionAfter(ctx, before, after) }),
    ...(named !== undefined && assigned(ctx, before, assignee)),
    ...(status && moved(ctx, found, status, acceptance)),
  })
  const event = changed.status === 'done' && before.status !== 'done' ? taskCompleted : taskUpdated
  ctx.emit(event, about(changed, { fields: Object.keys(patch), ...(status && { from: before.status }) }, before))
  if (assignee && !(before.assignee && sameParty(before.assignee, assignee))) await tellAssignee(ctx, changed, assignee)
  return { ...changed, ...stillOpen(changed), ...(await consequences(ctx, before, changed)) }
}
