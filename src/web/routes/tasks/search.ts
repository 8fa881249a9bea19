import { type Priority, priorities, type Status, statuses } from '../../../records/work.ts'

export const views = ['board', 'list'] as const
export type View = (typeof views)[number]

/** The query of the page, as its address has it. */
export interface TaskSearch {
  view?: View
  q?: string
  priority?: Priority
  label?: string
  assignee?: string
  /** Only in the list: a board shows every state. */
  status?: Status
  /** The key of the task that is open beside the list. */
  open?: string
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

export const taskSearch = (search: Record<string, unknown>): TaskSearch => ({
  ...(views.includes(search.view as View) && { view: search.view as View }),
  ...(isText(search.q) && { q: search.q }),
  ...(priorities.includes(search.priority as Priority) && {
    priority: search.priority as Priority,
  }),
  ...(isText(search.label) && { label: search.label }),
  ...(isText(search.assignee) && { assignee: search.assignee }),
  ...(statuses.includes(search.status as Status) && { status: search.status as Status }),
  ...(isText(search.open) && { open: search.open }),
})

/** Whether nothing is filtered. */
export const isWhole = (search: TaskSearch): boolean =>
  Object.keys(filtersOf(search)).length === 0 && search.status === undefined

/** Only the filters: what the server is asked for. */
export const filtersOf = ({ q, priority, label, assignee }: TaskSearch) => ({
  ...(q && { search: q }),
  ...(priority && { priority }),
  ...(label && { label }),
  ...(assignee && { assignee }),
})
