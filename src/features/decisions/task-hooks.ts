import { eq, sql } from 'drizzle-orm'
import { rightsOf } from '../../auth/rights.ts'
import { idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { mayRead } from '../../records/readable.ts'
import { links } from '../links/table.ts'
import { flaggedTasks } from '../tasks/hooks.ts'
import { visibleTo } from './rows.ts'
import { decisions } from './table.ts'

/** The tasks that are linked with a proposed decision. */
export const flagProposedDecisions = flaggedTasks.handle((ctx, { tasks }) => {
  if (!mayRead(ctx, 'decision')) return undefined
  const ids = idList(tasks.map(({ id }) => id))
  const linked = sql`(select ${links.fromId} as task_id, ${links.toId} as decision_id from ${links}
      where ${links.fromId} = any(${ids}::uuid[]) and ${links.toType} = 'decision'
    union all select ${links.toId}, ${links.fromId} from ${links}
      where ${links.toId} = any(${ids}::uuid[]) and ${links.fromType} = 'decision') linked`
  const which = and(eq(decisions.status, 'proposed'), visibleTo(rightsOf(ctx.actor)))
  return {
    flag: 'needs_decision',
    ids: sql`select linked.task_id::text from ${decisions} join ${linked} on linked.decision_id = ${decisions.id}
      where ${which}`,
  }
})
