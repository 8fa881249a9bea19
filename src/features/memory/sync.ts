import type { Ctx } from '../../action.ts'
import { type SyncRules, validateFields } from '../../records/sync.ts'
import { memoryColumns } from './rows.ts'
import { MemoryCreate, MemoryPatch } from './schema.ts'
import { remove, storePrepared, update } from './service.ts'

export const memorySync: SyncRules<Ctx> = {
  columns: memoryColumns,
  fields: {
    title: 'value',
    content: 'text',
    tags: 'set',
    source: 'value',
    importance: 'value',
    expiresAt: 'value',
  },
  onCreate: ['scope', 'scopeId', 'supersedes'],
  create: (ctx, id, fields) => {
    const { embedding: _, ...input } = validateFields(MemoryCreate, fields)
    return storePrepared(ctx, { ...input, id })
  },
  update: (ctx, { id }, fields) => update(ctx, { ...validateFields(MemoryPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
}
