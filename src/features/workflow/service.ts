import { and, eq, isNull, max, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, person, requireRole, requireRoleOn } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { byReference, changeVersioned, idStarts, thereOrLately } from '../../records/rows.ts'
import { findParty } from '../agents/parties.ts'
import { projectOf } from '../projects/current.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { workflowOf } from '../projects/workflow.ts'
import * as specs from '../specs/service.ts'
import { specs as specTable } from '../specs/table.ts'
import { tasks } from '../tasks/table.ts'
import { requireNoCircle, setBlockers } from './dependencies.ts'
import { featureCreated, featureDeleted, featureOverridden, featureRestored, featureUpdated } from './events.ts'
import { featurePullRequests } from './hooks.ts'
import { move, tellAssignee } from './moves.ts'
import { find, findIn, page, present, type Ref, visible } from './reading.ts'
import { about, columns, type Row } from './rows.ts'
import type {
  Feature,
  FeatureAdvance,
  FeatureCreate,
  FeatureDetail,
  FeatureOverride,
  FeaturePage,
  FeaturePatch,
  FeatureQuery,
  FeatureReview,
} from './schema.ts'
import { featureEvidence, featureReviews, features } from './table.ts'

async function writable(ctx: Ctx, ref: Ref): Promise<{ row: Row; project: Project }> {
  const found = await find(ctx, ref)
  requireWriter(ctx, found.project)
  checkVersion(ctx, found.row)
  return found
}

function requireWriter(ctx: Ctx, project: Project): void {
  requireRoleOn(ctx.actor, project, 'member', 'Changing features of this project')
  if (project.status === 'archived') throw new AppError('conflict', 'This project is archived. Restore it first.')
}

// ---- reading

/** Of the current team, in projects that the caller may see. */
export const list = read(
  'workflow.list',
  member('features:read'),
  (ctx, query: FeatureQuery): Promise<FeaturePage> =>
    page(ctx, eq(features.organizationId, currentOrganization(ctx.actor)), query),
)

/**
 * Of one project, which may be another team's in a shared workspace; without one, of the token's, else of the current
 * team.
 */
export const listFor = read(
  'workflow.listFor',
  member('features:read'),
  async (ctx, { project: ref, ...query }: FeatureQuery & { project?: string }): Promise<FeaturePage> => {
    const project = await projectOf(ctx, ref)
    return project ? page(ctx, eq(features.projectId, project.id), query) : list(ctx, query)
  },
)

export const get = read('workflow.get', member('features:read'), async (ctx, ref: Ref): Promise<FeatureDetail> => {
  const { row, project } = await find(ctx, ref)
  const evidence = await ctx.db
    .select()
    .from(featureEvidence)
    .where(eq(featureEvidence.featureId, row.id))
    .orderBy(featureEvidence.id)
    .limit(200)
  const reviews = await ctx.db
    .select()
    .from(featureReviews)
    .where(eq(featureReviews.featureId, row.id))
    .orderBy(featureReviews.id)
    .limit(200)
  const pulls = await featurePullRequests.call(ctx, { featureId: row.id })
  const saidBy = (said: { actorType: 'user' | 'agent' | 'system'; actorId: string | null; actorName: string }) => ({
    type: said.actorType,
    id: said.actorId,
    name: said.actorName,
  })
  return {
    ...(await present(ctx, project, row)),
    spec: row.specId ? await specOf(ctx, row.specId) : null,
    evidence: evidence.map((e) => ({
      id: e.id,
      gate: e.gate,
      level: e.level,
      evidence: e.evidence,
      actor: saidBy(e),
      createdAt: e.createdAt,
    })),
    reviews: reviews.map((r) => ({
      id: r.id,
      verdict: r.verdict,
      comments: r.comment,
      actor: saidBy(r),
      createdAt: r.createdAt,
    })),
    pullRequests: pulls.flat(),
  }
})

/** By the path of its project; the two have to fit. */
export const getIn = read(
  'workflow.getIn',
  member('features:read'),
  (ctx, ref: Required<Ref>): Promise<FeatureDetail> => get(ctx, ref),
)

// ---- writing

async function assignedTo(ctx: Ctx, project: Project, ref: string) {
  const { type, id } = await findParty(ctx, project, ref)
  return { assigneeType: type, assigneeId: id }
}

