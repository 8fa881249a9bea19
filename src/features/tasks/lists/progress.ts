import { type SQL, sql } from 'drizzle-orm'
import { idList } from '../../../db/columns.ts'
import { taskProgress } from '../../stories/rows.ts'
import type { Progress } from '../../stories/schema.ts'
import { stories } from '../../stories/table.ts'
import { tasks } from '../table.ts'

/** SQL condition: the done task `t` was completed by an agent. The daily sums use the same rule (migration 0040). */
export const byAgent = sql`coalesce(t.completed_by_type, t.assignee_type, 'user') = 'agent'`

const owners: Record<'epic' | 'story', SQL> = {
  epic: sql`select t.status, s.epic_id as owner, ${byAgent} as by_agent from ${tasks} t
    join ${stories} s on s.id = t.story_id and s.deleted_at is null where t.deleted_at is null`,
  story: sql`select t.status, t.story_id as owner, ${byAgent} as by_agent from ${tasks} t where t.deleted_at is null`,
}

/** Counts the tasks of epics and stories. Cancelled tasks do not count. */
export const storyProgress = taskProgress.handle(async (ctx, { of, ids }) => {
  const { rows } = await ctx.db.execute<{ owner: string } & Progress>(sql`
    select owner, count(*)::int as tasks, (count(*) filter (where status = 'done'))::int as done,
      (count(*) filter (where status = 'done' and by_agent))::int as agents
    from (${owners[of]}) counted where owner = any(${idList(ids)}::uuid[]) and status <> 'cancelled' group by owner`)
  return new Map(rows.map(({ owner, ...counted }) => [owner, counted]))
})
