import { isNull, sql } from 'drizzle-orm'
import { anyRights, rightsOf } from '../../auth/rights.ts'
import { and } from '../../db/conditions.ts'
import { prepare } from '../../db/session.ts'
import { mayRead } from '../../records/readable.ts'
import { inVisibleProject } from '../projects/visible.ts'
import { taskParts } from '../tasks/hooks.ts'
import { features } from './table.ts'

const select = prepare((db) =>
  db
    .select({ id: features.id, title: features.title, status: features.status })
    .from(features)
    .where(
      and(
        sql`${features.projectId} = ${sql.placeholder('projectId')}`,
        sql`${features.taskIds} @> jsonb_build_array(${sql.placeholder('taskId')}::text)`,
        isNull(features.deletedAt),
        inVisibleProject(features.projectId, anyRights),
      ),
    )
    .orderBy(features.position, features.id)
    .limit(20),
)

/** Returns the features that name the task; empty if the credential's scopes do not allow reading features. */
export const featuresOfTask = taskParts.handle(async (ctx, { task }) => {
  if (!mayRead(ctx, 'feature')) return {}
  const { id: taskId, projectId } = task
  return { features: await select(ctx.db, { taskId, projectId, ...rightsOf(ctx.actor) }) }
})
