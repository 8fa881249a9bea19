import { priorities, statuses } from '../../../records/task-states.ts'

export const taskViews = ['board', 'list', 'timeline', 'graph'] as const
export type TaskView = (typeof taskViews)[number]
export const taskSorts = ['position', 'priority', 'dueAt', 'updatedAt', 'completedAt', 'number'] as const
export type TaskSort = (typeof taskSorts)[number]
export const taskGroupings = ['status', 'priority', 'assignee', 'holder', 'label', 'epic', 'project', 'none'] as const
export type TaskGrouping = (typeof taskGroupings)[number]
/** Columns of the list that the reader may hide. */
export const taskColumns = ['labels', 'dependencies', 'holder', 'assignee', 'due', 'updated'] as const
export type TaskColumn = (typeof taskColumns)[number]
const defaultColumns: readonly TaskColumn[] = ['labels', 'dependencies', 'holder', 'assignee', 'due']

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
  /** Id or slug of a project, on the page of all projects. */
  project?: string
  dueBefore?: string
  dueAfter?: string
  updatedAfter?: string
  sort?: TaskSort
  group?: TaskGrouping
  /** The columns of the list; `none`: only what every row shows. */
  show?: string
  /** The key of the task that is open beside the list. */
  open?: string
}

const text = (value: unknown): string | undefined => {
  const written = typeof value === 'number' ? String(value) : value
  return typeof written === 'string' && written.trim() !== '' ? written : undefined
}
/** Returns those of the listed values that exist. */
const among = (known: readonly string[], value: unknown): string | undefined => {
  const { values, isNot } = parseFilter(text(value))
  return formatFilter({ values: values.filter((part) => known.includes(part)), isNot })
}
const day = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined
const past = (value: unknown): string | undefined =>
  day(value) ?? (typeof value === 'string' && /^-\d{1,4}[hdw]$/.test(value) ? value : undefined)
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
    project: text(search.project),
    dueBefore: day(search.dueBefore),
    dueAfter: day(search.dueAfter),
    updatedAfter: past(search.updatedAfter),
    sort: one(taskSorts, search.sort),
    group: one(taskGroupings, search.group),
    show: among([...taskColumns, 'none'], search.show),
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
  'project',
  'dueBefore',
  'dueAfter',
  'updatedAfter',
] as const satisfies readonly (keyof TaskSearch)[]
export type FilterName = (typeof filterNames)[number]
/** Filters that take several values, or with `!` the values that a task must not have. */
const negatableNames = ['status', 'priority', 'label', 'assignee', 'holder', 'epic'] as const
export type NegatableName = (typeof negatableNames)[number]
export const isNegatable = (name: FilterName): name is NegatableName =>
  (negatableNames as readonly string[]).includes(name)

/** Whether nothing is filtered. */
export const isUnfiltered = (search: TaskSearch): boolean => filterNames.every((name) => search[name] === undefined)

/** Whether moving a card by hand changes nothing of these tasks but its place: no filter or order depends on it. */
export const isManualOrder = ({ sort, status, leased, holder }: TaskSearch): boolean =>
  (!sort || sort === 'position') && !status && leased === undefined && !holder

/** A change of the address that removes all filters. */
export const noFilters: Partial<TaskSearch> = Object.fromEntries(filterNames.map((name) => [name, undefined]))

/** Only the filters: what the server is asked for. */
export const taskFilters = ({ q, epic, project, leased, ...search }: TaskSearch) => ({
  ...(q && { search: q }),
  ...(search.status && { status: search.status }),
  ...(search.priority && { priority: search.priority }),
  ...(search.label && { label: search.label }),
  ...(search.assignee && { assignee: search.assignee }),
  ...(search.holder && { holder: search.holder }),
  ...(leased !== undefined && { leased }),
  ...(epic && { epicId: epic }),
  ...(project && { projectId: project }),
  ...(search.dueBefore && { dueBefore: search.dueBefore }),
  ...(search.dueAfter && { dueAfter: search.dueAfter }),
  ...(search.updatedAfter && { updatedAfter: search.updatedAfter }),
})

/** The values of a filter, and whether it asks for tasks without them (`!docs,!web`). */
export interface FilterValues {
  values: readonly string[]
  isNot: boolean
}

export function parseFilter(list: string | undefined): FilterValues {
  const isNot = list?.startsWith('!') === true
  const parts = list?.split(',').map((part) => part.trim()) ?? []
  return { values: parts.map((part) => (isNot ? part.replace(/^!/, '') : part)), isNot }
}

export const formatFilter = ({ values, isNot }: FilterValues): string | undefined =>
  values.map((value) => (isNot ? `!${value}` : value)).join(',') || undefined

/** Adds a value to a filter. A filter cannot both name and exclude values: the last kind wins. */
export function addToFilter(list: string | undefined, value: string, isNot: boolean): string | undefined {
  const before = parseFilter(list)
  const values = list !== undefined && before.isNot === isNot ? before.values : []
  return formatFilter({ values: [...new Set([...values, value])], isNot })
}

/** How the list is grouped: by state unless the address says otherwise. */
export const groupingOf = ({ group = 'status' }: TaskSearch): TaskGrouping => group

export const columnsOf = ({ show }: TaskSearch): ReadonlySet<TaskColumn> =>
  new Set(show === undefined ? defaultColumns : taskColumns.filter((column) => show.split(',').includes(column)))

/** The columns with one shown or hidden, as the address has them. */
export function toggleColumn(search: TaskSearch, column: TaskColumn): string | undefined {
  const shown = columnsOf(search)
  const next = taskColumns.filter((name) => shown.has(name) !== (name === column))
  const isDefault = next.length === defaultColumns.length && next.every((name) => defaultColumns.includes(name))
  return isDefault ? undefined : next.join(',') || 'none'
}
