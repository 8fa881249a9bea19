/** What is still open in a task that someone is about to complete. */
import type { TaskDetail } from '../../../../features/tasks/schema.ts'
import { isClosed } from '../../../../records/task-states.ts'

export const isOpen = ({ status }: { status: string }): boolean => !isClosed(status)

export function openItems({ acceptance, subtasks, lease }: TaskDetail, meId: string) {
  const isMine = lease?.holder.type === 'user' && lease.holder.id === meId
  return {
    criteria: acceptance.filter(({ done }) => !done),
    parts: subtasks.filter(isOpen),
    /** The live claim of another worker. */
    claim: isMine ? null : lease,
  }
}

export function isFinished(task: TaskDetail, meId: string): boolean {
  const { criteria, parts, claim } = openItems(task, meId)
  return criteria.length === 0 && parts.length === 0 && claim === null
}