export const create = write(
  'workflow.create',
  member('features:write'),
  async (ctx, { project: ref, ...input }: FeatureCreate & { project?: string }): Promise<Feature> => {
    const project = await projectOf(ctx, ref)
    if (!project) throw invalid('/project', 'Name the project: its id, slug or key.', 'required')
    requireWriter(ctx, project)
    const assigned = input.assignee === undefined ? {} : await assignedTo(ctx, project, input.assignee)
    const id = newId()
    await ctx.db.insert(features).values({
      ...assigned,
      id,
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      title: input.title.trim(),
      description: input.description,
      kind: input.kind ?? 'feature',
      priority: input.priority ?? 'medium',
      status: workflowOf(project).initial,
      taskIds: await tasksIn(ctx, project, input.taskIds ?? []),
      specId: input.specId === undefined ? null : await specIn(ctx, project, input.specId),
      position: (await lastPosition(ctx, project.id)) + 1,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    if (input.blockedBy?.length)
      await setBlockers(ctx, project, { id }, await featuresIn(ctx, project, input.blockedBy))
    const { row } = await findIn(ctx, id, project)
    ctx.emit(featureCreated, about(row))
    await tellAssignee(ctx, row)
    return present(ctx, project, row)
  },
)

export const update = write(
  'workflow.update',
  member('features:write'),
  async (ctx, { ref, project: inProject, status, evidence, level, ...patch }: FeaturePatch & Ref): Promise<Feature> => {
    const { row: before, project } = await writable(ctx, { ref, project: inProject })
    const moving = status !== undefined && status !== before.status
    if ((evidence || level) && !moving) throw invalid('/evidence', 'Evidence goes with the status to move to.')
    // Otherwise a gate could be walked around by calling a feature a chore for a moment.
    if (patch.kind !== undefined && patch.kind !== before.kind && before.status !== workflowOf(project).initial)
      throw new AppError(
        'conflict',
        'Work has begun, and the kind decides which gates it has to pass: it stays as it is.',
      )
    const { assignee, taskIds, specId, blockedBy, ...fields } = patch
    const assigned =
      assignee === undefined
        ? {}
        : assignee === null
          ? { assigneeType: null, assigneeId: null }
          : await assignedTo(ctx, project, assignee)
    const linked = taskIds === undefined ? {} : { taskIds: await tasksIn(ctx, project, taskIds) }
    const specified =
      specId === undefined ? {} : { specId: specId === null ? null : await specIn(ctx, project, specId) }
    if (blockedBy !== undefined) await setBlockers(ctx, project, before, await featuresIn(ctx, project, blockedBy))
    const moved = moving
      ? await move(
          ctx,
          project,
          { ...before, kind: patch.kind ?? before.kind },
          { by: 'advance', to: status, evidence },
          level,
        )
      : undefined
    const title = fields.title === undefined ? {} : { title: fields.title.trim() }
    const after = await change(ctx, before, {
      ...fields,
      ...title,
      ...assigned,
      ...linked,
      ...specified,
      ...(moved && { status: moved.to }),
    })
    const changed = Object.keys(patch)
    if (changed.length > 0 || !moved) ctx.emit(featureUpdated, about(after, { fields: changed }))
    if (moved) await moved.tell(after)
    if (after.assigneeId !== before.assigneeId) await tellAssignee(ctx, after)
    return present(ctx, project, after)
  },
  { versioned: true },
)

export const updateIn = write(
  'workflow.updateIn',
  member('features:write'),
  (ctx, patch: FeaturePatch & Required<Ref>): Promise<Feature> => update(ctx, patch),
  { versioned: true },
)

/** One step on, if its gate is passed. */
export const advance = write(
  'workflow.advance',
  member('features:write'),
  async (ctx, { ref, project: inProject, evidence, level }: FeatureAdvance & Ref): Promise<Feature> => {
    const { row: before, project } = await writable(ctx, { ref, project: inProject })
    const moved = await move(ctx, project, before, { by: 'advance', evidence }, level)
    const after = await change(ctx, before, { status: moved.to })
    await moved.tell(after)
    return present(ctx, project, after)
  },
  { versioned: true },
)

export const review = write(
  'workflow.review',
  member('features:write'),
  async (ctx, { ref, verdict, comments }: FeatureReview & Ref): Promise<Feature> => {
    const { row: before, project } = await writable(ctx, { ref })
    const moved = await move(ctx, project, before, { by: verdict }, undefined, comments)
    const after = await change(ctx, before, { status: moved.to })
    await moved.tell(after)
    return present(ctx, project, after)
  },
  { versioned: true },
)

/** Past the gates, by a person who manages the team and says why. The event is the audit entry. */
export const override = write(
  'workflow.override',
  person,
  async (ctx, { ref, status, reason }: FeatureOverride & Ref): Promise<Feature> => {
    const { row: before, project } = await find(ctx, { ref })
    requireRole(ctx.actor, project.organizationId, 'admin', 'Overriding a gate')
    requireWriter(ctx, project)
    checkVersion(ctx, before)
    const { states } = workflowOf(project)
    if (!states.includes(status)) throw invalid('/status', `status must be one of: ${states.join(', ')}.`, 'enum')
    const after = await change(ctx, before, { status })
    ctx.emit(featureOverridden, about(after, { from: before.status, to: status, reason: reason.trim() }))
    return present(ctx, project, after)
  },
  { versioned: true },
)

export const remove = write(
  'workflow.remove',
  member('features:write'),
  async (ctx, ref: Ref): Promise<{ id: string; deleted: true }> => {
    const { row: before } = await writable(ctx, ref)
    await change(ctx, before, { deletedAt: ctx.now })
    ctx.emit(featureDeleted, about(before))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const restore = write(
  'workflow.restore',
  member('features:write'),
  async (ctx, { ref }: Ref): Promise<Feature> => {
    const found = await byReference(ref, {
      id: (id) =>
        ctx.db
          .select({ ...columns, deletedAt: features.deletedAt })
          .from(features)
          .where(and(eq(features.id, id), visible(ctx, thereOrLately(features.deletedAt, ctx.now)))),
      name: async () => [],
      prefix: async () => [],
    })
    if (!found) throw notFound('feature', ref)
    const { deletedAt, ...before } = found
    const project = await projects.find(ctx, before.projectId)
    requireRole(ctx.actor, project.organizationId, 'admin', 'Restoring a feature')
    requireWriter(ctx, project)
    checkVersion(ctx, before)
    if (deletedAt === null) return present(ctx, project, before)
    const after = await change(ctx, before, { deletedAt: null })
    await requireNoCircle(ctx, project, after)
    ctx.emit(featureRestored, about(after))
    return present(ctx, project, after)
  },
  { idempotent: true, versioned: true },
)

// ---- parts

const change = (ctx: Ctx, before: Row, set: Partial<typeof features.$inferInsert>): Promise<Row> =>
  changeVersioned<typeof features, Row>(ctx, features, {
    columns: columns as never,
    before,
    set,
    what: 'this feature',
    again: async () => (await findIn(ctx, before.id)).row,
  })

async function featuresIn(ctx: Ctx, project: Project, refs: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const ref of refs) ids.push((await findIn(ctx, ref, project)).row.id)
  return [...new Set(ids)]
}

/** Tasks of the same project, by id, `TUT-42` or unique id prefix. */
async function tasksIn(ctx: Ctx, project: Project, refs: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const ref of refs) {
    const select = (match: SQL) =>
      ctx.db
        .select({ id: tasks.id })
        .from(tasks)
        .where(and(match, eq(tasks.projectId, project.id), isNull(tasks.deletedAt)))
        .limit(2)
    const found = await byReference<{ id: string }>(ref, {
      id: (id) => select(eq(tasks.id, id)),
      name: async (key) => {
        const number = key.toUpperCase().startsWith(`${project.key}-`) ? /-(\d{1,9})$/.exec(key)?.[1] : undefined
        return number ? select(eq(tasks.number, Number(number))) : []
      },
      prefix: (prefix) => select(idStarts(tasks.id, prefix)),
    })
    if (!found) throw notFound('task', ref)
    ids.push(found.id)
  }
  return [...new Set(ids)]
}

/** A spec of the same project. */
async function specIn(ctx: Ctx, project: Project, ref: string): Promise<string> {
  const { id, projectId } = await specs.find(ctx, ref, project)
  if (projectId !== project.id) throw notFound('spec', ref)
  return id
}

async function specOf(ctx: Ctx, id: string): Promise<FeatureDetail['spec']> {
  const [found] = await ctx.db
    .select({
      id: specTable.id,
      title: specTable.title,
      slug: specTable.slug,
      status: specTable.status,
      version: specTable.version,
    })
    .from(specTable)
    .where(and(eq(specTable.id, id), isNull(specTable.deletedAt)))
  return found ?? null
}

async function lastPosition(ctx: Ctx, projectId: string): Promise<number> {
  const [row] = await ctx.db
    .select({ last: max(features.position) })
    .from(features)
    .where(eq(features.projectId, projectId))
  return Number(row?.last ?? 0)
}
