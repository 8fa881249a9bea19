import type { Ctx } from '../../action.ts'
import { checked, type Synced } from '../../records/sync.ts'
import { own } from './rows.ts'
import { MemoryCreate, MemoryPatch } from './schema.ts'
import { put, remove, update } from './service.ts'

export const memorySync: Synced<Ctx> = {
  columns: own,
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
    const { embedding: _, ...input } = checked(MemoryCreate, fields)
    return put(ctx, { ...input, id })
  },
  update: (ctx, { id }, fields) => update(ctx, { ...checked(MemoryPatch, fields), ref: id }),
  remove: (ctx, { id }) => remove(ctx, { ref: id }),
}
