import { eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member, refuse } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { invalid } from '../../errors.ts'
import { lastPosition } from '../../records/positions.ts'
import { changeLabels, isClosed, type LabelChange, type Status } from '../../records/work.ts'
import { findParty, sameParty } from '../agents/parties.ts'
import { lockProject } from '../projects/lock.ts'
import { clearTicks, criteria, ticked } from './acceptance/acceptance.ts'
import { addEvidence } from './acceptance/evidence.ts'
import { assigned, consequences, lockForChange, moved, stillOpen, store, tellAssignee } from './changing.ts'
import { comment } from './comments.ts'
import { findBlockers, relate, setBlockers } from './dependencies/dependencies.ts'
import { lockNeighbours } from './dependencies/neighbours.ts'
import { taskCompleted, taskCreated, taskUpdated } from './events.ts'
import { checkPlace, positionAfter, projectFor, takeNumbers } from './places.ts'
import { blockedRefusal, changing, permitted } from './refusals.ts'
import { about, type Found, find, HIDDEN } from './rows.ts'
import type { Task, TaskChanged, TaskCreate, TaskPatch } from './schema.ts'
import { tasks } from './table.ts'

export { complete, completeMany } from './acceptance/completion.ts'
export { detail } from './detail.ts'
export { board, counts, list } from './lists/lists.ts'

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
    if (blockers.length > 0)
      await setBlockers(ctx, { id, organizationId: project.organizationId, projectId: project.id }, blockers)
    const task = await find(ctx, id)
    ctx.emit(taskCreated, about(task))
    if (origin) await relate(ctx, { ref: id, task: origin.id, kind: 'discovered_from' })
    await tellAssignee(ctx, task, assignee)
    return task
  },
)

/**
 * Changes the given fields, and adds the evidence and the comment. A comment alone can be added to a task that someone
 * else holds.
 */
export const update = write(
  'tasks.update',
  changing,
  async (
    ctx,
    { ref, comment: said, asks, evidence, dependencyId, ...patch }: TaskPatch & { ref: string; dependencyId?: string },
  ): Promise<TaskChanged> => {
    const isChange = (said ?? evidence) === undefined || Object.keys(patch).length > 0
    const found = await permitted(ctx, ref, isChange || evidence ? 'update' : 'comment')
    checkVersion(ctx, found.task)
    const changed = isChange
      ? await change(ctx, found, patch, dependencyId)
      : { ...found.task, ...stillOpen(found.task), freed: [], blocked: [] }
    if (evidence) await addEvidence(ctx, changed, evidence)
    if (said !== undefined) await comment(ctx, { ref: found.task.id, body: said, asks })
    return changed
  },
  { versioned: true },
)

async function change(
  ctx: Ctx,
  found: Found,
  { keepTicks, ...patch }: Omit<TaskPatch, 'comment' | 'asks' | 'evidence'>,
  dependencyId: string | undefined,
): Promise<TaskChanged> {
  const { task: before, project } = found
  if (patch.storyId || patch.parentId) await lockProject(ctx, before.projectId)
  await checkPlace(ctx, before.projectId, patch, before.id)
  const { blockedBy, assignee: named, after, acceptance: given, accepted, status, title, ...rest } = patch
  const { labels, addLabels, removeLabels, ...plain } = rest
  const cleared = status && !keepTicks ? ticksClearedBy(before, status) : []
  const known = cleared.length > 0 ? clearTicks(before.acceptance) : before.acceptance
  const acceptance =
    given || accepted || cleared.length > 0 ? ticked(given ? criteria(given, known) : known, accepted) : undefined
  const blockers = blockedBy && (await findBlockers(ctx, before.organizationId, blockedBy))
  await lockForChange(ctx, before, patch, blockers)
  // A caller who sends back the list that they read keeps the blockers that they cannot see.
  if (blockers) await setBlockers(ctx, before, blockers, { keepHidden: blockedBy.includes(HIDDEN), dependencyId })
  const assignee = named ? await findParty(ctx, project, named) : undefined
  if (status && status !== before.status)
    refuse(blockedRefusal(blockedBy ? await find(ctx, before.id) : before, status))
  const changed = await store(ctx, before, {
    ...plain,
    ...(title !== undefined && { title: title.trim() }),
    ...((labels || addLabels || removeLabels) && { labels: relabelled(before, rest) }),
    ...(acceptance && { acceptance }),
    ...(after !== undefined && { position: await positionAfter(ctx, before, after) }),
    ...(named !== undefined && assigned(ctx, before, assignee)),
    ...(status && moved(ctx, found, status, acceptance)),
  })
  const history = { fields: Object.keys(patch), ...(status && { from: before.status }) }
  if (changed.status === 'done' && before.status !== 'done') ctx.emit(taskCompleted, about(changed, history, before))
  else ctx.emit(taskUpdated, about(changed, { ...history, ...(cleared.length > 0 && { cleared }) }, before))
  if (assignee && !(before.assignee && sameParty(before.assignee, assignee))) await tellAssignee(ctx, changed, assignee)
  return { ...changed, ...stillOpen(changed), ...(await consequences(ctx, before, changed)) }
}

/** Returns the criteria that a change of status unticks: reopening a task unticks all. */
const ticksClearedBy = ({ status: before, acceptance }: Task, status: Status): string[] =>
  isClosed(before) && !isClosed(status) ? acceptance.filter(({ done }) => done).map(({ text }) => text) : []

const MOST_LABELS = 50

function relabelled(before: Task, change: LabelChange): string[] {
  const after = changeLabels(before.labels, change)
  if (after.length > MOST_LABELS)
    throw invalid(
      '/addLabels',
      `A task can have at most ${MOST_LABELS} labels; ${before.key} would have ${after.length}.`,
    )
  return after
}
