import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { PART_SEPARATOR, type RecordKind, recentComments } from '../../records/kind.ts'
import { visibleTo } from './rows.ts'
import * as service from './service.ts'
import { decisionSync } from './sync.ts'
import { decisionComments, decisions } from './table.ts'

const ofDecision = sql`${decisionComments.decisionId} = ${decisions.id}`
const hasComments = sql`exists (select 1 from ${decisionComments} where ${ofDecision})`

const alternatives = sql`(select string_agg(
    concat_ws(e'\n', one ->> 'option', one ->> 'pros', one ->> 'cons'), ${PART_SEPARATOR})
  from jsonb_array_elements(${decisions.alternatives}) one)`

export const decisionRecord: RecordKind<Ctx> = {
  kind: 'decision',
  table: decisions,
  title: decisions.title,
  scope: 'decisions:read',
  visible: visibleTo,
  status: decisions.status,
  inBriefs: true,
  search: {
    text: sql`concat_ws(${PART_SEPARATOR}, ${decisions.decision},
        concat_ws(e'\n\n', ${decisions.context}, ${decisions.rationale}), ${decisions.outcome}, ${alternatives},
        ${recentComments(decisionComments.body, decisionComments.createdAt, ofDecision)})`,
    grown: sql`true`,
    several: hasComments,
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
