import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { linkedWith } from '../links/linked.ts'
import { namesFor } from '../projects/rows.ts'
import { canChange } from './comments.ts'
import { taskParts } from './hooks.ts'
import { can } from './refusals.ts'
import { type Found, findWithProject } from './rows.ts'
import type { TaskDetail } from './schema.ts'
import { around } from './task-context.ts'

/** Returns a task with everything that a worker needs to start on it. */
export const detail = read(
  'tasks.detail',
  member('tasks:read'),
  async (ctx, { ref }: { ref: string }): Promise<TaskDetail> => detailOf(ctx, await findWithProject(ctx, ref)),
)

export async function detailOf(ctx: Ctx, found: Found): Promise<TaskDetail> {
  const { task, project } = found
  const { comments, ...near } = await around(ctx, task.id)
  const parts: Pick<TaskDetail, 'features'> = Object.assign({ features: [] }, ...(await taskParts.call(ctx, { task })))
  return {
    ...task,
    project: { id: project.id, ...namesFor(ctx, project) },
    ...near,
    ...parts,
    comments: comments.map((comment) => ({ ...comment, can: canChange(ctx, found, comment) })),
    links: await linkedWith(ctx, task),
    can: can(ctx, found),
  }
}
