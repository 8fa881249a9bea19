import { priorities, statuses } from '../../../records/task-states.ts'

export const taskViews = ['board', 'list', 'timeline', 'graph'] as const
export type TaskView = (typeof taskViews)[number]
export const taskSorts = ['updatedAt', 'priority', 'dueAt', 'number'] as const
export type TaskSort = (typeof taskSorts)[number]

/** The query of the page, as its address has it. Lists are texts with commas, as the API takes them. */
export interface TaskSearch {
  view?: TaskView
  q?: string
  status?: string
  priority?: string
  label?: string
  assignee?: string
  holder?: string
  leased?: boolean
  epic?: string
  dueBefore?: string
  dueAfter?: string
  sort?: TaskSort
  /** The key of the task that is open beside the list. */
  open?: string
}

const text = (value: unknown): string | undefined => {
  const written = typeof value === 'number' ? String(value) : value
  return typeof written === 'string' && written.trim() !== '' ? written : undefined
}
/** Returns those of the listed values that exist. */
const among = (known: readonly string[], value: unknown): string | undefined =>
  text(value)
    ?.split(',')
    .filter((part) => known.includes(part))
    .join(',') || undefined
const day = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined
const one = <T extends string>(known: readonly T[], value: unknown): T | undefined =>
  known.find((choice) => choice === value)

export function taskSearch(search: Record<string, unknown>): TaskSearch {
  const all: TaskSearch = {
    view: one(taskViews, search.view),
    q: text(search.q),
    status: among(statuses, search.status),
    priority: among(priorities, search.priority),
    label: text(search.label),
    assignee: text(search.assignee),
    holder: text(search.holder),
    leased: typeof search.leased === 'boolean' ? search.leased : undefined,
    epic: text(search.epic),
    dueBefore: day(search.dueBefore),
    dueAfter: day(search.dueAfter),
    sort: one(taskSorts, search.sort),
    open: text(search.open),
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** The names of the filters in the address. */
export const filterNames = [
  'q',
  'status',
  'priority',
  'label',
  'assignee',
  'holder',
  'leased',
  'epic',
  'dueBefore',
  'dueAfter',
] as const satisfies readonly (keyof TaskSearch)[]
export type FilterName = (typeof filterNames)[number]

/** Whether nothing is filtered. */
export const isUnfiltered = (search: TaskSearch): boolean => filterNames.every((name) => search[name] === undefined)

/** Whether moving a card by hand changes nothing of these tasks but its place: no filter or order depends on it. */
export const isManualOrder = ({ sort, status, leased, holder }: TaskSearch): boolean =>
  !sort && !status && leased === undefined && !holder

/** A change of the address that removes all filters. */
export const noFilters: Partial<TaskSearch> = Object.fromEntries(filterNames.map((name) => [name, undefined]))

/** Only the filters: what the server is asked for. */
export const taskFilters = ({ q, epic, status, priority, label, assignee, holder, leased, ...due }: TaskSearch) => ({
  ...(q && { search: q }),
  ...(status && { status }),
  ...(priority && { priority }),
  ...(label && { label }),
  ...(assignee && { assignee }),
  ...(holder && { holder }),
  ...(leased !== undefined && { leased }),
  ...(epic && { epicId: epic }),
  ...(due.dueBefore && { dueBefore: due.dueBefore }),
  ...(due.dueAfter && { dueAfter: due.dueAfter }),
})

/** Adds a value to a list with commas, or removes it. */
export function toggleInList(list: string | undefined, value: string): string | undefined {
  const parts = list?.split(',') ?? []
  const next = parts.includes(value) ? parts.filter((part) => part !== value) : [...parts, value]
  return next.join(',') || undefined
}

export const listParts = <T extends string = string>(list: string | undefined): T[] => (list?.split(',') ?? []) as T[]
