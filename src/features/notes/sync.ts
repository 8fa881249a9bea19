import type { Ctx } from '../../action.ts'
import { checked, type Synced } from '../../records/sync.ts'
import { visible } from './rows.ts'
import { NoteCreate, NotePatch } from './schema.ts'
import { create, remove, restore, update } from './service.ts'

export const noteSync: Synced<Ctx> = {
  columns: visible,
  fields: {
    title: 'value',
    content: 'text',
    tags: 'set',
    links: 'value',
    scope: 'value',
    projectId: 'value',
    pinned: 'value',
  },
  create: (ctx, id, fields) => create(ctx, { ...checked(NoteCreate, fields), id }),
  update: (ctx, { id }, fields) => update(ctx, { ...checked(NotePatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
  restore: (ctx, { id }) => restore(ctx, { ref: id }),
}
