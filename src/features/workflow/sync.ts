import type { Ctx } from '../../action.ts'
import { renameField, type SyncRules, splitFields, validateFields } from '../../records/sync.ts'
import { id, object } from '../../schema.ts'
import { FeatureCreate, FeaturePatch } from './schema.ts'
import { create, remove, restore, update } from './service.ts'
import { features } from './table.ts'

const ofProject = object({ id: id({ description: 'projectId' }) })

/** A new feature starts in the first state of its project's workflow; any other state is a move through the gates. */
export const featureSync: SyncRules<Ctx> = {
  columns: {
    id: features.id,
    createdAt: features.createdAt,
    updatedAt: features.updatedAt,
    version: features.version,
    organizationId: features.organizationId,
    projectId: features.projectId,
    createdById: features.createdById,
    title: features.title,
    description: features.description,
    kind: features.kind,
    priority: features.priority,
    status: features.status,
    assigneeType: features.assigneeType,
    assigneeId: features.assigneeId,
    taskIds: features.taskIds,
    specId: features.specId,
    position: features.position,
  },
  fields: {
    title: 'value',
    description: 'text',
    kind: 'value',
    priority: 'value',
    status: 'value',
    assigneeId: 'value',
    taskIds: 'set',
    specId: 'value',
  },
  onCreate: ['projectId'],
  create: async (ctx, id, { projectId, ...fields }) => {
    const { now, later } = splitFields(fields, (name) => name === 'status')
    const input = validateFields(FeatureCreate, renameField(now, 'assigneeId', 'assignee'))
    const { id: project } = validateFields(ofProject, { id: projectId })
    const made = await create(ctx, { ...input, id, project })
    if (later.status !== undefined && later.status !== made.status)
      await update(ctx, { ...validateFields(FeaturePatch, later), ref: id })
  },
  update: (ctx, { id }, fields) =>
    update(ctx, { ...validateFields(FeaturePatch, renameField(fields, 'assigneeId', 'assignee')), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
