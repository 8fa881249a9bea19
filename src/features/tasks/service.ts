import { and, count, eq, gt, inArray, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { matches, newId } from '../../db/columns.ts'
import { keyset } from '../../db/page.ts'
import { changeVersioned } from '../../db/records.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { type Party, resolveParty, speaker } from '../agents/parties.ts'
import { notify } from '../notifications/service.ts'
import { stories } from '../planning/table.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import { lastComments } from './comments.ts'
import { relatives, requireFree, ripple, setBlockers } from './dependencies.ts'
import { noLease, requireNotHeld } from './leases.ts'
import { pickNext } from './next.ts'
import { find, inProject, live, openBlockers, selectItems, toItem, visibleTo } from './rows.ts'
import {
  type Acceptance,
  isClosed,
  type Related,
  type Status,
  type Task,
  type TaskChanged,
  type TaskComplete,
  type TaskCompleted,
  type TaskCreate,
  type TaskDetail,
  type TaskPage,
  type TaskPatch,
  type TaskQuery,
} from './schema.ts'
import { tasks } from './table.ts'

// ---- reading

export const list = read('tasks.list', member('tasks:read'), async (ctx, query: TaskQuery): Promise<TaskPage> => {
  const page = keyset(
    { updatedAt: tasks.updatedAt, createdAt: tasks.createdAt, position: tasks.position, number: tasks.number },
    tasks.id,
    query,
    { sort: 'updatedAt' },
  )
  const organizationId = currentOrganization(ctx.actor)
  const assignee = query.assignee === undefined ? undefined : await resolveParty(ctx, { organizationId }, query.assignee)
  const filters: (SQL | undefined)[] = [
    visibleTo(rightsOf(ctx.actor)),
    // A project may be another team's, in a workspace that both share.
    query.projectId === undefined ? eq(tasks.organizationId, organizationId) : eq(tasks.projectId, query.projectId),
    query.storyId === undefined ? undefined : eq(tasks.storyId, query.storyId),
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

/** The same for whoever names a project as people do. */
export const listNamed = read(
  'tasks.listNamed',
  member('tasks:read'),
  async (ctx, { project, ...query }: TaskQuery & { project?: string }): Promise<TaskPage> =>
    list(ctx, project === undefined ? query : { ...query, projectId: (await projects.resolve(ctx, project)).id }),
)

/** Open, waiting for nothing, and nobody at work on it. */
export const ready = (now: string): SQL =>
  and(
    inArray(tasks.status, ['todo', 'backlog', 'in_progress']),
    sql`${openBlockers} is null`,
    or(isNull(tasks.leaseExpiresAt), lt(tasks.leaseExpiresAt, now)),
    or(ne(tasks.status, 'in_progress'), sql`${tasks.leaseExpiresAt} is not null`),
  ) as SQL

export const get = read('tasks.get', member('tasks:read'), (ctx, { ref }: { ref: string }): Promise<Task> => find(ctx, ref))

/** With everything that somebody who starts on it wants to know. */
export const detail = read('tasks.detail', member('tasks:read'), async (ctx, { ref }: { ref: string }): Promise<TaskDetail> => {
  const task = await find(ctx, ref)
  const { id, name, slug } = await projects.resolve(ctx, task.projectId)
  const [behind, ahead] = [await relatives(ctx, task.id, 'waitsFor'), await relatives(ctx, task.id, 'frees')]
  const blocks = (r: Related) => r.kind === 'blocks'
  const subtasks = await selectItems(ctx)
    .where(and(eq(tasks.parentId, task.id), visibleTo(rightsOf(ctx.actor))))
    .orderBy(tasks.position, tasks.id)
    .limit(100)
  return {
    ...task,
    project: { id, name, slug },
    waitsFor: behind.filter(blocks),
    frees: ahead.filter(blocks),
    related: [...behind, ...ahead].filter((r) => !blocks(r)),
    subtasks: subtasks.map((row) => {
      const { id, key, title, status } = toItem(row, ctx.now)
      return { id, key, title, status, kind: 'relates' as const }
    }),
    comments: await lastComments(ctx, task.id),
  }
})

// ---- writing

export const create = write(
  'tasks.create',
  member('tasks:write'),
  async (ctx, { projectRef, ...input }: TaskCreate & { projectRef?: string }): Promise<Task> => {
    const project = await projectFor(ctx, projectRef)
    await checkPlace(ctx, project.id, input)
    const assignee = input.assignee ? await resolveParty(ctx, project, input.assignee) : undefined
    const id = newId()
    const [{ number }] = (await ctx.db
      .update(projectTable)
      .set({ lastNumber: sql`${projectTable.lastNumber} + 1` })
      .where(eq(projectTable.id, project.id))
      .returning({ number: projectTable.lastNumber })) as [{ number: number }]
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
      storyId: input.storyId,
      parentId: input.parentId,
      assigneeType: assignee?.type,
      assigneeId: assignee?.id,
      labels: input.labels ?? [],
      dueAt: input.dueAt,
      estimate: input.estimate,
      acceptance: criteria(input.acceptance ?? []),
      position: (await lastPosition(ctx, project.id)) + 1,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    if (input.blockedBy?.length)
      await setBlockers(ctx, { id, key: `${project.key}-${number}`, organizationId: project.organizationId }, input.blockedBy)
    const task = await find(ctx, id)
    announce(ctx, 'task.created', task)
    await tellAssignee(ctx, task, assignee)
    return task
  },
)

export const update = write(
  'tasks.update',
  member('tasks:write'),
  async (ctx, { ref, ...patch }: TaskPatch & { ref: string }): Promise<TaskChanged> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this task')
    checkVersion(ctx, before)
    requireNotHeld(ctx, before)
    await checkPlace(ctx, before.projectId, patch, before.id)
    const { blockedBy, assignee: named, after, acceptance, status, title, ...plain } = patch
    if (blockedBy) await setBlockers(ctx, before, blockedBy)
    const assignee = named ? await resolveParty(ctx, await projects.resolve(ctx, before.projectId), named) : undefined
    const now = blockedBy ? await find(ctx, before.id) : before
    if (status && status !== before.status) requireFree(now, status)
    const changed = await store(ctx, before, {
      ...plain,
      ...(title !== undefined && { title: title.trim() }),
      ...(acceptance && { acceptance: criteria(acceptance) }),
      ...(after !== undefined && { position: await positionAfter(ctx, before, after) }),
      ...(named !== undefined && assigned(before, assignee)),
      ...(status && moved(ctx, before, status)),
    })
    announce(ctx, 'task.updated', changed, { fields: Object.keys(patch), ...(status && { from: before.status }) })
    await tellAssignee(ctx, changed, assignee)
    return { ...changed, ...(await consequences(ctx, before, changed)) }
  },
  { versioned: true },
)

export const complete = write(
  'tasks.complete',
  member('tasks:write'),
  async (ctx, { ref, notes, evidence, force }: TaskComplete & { ref: string }): Promise<TaskCompleted> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Completing this task')
    requireNotHeld(ctx, before)
    if (force && ctx.actor.kind !== 'session')
      throw new AppError('forbidden', 'Only a person can close a task that waits for others. Finish those first, or ask somebody.')
    if (!force) requireFree(before, 'done')
    const text = [notes, ...(evidence?.length ? ['', 'Evidence:', ...evidence.map((e) => `- ${e}`)] : [])].filter((l) => l !== undefined)
    const changed =
      before.status === 'done'
        ? before
        : await store(ctx, before, { ...moved(ctx, before, 'done'), ...(text.length > 0 && { completionNotes: text.join('\n').trim() }) })
    if (changed !== before)
      announce(ctx, 'task.completed', changed, { from: before.status, ...(force && { forced: true, openBlockers: before.blockedBy }) })
    const ripples = await consequences(ctx, before, changed)
    const next = await pickNext(ctx, { projectId: changed.projectId, claim: false })
    return { ...changed, ...ripples, next: next.task && { key: next.task.key, title: next.task.title, why: next.why } }
  },
  { idempotent: true, versioned: true },
)

export const remove = write(
  'tasks.remove',
  member('tasks:write'),
  async (ctx, { ref, reason }: { ref: string; reason?: string }): Promise<{ id: string; deleted: true }> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Deleting this task')
    checkVersion(ctx, before)
    requireNotHeld(ctx, before)
    await store(ctx, before, { deletedAt: ctx.now, ...noLease })
    await ctx.db
      .update(tasks)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${tasks.version} + 1` })
      .where(and(eq(tasks.parentId, before.id), live))
    announce(ctx, 'task.deleted', before, reason ? { reason } : {})
    if (!isClosed(before.status)) await ripple(ctx, before, true)
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/** An organization's administrators can bring it back within 30 days, under the number it had. */
export const restore = write('tasks.restore', member('tasks:write', 'admin'), async (ctx, { id }: { id: string }): Promise<Task> => {
  const [row] = await ctx.db
    .update(tasks)
    .set({ deletedAt: null, updatedAt: ctx.now, version: sql`${tasks.version} + 1` })
    .where(and(eq(tasks.id, id), eq(tasks.organizationId, currentOrganization(ctx.actor)), sql`${tasks.deletedAt} is not null`))
    .returning({ id: tasks.id })
  if (!row) throw notFound('deleted task', id)
  const task = await find(ctx, id)
  announce(ctx, 'task.restored', task)
  return task
})

// ---- what they share

type Change = Partial<typeof tasks.$inferInsert>

async function store(ctx: Ctx, before: Task, set: Change): Promise<Task> {
  await changeVersioned(ctx, tasks, {
    columns: { id: tasks.id, version: tasks.version },
    before: { id: before.id, version: before.version },
    set,
    what: `${before.key}`,
    again: () => find(ctx, before.id),
  })
  return set.deletedAt ? before : find(ctx, before.id)
}

/** What a new status brings with it. */
function moved(ctx: Ctx, before: Task, status: Status): Change {
  if (status === before.status) return {}
  return {
    status,
    ...(status === 'in_progress' && !before.startedAt && { startedAt: ctx.now }),
    completedAt: isClosed(status) ? ctx.now : null,
    ...(isClosed(status) && noLease),
  }
}

/** Reassigning moves the lease along; taking the assignee away ends it. */
function assigned(before: Task, to: Party | undefined): Change {
  const assignee = { assigneeType: to?.type ?? null, assigneeId: to?.id ?? null }
  if (!before.lease) return assignee
  return to ? { ...assignee, leaseType: to.type, leaseHolderId: to.id, leaseSessionId: null } : { ...assignee, ...noLease }
}

async function consequences(ctx: Ctx, before: Task, after: Task): Promise<Pick<TaskChanged, 'freed' | 'blocked'>> {
  const [was, is] = [isClosed(before.status), isClosed(after.status)]
  return was === is ? { freed: [], blocked: [] } : ripple(ctx, after, is)
}

const criteria = (given: readonly (string | Acceptance)[]): Acceptance[] =>
  given.map((c) => (typeof c === 'string' ? { text: c, done: false } : c))

/** The one named, else the token's default. */
export async function projectFor(ctx: Ctx, ref: string | undefined): Promise<Project> {
  const named = ref ?? ctx.actor.projectId
  if (!named) throw invalid('/project', 'Say which project: give its id, slug or key (list_projects shows them).', 'required')
  const project = await projects.resolve(ctx, named)
  await projects.requireWriter(ctx, { organizationId: project.organizationId, projectId: project.id }, 'Planning in this project')
  if (project.status === 'archived')
    throw new AppError('conflict', `${project.name} is archived. Restore it first: archive_project with restore.`)
  return project
}

/** A story and a parent must be of the same project, and a task is no part of itself. */
async function checkPlace(ctx: Ctx, projectId: string, place: Pick<TaskPatch, 'storyId' | 'parentId'>, own?: string): Promise<void> {
  if (place.storyId) {
    const [story] = await ctx.db
      .select({ id: stories.id })
      .from(stories)
      .where(and(eq(stories.id, place.storyId), eq(stories.projectId, projectId), isNull(stories.deletedAt)))
    if (!story) throw notFound('story', place.storyId)
  }
  for (let at = place.parentId, depth = 0; at; depth++) {
    const parent = await inProject(ctx, at, projectId)
    if (parent.id === own) throw new AppError('conflict.cycle', 'A task cannot be a part of itself.')
    if (depth > 10) throw invalid('/parentId', 'Tasks can be nested ten levels deep.')
    at = parent.parentId
  }
}

async function lastPosition(ctx: Ctx, projectId: string): Promise<number> {
  const [row] = await ctx.db
    .select({ last: sql<number | null>`max(${tasks.position})` })
    .from(tasks)
    .where(eq(tasks.projectId, projectId))
  return Number(row?.last ?? 0)
}

/** Between a sibling and the one behind it, so that nobody else has to move. */
async function positionAfter(ctx: Ctx, task: Task, after: string | null): Promise<number> {
  const before = after === null ? undefined : await inProject(ctx, after, task.projectId)
  const [next] = await ctx.db
    .select({ position: sql<number | null>`min(${tasks.position})` })
    .from(tasks)
    .where(and(eq(tasks.projectId, task.projectId), live, ne(tasks.id, task.id), before ? gt(tasks.position, before.position) : undefined))
  const [low, high] = [before?.position, next?.position === null ? undefined : Number(next?.position)]
  if (low === undefined) return (high ?? 1) - 1
  return high === undefined ? low + 1 : (low + high) / 2
}

async function tellAssignee(ctx: Ctx, task: Task, assignee: Party | undefined): Promise<void> {
  if (assignee?.type !== 'user' || assignee.id === ctx.actor.userId) return
  const { name } = speaker(ctx)
  await notify(ctx, {
    userId: assignee.id,
    reason: 'assignment',
    title: `${task.key} is yours now`,
    message: `${name} assigned it to you: ${task.title}`,
    link: `/tasks/${task.key}`,
  })
}

export function announce(ctx: Ctx, type: string, task: Task, data: Record<string, unknown> = {}): void {
  ctx.emit(type, {
    subjectId: task.id,
    organizationId: task.organizationId,
    projectId: task.projectId,
    data: { key: task.key, title: task.title, status: task.status, version: task.version, ...data },
  })
}
