import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { idList } from '../../../db/columns.ts'
import { taskDependencies, tasks } from '../table.ts'

/**
 * Locks tasks, their parents, blockers and waiters, and `others`, in the order of their ids. Call it before a change
 * that opens, closes, deletes or restores tasks, or changes their parent or blockers: triggers then write to those rows
 * too (migration 0026). Without it, two callers that each hold one row could deadlock.
 */
export async function lockNeighbours(ctx: Ctx, which: SQL, others: readonly string[] = []): Promise<void> {
  await ctx.db.execute(sql`select 1 from ${tasks} t where t.id = any(array(
      with root as (select ${tasks.id}, ${tasks.parentId} from ${tasks} where ${which})
      select id from root union select parent_id from root union select unnest(${idList(others)}::uuid[])
      union select d.task_id from root join ${taskDependencies} d on d.blocked_by_id = root.id and d.kind = 'blocks'
      union select d.blocked_by_id from root join ${taskDependencies} d on d.task_id = root.id and d.kind = 'blocks'
    )) order by t.id for no key update`)
}
