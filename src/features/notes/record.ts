import type { Ctx } from '../../action.ts'
import { personalOwner, type RecordKind } from '../../records/kind.ts'
import { noteDeleted } from './events.ts'
import { visibleTo } from './rows.ts'
import * as service from './service.ts'
import { noteSync } from './sync.ts'
import { notes } from './table.ts'

export const noteRecord: RecordKind<Ctx> = {
  kind: 'note',
  table: notes,
  title: notes.title,
  scope: 'notes:read',
  visible: visibleTo,
  deleted: noteDeleted,
  key: notes.slug,
  ownerId: notes.createdById,
  ownLinks: notes.links,
  inBriefs: true,
  search: { text: notes.content, tags: notes.tags, userId: personalOwner(notes) },
  resource: {
    title: 'Note',
    references: 'Slug or id',
    tool: 'get_note',
    read: (ctx, ref) => service.detail(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: noteSync,
}
