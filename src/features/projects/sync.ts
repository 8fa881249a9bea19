import type { Ctx } from '../../action.ts'
import { type SyncRules, validateFields } from '../../records/sync.ts'
import { remove, restore } from './deletion.ts'
import { projectColumns } from './rows.ts'
import { ProjectCreate, ProjectPatch } from './schema.ts'
import { create, update } from './service.ts'

/** Devices cannot change the visibility of a project, or archive it. */
export const projectSync: SyncRules<Ctx> = {
  columns: projectColumns,
  fields: { name: 'value', description: 'text', color: 'value', settings: 'value', key: 'value' },
  onCreate: ['visibility'],
  create: (ctx, id, fields) => create(ctx, { ...validateFields(ProjectCreate, fields), id }),
  update: (ctx, { id }, fields) => update(ctx, { ...validateFields(ProjectPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
