import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type SyncEntity, validateFields } from '../../records/sync.ts'
import { LinkCreate } from './schema.ts'
import { create, remove } from './service.ts'
import { links } from './table.ts'

/** Links are added and removed, never changed. They sync with both of their ends. */
export const linkSync: SyncEntity<Ctx> = {
  entity: 'link',
  table: links,
  scope: 'links:read',
  version: sql`1`,
  columns: {
    id: links.id,
    createdAt: links.createdAt,
    createdById: links.createdById,
    fromType: links.fromType,
    fromId: links.fromId,
    toType: links.toType,
    toId: links.toId,
    kind: links.kind,
  },
  fields: {},
  onCreate: ['fromType', 'fromId', 'toType', 'toId', 'kind'],
  ends: [
    { kind: links.fromType, id: links.fromId },
    { kind: links.toType, id: links.toId },
  ],
  create: (ctx, id, fields) => create(ctx, { ...validateFields(LinkCreate, fields), id }),
  remove: (ctx, { id }) => remove(ctx, { id }),
}
