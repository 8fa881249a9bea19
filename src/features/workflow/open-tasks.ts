import { and, eq, isNull, notInArray } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { mayRead } from '../../records/readable.ts'
import { closedStatuses } from '../../records/task-states.ts'
import { quoteText } from '../../text/quoting.ts'
import type { Project } from '../projects/schema.ts'
import { isClosed, providedBy, workflowOf } from '../projects/workflow/workflow.ts'
import type { Missing } from '../projects/workflow/workflow-schema.ts'
import { tasks } from '../tasks/table.ts'
import type { Row } from './rows.ts'

const MOST_NAMED = 5

/**
 * Returns the open tasks that keep a feature from being closed by a move to state `to`: they have to be done or
 * cancelled. A task that was deleted or moved to another project no longer counts.
 */
export async function openTasks(
  ctx: Ctx,
  project: Project,
  { taskIds }: Pick<Row, 'taskIds'>,
  to: string,
): Promise<Missing[]> {
  if (taskIds.length === 0 || !isClosed(workflowOf(project), to)) return []
  const open = await ctx.db
    .select({ number: tasks.number, title: tasks.title, status: tasks.status })
    .from(tasks)
    .where(
      and(
        anyOf(tasks.id, idList(taskIds)),
        eq(tasks.projectId, project.id),
        isNull(tasks.deletedAt),
        notInArray(tasks.status, [...closedStatuses]),
      ),
    )
    .orderBy(tasks.number)
  const named = mayRead(ctx, 'task') ? open.slice(0, MOST_NAMED) : []
  const others = open.length - named.length
  return [
    ...named.map(({ number, title, status }) => {
      const key = `${project.key}-${number}`
      return {
        item: `task ${key}`,
        needs: `${quoteText(title)}, which is ${status}, to be done or cancelled`,
        ...completeTaskCall(key),
      }
    }),
    ...(others > 0
      ? [{ item: 'tasks', needs: `${others} more of its tasks to be done or cancelled`, ...completeTaskCall('<task>') }]
      : []),
  ]
}

const completeTaskCall = (key: string) =>
  providedBy({
    tool: 'complete_task',
    route: `POST /api/tasks/${key.startsWith('<') ? '{id}' : key}/complete`,
    command: `tutti tasks complete ${key}`,
  })
