import { and, count, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, inPerson } from '../../auth/actor.ts'
import { member, refuse } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { matches, newId } from '../../db/columns.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { lastPosition, positionBehind } from '../../records/positions.ts'
import { changeVersioned } from '../../records/rows.ts'
import { isClosed, type Status } from '../../records/work.ts'
import { findParty, type Party, sameParty, speaker } from '../agents/parties.ts'
import { linkedWith } from '../links/linked.ts'
import { notify } from '../notifications/service.ts'
import { listProjects, projectOf } from '../projects/current.ts'
import { lockProject } from '../projects/lock.ts'
import { requireOpenProject } from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import { projects as projectTable } from '../projects/table.ts'
import { stories } from '../stories/table.ts'
import { blockedAgain, relate, setBlockers, setFree } from './dependencies.ts'
import { taskCompleted, taskCreated, taskUpdated } from './events.ts'
import { noLease } from './leases.ts'
import { peek, ready } from './next.ts'
import { blockedRefusal, can, changing, permitted, refusals } from './refusals.ts'
import { about, find, findWithProject, inProject, selectItems, toItem, visibleTo } from './rows.ts'
import type {
  Acceptance,
  Task,
  TaskChanged,
  TaskComplete,
  TaskCompleted,
  TaskCreate,
  TaskDetail,
  TaskPage,
  TaskPatch,
  TaskQuery,
} from './schema.ts'
import { tasks } from './table.ts'
import { around } from './task-context.ts'

// ---- reading

