import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { linkedWith } from '../links/linked.ts'
import { namesFor } from '../projects/rows.ts'
import { canChange } from './comments.ts'
import { taskParts } from './hooks.ts'
import { can } from './refusals.ts'
import type { TaskDetail } from './schema.ts'
import { findInFull } from './task-context.ts'

/** Returns a task with everything that a worker needs to start on it. */
export const detail = read('tasks.detail', member('tasks:read'), (ctx, { ref }: { ref: string }) => detailOf(ctx, ref))

/** What the caller may do is found out when it is read: tools do not show it. */
export async function detailOf(ctx: Ctx, ref: string): Promise<TaskDetail> {
  const { found, near } = await findInFull(ctx, ref)
  const { task, project } = found
  const parts: Pick<TaskDetail, 'features'> = Object.assign({ features: [] }, ...(await taskParts.call(ctx, { task })))
  const links = await linkedWith(ctx, task)
  return {
    ...task,
    project: { id: project.id, ...namesFor(ctx, project) },
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
      return can(ctx, found)
    },
  }
}
