/** Where a task can be added at the end of a column or a group, and which values it gets there. */
import type { TaskGroup } from '../../../../features/tasks/lists/list-schema.ts'
import type { TaskCreate } from '../../../../features/tasks/schema.ts'
import type { Priority, Status } from '../../../../records/task-states.ts'
import type { TaskGrouping, TaskSearch } from '../search.ts'

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

export interface AddProps {
  /** The name of the column or group. */
  name: string
  /** The id or slug of the project. */
  project: string
  /** What a task gets from the column or group. */
  values: AddValues
  /** The filters give it their values, too. */
  search: TaskSearch
  /** How many tasks are above: the field stays in view when one is added. */
  above: number
}
