import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { linkedRecords } from '../links/linked-records.ts'
import { projectNamesFor } from '../projects/rows.ts'
import { canChange } from './comments.ts'
import { taskParts } from './hooks.ts'
import { checkpointFor, taskPermissions } from './refusals.ts'
import type { TaskDetail } from './schema.ts'
import { findInFull } from './task-context.ts'

/** Returns a task with everything that a worker needs to start on it. */
export const getDetail = read('tasks.detail', member('tasks:read'), (ctx, { ref }: { ref: string }) =>
  detailOf(ctx, ref),
)

/** Permissions are computed when they are read: tools do not show them. */
export async function detailOf(ctx: Ctx, ref: string): Promise<TaskDetail> {
  const { found, near, blockers } = await findInFull(ctx, ref)
  const { task, project } = found
  // The two do not depend on each other, so both run at once.
  const [given, links] = await Promise.all([taskParts.call(ctx, { task }), linkedRecords(ctx, task)])
  const parts: Pick<TaskDetail, 'features'> = Object.assign({ features: [] }, ...given)
  return {
    ...task,
    project: { id: project.id, ...projectNamesFor(ctx, project) },
    lastCheckpoint: checkpointFor(ctx, found),
    ...near,
    ...parts,
    comments: near.comments.map((comment) => ({
      ...comment,
      get can() {
        return canChange(ctx, found, comment)
      },
    })),
    links,
    get can() {
      return taskPermissions(ctx, found, blockers)
    },
  }
}
