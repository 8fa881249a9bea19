import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { RecordKind } from '../../records/kind.ts'
import { visibleTo } from './rows.ts'
import * as service from './service.ts'
import { memorySync } from './sync.ts'
import { memories } from './table.ts'

export const memoryRecord: RecordKind<Ctx> = {
  kind: 'memory',
  table: memories,
  title: sql`coalesce(${memories.title}, left(${memories.content}, 100))`,
  scope: 'memories:read',
  visible: visibleTo,
  inBriefs: true,
  search: 'own',
  resource: {
    title: 'Memory',
    references: 'Id',
    tool: 'search_memory',
    read: (ctx, ref) => service.get(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: memorySync,
}
