import { sql } from 'drizzle-orm'
import type { RecordKind } from '../../records/kind.ts'
import { visibleTo } from './rows.ts'
import * as service from './service.ts'
import { decisionSync } from './sync.ts'
import { decisions } from './table.ts'

export const decisionRecord: RecordKind = {
  kind: 'decision',
  table: decisions,
  title: decisions.title,
  scope: 'decisions:read',
  visible: visibleTo,
  status: decisions.status,
  inBriefs: true,
  search: {
    text: sql`concat_ws(e'\n\n', ${decisions.decision}, ${decisions.context}, ${decisions.rationale},
        ${decisions.outcome})`,
    tags: decisions.tags,
    agentId: sql`case when ${decisions.authorType} = 'agent' then ${decisions.authorId} end`,
    expiresAt: sql`case when ${decisions.status} = 'superseded' then ${decisions.updatedAt} end`,
  },
  resource: {
    title: 'Decision',
    references: 'Id',
    tool: 'get_decision',
    read: (ctx, ref) => service.get(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: decisionSync,
}
