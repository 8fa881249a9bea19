import type { Ctx } from '../../action.ts'
import { type SyncRules, validateFields } from '../../records/sync.ts'
import { SkillCreate, SkillPatch } from './schema.ts'
import { create, remove, restore, skillColumns, update } from './service.ts'

export const skillSync: SyncRules<Ctx> = {
  columns: skillColumns,
  fields: { name: 'value', description: 'value', content: 'text', tags: 'set', scope: 'value' },
  create: (ctx, id, fields) => create(ctx, { ...validateFields(SkillCreate, fields), id }),
  update: (ctx, { id }, fields) => update(ctx, { ...validateFields(SkillPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
