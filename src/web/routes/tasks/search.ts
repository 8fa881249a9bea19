import type { Priority } from '../../../records/work.ts'

export const views = ['board', 'list'] as const
export type View = (typeof views)[number]

/** The query of the page, as its address has it. */
export interface TaskSearch {
  view?: View
  q?: string
  priority?: Priority
  label?: string
  assignee?: string
  /** The key of the task that is open beside the list. */
  open?: string
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

export const taskSearch = (search: Record<string, unknown>): TaskSearch => ({
  ...(views.includes(search.view as View) && { view: search.view as View }),
  ...(isText(search.q) && { q: search.q }),
  ...(['critical', 'high', 'medium', 'low'].includes(search.priority as string) && {
    priority: search.priority as Priority,
  }),
  ...(isText(search.label) && { label: search.label }),
  ...(isText(search.assignee) && { assignee: search.assignee }),
  ...(isText(search.open) && { open: search.open }),
})

/** Only the filters: what the server is asked for. */
export const filtersOf = ({ q, priority, label, assignee }: TaskSearch) => ({
  ...(q && { search: q }),
  ...(priority && { priority }),
  ...(label && { label }),
  ...(assignee && { assignee }),
})
