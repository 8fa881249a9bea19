import { and, eq, max } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { requireRestorer } from '../../records/restore-rights.ts'
import { findByReference, isRestorable } from '../../records/rows.ts'
import { requireProject } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { workflowOf } from '../projects/workflow/workflow.ts'
import { requireNoCircle, setBlockers } from './dependencies.ts'
import { featureCreated, featureDeleted, featureRestored, featureUpdated } from './events.ts'
import { moveFeature, notifyFeatureAssignee } from './moves.ts'
import { type FeatureFilter, findIn, listFeatures, type Ref, toFeature, visibleTo } from './reading.ts'
import { featuresIn, findAssignee, specIn, tasksIn } from './references.ts'
import { featureColumns, featureEvent } from './rows.ts'
import type { Feature, FeatureCreate, FeaturePage, FeaturePatch } from './schema.ts'
import { features } from './table.ts'
import { changeFeature, findWritableFeature, requireWriter } from './writing.ts'

/** Lists the features of a project; without a project, those of the current team. */
export const list = read(
  'workflow.list',
  member('features:read'),
  (ctx, query: FeatureFilter): Promise<FeaturePage> => listFeatures(ctx, query),
)

export const create = write(
  'workflow.create',
  member('features:write'),
  async (ctx, { project: ref, ...input }: FeatureCreate & { id?: string; project?: string }): Promise<Feature> => {
    const project = await requireProject(ctx, ref)
    requireWriter(ctx, project)
    const assigned = input.assignee === undefined ? {} : await findAssignee(ctx, project, input.assignee)
    const id = input.id ?? newId()
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
    ctx.emit(featureCreated, featureEvent(row))
    await notifyFeatureAssignee(ctx, row)
    return toFeature(ctx, project, row)
  },
)

export const update = write(
  'workflow.update',
  member('features:write'),
  async (ctx, { ref, project: inProject, status, evidence, level, ...patch }: FeaturePatch & Ref): Promise<Feature> => {
    const { row: before, project } = await findWritableFeature(ctx, { ref, project: inProject })
    const moving = status !== undefined && status !== before.status
    if ((evidence || level) && !moving) throw invalid('/evidence', 'Send evidence together with the status to move to.')
    // Otherwise a feature could skip a gate by being a chore for a moment.
    if (patch.kind !== undefined && patch.kind !== before.kind && before.status !== workflowOf(project).initial)
      throw new AppError(
        'conflict',
        'Work has begun, so the kind cannot change: it decides which gates the feature must pass.',
      )
    const { assignee, taskIds, specId, blockedBy, ...fields } = patch
    const assigned =
      assignee === undefined
        ? {}
        : assignee === null
          ? { assigneeType: null, assigneeId: null }
          : await findAssignee(ctx, project, assignee)
    const linked = taskIds === undefined ? {} : { taskIds: await tasksIn(ctx, project, taskIds) }
    const specified =
      specId === undefined ? {} : { specId: specId === null ? null : await specIn(ctx, project, specId) }
    if (blockedBy !== undefined) await setBlockers(ctx, project, before, await featuresIn(ctx, project, blockedBy))
    const moved = moving
      ? await moveFeature(
          ctx,
          project,
          { ...before, ...linked, kind: patch.kind ?? before.kind },
          { by: 'advance', to: status, evidence },
          level,
        )
      : undefined
    const title = fields.title === undefined ? {} : { title: fields.title.trim() }
    const after = await changeFeature(ctx, before, {
      ...fields,
      ...title,
      ...assigned,
      ...linked,
      ...specified,
      ...(moved && { status: moved.to }),
    })
    const changed = Object.keys(patch)
    if (changed.length > 0 || !moved) ctx.emit(featureUpdated, featureEvent(after, { fields: changed }))
    if (moved) await moved.notify(after)
    if (after.assigneeId !== before.assigneeId) await notifyFeatureAssignee(ctx, after)
    return toFeature(ctx, project, after)
  },
  { versioned: true },
)

export const updateIn = write(
  'workflow.updateIn',
  member('features:write'),
  (ctx, patch: FeaturePatch & Required<Ref>): Promise<Feature> => update(ctx, patch),
  { versioned: true },
)

export const remove = write(
  'workflow.remove',
  member('features:write'),
  async (ctx, ref: Ref): Promise<{ id: string; deleted: true }> => {
    const { row: before } = await findWritableFeature(ctx, ref)
    ctx.emit(featureDeleted, featureEvent(await changeFeature(ctx, before, { deletedAt: ctx.now })))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const restore = write(
  'workflow.restore',
  member('features:write'),
  async (ctx, { ref }: Ref): Promise<Feature> => {
    const found = await findByReference(ref, {
      id: (id) =>
        ctx.db
          .select({ ...featureColumns, deletedAt: features.deletedAt })
          .from(features)
          .where(and(eq(features.id, id), visibleTo(ctx, isRestorable(features.deletedAt, ctx.now)))),
      name: async () => [],
      prefix: async () => [],
    })
    if (!found) throw notFound('feature', ref)
    const { deletedAt, ...before } = found
    const project = await projects.findProject(ctx, before.projectId)
    await requireRestorer(ctx, { ...before, deletedAt }, featureDeleted, 'Restoring a feature')
    requireWriter(ctx, project)
    checkVersion(ctx, before)
    if (deletedAt === null) return toFeature(ctx, project, before)
    const after = await changeFeature(ctx, before, { deletedAt: null })
    await requireNoCircle(ctx, project, after)
    ctx.emit(featureRestored, featureEvent(after))
    return toFeature(ctx, project, after)
  },
  { idempotent: true, versioned: true },
)

async function lastPosition(ctx: Ctx, projectId: string): Promise<number> {
  const [row] = await ctx.db
    .select({ last: max(features.position) })
    .from(features)
    .where(eq(features.projectId, projectId))
  return Number(row?.last ?? 0)
}
