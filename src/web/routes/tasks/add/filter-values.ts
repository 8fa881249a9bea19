/** What a task that is added gets from the filters of the page. */
import type { Priority } from '../../../../records/task-states.ts'
import { parseFilter, type TaskSearch } from '../search.ts'
import { type AddValues, isAddable } from './values.ts'

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