export const list = read('tasks.list', member('tasks:read'), async (ctx, query: TaskQuery): Promise<TaskPage> => {
  const page = keyset(
    { updatedAt: tasks.updatedAt, createdAt: tasks.createdAt, position: tasks.position, number: tasks.number },
    tasks.id,
    query,
    { sort: 'updatedAt' },
  )
  const organizationId = currentOrganization(ctx.actor)
  const assignee = query.assignee === undefined ? undefined : await findParty(ctx, { organizationId }, query.assignee)
  const filters: (SQL | undefined)[] = [
    visibleTo(rightsOf(ctx.actor)),
    // A project may belong to another team, in a shared workspace.
    query.projectId === undefined ? eq(tasks.organizationId, organizationId) : eq(tasks.projectId, query.projectId),
    query.storyId === undefined ? undefined : eq(tasks.storyId, query.storyId),
    query.parentId === undefined ? undefined : eq(tasks.parentId, query.parentId),
    query.status && eq(tasks.status, query.status),
    query.priority && eq(tasks.priority, query.priority),
    assignee && and(eq(tasks.assigneeType, assignee.type), eq(tasks.assigneeId, assignee.id)),
    query.label === undefined ? undefined : sql`${tasks.labels} @> array[${query.label}]::text[]`,
    query.search ? matches(tasks.search, query.search) : undefined,
    query.ready ? ready(ctx.now) : undefined,
  ]
  const rows = await selectItems(ctx)
    .where(page.where(...filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(tasks)
          .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
          .where(and(...filters))
      )[0]?.n
    : undefined
  return page.page(
    rows.map((row) => toItem(row, ctx.now)),
    total,
  )
})

/** Like `list`, but takes the project by slug or key; default: the one that the caller works in. */
export const listNamed = read(
  'tasks.listNamed',
  member('tasks:read'),
  async (ctx, { project: ref, ...query }: TaskQuery & { project?: string }): Promise<TaskPage> => {
    const project = await projectOf(ctx, ref)
    return list(ctx, project ? { ...query, projectId: project.id } : query)
  },
)

export const get = read(
  'tasks.get',
  member('tasks:read'),
  (ctx, { ref }: { ref: string }): Promise<Task> => find(ctx, ref),
)

/** Returns a task with everything that a worker needs to start on it. */
export const detail = read(
  'tasks.detail',
  member('tasks:read'),
  async (ctx, { ref }: { ref: string }): Promise<TaskDetail> => {
    const found = await findWithProject(ctx, ref)
    const { task, project } = found
    return {
      ...task,
      project: { id: project.id, name: project.name, slug: project.slug },
      ...(await around(ctx, task.id)),
      links: await linkedWith(ctx, task),
      can: can(ctx, found),
    }
  },
)

// ---- writing

export const create = write(
  'tasks.create',
  member('tasks:write'),
  async (
    ctx,
    { projectRef, discoveredFrom, ...input }: TaskCreate & { projectRef?: string; discoveredFrom?: string },
  ): Promise<Task> => {
    const origin = discoveredFrom === undefined ? undefined : await find(ctx, discoveredFrom)
    const project = await projectFor(ctx, projectRef ?? origin?.projectId)
    const assignee = input.assignee ? await findParty(ctx, project, input.assignee) : undefined
    const id = newId()
    const number = await takeNumbers(ctx, project.id, 1)
    const storyId = await checkPlace(ctx, project.id, input)
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
    if (input.blockedBy?.length)
      await setBlockers(
        ctx,
        { id, key: `${project.key}-${number}`, organizationId: project.organizationId },
        input.blockedBy,
      )
    const task = await find(ctx, id)
    ctx.emit(taskCreated, about(task))
    if (origin) await relate(ctx, { ref: id, task: origin.id, kind: 'discovered_from' })
    await tellAssignee(ctx, task, assignee)
    return task
  },
)

export const update = write(
  'tasks.update',
  changing,
  async (ctx, { ref, ...patch }: TaskPatch & { ref: string }): Promise<TaskChanged> => {
    const { task: before, project } = await permitted(ctx, ref, 'update')
    checkVersion(ctx, before)
    if (patch.storyId || patch.parentId) await lockProject(ctx, before.projectId)
    await checkPlace(ctx, before.projectId, patch, before.id)
    const { blockedBy, assignee: named, after, acceptance, status, title, ...plain } = patch
    if (blockedBy) await setBlockers(ctx, before, blockedBy)
    const assignee = named ? await findParty(ctx, project, named) : undefined
    if (status && status !== before.status)
      refuse(blockedRefusal(blockedBy ? await find(ctx, before.id) : before, status))
    const changed = await store(ctx, before, {
      ...plain,
      ...(title !== undefined && { title: title.trim() }),
      ...(acceptance && { acceptance: criteria(acceptance) }),
      ...(after !== undefined && { position: await positionAfter(ctx, before, after) }),
      ...(named !== undefined && assigned(ctx, before, assignee)),
      ...(status && moved(ctx, before, status)),
    })
    const event = changed.status === 'done' && before.status !== 'done' ? taskCompleted : taskUpdated
    ctx.emit(event, about(changed, { fields: Object.keys(patch), ...(status && { from: before.status }) }, before))
    if (assignee && !(before.assignee && sameParty(before.assignee, assignee)))
      await tellAssignee(ctx, changed, assignee)
    return { ...changed, ...(await consequences(ctx, before, changed)) }
  },
  { versioned: true },
)

export const complete = write(
  'tasks.complete',
  changing,
  async (ctx, { ref, notes, evidence, force }: TaskComplete & { ref: string }): Promise<TaskCompleted> => {
    if (force && !inPerson(ctx.actor))
      throw new AppError(
        'forbidden',
        'Only a person can complete a blocked task. Complete its blockers first, or ask a person.',
      )
    const found = await findWithProject(ctx, ref)
    refuse(refusals.complete(ctx, found, { force }))
    const { task: before } = found
    checkVersion(ctx, before)
    const open = before.blockedBy
    const text = [
      notes?.trim(),
      evidence?.length ? ['Evidence:', ...evidence.map((e) => `- ${e}`)].join('\n') : undefined,
    ]
    const completionNotes = text.filter(Boolean).join('\n\n')
    const changed =
      before.status === 'done'
        ? before
        : await store(ctx, before, { ...moved(ctx, before, 'done'), ...(completionNotes && { completionNotes }) })
    if (changed !== before)
      ctx.emit(
        taskCompleted,
        about(
          changed,
          { from: before.status, ...(force && open.length > 0 && { forced: true, openBlockers: open }) },
          before,
        ),
      )
    const ripples = await consequences(ctx, before, changed)
    const { task, why } = await peek(ctx, changed)
    return { ...changed, ...ripples, next: task && { key: task.key, title: task.title, why } }
  },
  { idempotent: true, versioned: true },
)

// ---- shared parts

type Change = Partial<typeof tasks.$inferInsert>

async function store(ctx: Ctx, before: Task, set: Change): Promise<Task> {
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

/** Returns the columns that change with a status. A lease ends when the task is neither in progress nor in review. */
function moved(ctx: Ctx, before: Task, status: Status): Change {
  if (status === before.status) return {}
  return {
    status,
    ...(status === 'in_progress' && !before.startedAt && { startedAt: ctx.now }),
    completedAt: status === 'done' ? ctx.now : null,
    ...(status !== 'in_progress' && status !== 'in_review' && noLease),
  }
}

/** Reassigning moves the lease to the new assignee; unassigning ends it. */
function assigned(ctx: Ctx, before: Task, to: Party | undefined): Change {
  const assignee = { assigneeType: to?.type ?? null, assigneeId: to?.id ?? null }
  if (!before.lease || (to && sameParty(before.lease.holder, to))) return assignee
  if (!to) return { ...assignee, ...noLease }
  return {
    ...assignee,
    leaseType: to.type,
    leaseHolderId: to.id,
    leaseSessionId: null,
    leaseCredentialId: null,
    leaseSince: ctx.now,
  }
}

async function consequences(ctx: Ctx, before: Task, after: Task): Promise<Pick<TaskChanged, 'freed' | 'blocked'>> {
  const [was, is] = [isClosed(before.status), isClosed(after.status)]
  return {
    freed: !was && is ? await setFree(ctx, [after.id], after.key) : [],
    blocked: was && !is ? await blockedAgain(ctx, after.id) : [],
  }
}

const criteria = (given: readonly (string | Acceptance)[]): Acceptance[] =>
  given.map((c) => (typeof c === 'string' ? { text: c, done: false } : c))

/** Returns the project to plan in: the named one, else the one that the caller works in. */
export async function projectFor(ctx: Ctx, ref: string | undefined): Promise<Project> {
  const project = await projectOf(ctx, ref)
  if (!project) throw invalid('/project', 'Name the project by its id, slug or key.', 'required', [listProjects])
  requireOpenProject(ctx, project, 'Planning in this project')
  return project
}

/** Reserves numbers and returns the first. Also locks the project's row, so that numbering and ordering take turns. */
export async function takeNumbers(ctx: Ctx, projectId: string, many: number): Promise<number> {
  const [row] = await ctx.db
    .update(projectTable)
    .set({ lastNumber: sql`${projectTable.lastNumber} + ${many}` })
    .where(eq(projectTable.id, projectId))
    .returning({ last: projectTable.lastNumber })
  return (row?.last ?? 0) - many + 1
}

/**
 * Checks that story and parent belong to the project, and that a task is not a part of itself. The default story of a
 * part is its parent's. Call it under the project's lock; otherwise story or parent may be deleted meanwhile.
 */
async function checkPlace(
  ctx: Ctx,
  projectId: string,
  place: Pick<TaskPatch, 'storyId' | 'parentId'>,
  own?: string,
): Promise<string | null | undefined> {
  if (place.storyId) {
    const [story] = await ctx.db
      .select({ id: stories.id })
      .from(stories)
      .where(and(eq(stories.id, place.storyId), eq(stories.projectId, projectId), isNull(stories.deletedAt)))
    if (!story) throw notFound('story', place.storyId)
  }
  if (!place.parentId) return place.storyId
  const parent = await inProject(ctx, place.parentId, projectId)
  if (own) {
    const { rows } = await ctx.db.execute<{ id: string }>(sql`with recursive above (id) as (
      select ${parent.id}::uuid union select t.parent_id from above join ${tasks} t on t.id = above.id
      where t.parent_id is not null)
      select id from above where id = ${own}`)
    if (rows.length > 0)
      throw new AppError('conflict.cycle', 'A task cannot be a part of itself, or of one of its own parts.')
  }
  return place.storyId === undefined ? parent.storyId : place.storyId
}

async function positionAfter(ctx: Ctx, task: Task, after: string | null): Promise<number> {
  const behind = after === null ? null : (await inProject(ctx, after, task.projectId)).id
  await lockProject(ctx, task.projectId)
  return positionBehind(
    ctx,
    { table: tasks, siblings: eq(tasks.projectId, task.projectId), project: task },
    task.id,
    behind,
  )
}

async function tellAssignee(ctx: Ctx, task: Task, assignee: Party | undefined): Promise<void> {
  if (assignee?.type !== 'user' || assignee.id === ctx.actor.userId) return
  const { name } = speaker(ctx)
  await notify(ctx, {
    userId: assignee.id,
    reason: 'assignment',
    title: `${task.key} was assigned to you`,
    message: `${name} assigned this task to you: ${task.title}`,
    link: `/tasks/${task.key}`,
  })
}
