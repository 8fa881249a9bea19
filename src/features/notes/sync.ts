import type { Ctx } from '../../action.ts'
import { type SyncRules, validateFields } from '../../records/sync.ts'
import { noteColumns } from './rows.ts'
import { NoteCreate, NotePatch } from './schema.ts'
import { create, remove, restore, update } from './service.ts'

export const noteSync: SyncRules<Ctx> = {
  columns: noteColumns,
  fields: {
    title: 'value',
    content: 'text',
    tags: 'set',
    links: 'value',
    scope: 'value',
    projectId: 'value',
    pinned: 'value',
  },
  create: (ctx, id, fields) => create(ctx, { ...validateFields(NoteCreate, fields), id }),
  update: (ctx, { id }, fields) => update(ctx, { ...validateFields(NotePatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
