import { sql } from 'drizzle-orm'
import type { Source } from '../search/source.ts'
import { decisions } from './table.ts'

export const decisionSource: Source = {
  kind: 'decision',
  table: decisions,
  title: decisions.title,
  text: sql`concat_ws(e'\n\n', ${decisions.decision}, ${decisions.context}, ${decisions.rationale}, ${decisions.outcome})`,
  tags: decisions.tags,
  expiresAt: sql`case when ${decisions.status} = 'superseded' then ${decisions.updatedAt} end`,
}
