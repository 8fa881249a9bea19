import { sql } from 'drizzle-orm'
import { and } from '../../db/conditions.ts'
import { mayRead } from '../../records/readable.ts'
import { taskParts } from '../tasks/hooks.ts'
import { visibleTo } from './reading.ts'
import { features } from './table.ts'

/** Returns the features that name the task; nothing if the credential's scopes do not allow reading features. */
export const featuresOfTask = taskParts.handle(async (ctx, { task }) => {
  if (!mayRead(ctx, 'feature')) return {}
  const found = await ctx.db
    .select({ id: features.id, title: features.title, status: features.status })
    .from(features)
    .where(
      and(
        sql`${features.projectId} = ${task.projectId}`,
        sql`${features.taskIds} @> jsonb_build_array(${task.id}::text)`,
        visibleTo(ctx),
      ),
    )
    .orderBy(features.position, features.id)
    .limit(20)
  return { features: found }
})
