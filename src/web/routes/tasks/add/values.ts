/** The values of a task that is added at the end of a column or a group: those of the group and of the filters. */
import type { TaskGroup } from '../../../../features/tasks/lists/list-schema.ts'
import type { TaskCreate } from '../../../../features/tasks/schema.ts'
import type { Priority, Status } from '../../../../records/task-states.ts'
import { parseFilter, type TaskGrouping, type TaskSearch } from '../search.ts'

const addableStates = ['backlog', 'todo', 'in_progress', 'in_review'] as const satisfies readonly Status[]
type AddableStatus = (typeof addableStates)[number]

export interface AddValues extends Pick<TaskCreate, 'assignee' | 'labels' | 'priority'> {
  status?: AddableStatus
}

/** Whether people begin tasks in this state: nothing starts as done or blocked. */
export const isAddable = (status: string | null): status is AddableStatus =>
  (addableStates as readonly (string | null)[]).includes(status)

/** Returns the values that put a new task into a group of a list; undefined if none can be added there. */
export function groupValues({ value }: TaskGroup, by: TaskGrouping): AddValues | undefined {
  if (by === 'status') return isAddable(value) ? { status: value } : undefined
  if (by === 'priority') return { priority: value as Priority }
  // A new task has no label, epic, assignee or holder.
  if (value === null || by === 'project') return {}
  if (by === 'assignee') return { assignee: value }
  return by === 'label' ? { labels: [value] } : undefined
}

/** The value of a filter that names exactly one. */
function onlyValue(list: string | undefined): string | undefined {
  const { values, isNot } = parseFilter(list)
  return list !== undefined && !isNot && values.length === 1 ? values[0] : undefined
}

/** Returns the values of the group, and those that the filters name. */
export function addedValues(group: AddValues, search: TaskSearch): AddValues {
  const [label, assignee] = [onlyValue(search.label), onlyValue(search.assignee)]
  const priority = onlyValue(search.priority) as Priority | undefined
  const status = onlyValue(search.status) ?? null
  return {
    ...(isAddable(status) && { status }),
    ...(priority && { priority }),
    ...(assignee && assignee !== 'none' && { assignee }),
    ...group,
    labels: [...new Set([...(group.labels ?? []), ...(label ? [label] : [])])],
  }
}

/** Whether the filters ask for more than the values of an added task, so that they may hide it. */
export const mayHideAdded = ({ q, epic, holder, leased, dueBefore, dueAfter, label, assignee, priority }: TaskSearch) =>
  [q, epic, holder, leased, dueBefore, dueAfter].some((value) => value !== undefined && value !== false) ||
  [label, assignee, priority].some((list) => list !== undefined && onlyValue(list) === undefined)
