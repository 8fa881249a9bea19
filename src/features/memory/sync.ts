import { checked, type Synced } from '../../records/sync.ts'
import { MemoryCreate, MemoryPatch } from './schema.ts'
import { put, remove, update } from './service.ts'
import { memories } from './table.ts'

export const memorySync: Synced = {
  columns: {
    id: memories.id,
    createdAt: memories.createdAt,
    updatedAt: memories.updatedAt,
    version: memories.version,
    organizationId: memories.organizationId,
    projectId: memories.projectId,
    scope: memories.scope,
    scopeId: memories.scopeId,
    createdById: memories.createdById,
    authorType: memories.authorType,
    authorId: memories.authorId,
    authorName: memories.authorName,
    title: memories.title,
    content: memories.content,
    tags: memories.tags,
    source: memories.source,
    importance: memories.importance,
    expiresAt: memories.expiresAt,
    supersedes: memories.supersedes,
    supersededById: memories.supersededById,
  },
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
