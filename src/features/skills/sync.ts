import type { Ctx } from '../../action.ts'
import { checked, type Synced } from '../../records/sync.ts'
import { SkillCreate, SkillPatch } from './schema.ts'
import { create, remove, restore, update, visible } from './service.ts'

export const skillSync: Synced<Ctx> = {
  columns: visible,
  fields: { name: 'value', description: 'value', content: 'text', tags: 'set', scope: 'value' },
  create: (ctx, id, fields) => create(ctx, { ...checked(SkillCreate, fields), id }),
  update: (ctx, { id }, fields) => update(ctx, { ...checked(SkillPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
