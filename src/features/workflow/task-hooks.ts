import { isNull, sql } from 'drizzle-orm'
import { anyRights, rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { prepare } from '../../db/session.ts'
import { mayRead } from '../../records/readable.ts'
import { inVisibleProject } from '../projects/visible.ts'
import { flaggedTasks, taskParts } from '../tasks/hooks.ts'
import { featureEvidence, featureReviews, features } from './table.ts'

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

/**
 * SQL condition: the last review of the feature requested changes, and no evidence was submitted since. A scalar, like
 * the next one, because for `exists` the planner may read the reviews and the evidence of all features.
 */
const isReviewUnanswered = sql`coalesce((select r.verdict = 'changes_requested'
    and not exists (select from ${featureEvidence} e
      where e.feature_id = ${features.id} and e.id > r.id and e.reopened_at is null)
  from ${featureReviews} r where r.feature_id = ${features.id} order by r.created_at desc, r.id desc limit 1), false)`

/** SQL condition: evidence of the feature was found to be missing, and none took its place. */
const isEvidenceMissing = sql`coalesce((select true from ${featureEvidence} e
  where e.feature_id = ${features.id} and e.level = 'missing'
    and not exists (select from ${featureEvidence} l
      where l.feature_id = ${features.id} and l.gate = e.gate and l.id > e.id and l.reopened_at is null)
  limit 1), false)`

/** The tasks of features whose review or evidence asks for changes. */
export const flagChangesAsked = flaggedTasks.handle((ctx, { tasks }) => {
  if (!mayRead(ctx, 'feature')) return undefined
  const projectIds = idList([...new Set(tasks.map(({ projectId }) => projectId))])
  const taskIds = idList(tasks.map(({ id }) => id))
  const which = and(
    anyOf(features.projectId, projectIds),
    isNull(features.deletedAt),
    sql`${features.taskIds} ?| ${taskIds}::text[]`,
    inVisibleProject(features.projectId, rightsOf(ctx.actor)),
    or(isReviewUnanswered, isEvidenceMissing),
  )
  return {
    flag: 'changes_asked',
    ids: sql`select jsonb_array_elements_text(${features.taskIds}) from ${features} where ${which}`,
  }
})
