import type { Ctx } from '../../action.ts'
import { invalid } from '../../errors.ts'
import { changeMany } from '../tasks/many/batch.ts'
import type { ChangedMany, ChangeRequest } from '../tasks/many/many-schema.ts'
import { changeMatching } from './matching.ts'
import type { ChangeProgress } from './schema.ts'

type Answer = { listed: ChangedMany; matching?: undefined } | { matching: ChangeProgress; listed?: undefined }

/** Changes the listed tasks at once, or lets a job change all that match. */
export async function changeListOrMatching(
  ctx: Ctx,
  { tasks, where, expect, change: { comment, ...change } }: ChangeRequest,
): Promise<Answer> {
  if (tasks && (where ?? expect) !== undefined) throw invalid('/where', 'Give either `tasks` or `where`, not both.')
  if (tasks)
    return { listed: await changeMany(ctx, { tasks, change: comment === undefined ? change : { ...change, comment } }) }
  if (!where) throw invalid('/tasks', 'Give the tasks to change, or a filter as `where`.', 'required')
  if (expect === undefined) throw invalid('/expect', 'Give the number of tasks that match `where`.', 'required')
  if (comment !== undefined) throw invalid('/change/comment', 'A comment can only be added to listed tasks.')
  return { matching: await changeMatching(ctx, { where, expect, change }) }
}
